"""What a baseline in the place of another makes the gate weaker by, though every mean and value is as it was."""

from __future__ import annotations

from typing import Any

from builders import make_baseline, make_case_score, make_scorecard
from raggate.config.schema import Config
from raggate.gate import weaker_baseline
from raggate.models.baseline import Baseline
from raggate.models.scorecard import OVERALL, ListEntry
from tables import each_row

SETTINGS = Config.model_validate({"vault": {"work": "w"}, "api": {"url": "http://127.0.0.1:1"}})
ENTRY = ListEntry(note="00000000", chunk="11111111", supports=(0,))
CALM = {"asked": 20, "failed": 0, "differ": 1, "bands": {"hybrid": {"hit_at_5": [0.9, 0.95, 1, 20, 1.0]}}}
WILD = {**CALM, "differ": 20, "bands": {"hybrid": {"hit_at_5": [0.0, 1.0, 20, 20, 20.0]}}}
KNOWN: dict[str, Any] = {
    "vault": "v",
    "notes": {"work/a.md": "1"},
    "documents": 30,
    "chunks": 90,
    "repeated": CALM,
    "fields": {"hybrid": {"rank": [40, 40], "grounded": [3, 40]}},
}


def of(slices: tuple[str, ...] = (), entries: tuple[ListEntry, ...] = (ENTRY,), **fingerprint: object) -> Baseline:
    """Give a baseline of twenty questions, which tells all of this and has all of these values."""
    cases = (make_case_score(f"q{n}", slices=(OVERALL, *slices), entries=entries) for n in range(20))
    return make_baseline(make_scorecard(*cases, fingerprint={**KNOWN, **fingerprint}))


@each_row(
    ("old", "new", "expected"),
    [
        (of(), of(repeated=WILD), "noise that explains more of hit_at_5 (hybrid)"),
        (of(repeated=None), of(repeated=WILD), "noise that explains more of hit_at_5 (hybrid)"),
        (of(), of(fields={}), "answers without rank"),
        (of(), of(fields={"hybrid": {"rank": [20, 40]}}), "answers without rank"),
        (of(), of(documents=None), "fewer documents in the index"),
        (of(), of(chunks=89), "fewer chunks in the index"),
        (of(), of(vault="w"), "which notes it is of"),
        (of(), of(notes={"work/a.md": "2"}), "which notes it is of"),
        (of(), of(entries=()), "20 lists no longer compared"),
        (of(slices=("tag=a", "tag=b")), of(slices=("tag=b",)), "slice tag=a (hybrid)"),
    ],
)
def test_what_is_not_noticed_any_more(old: Baseline, new: Baseline, expected: str) -> None:
    """It is named by itself; nothing is said of the way back, nor of a baseline that tells the same."""

    def named(before: Baseline, now: Baseline) -> list[str]:
        return [*weaker_baseline.parts(before, now, [], [], SETTINGS)]

    assert named(old, new) == [expected]
    assert named(new, old) == ([expected] if expected == "which notes it is of" else [])
    assert named(new, new) == []


def test_an_index_of_other_notes_may_have_fewer() -> None:
    """How much it holds says nothing where the notes are others."""
    assert [*weaker_baseline.parts(of(), of(vault="w", notes={}, documents=1, chunks=1), [], [], SETTINGS)] == []


def test_what_is_not_asked_again_or_compared_is_no_loss() -> None:
    """Without `recheck.confirm` noise excuses nothing, and lists that nothing is said of may go."""
    off = SETTINGS.model_dump() | {"recheck": {"confirm": 0}, "invariants": {"lists_alike": "off"}}
    assert [*weaker_baseline.parts(of(), of(entries=(), repeated=WILD), [], [], Config.model_validate(off))] == []
