"""Headings of a note: which heading paths a gold support may name, and which snippets stand in the text."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_golden, make_support, make_vault
from raggate.base.errors import UsageError
from raggate.base.headings import elements, written
from raggate.inputs import headings
from raggate.inputs.headings import SectionNames, check_anchors, kinds_of, lines_of
from raggate.models.golden import Support, Vault
from tables import each_row

Paths = set[tuple[str, ...]]


KINDS = """text | with a bar

| a | b |
|---|:-:|
| 1 | 2 |
after
a | b
--- | ---
1 | 2

---
``` sh
| x |
|---|
````
~~~
```
~~~
end"""


def test_lines_of_code_and_of_tables() -> None:
    """A table is what has bars around its rule; a fence ends at one of its own marks, as long or longer."""
    kinds = kinds_of(lines_of(KINDS))
    assert [len([*same]) for _, same in groupby(kinds)] == [2, 3, 1, 3, 2, 7, 1]
    assert [kind for kind, _ in groupby(kinds)] == ["", "table", "", "table", "", "code", ""]


@each_row(
    ("text", "expected"),
    [
        ("# A\n\ntext\n\n## B\n\n### C\n\n## D\n", {("A",), ("A", "B"), ("A", "B", "C"), ("A", "D")}),  # tree
        pytest.param("# A\n\n### C\n\n## B\n", {("A",), ("A", "C"), ("A", "B")}, id="a level is skipped"),
        pytest.param("A\n===\n\nB\n---\n", {("A",), ("A", "B")}, id="setext"),
        pytest.param("```\n# not\n```\n\n    # not\n\n# A\n", {("A",)}, id="code blocks"),
        pytest.param("# A ##\n\n## B # C #\n", {("A",), ("A", "B # C")}, id="closing hashes"),
        pytest.param("# A **b** `c*d` [e](f) ![g](h)\n", {("A b c*d e g",)}, id="inline markup"),
        pytest.param("# A > B\n\n## C\n", {("A > B",), ("A > B", "C")}, id="a delimiter in a heading"),
        pytest.param("#A\n\n####### B\n", set(), id="no headings, though they look like it"),
        pytest.param("# <b>A</b>\n", {("A",)}, id="HTML tags"),
        pytest.param("#\n\n## B\n", {(), ("B",)}, id="empty heading"),
    ],
)
def test_heading_paths(text: str, expected: Paths) -> None:
    """Every heading stands under the nearest one above it of a lower level."""
    assert headings.heading_paths(text, "dir/note.md") == expected | {("note",), ("Note",)}


@each_row(
    ("text", "also"),
    [
        pytest.param("---\nid: 1\n---\n# A\n", {("id: 1",), ("A",)}, id="front matter as a setext heading"),
        # front matter that ends in dots
        ("---\n# comment\ntitle: x\n...\n# A\n\n## B\n", {("comment",), ("A",), ("A", "B")}),
    ],
)
def test_heading_paths_read_both_ways(text: str, also: Paths) -> None:
    """Where APIs read a note in different ways, the paths of either are known."""
    assert headings.heading_paths(text, "note.md") >= also


@given(st.text("#- \n\t>`=ab*_[]()&;\\", max_size=80))
def test_any_text_has_heading_paths(text: str) -> None:
    """No note crashes the reader, and the path of its file's name is always there."""
    assert ("note",) in headings.heading_paths(text, "note.md")


@each_row(
    ("snippet", "expected"),
    [
        ("ten euro a month", True),
        ("see Pricing", True),
        ("runit now", True),
        ("eleven euro", False),
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
        pytest.param("# A > ## D & more", 19, id="as it is rendered"),
        pytest.param("# A > ## *D* & MORE {#d}", 19, id="as it is written, in capitals and with an id"),
        pytest.param("# A > ## D", 1, id="only in a code block"),
    ],
)
def test_line_of(heading_path: str | None, line: int) -> None:
    """A section starts at the line of its heading, counted in the whole file; what is not found is line 1."""
    assert headings.line_of(NOTE, heading_path) == line


@each_row(
    ("text", "expected"),
    [
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


SPLITTERS: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "splitter_headings.json").read_text(encoding="utf-8")
)
GUIDE = "# Guide {#g}\n\n## Init\n\na\n\n## `__init__`\n\nb\n\n## Set up\n\nc\n\n## SET UP\n\nd\n\n## **Set** up\n\ne\n"


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
    assert SectionNames(GUIDE, "note.md").is_inside(gold, told) is inside


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


def vault(text: str) -> Vault:
    """Build two vaults: `work` with one note, and `personal` with one of the same path."""
    return make_vault({"work/a.md": text, "personal/a.md": "# Other\n\nDifferent words.\n"})


COSTS = "# Costs\n\nTen *euro*.\n\n## Per month\n\nOne euro.\n"


