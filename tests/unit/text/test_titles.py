"""When two headings read the same: markup, ids, closing marks, capitals and Unicode forms are not read, all else is."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from raggate.text.titles import CLOSENESS, MAX_TITLE, same_title, without_attributes
from tables import each_row


@each_row(
    ("one", "other", "same"),
    [
        pytest.param("Testing {#testing}", "Testing", True, id="an id"),
        pytest.param("Testing{#testing}", "Testing", True, id="an id without a space before it"),
        pytest.param("Testing { #testing .wide }", "Testing", True, id="an id and a class with blanks"),
        pytest.param("Testing {: #testing}", "Testing", True, id="as kramdown writes it"),
        pytest.param("Testing {#t data-x=\"a b\" y='z'}", "Testing", True, id="with attributes"),
        pytest.param("Testing ## {#t}", "Testing", True, id="closing marks before an id"),
        pytest.param("Testing {#t} ##", "Testing", True, id="closing marks after an id"),
        pytest.param("Set {x}", "Set", False, id="braces that have no id"),
        pytest.param("Set {}", "Set", False, id="empty braces"),
        pytest.param("{#a} Testing", "Testing", False, id="an id that is not at the end"),
        pytest.param("{#a}", "{#b}", False, id="nothing but ids"),
        pytest.param("Testing ##", "Testing", True, id="closing marks"),
        pytest.param("C#", "C", False, id="a sign that is no closing mark"),
        pytest.param("C #", "C", True, id="a sign that is one"),
        pytest.param("TESTING", "testing", True, id="capitals"),
        pytest.param("STRASSE", "straße", True, id="capitals of another length"),
        pytest.param("ΣΊΣΥΦΟΣ", "σίσυφος", True, id="a final sigma"),
        pytest.param("Caf\u00e9", "Cafe\u0301", True, id="composed and decomposed"),
        pytest.param("\u1e9b\u0323", "\u017f\u0323\u0307", True, id="marks in another order"),
        pytest.param("A\u00a0 B\t C", "A B C", True, id="white space"),
        pytest.param("AB", "A B", False, id="no white space"),
        pytest.param("m²", "m2", False, id="letters that only look alike"),
        pytest.param("Step ①", "Step 1", False, id="a number in a circle"),
        pytest.param("ﬁle", "file", True, id="a ligature, which folding case takes apart"),
        pytest.param("*One* **two** `three`", "One two three", True, id="emphasis and code"),
        pytest.param("[Link](a.md) and ![pic](p.png)", "Link and pic", True, id="links and images"),
        pytest.param("[[Note|Shown]] and [[Other]]", "Shown and Other", True, id="wiki links"),
        pytest.param("~~Old~~ new", "Old new", True, id="strikes"),
        pytest.param("R&amp;D \\*x\\*", "R&D *x*", True, id="entities and escapes"),
        pytest.param("R\\*D *one*", "R\\*D one", True, id="markup that is taken off in part"),
        pytest.param("A <b>bold</b><br> word <!-- x -->", "A bold word", True, id="tags of HTML"),
        pytest.param("Vec<T>", "Vec<U>", False, id="what only looks like a tag"),
        pytest.param("`Vec<T>`", "Vec<T>", True, id="code with angle brackets"),
        pytest.param("snake_case_name", "snakecasename", False, id="underscores inside a word"),
        pytest.param("2 * 3 * 4", "2 3 4", False, id="stars that mark nothing"),
        pytest.param("a.b", "ab", False, id="punctuation is read"),
        pytest.param("Testing", "Testing of X", False, id="a longer heading"),
        pytest.param("", "", True, id="nothing"),
        pytest.param("", "x", False, id="nothing and something"),
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


_WORDS = st.lists(
    st.sampled_from(["alpha", "beta", "Gamma", "délta", "1", "2", "x-y", "C#", "F"]), min_size=1, max_size=4
)


@given(_WORDS, _WORDS)
def test_other_words_are_another_heading(one: list[str], other: list[str]) -> None:
    """Headings of other words, or of the same in another order, are never one, whatever stands around them."""
    decorated = f"**{one[0]}** {' '.join(one[1:])} {{#same-id .same}} ##"
    if [word.casefold() for word in one] != [word.casefold() for word in other]:
        assert not same_title(decorated, f"_{' '.join(other)}_ {{#same-id}}")
        assert not same_title(" ".join(one), " ".join(other))


@given(st.text("ab #{}=\"'.:*_`<>&[]|\\~é\u0301", max_size=40), st.text("ab #{}.*_`é\u0301", max_size=40))
def test_looser_rules_hold_wherever_closer_ones_do(one: str, other: str) -> None:
    """From letter by letter to how it reads, each rule only adds."""
    held = [same(one, other) for same in CLOSENESS]
    assert held == sorted(held)
    assert all(same(one, one) for same in CLOSENESS)


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
