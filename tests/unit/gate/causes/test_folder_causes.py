"""Folders as causes: what was selected and not searched. What was left out is specified with the causes."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_labelled, make_response, make_result, make_support
from raggate.gate.causes.cause_wording import sentence
from raggate.gate.causes.folder_causes import first_is_skipped, folder_cause, no_limit, unsearched_folder
from raggate.models.comparison import Cause, CauseEvidence
from raggate.models.run import LabelledResult
from tables import each_row

NOTES = ("work/docs/a.md", "work/mail/b.md", "work/c.md")
SKIPPED = {"hybrid": ({"several": 40, "served": 30}, {"several": 40, "served": 0})}
MAIL = make_chunk("m", rel_path="mail/b.md", vault="work")


def answer(*chunks: Any, **folders: Any) -> LabelledResult:
    case = make_case(gold_supports=(make_support("docs/a.md"),), vaults=("work",))
    return make_labelled(case, make_result("q1", response=make_response(*chunks, **folders)))


def cause(*folders: str, chunks: Any = (MAIL,), outscored: bool = True, **evidence: Any) -> Cause | None:
    item = answer(*chunks, selected_folders=folders)
    return unsearched_folder(item, item.case.gold_supports, CauseEvidence(notes=NOTES, **evidence), outscored=outscored)


def test_selected_and_nothing_came_from_it() -> None:
    """A folder that was selected, and that nothing came from though what came scores less, was not searched."""
    found = cause("work/mail", "work/docs")
    assert found is not None
    assert sentence(found) == "its folder work/docs was selected (2 of 2), and nothing came from it"


BOTH = ("work/mail", "work/docs")
FROM_DOCS = make_chunk("d", rel_path="docs/other.md", vault="work")


@each_row(
    ("folders", "fields", "found"),
    [
        pytest.param(BOTH, {"outscored": False}, False, id="may-be-outranked"),
        pytest.param(("work/docs",), {}, False, id="the-only-one"),
        pytest.param(("work/mail", "work/other"), {}, False, id="not-selected"),
        pytest.param(("work/mail", "home/docs"), {}, False, id="another-vault"),
        pytest.param(("docs", "mail"), {}, False, id="not-written-as-the-notes-are"),
        pytest.param(("work/other", "work/docs"), {}, False, id="a-chunk-from-outside"),
        pytest.param(BOTH, {"beyond": {"hybrid": {"selected"}}}, False, id="another-answer-has-a-chunk-from-outside"),
        pytest.param(BOTH, {"chunks": (MAIL, FROM_DOCS)}, False, id="another-note-of-it-came"),
        # where no answer has anything from the folder it selects first, a passage in that folder needs no score
        pytest.param(BOTH[::-1], {"outscored": False, "folders": SKIPPED}, True, id="the-first-is-never-searched"),
        pytest.param(BOTH, {"outscored": False, "folders": SKIPPED}, False, id="another-than-the-first"),
    ],
)
def test_folders_that_may_have_been_searched(folders: tuple[str, ...], fields: dict[str, Any], *, found: bool) -> None:
    """Nothing is said where rank may be the reason, something came from the folder, or folders are not comparable."""
    assert (cause(*folders, **fields) is not None) is found


@each_row(
    ("before", "now", "skipped"),
    [
        ({"several": 40, "served": 30}, {"several": 40, "served": 0}, True),
        ({"several": 10, "served": 5}, {"several": 10, "served": 0}, True),
        ({"several": 10, "served": 4}, {"several": 10, "served": 0}, False),
        ({"several": 40, "served": 30}, {"several": 40, "served": 4}, True),
        ({"several": 40, "served": 30}, {"several": 40, "served": 5}, False),
        ({"several": 40, "served": 30}, {"several": 40}, False),
        ({"several": 40, "served": 30}, {"several": 9, "served": 0}, False),
        ({"several": 9, "served": 9}, {"several": 40, "served": 0}, False),
        ({}, {"several": 40, "served": 0}, False),
        ({"several": 40, "served": 30}, {}, False),
    ],
)
def test_skipped_in_enough_answers(before: dict[str, int], now: dict[str, int], *, skipped: bool) -> None:
    """The first folder counts as skipped if nine of ten answers say so, and half of the baseline's had it."""
    assert first_is_skipped(CauseEvidence(folders={"hybrid": (before, now)}), "hybrid") is skipped
    assert not first_is_skipped(CauseEvidence(folders={"hybrid": (before, now)}), "vector")


@each_row(
    ("outside", "answers", "limits"),
    [(0, 10, True), (1, 10, True), (2, 10, False), (1, 9, False), (10, 10, False)],
)
def test_one_odd_answer_makes_no_hint(outside: int, answers: int, *, limits: bool) -> None:
    """Folders still limit a mode if one answer of ten has chunks from outside of its own; more make them a hint."""
    assert no_limit({"selected": outside}, {"selected": answers}) == (set() if limits else {"selected"})


def test_the_odd_answer_itself_is_not_blamed() -> None:
    """Folders are no cause for an answer that has chunks from outside of them, whatever the others say."""
    item = answer(MAIL, make_chunk("o", rel_path="other/o.md", vault="work"), selected_folders=("work/mail",))
    assert folder_cause(item, item.case.gold_supports, CauseEvidence(notes=NOTES)) is None


@each_row(
    ("kind", "code"),
    [
        pytest.param("selected", "folder-left-out", id="selected"),
        pytest.param("available", "folder-not-indexed", id="available"),
    ],
)
def test_a_hint_is_no_cause(kind: str, code: str) -> None:
    """Folders are not blamed where some answer of the mode has chunks from outside of its own: they are a hint."""
    item = answer(MAIL, **{f"{kind}_folders": ("work/mail",)})

    def blamed(**evidence: Any) -> str | None:
        found = folder_cause(item, item.case.gold_supports, CauseEvidence(notes=NOTES, **evidence))
        return found and found.code

    assert blamed() == code
    assert blamed(beyond={"vector": {kind}}) == code
    assert blamed(beyond={"hybrid": {kind}}) is None
