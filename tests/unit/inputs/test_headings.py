"""Headings of a note: which heading paths a gold support may name, and which snippets stand in the text."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from raggate.inputs import headings
from tables import each_row

Paths = set[tuple[str, ...]]


@each_row(
    ("text", "expected"),
    [
        pytest.param(
            "# A\n\ntext\n\n## B\n\n### C\n\n## D\n", {("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")}, id="tree"
        ),
        pytest.param("# A\n\n### C\n\n## B\n", {("A",), ("A", "C"), ("A", "B")}, id="a level is skipped"),
        pytest.param("### C\n\n# A\n\n## B\n", {("C",), ("A",), ("A", "B")}, id="begins deep"),
        pytest.param("# A\n\n# A\n\n## B\n", {("A",), ("A", "B")}, id="the same heading twice"),
        pytest.param("# 🍎 Maple & Apples\n", {("🍎 Maple & Apples",)}, id="emoji"),
        pytest.param("A\n===\n\nB\n---\n", {("A",), ("A", "B")}, id="setext"),
        pytest.param("```\n# not\n```\n\n    # not\n\n# A\n", {("A",)}, id="code blocks"),
        pytest.param("# A ##\n\n## B # C #\n", {("A",), ("A", "B # C")}, id="closing hashes"),
        pytest.param("# A **b** `c*d` [e](f) ![g](h)\n", {("A b c*d e g",)}, id="inline markup"),
        pytest.param("# A > B\n\n## C\n", {("A > B",), ("A > B", "C")}, id="a delimiter in a heading"),
        pytest.param("#A\n\n####### B\n", set(), id="no headings, though they look like it"),
        pytest.param("# <b>A</b>\n", {("A",)}, id="HTML tags"),
        pytest.param("#\n\n## B\n", {(), ("B",)}, id="empty heading"),
        pytest.param("# A\u00a0 B\t C\n", {("A B C",)}, id="white space"),
        pytest.param("> # Quoted\n\n- # Item\n", {("Quoted",), ("Item",)}, id="inside other blocks"),
        pytest.param("text\n", set(), id="no headings"),
        pytest.param("", set(), id="empty"),
    ],
)
def test_heading_paths(text: str, expected: Paths) -> None:
    """Every heading stands under the nearest one above it of a lower level."""
    assert headings.heading_paths(text, "dir/note.md") == expected | {("note",), ("Note",)}


@each_row(
    ("text", "also"),
    [
        pytest.param("# R&amp;D \\*x\\*\n", {("R&D *x*",), ("R&amp;D \\*x\\*",)}, id="entities and escapes"),
        pytest.param("A\nB\n---\n", {("A B",), ("AB",)}, id="lines of a setext heading, apart or glued"),
        pytest.param("---\nid: 1\n---\n# A\n", {("id: 1",), ("A",)}, id="front matter as a setext heading"),
        pytest.param(
            "---\n# comment\ntitle: x\n...\n# A\n\n## B\n",
            {("comment",), ("A",), ("A", "B")},
            id="front matter that ends in dots",
        ),
        pytest.param(
            "---\nid: 1\n---\n### A\n", {("id: 1",), ("id: 1", "A"), ("A",)}, id="front matter above a deep heading"
        ),
        pytest.param("---\n- a\n---\n# A\n", {("A",)}, id="front matter that is a list"),
    ],
)
def test_heading_paths_read_both_ways(text: str, also: Paths) -> None:
    """Where APIs read a note in different ways, the paths of either are known."""
    assert headings.heading_paths(text, "note.md") >= also


@each_row(
    ("rel_path", "expected"),
    [
        pytest.param("weekly plan.md", {("weekly plan",), ("Weekly Plan",)}, id="words"),
        pytest.param("a/b/C.md", {("C",)}, id="in folders"),
        pytest.param("v1.2 notes.md", {("v1.2 notes",), ("V1.2 Notes",)}, id="a point in the name"),
        pytest.param("McDonald.md", {("McDonald",)}, id="inner capitals stay"),
    ],
)
def test_note_without_headings(rel_path: str, expected: Paths) -> None:
    """A note without headings goes by its file's name, as it is and with capitals."""
    assert headings.heading_paths("text", rel_path) == expected


