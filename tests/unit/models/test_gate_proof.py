"""What a proof comes to: it holds, it does not, or it says nothing."""

from __future__ import annotations

from msgspec.structs import replace

from proofs import PROOF, trial
from tables import each_row

CAUGHT, HARMLESS = trial(harmed=0.2, outcome="regression"), trial(harmed=0.0, drop=0.2)
MISSED = trial(harmed=0.005)


@each_row(
    ("trials", "outcome"),
    [
        ((CAUGHT, HARMLESS), "holds"),
        ((CAUGHT,) * 9 + (MISSED,), "holds"),
        ((CAUGHT,) * 8 + (MISSED,), "does not hold"),
        ((HARMLESS,), "cannot tell"),
        ((), "cannot tell"),
    ],
)
def test_outcome(trials: tuple, outcome: str) -> None:
    """Nine of ten harmful faults must be caught, however small the harm; if none is harmful, nothing was proved."""
    assert replace(PROOF, trials=trials, repeats=(trial(drop=0.0),)).outcome == outcome


def test_a_false_alarm_is_a_proof_that_does_not_hold() -> None:
    """A gate that is red without a fault proves nothing by being red with one."""
    assert replace(PROOF, trials=(CAUGHT,), repeats=(CAUGHT,)).outcome == "does not hold"
    assert replace(PROOF, trials=(HARMLESS,), repeats=(CAUGHT,)).outcome == "does not hold"


def test_an_interrupted_proof_is_no_other() -> None:
    """What was not tried to its end neither holds nor fails."""
    assert replace(PROOF, trials=(MISSED,), interrupted=True).outcome == "interrupted"


@each_row(("red", "outcome"), [(4, "holds"), (5, "does not hold")])
def test_a_gate_that_is_often_red_for_nothing_does_not_hold(red: int, outcome: str) -> None:
    """Of forty harmless changes four may be red."""
    changes = (CAUGHT,) * red + (HARMLESS,) * (40 - red)
    assert replace(PROOF, trials=(CAUGHT,), harmless=changes).outcome == outcome
