"""Foreign text: one printable line, inert in a log, inert in Markdown."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from raggate import escape

PARSER = MarkdownIt("commonmark").enable("table").enable("strikethrough")
JOINER = "\u2060"

# random text is rarely hostile: pieces that mean something to Markdown, GitHub or a CI log
HOSTILE = """
* ** _ __ ___ ` ``` ~~ ~ | || \\ \\| < > <b> </td> <!-- --> <script> & &amp; &#35; &lt; [a](b) [x] ![i](j) [^1] [ ] ( )
! @user @org/team #123 GH-12 org/repo#1 http://a.b https://a.b/c www.a.com www.1.com a@b.co mailto:a@b.co ://
:smile: $x$ $$ 0a1b2c3d4e5f 1. 2) 10. - + = === --- # ## ###### > ## :: ::error:: ##[group] ::set-output \u202e \u200b
\u2066 \u0000 \u001b[31m \u2028 \u0085 \ufeff \ud800 \ue000 a1 word_with_underscores 3.14 e.g. : . Ⅷ é 漢字 🍎
""".split()
TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=4), max_size=12).map(" ".join),
    st.lists(st.sampled_from(HOSTILE) | st.text(max_size=2), max_size=12).map("".join),
)
# where foreign text is put, and the tokens that this place itself consists of
PLACES = {
    "paragraph": ("{}", ["paragraph_open", "inline", "paragraph_close"]),
    "list item": (
        "- {}",
        [
            "bullet_list_open",
            "list_item_open",
            "paragraph_open",
            "inline",
            "paragraph_close",
            "list_item_close",
            "bullet_list_close",
        ],
    ),
    "table cell": (
        "| a | b |\n|---|---|\n| {} | end |",
        "table_open thead_open tr_open th_open inline th_close th_open inline th_close tr_close thead_close tbody_open "
        "tr_open td_open inline td_close td_open inline td_close tr_close tbody_close table_close".split(),
    ),
}


def rendered(text: str, place: str) -> tuple[list[str], list[Token]]:
    """Parse escaped text in a place; give the block tokens' types, and the inline tokens of the text."""
    template, _ = PLACES[place]
    tokens = PARSER.parse(template.format(escape.markdown(text)))
    inlines = [token for token in tokens if token.type == "inline"]
    own = inlines[2] if place == "table cell" else inlines[0]
    return [token.type for token in tokens], own.children or []


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=400)
@given(text=TEXT.filter(lambda text: bool(escape.plain(text))))
@example(text="a ___ b ___ c")
@example(text="___")
@example(text="- [x] done")
@example(text="a | b \\| c \\")
@example(text="1234567890) x")
@example(text="=")
def test_markdown_renders_as_the_text_itself(place: str, text: str) -> None:
    """Escaped text renders as itself in every place: no markup, no link, no image, no HTML, no other block or cell."""
    blocks, inline = rendered(text, place)
    assert blocks == PLACES[place][1]
    assert {token.type for token in inline} <= {"text"}
    assert "".join(token.content for token in inline).replace(JOINER, "") == escape.plain(text)


@settings(max_examples=400)
@given(text=TEXT)
def test_markdown_leaves_nothing_for_github_to_link(text: str) -> None:
    """Neither the source nor the rendered text has a mention, a reference, a commit, an address or a URL to link."""
    source = escape.markdown(text)
    assert not re.search(r"@\w|(?<!&)#\d|://|\bwww\.|:\w+:", source, re.ASCII)
    _, inline = rendered(text, "paragraph") if source else ([], [])
    shown = "".join(token.content for token in inline)
    # GitHub looks for these after rendering
    assert not re.search(r"@\w|#\d|\bGH-\d+\b|\b[0-9a-f]{7,40}\b", shown, re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("hit_at_5 rose by 0.05", "hit_at_5 rose by 0.05", id="plain prose stays readable"),
        pytest.param("@octocat", "&#64;&#8288;octocat", id="mention"),
        pytest.param("fixes #12", "fixes &#35;&#8288;12", id="reference"),
        pytest.param("GH-12", "GH&#8288;-12", id="GH reference"),
        pytest.param("0a1b2c3", "0a&#8288;1b2c3", id="commit"),
        pytest.param("0a1b2c3d4e", "0a&#8288;1b2c3d&#8288;4e", id="a commit inside a longer number"),
        pytest.param("a|b", "a&#124;b", id="cell"),
        pytest.param("<b>", "&#60;b>", id="HTML"),
        pytest.param("http://x", "http&#58;//x", id="URL"),
        pytest.param("www.1.com", "www&#46;1&#46;com", id="www before a digit"),
        pytest.param("a: b", "a: b", id="a colon before a space"),
        pytest.param("3. x", "&#51;. x", id="numbered list"),
        pytest.param("a - b", "a - b", id="a dash in the middle"),
        pytest.param("- b", "&#45; b", id="a dash in front"),
        pytest.param("", "", id="empty"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    """Only what Markdown or GitHub would read is escaped."""
    assert escape.markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a\r\n\tb  c", "a b c", id="white space"),
        pytest.param("\x1b[31mred\x07", "[31mred", id="escape codes"),
        pytest.param("a\u202eb\u2066c", "abc", id="bidirectional marks vanish"),
        pytest.param("a\u200bb\ufeff", "ab", id="zero width characters vanish"),
        pytest.param("a\u2028b\u2029c", "a b c", id="line and paragraph separators"),
        pytest.param("a\ue000\ud800\U000e0001b", "ab", id="private, surrogate and tag characters vanish"),
        pytest.param("héllo 漢字 🍎", "héllo 漢字 🍎", id="letters of any script stay"),
        pytest.param("  \n ", "", id="blank"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    """Foreign text becomes one line of what can be seen."""
    assert escape.plain(text) == expected


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        pytest.param("abcde", 5, "abcde", id="fits"),
        pytest.param("abcdef", 5, "abcd…", id="cut"),
        pytest.param("abc def", 5, "abc…", id="no space before the ellipsis"),
        pytest.param("ab", 1, "…", id="one character"),
    ],
)
def test_plain_is_cut(text: str, limit: int, expected: str) -> None:
    """What exceeds the limit is cut, the ellipsis included in the limit."""
    assert escape.plain(text, limit=limit) == expected


@given(text=TEXT, limit=st.integers(1, 50))
def test_plain_is_one_printable_line(text: str, limit: int) -> None:
    """Whatever comes in, at most `limit` visible characters on one line come out, and a second time changes nothing."""
    line = escape.plain(text, limit=limit)
    assert len(line) <= limit
    assert {unicodedata.category(character) for character in line} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} == set()
    assert line == " ".join(line.split())
    assert escape.plain(line, limit=limit) == line


@given(TEXT)
@example("::error::x")
@example(" \u200b::error::x")
@example("a##[group]b")
@example("##\u200b[group]")
@example(":\u202e:error::")
def test_log_line_holds_no_command(text: str) -> None:
    """No foreign log line begins with `::` or holds `##[`, and without the breaks it is the plain text."""
    line = escape.log_line(text)
    assert not line.startswith("::")
    assert "##[" not in line
    assert "\n" not in line
    assert line.replace("\u200b", "") == escape.plain(text, limit=2000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("::error::x", ":\u200b:error:\u200b:x", id="workflow command"),
        pytest.param("###[x]", "###\u200b[x]", id="old command mark"),
        pytest.param("listening on :8080", "listening on :8080", id="a single colon stays"),
    ],
)
def test_log_line(text: str, expected: str) -> None:
    """Command marks are broken by an invisible space, nothing else changes."""
    assert escape.log_line(text) == expected
