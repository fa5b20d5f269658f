"""Foreign text: one printable line, inert in a log, inert in Markdown."""

from __future__ import annotations

import json
import re
import unicodedata
from html import unescape

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given, strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from raggate.base import escape
from tables import each_row
from tries import tried

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
    "paragraph": ("{}", "paragraph_open inline paragraph_close"),
    "list item": (
        "- {}",
        "bullet_list_open list_item_open paragraph_open inline paragraph_close list_item_close bullet_list_close",
    ),
    "table cell": (
        "| a | b |\n|---|---|\n| {} | end |",
        "table_open thead_open tr_open th_open inline th_close th_open inline th_close tr_close thead_close tbody_open "
        "tr_open td_open inline td_close td_open inline td_close tr_close tbody_close table_close",
    ),
}


def rendered(text: str, place: str) -> tuple[list[str], list[Token]]:
    """Parse escaped text in a place; give the block tokens' types, and the inline tokens of the text."""
    template, _ = PLACES[place]
    tokens = PARSER.parse(template.format(escape.markdown(text)))
    inlines = [token for token in tokens if token.type == "inline"]
    own = inlines[2] if place == "table cell" else inlines[0]
    return [token.type for token in tokens], own.children or []


@tried(100)
@given(text=TEXT.filter(lambda text: bool(escape.plain(text))))
@example(text="a ___ b ___ c")
@example(text="___")
@example(text="- [x] done")
@example(text="a | b \\| c \\")
@example(text="1234567890) x")
@example(text="=")
def test_markdown_renders_as_the_text_itself(text: str) -> None:
    """Escaped text renders as itself in every place: no markup, no link, no image, no HTML, no other block or cell."""
    for place, (_, own) in PLACES.items():
        blocks, inline = rendered(text, place)
        assert blocks == own.split()
        assert {token.content for token in inline if token.type != "text"} <= {"<span>", "</span>"}
        visible = "".join(token.content for token in inline if token.type == "text")
        assert visible.replace(JOINER, "") == escape.plain(text)


# everything GitHub's pages on references, mathematics, emoji, alerts, footnotes and task lists have it look for; each
# may stand beside any other, and beside letters, digits and punctuation
WORDS = st.text("abcdef", min_size=1, max_size=4) | st.text("0123456789", min_size=1, max_size=4)
LIVE = st.one_of(
    st.sampled_from(
        ["GH-", "gh-", "Gh-", "#", "owner/repo#", "owner/repo@", "@", "@org/team", "@user", "user#", "owner#"]
    ),
    st.text("0123456789abcdefABCDEF", min_size=6, max_size=42),
    st.sampled_from(
        ["http://", "https://a.b/c", "www.", "www.a.co", "ftp://a.b", "a@b.co", "mailto:a@b.co", "xmpp:a@b.co"]
    ),
    st.sampled_from([":+1:", ":-1:", ":100:", ":1234:", ":e-mail:", ":piñata:", ":a:b:", "[^1]", "[^1]: x", "[!NOTE]"]),
    st.sampled_from(["> [!NOTE]", "[!", "NOTE]", "[ ]", "[x]", "$", "$$", "$x$", "$`", "`$", "a^2", "`", "\\(", "\\)"]),
    st.sampled_from([*" .,:;-_/()[]<>!'\"é|~*#@$`+", "", " "]),
    WORDS,
)
REFERENCES = st.lists(LIVE, min_size=1, max_size=8).map("".join)
# what GitHub's filters look for in the text of the rendered page, one text node at a time; \\w is ASCII there
AFTER_RENDERING = {
    "reference by number": r"(?<!\w)(?:gh-|#)\d",
    "mention": r"(?<!\w)@\w",
    "reference to another repository": r"[\w.-]+(?:/[\w.-]+)?#\d",
    "commit": r"(?<!\w)[0-9a-f]{7,40}(?!\w)",
    "commit of another repository": r"[\w.-]+(?:/[\w.-]+)?@[0-9a-f]{7,40}",
    "emoji": r":(?:[\wñ+-]*[a-zñ_+-][\wñ+-]*|100|1234):",
    "mathematics": r"\$.*\$|\$`",
    "alert": r"^\[!(?:note|tip|important|warning|caution)\]",
}