@given(st.text("#- \n\t>`=ab*_[]()&;\\", max_size=80))
def test_any_text_has_heading_paths(text: str) -> None:
    """No note crashes the reader, and the path of its file's name is always there."""
    assert ("note",) in headings.heading_paths(text, "note.md")


@each_row(
    ("snippet", "expected"),
    [
        pytest.param("ten euro a month", True, id="case and white space"),
        pytest.param("**Ten** euro", True, id="with its markup"),
        pytest.param("Ten euro", True, id="without its markup"),
        pytest.param("see Pricing", True, id="a wiki link without brackets"),
        pytest.param("`run_it` now", True, id="markup of another kind"),
        pytest.param("runit now", True, id="marks do not count"),
        pytest.param("eleven euro", False, id="other words"),
        pytest.param("month ten", False, id="other order"),
    ],
)
def test_holds(snippet: str, *, expected: bool) -> None:
    """A snippet stands in a note with or without markup, regardless of case and white space."""
    assert headings.holds("**Ten** euro\na  month; see [[Pricing]] or `run_it` now.", snippet) is expected


NOTE = "---\ntitle: x\n---\n\n# A\n\ntext\n\n## B\n\n### C\n\n## B\n\n```\n## D\n```\n\n## *D* & more\n"


@each_row(
    ("heading_path", "line"),
    [
        pytest.param(None, 1, id="the whole note"),
        pytest.param("# A", 5, id="after the front matter"),
        pytest.param("# A > ## B", 9, id="the first of two"),
        pytest.param("# A > ## B > ### C", 11, id="deep"),
        pytest.param("# A > ## D & more", 19, id="as it is rendered"),
        pytest.param("# A > ## *D* & MORE {#d}", 19, id="as it is written, in capitals and with an id"),
        pytest.param("# A > ## D", 1, id="only in a code block"),
        pytest.param("# nowhere", 1, id="unknown"),
    ],
)
def test_line_of(heading_path: str | None, line: int) -> None:
    """A section starts at the line of its heading, counted in the whole file; what is not found is line 1."""
    assert headings.line_of(NOTE, heading_path) == line


@each_row(
    ("text", "expected"),
    [
        pytest.param("no heading\n", [], id="none"),
        pytest.param("", [], id="empty"),
        pytest.param("#\n\ntext\n", [], id="a heading without a title"),
        pytest.param("# A\n\n## B\n\ntext\n\n## C\n\n---\n", [("A", "B")], id="only those with words of their own"),
        pytest.param("---\ntitle: X\n---\n# A\ntext", [("A",)], id="front matter is none"),
        pytest.param("A\n=\ntext\n\nB\n-\n", [("A",)], id="underlined"),
    ],
)
def test_headings_with_text(text: str, expected: list[tuple[str, ...]]) -> None:
    """A heading has text of its own when there are words before the next heading."""
    assert list(headings.headings_with_text(text)) == expected


@each_row(
    ("text", "expected"),
    [("---\na: 1\nb: 2\n---\n# A", "a: 1\nb: 2"), ("# A\n---\na: 1\n---\n", ""), ("---\n---\n", ""), ("", "")],
)
def test_front_matter(text: str, expected: str) -> None:
    """It is what stands between dashes at the very start of a note."""
    assert headings.front_matter_of(text) == expected


LINE = st.text(alphabet="#-=ab \r`>", max_size=10) | st.sampled_from(
    ["# A", "## *b* `c`", "a b", "---", "=", "> # a", "```"]
)


@given(st.lists(LINE, max_size=12).map("\n".join))
def test_any_note_has_headings(text: str) -> None:
    """Whatever a note holds, its headings with text are among its heading paths."""
    assert set(headings.headings_with_text(text)) <= headings.heading_paths(text, "a.md")
