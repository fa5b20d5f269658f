"""What merging a change would do to the gate decides over a pass, and over nothing else."""

from __future__ import annotations

import pytest

from builders import make_comparison
from raggate.gate.merge_effects import foreseen
from raggate.models.verdict import Preview, Reason, Verdict, VerdictKind

BROKEN = Preview(breaks=("golden.jsonl:3: key 'id' is missing",))


def verdict(outcome: VerdictKind = "pass") -> Verdict:
    """Build a verdict; one that is no pass has a reason."""
    reasons = () if outcome == "pass" else (Reason(code="worse", message="hit_at_5 fell"),)
    return Verdict(outcome=outcome, sentences=("What was decided.",), reasons=reasons)


def test_a_pass_that_would_break_the_gate_is_none() -> None:
    """A change after which nothing can be measured cannot pass: exit 3, and the first sentence says both."""
    found = foreseen(verdict(), BROKEN, make_comparison())
    assert (found.outcome, found.exit_code) == ("cannot tell", 3)
    assert found.headline.startswith(
        "Nothing gated is worse than allowed, but merging this change would break the gate"
    )
    assert "golden.jsonl:3: key 'id' is missing" in found.headline
    assert [reason.code for reason in found.reasons] == ["breaks-gate"]


@pytest.mark.parametrize(
    ("outcome", "code"), [("regression", 1), ("cannot tell", 3), ("invariant broken", 4), ("interrupted", 130)]
)
def test_any_other_verdict_stays(outcome: VerdictKind, code: int) -> None:
    """What was decided of the API stays as it is, and the reason is told after its own."""
    found = foreseen(verdict(outcome), BROKEN, make_comparison())
    assert (found.outcome, found.exit_code, found.headline) == (outcome, code, "What was decided.")
    assert [reason.code for reason in found.reasons] == ["worse", "breaks-gate"]


@pytest.mark.parametrize(
    ("preview", "code"),
    [
        (Preview(problems=("the API was killed by SIGKILL",)), "preview"),
        (Preview(baseline="removed"), "baseline-removed"),
    ],
)
def test_what_leaves_the_gate_working_is_a_warning(preview: Preview, code: str) -> None:
    """What could not be looked at, and a baseline that is to go, are warnings of a pass that says so."""
    found = foreseen(verdict(), preview, make_comparison())
    assert (found.outcome, found.exit_code) == ("pass", 0)
    assert [reason.code for reason in found.warnings] == [code]
    assert "with 1 warning" in found.headline


def test_nothing_foreseen_changes_nothing() -> None:
    """Without a preview, or with one that finds nothing, a verdict says what it said."""
    assert foreseen(verdict(), None, make_comparison()) == verdict()
    assert foreseen(verdict(), Preview(), make_comparison()).outcome == "pass"