@tried(150)
@given(text=REFERENCES)
@example(text="GH-12deadbeef")
@example(text="GH-GH-1")
@example(text="xdeadbeefGH-1234567")
@example(text="$x$")
@example(text="$`x`$")
@example(text=":+1:")
@example(text=":a:b:c:")
def test_nothing_is_live_on_github(text: str) -> None:
    """Read by GitHub's own parser it is text, in whatever place, and nothing in that text is looked for."""
    for place in ("{}", "- {}", "> {}", "| a |\n|---|\n| {} |"):
        source = place.format(escape.markdown(text))
        read = Options.CMARK_OPT_FOOTNOTES | Options.CMARK_OPT_UNSAFE
        html = cmarkgfm.github_flavored_markdown_to_html(f"{source}\n\n[^1]: note\n", read)
        assert not re.search(r"<(?!/?(?:p|ul|li|blockquote|span|table|thead|tbody|tr|t[hd])\b)[^>]*>", html), html
        assert not re.match(r"\[[ x]\]", unescape(re.sub(r"<[^>]*>", "", html)).strip(), re.IGNORECASE), html
        for node in re.split(r"<[^>]*>", html):
            for name, pattern in AFTER_RENDERING.items():
                match = re.search(pattern, unescape(node).strip(), re.IGNORECASE | re.ASCII)
                assert match is None, (name, node)


@each_row(
    ("text", "expected"),
    [
        pytest.param("hit_at_5 rose by 0.05", "hit_at_5 rose by 0.05", id="plain prose stays readable"),
        pytest.param("@octocat", "&#64;&#8288;octocat", id="mention"),
        pytest.param("fixes #12", "fixes &#35;&#8288;12", id="reference"),
        pytest.param("GH-12deadbeef", "GH&#8288;-12&#8288;deadbe&#8288;ef", id="a commit behind a reference"),
        pytest.param(":+1:", "&#58;&#8288;+1:", id="emoji code"),
        pytest.param("$5", "<span>&#36;</span>5", id="a dollar sign"),
        pytest.param("[!NOTE] x", "&#91;&#8288;!NOTE&#93; x", id="alert"),
        pytest.param("0a1b2c3", "0a&#8288;1b2c3", id="commit"),
        pytest.param("a|b", "a&#124;b", id="cell"),
        pytest.param("<b>", "&#60;b>", id="HTML"),
        pytest.param("http://x", "http&#58;//x", id="URL"),
        pytest.param("3. x", "&#51;. x", id="numbered list"),
        pytest.param("eval_set.jsonl:3: at 23:52", "eval_set.jsonl:3: at 23:52", id="a place and a time"),
        pytest.param("a - b", "a - b", id="a dash in the middle"),
        pytest.param("- b", "&#45; b", id="a dash in front"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    """Only what Markdown or GitHub would read is escaped."""
    assert escape.markdown(text) == expected


@each_row(
    ("text", "expected"),
    [
        pytest.param("a\r\n\tb  c", "a b c", id="white space"),
        pytest.param("\x1b[31mred\x07", "[31mred", id="escape codes"),
        pytest.param("a\u200bb\ufeff", "ab", id="zero width characters vanish"),
        pytest.param("a\ue000\ud800\U000e0001b", "ab", id="private, surrogate and tag characters vanish"),
        pytest.param("héllo 漢字 🍎", "héllo 漢字 🍎", id="letters of any script stay"),
    ],
)
def test_plain(text: str, expected: str) -> None:
    """Foreign text becomes one line of what can be seen."""
    assert escape.plain(text) == expected


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


def test_json_in_a_page() -> None:
    """JSON in a page holds no character that HTML or an old script engine knows, and says the same."""
    text = '</script><!-- a & b \u2028 c \u2029 d \\u003c "e" é'
    document = escape.in_script(json.dumps({text: [text]}, ensure_ascii=False))
    assert not set(document) & set("<>&\u2028\u2029")
    assert json.loads(document) == {text: [text]}
