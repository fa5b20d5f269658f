"""What a proof comes to: it holds, it does not, or it says nothing."""

from __future__ import annotations

from msgspec.structs import replace

from proofs import PROOF, trial
from tables import each_row


def test_a_fault_is_harmful_from_the_drop_on() -> None:
    """A drop of exactly so much counts, one that was not measured does not."""
    assert trial(drop=0.05).harmful(0.05)
    assert trial(drop=0.1 - 0.05).harmful(0.05)
    assert not trial(drop=0.0499).harmful(0.05)
    assert not trial(drop=None).harmful(0.05)


CAUGHT, HARMLESS = trial(drop=0.2, outcome="regression"), trial(drop=0.0)
MISSED = trial(drop=0.2)


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
    """Nine of ten harmful faults must be caught; where none is harmful, nothing was proved."""
    assert replace(PROOF, trials=trials, repeats=(trial(drop=0.0),)).outcome == outcome


def test_a_false_alarm_is_a_proof_that_does_not_hold() -> None:
    """A gate that is red without a fault proves nothing by being red with one."""
    assert replace(PROOF, trials=(CAUGHT,), repeats=(CAUGHT,)).outcome == "does not hold"
    assert replace(PROOF, trials=(HARMLESS,), repeats=(CAUGHT,)).outcome == "does not hold"


def test_an_interrupted_proof_is_no_other() -> None:
    """What was not tried to its end neither holds nor fails."""
    assert replace(PROOF, trials=(MISSED,), interrupted=True).outcome == "interrupted"
