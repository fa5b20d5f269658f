"""Why a fault was missed: what is said of each kind of miss, and which notes have no question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builders import make_case, make_metric, make_support
from raggate.models.gate_proof import Trial, Watch
from raggate.models.golden import Vault
from raggate.models.verdict import Reason
from raggate.prove.misses import alarm_limit, explanation, unasked_notes, watch

WATCH = Watch(metric="hit_at_5", value=0.9, n=174, tolerance=0.05, visible=0.0351)
UNASKED = ("work/a.md", "work/b.md")


def missed(**fields: Any) -> Trial:
    """Build a trial that the gate let through: a fault that changed 7 answers."""
    return Trial(**{"name": "fault", "size": "5%", "kind": "answers", "outcome": "pass", "changed": 7, **fields})


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"drop": 0.0287},
            "hit_at_5 fell by 0.0287, and up to 0.05 is allowed; with 174 questions a test sees a drop of 0.0351 four "
            "times out of five",
        ),
        (
            {"drop": 0.0287, "notes": ("work/a.md", "work/c.md")},
            "hit_at_5 fell by 0.0287, and up to 0.05 is allowed; with 174 questions a test sees a drop of 0.0351 four "
            "times out of five; 1 of its 2 notes have no question: work/a.md",
        ),
        ({"drop": 0.0}, "7 answers changed, and hit_at_5 did not fall"),
        ({"drop": -0.1}, "7 answers changed, and hit_at_5 did not fall"),
        (
            {"drop": 0.0, "changed": 0, "notes": ("work/a.md", "work/b.md")},
            "no question of the golden set brings up one of these 2 notes: work/a.md, work/b.md",
        ),
        (
            {"drop": 0.0, "changed": 0, "kind": "http"},
            "every answer came, and was the same: retries are counted, and how long an answer takes is not gated",
        ),
        ({"drop": 0.0, "changed": 0}, "no answer changed"),
        ({"drop": None}, "hit_at_5 applies to no question"),
    ],
)
def test_a_miss_is_explained(fields: dict[str, Any], sentence: str) -> None:
    """Each kind of miss has its sentence: what was too small, what changed nothing, and what nothing asks about."""
    assert explanation(missed(**fields), WATCH, UNASKED) == sentence


def test_a_miss_that_should_have_been_seen_is_not_explained_away() -> None:
    """A drop of more than is allowed that the gate let through is called unexplained."""
    assert explanation(missed(drop=0.0501), WATCH, ()).startswith("not explained: hit_at_5 fell by 0.0501")
    assert not explanation(missed(drop=0.05), WATCH, ()).startswith("not explained")


def test_what_the_policy_makes_a_warning_is_explained_by_it() -> None:
    """A waiver, or evidence that is missing, lets a larger drop pass; what a slice warns of does not explain it."""
    warning = Reason(code="waived", message="hit_at_5 went down; waived by A", metric="hit_at_5", slice="overall")
    assert explanation(missed(drop=0.2, warnings=(warning,)), WATCH, ()) == (
        "hit_at_5 fell by 0.2000, and the policy makes that a warning: hit_at_5 went down; waived by A"
    )
    of_slice = replace(warning, slice="tag=x")
    assert explanation(missed(drop=0.2, warnings=(of_slice,)), WATCH, ()).startswith("not explained")


def test_a_metric_that_is_not_gated_says_so() -> None:
    """Where no tolerance holds, what a test could see is the measure."""
    free = Watch(metric="hit_at_5", value=0.9, n=174, tolerance=None, visible=0.0351)
    assert "hit_at_5 is not gated" in explanation(missed(drop=0.02), free, ())
    assert explanation(missed(drop=0.04), free, ()).startswith("not explained")


def test_many_notes_are_named_in_part() -> None:
    """A sentence names three notes, and how many more there are."""
    notes = tuple(f"work/{letter}.md" for letter in "abcde")
    told = explanation(missed(drop=0.0, changed=0, notes=notes), WATCH, notes)
    assert told.endswith("these 5 notes: work/a.md, work/b.md, work/c.md and 2 more")


def test_notes_without_a_question_are_those_of_no_gold_support() -> None:
    """A support names its vault, or is of the vaults its question is limited to, or of all that have such a note."""
    texts = dict.fromkeys([(vault, path) for vault in ("p", "w") for path in ("a.md", "b.md", "c.md", "d.md")], "x")
    vault = Vault(directories={"p": Path("p"), "w": Path("w")}, texts=texts, notes={}, hash="")
    cases = (
        make_case("1", gold_supports=(make_support("a.md", vault="p"),)),
        make_case("2", gold_supports=(make_support("b.md"),), vaults=("w",)),
        make_case("3", gold_supports=(make_support("c.md"),)),
        make_case("4", answerable=False),
    )
    assert unasked_notes(cases, vault) == ("p/b.md", "p/d.md", "w/a.md", "w/d.md")


def test_the_watched_metric_is_told_in_its_worst_mode() -> None:
    """The mode with the lowest value counts, and what moves without a fault raises what can be seen."""
    values = {"hybrid": make_metric(0.9, 100), "vector": make_metric(0.7, 50)}
    still = watch("hit_at_5", values, 0.05, [missed(moved=0.0)])
    assert still is not None
    assert (still.value, still.n, still.tolerance) == (0.7, 50, 0.05)
    noisy = watch("hit_at_5", values, 0.05, [missed(moved=0.1), missed(moved=0.3)])
    assert noisy is not None
    assert noisy.visible > still.visible
    assert watch("hit_at_5", {}, 0.05, []) is None


@pytest.mark.parametrize(("alarms", "runs", "limit"), [(0, 50, 0.0582), (0, 3, 0.6316), (1, 50, 0.0914), (3, 3, 1.0)])
def test_what_so_many_runs_leave_possible(alarms: int, runs: int, limit: float) -> None:
    """The limit is that of Clopper and Pearson: of none in 50 it is 1 - 0.05^(1/50)."""
    assert alarm_limit(alarms, runs) == pytest.approx(limit, abs=5e-5)