@each_row(
    ("support", "vaults", "message"),
    [
        (make_support("b.md", None), (), "gold note 'b.md' is not in the vault. Nearest: 'a.md'"),
        (make_support("a.md", "# Cost > ## Per moth"), (), "Did you mean '# Costs > ## Per month'?"),
        (make_support("a.md", "# Cost"), (), "'a.md' has no heading '# Cost'. Did you mean '# Costs'?"),
        (
            make_support("a.md", "# Costs", snippets=("one euro", "two euro")),
            (),
            "snippet 'two euro' is not in the section '# Costs' of 'a.md'",
        ),
        (make_support("a.md", "# Other", vault="work"), (), "has no heading '# Other'"),
        (make_support("a.md"), ("wrok",), "no vault 'wrok'. Known: work, personal"),
    ],
)
def test_anchor_is_missing(support: Support, vaults: tuple[str, ...], message: str) -> None:
    """A support that is not in the vault is named with line, case and the nearest thing that does."""
    case = make_case(gold_supports=(support,), vaults=vaults, line=3)
    with pytest.raises(UsageError) as caught:
        check_anchors(make_golden(case), vault(COSTS))
    refused = str(caught.value)
    assert refused.startswith("eval_set.jsonl:3: question 'q1': ")
    assert message in refused
    assert "\n" not in refused


SECTIONS = (
    "---\nsource: a memo\n---\nBefore all.\n\n# Costs\n\nTen *euro*.\n\n## Per month\n\nOne\neuro.\n\n## Per year\n\n"
    "Twelve euro.\n\n# Rooms\n\nTen chairs.\n"
)


@each_row(
    ("heading", "snippet", "elsewhere"),
    [
        ("# Costs > ## Per month", "one euro", None),
        # before the first heading is under the title, and all of a note under the file's name
        ("# Costs", "before all", None),
        ("# a", "ten chairs", None),
        (None, "ten chairs", None),
        ("# Costs", "ten chairs", True),
        ("# Costs > ## Per year", "one euro", True),
        ("# Rooms", "forty euro", False),
    ],
)
@each_row("ending", ["\n", "\r\n", "\r"])
def test_snippets_stand_in_their_section(
    heading: str | None, snippet: str, elsewhere: bool | None, ending: str
) -> None:
    """A snippet is looked for in its own section; whether it stands elsewhere in the note is told."""
    support = make_support("a.md", heading, snippets=(snippet,))
    golden = make_golden(make_case(gold_supports=(support,), vaults=("work",), line=3))
    notes = vault(SECTIONS.replace("\n", ending))
    if elsewhere is None:
        check_anchors(golden, notes)
        return
    with pytest.raises(UsageError) as caught:
        check_anchors(golden, notes)
    hint = ". Another section of the note has it: name that section" if elsewhere else ""
    wanted = f"snippet {snippet!r} is not in the section {heading!r} of 'a.md'{hint}"
    assert str(caught.value) == f"eval_set.jsonl:3: question 'q1': {wanted}"


WRITTEN = "# Guide *for* all {#guide}\n\nOne.\n\n## Set up\n\nTwo.\n\n## SET UP\n\nThree.\n\n## Run {#r}\n\nFour.\n\n"
WRITTEN += "## Run {#r}\n\nFive.\n"


@each_row(
    ("heading", "texts"),
    [
        ("# guide for ALL {#other .class}", ("One", "Two", "Three", "Four", "Five")),
        ("# Guide for all > ## Set up", ("Two",)),
        ("# Guide for all > ## SET UP", ("Three",)),
        # what is written alike cannot be told apart by anybody, and is one place
        ("# Guide for all > ## run", ("Four", "Five")),
    ],
)
def test_a_heading_is_accepted_as_people_read_it(heading: str, texts: tuple[str, ...]) -> None:
    """A heading may stand as in the file or as it is shown, and names the one section that is meant, and no other."""
    for text in ("One", "Two", "Three", "Four", "Five"):
        case = make_case(gold_supports=(make_support("a.md", heading, snippets=(f"{text}.",)),), line=3)
        if text in texts:
            check_anchors(make_golden(case), vault(WRITTEN))
        else:
            with pytest.raises(UsageError, match="is not in the section"):
                check_anchors(make_golden(case), vault(WRITTEN))


def test_a_heading_that_could_be_two_is_refused_with_both_lines() -> None:
    """Where no heading is written so and several read so, none is guessed: the message says where they stand."""
    case = make_case(gold_supports=(make_support("a.md", "# Guide for all > ## set up"),), line=3)
    with pytest.raises(UsageError) as caught:
        check_anchors(make_golden(case), vault(WRITTEN))
    assert str(caught.value) == (
        "eval_set.jsonl:3: question 'q1': '# Guide for all > ## set up' fits several headings of 'a.md', in lines 5 "
        "and 9, which differ only in capitals or markup: write it exactly as the note does"
    )


NOTES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "helloworld_headings.json").read_text(encoding="utf-8")
)
# paths that raggate knows and that chunker has no chunk for


@each_row("note", NOTES, ids=lambda note: note["filename"])
def test_every_path_of_the_chunker_is_known(note: dict[str, Any]) -> None:
    """A gold support may name every heading path that the chunker gives a chunk."""
    known = SectionNames(note["input"], note["filename"])
    assert [path for path in note["heading_paths"] if elements(path) and not known.named(path)] == []
