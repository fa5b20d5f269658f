"""When two headings read the same: markup, ids, closing marks, capitals and Unicode forms are not read, all else is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from raggate.base.headings import (
    MAX_TITLE,
    contains_snippet,
    covers,
    elements,
    in_scope,
    inside_folder,
    same_title,
    without_attributes,
    written,
)
from tables import each_row


@each_row(
    ("one", "other", "same"),
    [
        pytest.param("Testing {#testing}", "Testing", True, id="an id"),
        pytest.param("Testing { #testing .wide }", "Testing", True, id="an id and a class with blanks"),
        pytest.param("Testing {#t data-x=\"a b\" y='z'}", "Testing", True, id="with attributes"),
        pytest.param("Testing {#t} ##", "Testing", True, id="closing marks after an id"),
        pytest.param("Set {x}", "Set", False, id="braces that have no id"),
        pytest.param("{#a} Testing", "Testing", False, id="an id that is not at the end"),
        pytest.param("{#a}", "{#b}", False, id="nothing but ids"),
        pytest.param("Testing ##", "Testing", True, id="closing marks"),
        pytest.param("C#", "C", False, id="a sign that is no closing mark"),
        pytest.param("C #", "C", True, id="a sign that is one"),
        pytest.param("TESTING", "testing", True, id="capitals"),
        pytest.param("Caf\u00e9", "Cafe\u0301", True, id="composed and decomposed"),
        pytest.param("\u1e9b\u0323", "\u017f\u0323\u0307", True, id="marks in another order"),
        pytest.param("A\u00a0 B\t C", "A B C", True, id="white space"),
        pytest.param("m²", "m2", False, id="letters that only look alike"),
        pytest.param("*One* **two** `three`", "One two three", True, id="emphasis and code"),
        pytest.param("[Link](a.md) and ![pic](p.png)", "Link and pic", True, id="links and images"),
        pytest.param("[[Note|Shown]] and [[Other]]", "Shown and Other", True, id="wiki links"),
        pytest.param("~~Old~~ new", "Old new", True, id="strikes"),
        pytest.param("R&amp;D \\*x\\*", "R&D *x*", True, id="entities and escapes"),
        pytest.param("R\\*D *one*", "R\\*D one", True, id="markup that is taken off in part"),
        pytest.param("A <b>bold</b><br> word <!-- x -->", "A bold word", True, id="tags of HTML"),
        pytest.param("Vec<T>", "Vec<U>", False, id="what only looks like a tag"),
        pytest.param("snake_case_name", "snakecasename", False, id="underscores inside a word"),
        pytest.param("2 * 3 * 4", "2 3 4", False, id="stars that mark nothing"),
        pytest.param("", "", True, id="nothing"),
    ],
)
def test_same_title(one: str, other: str, *, same: bool) -> None:
    """Two headings are one where a reader sees the same, in either order."""
    assert same_title(one, other) is same
    assert same_title(other, one) is same


def shown(source: str) -> str:
    """Return the text of a line as CommonMark renders it, without HTML."""

    def texts(tokens: list[Token]) -> str:
        own = {"text": lambda token: token.content, "code_inline": lambda token: token.content}
        breaks = {"softbreak": " ", "hardbreak": " "}
        return "".join(
            own[token.type](token) if token.type in own else breaks.get(token.type, "") + texts(token.children or [])
            for token in tokens
        )

    return texts(MarkdownIt("commonmark").parseInline(source))


_SOURCE = st.text(
    st.sampled_from("ab Z ä\u0308 *_`[]()\\&amp;#!{.}-12\u00e9")
    | st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]),
    max_size=30,
).map(lambda text: " ".join(text.split()).replace("<", "(").replace("~~", "~").replace("[[", "["))


@given(_SOURCE)
@example("**a** `b*c*` [d](e) \\*f\\* &amp;")
@example("a\\*b\\*c")
def test_a_heading_reads_as_it_is_rendered(source: str) -> None:
    """Whatever CommonMark makes of a heading, it reads the same as that, and as itself in capitals or decomposed."""
    rendering = " ".join(shown(source).split())
    if rendering and not unicodedata.combining(rendering[0]):
        assert same_title(source, rendering)
    assert same_title(source, source.swapcase()) or source.swapcase().casefold() != source.casefold()
    assert same_title(source, unicodedata.normalize("NFD", source))


@each_row(
    "title",
    [
        "{" * 50_000,
        "{#" + "a" * 50_000,
        "{#a " * 20_000 + "}",
        "a=" * 20_000 + "}",
        " #" * 30_000 + "x",
        "*" * 100_000,
        "[" * 50_000,
        "[[" * 30_000,
        "a" + "\u0301\u0316" * 30_000,
        "&amp;" * 20_000,
    ],
    ids=range(10),
)
def test_no_heading_takes_long(title: str) -> None:
    """A heading of any make is compared in time that grows with its length, not with the square of it."""
    assert same_title(title, title)
    assert len(without_attributes(title)) <= len(title)
    assert len(title) > MAX_TITLE


@each_row(
    ("path", "expected"),
    [
        pytest.param("# A > ## B", ("A", "B"), id="marked"),
        pytest.param("A > B", ("A", "B"), id="unmarked"),
        pytest.param("A>B", ("A", "B"), id="unmarked without spaces"),
        pytest.param("# A -> B > ## C", ("A -> B", "C"), id="an arrow inside a marked heading"),
        pytest.param("# A > B > ## C", ("A > B", "C"), id="a delimiter inside a marked heading"),
        pytest.param("# C# > ## F#", ("C#", "F#"), id="a hash inside a heading"),
        pytest.param("# ####### seven", ("####### seven",), id="seven hashes are text"),
        pytest.param("# #hashtag", ("#hashtag",), id="a hash without a space is text"),
        pytest.param("#  > ## B", ("B",), id="empty headings drop out"),
        pytest.param("", (), id="empty"),
    ],
)
def test_elements(path: str, expected: tuple[str, ...]) -> None:
    """A heading path is split into its headings, outermost first, without marks and spare white space."""
    assert elements(path) == expected


@each_row(
    ("gold", "retrieved", "expected"),
    [
        pytest.param("# Summary", "# Summary", True, id="the section itself"),
        pytest.param("# Summary", "# Summary > ## Costs", True, id="a section inside it"),
        pytest.param("# Summary", "# Summary of X", False, id="a longer heading"),
        pytest.param("# Summary", "# summary", True, id="capitals are not read"),
        pytest.param("# Summary {#sum}", "# **Summary** ##", True, id="ids, markup and closing marks are not seen"),
        pytest.param("# Summary", "# Intro > ## Summary", False, id="the same heading further in"),
        pytest.param("# A > ## B", "A > B", True, id="chunk without marks"),
        pytest.param("#A > ##B", "# A > ## B > ### C", True, id="gold marks without their space"),
        pytest.param("#tag", "# #tag", True, id="a heading that begins with a hash"),
        pytest.param("# A", "# #A", False, id="a hash in a heading is no mark"),
        pytest.param("A > B", "# A > ## B > ### C", True, id="gold without marks"),
        pytest.param("# A > B", "A > B > C", True, id="a delimiter in a heading against a path without marks"),
        pytest.param("A > B", "# A > B > ## C", True, id="a path without marks against a delimiter in a heading"),
        pytest.param("# A > B", "# A > ## B", False, id="a delimiter in a heading is no nesting when both have marks"),
        pytest.param("", "# A", False, id="empty gold covers nothing"),
        pytest.param("#", "# A", False, id="a lone mark covers nothing"),
    ],
)
def test_covers(gold: str, retrieved: str, *, expected: bool) -> None:
    """A gold path covers its own section and what lies inside, compared heading by heading."""
    assert covers(gold, retrieved) is expected


def test_written() -> None:
    """A path is written one level deeper per heading, six at most."""
    assert written(tuple("ABCDEFG")) == "# A > ## B > ### C > #### D > ##### E > ###### F > ###### G"


@each_row(
    ("text", "snippets", "expected"),
    [
        pytest.param("The Quick fox", ["quick FOX"], True, id="case"),
        pytest.param("a\n  b\tc", ["a b c"], True, id="white space"),
        pytest.param("only the second", ["first", "second"], True, id="any of several"),
        pytest.param("Cafe\u0301", ["caf\u00e9"], True, id="decomposed letters"),
        pytest.param("ab", ["a b"], False, id="white space is not dropped"),
    ],
)
def test_contains_snippet(text: str, snippets: list[str], *, expected: bool) -> None:
    """A text holds a snippet regardless of case and white space, and one of several is enough."""
    assert contains_snippet(text, snippets) is expected


@each_row(
    ("folder", "selected", "expected"),
    [
        ("work/docs", "work/docs", True),
        ("work/docs/api", "work/docs", True),
        ("work/docs-old", "work/docs", False),
        ("work", "work/docs", False),
        # the root covers itself, and only notes at the root
        ("work/", "work/", True),
        ("work/docs", "work/", False),
        ("work/", "work/docs", False),
        # a whole vault
        ("work/docs", "work", True),
        ("work/", "work", True),
        ("personal/docs", "work/docs", False),
    ],
)
def test_inside_folder(folder: str, selected: str, *, expected: bool) -> None:
    """A folder is covered by itself and by what is above it, by path elements."""
    assert inside_folder(folder, selected) is expected


@each_row(
    ("rel_path", "vaults", "selected", "expected"),
    [
        pytest.param("docs/a.md", ("work",), ("work/docs",), True, id="in the folder"),
        pytest.param("docs/a.md", ("work",), ("personal/docs",), False, id="other vault"),
        pytest.param("docs/a.md", ("work", "personal"), ("personal/docs",), True, id="one of its vaults"),
        pytest.param("docs/a.md", (), ("personal/docs",), True, id="vault not named"),
        pytest.param("docs/a.md", (), ("personal/x", "work/docs"), True, id="vault not named, second selection"),
        pytest.param("docs/a.md", ("work",), (), False, id="nothing selected"),
    ],
)
def test_in_scope(rel_path: str, vaults: tuple[str, ...], selected: tuple[str, ...], *, expected: bool) -> None:
    """A note is in scope when its folder lies in a selected folder, in any vault it may be in."""
    assert in_scope(rel_path, vaults, selected) is expected
