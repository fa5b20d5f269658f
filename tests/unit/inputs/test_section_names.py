"""Which sections of a note a heading path names: the closest, and where that is several, all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.inputs.section_names import SectionNames
from raggate.text.headings import written
from tables import each_row

SPLITTERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "splitter_headings.json").read_text(encoding="utf-8")
)
NOTE = "# Guide {#g}\n\n## Init\n\na\n\n## `__init__`\n\nb\n\n## Set up\n\nc\n\n## SET UP\n\nd\n\n## **Set** up\n\ne\n"


@each_row("splitter", [*SPLITTERS["told"]])
def test_what_splitters_tell_of_a_heading_names_it(splitter: str) -> None:
    """Each heading of a note is known by what a splitter or parser tells of it, under the title as told or shown."""
    note = SectionNames(SPLITTERS["note"], "guide.md")
    lines = SPLITTERS["note"].split("\n")
    for source, told in zip(SPLITTERS["headings"], SPLITTERS["told"][splitter], strict=True):
        line = next(number for number, text in enumerate(lines) if text.lstrip("#").strip() == source)
        above = ["`Second` &amp; more ##"] if source.startswith("Deep") else []
        for title in ("Guide {#guide}", "Guide"):
            path = written((title, *above, told))
            assert {section.begin for section in note.named(path)} == {line}, path
            assert note.is_inside(written((title, *above, source)), path)


@each_row(
    ("path", "lines"),
    [
        pytest.param("# Guide > ## Init", {2}, id="as it is written"),
        pytest.param("# GUIDE > ## INIT", {2}, id="in capitals"),
        pytest.param("# Guide > ## `__init__`", {6}, id="code as it is written"),
        pytest.param("# Guide > ## __init__", {6}, id="code as it is shown"),
        pytest.param("# Guide > ## Set up", {10, 18}, id="as one is written, and another is shown"),
        pytest.param("# Guide > ## **Set** up", {18}, id="as the other one is written"),
        pytest.param("# Guide > ## SET UP", {14}, id="in capitals, as one is written"),
        pytest.param("# Guide > ## set up", {10, 14, 18}, id="as none is written"),
        pytest.param("# Guide > ## Other", set(), id="as none is"),
        pytest.param("Guide > Init", {2}, id="without marks"),
        pytest.param("# note", {0}, id="the file's name"),
    ],
)
def test_named(path: str, lines: set[int]) -> None:
    """Of the headings that could be meant, those count that are closest to how the path is written."""
    assert {section.begin for section in SectionNames(NOTE, "note.md").named(path)} == lines


@each_row(
    ("gold", "told", "inside"),
    [
        pytest.param("# Guide > ## Init", "GUIDE > INIT", True, id="the same section, told otherwise"),
        pytest.param("# Guide > ## __init__", "# Guide > ## Init", False, id="another one"),
        pytest.param("# Guide", "# guide > ## set up", True, id="in a section around all that could be meant"),
        pytest.param("# Guide > ## SET UP", "# Guide > ## set up", False, id="one of several"),
        pytest.param("# Guide > ## SET UP", "# Guide > ## SET UP", True, id="the one of them that is written so"),
        pytest.param("# Guide > ## Init", "nowhere", True, id="what names nothing is not this rule's"),
    ],
)
def test_is_inside(gold: str, told: str, *, inside: bool) -> None:
    """A heading that is told stands for a section only where all that it names lies in it."""
    assert SectionNames(NOTE, "note.md").is_inside(gold, told) is inside


def test_look_alikes() -> None:
    """Other headings that differ in capitals or markup alone are known by their lines, whichever a path is."""
    note = SectionNames(NOTE, "note.md")
    assert note.look_alikes("# Guide > ## SET UP") == (11, 19)
    assert note.look_alikes("# Guide > ## Init") == ()
    assert note.ambiguous("# Guide > ## SET UP") == ()
    assert note.ambiguous("# Guide > ## set up") == (11, 15, 19)


_TITLES = st.sampled_from(["A", "a", "**A**", "`A`", "A {#x}", "B", "`__a__`", "__a__", "A &amp; B", "A & B", "[A](b)"])


@given(st.lists(_TITLES, min_size=1, max_size=6), st.data())
def test_a_path_as_it_is_written_names_its_heading_and_never_one_that_is_written_otherwise(
    titles: list[str], data: st.DataObject
) -> None:
    """Looser rules never take a heading away from whoever copies it, nor give one to whoever copies another."""
    note = SectionNames("# T\n\n" + "".join(f"## {title}\n\ntext\n\n" for title in titles), "n.md")
    title = data.draw(st.sampled_from(titles))
    named = {section.begin for section in note.named(f"# T > ## {title}")}
    own = {2 + 4 * number for number, other in enumerate(titles) if other == title}
    assert own <= named
    rendered = {"**A**": "A", "`A`": "A", "[A](b)": "A", "`__a__`": "__a__", "__a__": "a", "A &amp; B": "A & B"}
    # what one is as it is written, another may be as it is shown
    assert all(title in {titles[(begin - 2) // 4], rendered.get(titles[(begin - 2) // 4])} for begin in named)


@each_row("path", ["", "#", "# > ##", "> > >", "{#a}", "# {#a} > ## ##"])
def test_empty_paths_name_nothing(path: str) -> None:
    """A path without a heading names no section, and nothing crashes."""
    assert SectionNames("# T\n\n## {#a}\n\ntext\n", "n.md").ambiguous(path) == ()
