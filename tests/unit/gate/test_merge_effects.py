"""What merging a change would do to the gate decides over a pass, and over nothing else."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_comparison
from raggate.gate.merge_effects import foreseen
from raggate.models.comparison import GoldenChanges
from raggate.models.outcome import VerdictKind
from raggate.models.verdict import Preview, Reason, Verdict
from tables import each_row

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


def test_a_pass_that_was_not_seen_is_none() -> None:
    """A change whose files could not be looked at cannot pass: exit 3, and the first sentence says why."""
    found = foreseen(verdict(), Preview(unseen=("GitHub did not answer",)), make_comparison())
    assert (found.outcome, found.exit_code, [reason.code for reason in found.reasons]) == (
        "cannot tell",
        3,
        ["preview"],
    )
    assert "but this change could not be looked at in full: GitHub did not answer" in found.headline


def test_a_suite_off_the_list_is_no_pass() -> None:
    """A change after which nothing asks the suite's questions cannot pass, and is not told that others break too."""
    found = foreseen(verdict(), Preview(retired=True), make_comparison())
    assert (found.outcome, [reason.code for reason in found.reasons]) == ("cannot tell", ["retires-suite"])
    assert "takes this suite off the list" in found.headline
    assert "everyone" not in found.headline


@each_row(("outcome", "code"), [("regression", 1), ("cannot tell", 3), ("invariant broken", 4), ("interrupted", 130)])
def test_any_other_verdict_stays(outcome: VerdictKind, code: int) -> None:
    """What was decided of the API stays as it is, and the reason is told after its own."""
    found = foreseen(verdict(outcome), BROKEN, make_comparison())
    assert (found.outcome, found.exit_code, found.headline) == (outcome, code, "What was decided.")
    assert [reason.code for reason in found.reasons] == ["worse", "breaks-gate"]


@each_row(
    ("preview", "code"),
    [
        (Preview(problems=("the API was killed by SIGKILL",)), "preview"),
        (Preview(baseline="removed"), "baseline-removed"),
        (Preview(baseline="replaced", lowered=("hit_at_5",)), "baseline-replaced"),
        (Preview(loosened=("gate.tolerance",)), "loosens-gate"),
        (Preview(remeasured=("api.url",)), "measures-other"),
        (Preview(regrouped=("q1",)), "edits-golden"),
        (Preview(unsliced=("q1",)), "edits-golden"),
        (Preview(unmarked=("work/diary.md",)), "unmarks-notes"),
    ],
)
def test_what_leaves_the_gate_working_is_a_warning(preview: Preview, code: str) -> None:
    """What could not be measured, and what makes the gate weaker, are warnings of a pass that says so."""
    found = foreseen(verdict(), preview, make_comparison())
    assert (found.outcome, found.exit_code) == ("pass", 0)
    assert [reason.code for reason in found.warnings] == [code]
    assert "with 1 warning" in found.headline


@each_row(
    ("preview", "message"),
    [
        (
            Preview(golden=GoldenChanges(removed=("q1", "q2"), relabelled=("q3",), added=("q5",)), limited=("q4",)),
            "merging this change edits the questions that judge: 2 removed (q1, q2); 1 relabelled (q3); "
            "1 asked in fewer modes (q4)",
        ),
        (
            Preview(baseline="replaced", lowered=("hit_at_5", "1 question fewer")),
            "merging this change replaces the baseline, which makes the gate weaker for later changes: hit_at_5, 1 "
            "question fewer",
        ),
        (Preview(baseline="replaced"), "merging this change replaces the baseline"),
        (
            Preview(baseline="replaced", revalued=2),
            "merging this change replaces the baseline (2 questions with other values)",
        ),
        (
            Preview(outdated=("ask.k changed", "the adapter changed")),
            "merging this change lets no run pass until one is promoted: ask.k changed; the adapter changed",
        ),
        (
            Preview(replies=(1, 2)),
            "merging this change edits the replies that judges grade by: 1 gone or edited, 2 new",
        ),
        (
            Preview(graded=(1, 0)),
            "merging this change edits the answers that people graded for judges: 1 gone or edited, 0 new",
        ),
    ],
)
def test_what_is_edited_is_named(preview: Preview, message: str) -> None:
    """Questions are named by what is done to them, and a baseline by what it is worse in."""
    assert [reason.message for reason in foreseen(verdict(), preview, make_comparison()).warnings] == [message]


def test_new_questions_are_no_warning() -> None:
    """Questions that are added, or filed elsewhere, count for what they are."""
    golden = GoldenChanges(added=("q1",), refiled=("q2",))
    assert foreseen(verdict(), Preview(golden=golden), make_comparison()).warnings == ()


def test_nothing_foreseen_changes_nothing() -> None:
    """Without a preview, or with one that finds nothing, a verdict says what it said."""
    assert foreseen(verdict(), None, make_comparison()) == verdict()
    assert foreseen(verdict(), Preview(), make_comparison()).outcome == "pass"


def test_a_broken_gate_hides_no_waived_loss() -> None:
    """Where the pass let a loss through, the sentence on the broken gate does not say that nothing is worse."""
    waived = Reason("waived", "hit_at_5 fell; waived by ada", mode="hybrid", metric="hit_at_5", slice="overall")
    found = foreseen(replace(verdict(), warnings=(waived,)), BROKEN, make_comparison())
    assert found.sentences == (
        "Merging this change would break the gate for everyone: golden.jsonl:3: key 'id' is missing.",
        "What was decided.",
    )
