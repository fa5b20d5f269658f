"""What came back of the passage's own note; the words are specified with the causes."""

from __future__ import annotations

from typing import Any

import pytest

from builders import make_case, make_chunk, make_labelled, make_response, make_result, make_support
from raggate.gate.causes.note_causes import heading_cause, piece_cause, section_cause
from raggate.gate.causes.passages import ranked
from raggate.models.cause import Cause
from raggate.models.run import Chunk, LabelledResult
from tables import each_row

CASE = make_case(gold_supports=(make_support(snippets=("the sentence",)),), vaults=("work",))


def listed(*chunks: Chunk, **labels: Any) -> LabelledResult:
    """Label a list of these chunks."""
    return make_labelled(CASE, make_result("q1", response=make_response(*chunks)), **labels)


def piece(item: LabelledResult) -> Cause | None:
    """Find what is wrong with a chunk that should be the passage."""
    return piece_cause(item, CASE.gold_supports, ranked(item), ())


@each_row(
    ("chunk", "labels", "code"),
    [
        pytest.param(make_chunk(text="Else."), {}, "snippet-gone", id="another-piece"),
        pytest.param(make_chunk(text=""), {"empty": (0,)}, "text-missing", id="no-text"),
        pytest.param(make_chunk(), {"strange_texts": (0,)}, "text-foreign", id="invented"),
        pytest.param(make_chunk(), {"truncated": True}, "text-cut", id="cut"),
        pytest.param(
            make_chunk(heading_path="# X"), {"strange_headings": (0,)}, "heading-differs", id="strange-heading"
        ),
        pytest.param(
            make_chunk(heading_path="# a"), {"ambiguous": (0,)}, "heading-ambiguous", id="one-of-two-headings"
        ),
        pytest.param(make_chunk(heading_path="# a"), {"as_read": False}, None, id="by-letters-another-section"),
        pytest.param(make_chunk(heading_path="# B"), {"filed_elsewhere": (0,)}, "anchor-moved", id="merged"),
        pytest.param(make_chunk(heading_path="# B"), {}, None, id="another-section"),
        pytest.param(make_chunk(vault="home", text="Else."), {}, None, id="another-vault"),
        pytest.param(make_chunk(rel_path="b.md", text="Else."), {}, None, id="another-note"),
    ],
)
def test_what_is_wrong_with_the_piece(chunk: Chunk, labels: dict[str, Any], code: str | None) -> None:
    """Only a chunk of the passage's own note, that should be it, is a piece of it, by what its labels say."""
    found = piece(listed(chunk, **labels))
    assert (found.code if found else None) == code


def test_the_highest_piece_counts() -> None:
    """Of several pieces the one with the best rank is told."""
    found = piece(listed(make_chunk("x", rel_path="b.md"), make_chunk("a", text="Else."), make_chunk("b", text="")))
    assert found is not None
    assert (found.code, found.rank) == ("snippet-gone", 2)


def seen(item: LabelledResult) -> Cause | None:
    """Find what came back of the note of a passage."""
    places = item.case.gold_supports, ranked(item), ()
    return heading_cause(item, *places) or section_cause(item, *places)


@each_row(
    ("chunk", "code"),
    [
        (make_chunk(heading_path="# B"), "other-section"),
        (make_chunk(vault="home"), "other-vault"),
        (make_chunk(rel_path="b.md"), None),
    ],
)
def test_other_sections_and_vaults(chunk: Chunk, code: str | None) -> None:
    """What else came back of the note, or of one of the same path, is told as that."""
    item = listed(chunk)
    found = section_cause(item, CASE.gold_supports, ranked(item), ())
    assert (found.code if found else None) == code


@each_row(
    ("told", "code"),
    [
        pytest.param("## deep", "heading-partial", id="the last heading alone"),
        pytest.param("# A > ## Other", "other-section", id="another one"),
        pytest.param("", "heading-missing", id="none"),
        pytest.param("# Notes > ## A > ### Deep", "heading-otherwise", id="behind another one"),
        pytest.param("A / Deep", "heading-otherwise", id="another delimiter"),
        pytest.param("# A1 > ## Deep", "other-section", id="below another one"),
        pytest.param("# B > ## AA > ### Deep", "other-section", id="the end of another heading"),
        pytest.param("# A", "other-section", id="the heading above"),
    ],
)
def test_a_part_of_the_path_is_no_other_section(told: str, code: str) -> None:
    """A note that comes back under the end of the gold path is not said to be another section."""
    case = make_case(gold_supports=(make_support("a.md", "# A > ## Deep"),))
    item = make_labelled(case, make_result(case.id, make_chunk(heading_path=told)))
    cause = seen(item)
    assert cause is not None
    assert (cause.code, cause.other) == (code, told)


def test_the_section_under_other_headings_comes_before_other_sections() -> None:
    """A note whose section came back under a part of its path is told as that, whatever stands above it."""
    case = make_case(gold_supports=(make_support("a.md", "# A > ## Deep"),))
    chunks = (make_chunk("c1", heading_path="# A > ## Other"), make_chunk("c2", heading_path="## Deep"))
    item = make_labelled(case, make_result(case.id, *chunks))
    cause = seen(item)
    assert cause is not None
    assert (cause.code, cause.rank) == ("heading-partial", 2)
