"""What a reader of Markdown sees: the tokens of a rendered report, without the source's escapes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

ALLOWED_TAGS = {"<details>", "<details open>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>", "<br>"}
ALLOWED_TAGS |= {"<span>", "</span>"}
"""The last two stand around a dollar sign alone, which GitHub then takes for no mathematics."""
JOINER = "\u2060"
# what GitHub makes a mention or a reference of after rendering, and what it makes a link of while it reads the source
_LIVE = re.compile(r"@\w|#\d|\b[0-9a-f]{7,40}\b|\bGH-\d|:(?!\d+:)[\w+-]+:|(?<!<span>)\$|\$(?!</span>)", re.IGNORECASE)
# a segment of the path: "0.." is a name
_CLIMBS = re.compile(r"(?:^|/)\.\.(?:[/?#]|$)")
_URL = re.compile(r"\bhttps?://\w|\bwww\.\w|\bmailto:\w", re.IGNORECASE)


@lru_cache(maxsize=8)
def tokens(text: str) -> tuple[Token, ...]:
    """Return all tokens of a Markdown text, inline ones included, in order; parsed once for all that is asked of it."""
    return tuple(
        token
        for block in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
        for token in (block, *(block.children or ()))
    )


def visible(text: str) -> str:
    """Return the text a reader sees, without invisible joiners."""
    pieces = [token.content for token in tokens(text) if token.type in {"text", "text_special", "code_inline"}]
    return "".join(pieces).replace(JOINER, "")


def problems(text: str, links: Collection[str] = ()) -> Iterator[str]:
    """Name everything in a Markdown report that foreign text must never become.

    Args:
        text: the report.
        links: what the targets of the report's own links start with; by default it must have none.
    """
    parsed = tokens(text)
    for token in parsed:
        yield from _misplaced(token, links)
    prose = "".join(_prose(token) for token in parsed)
    if Counter(token.type for token in parsed)["fence"] > 1:
        yield "more than the one fence"
    source = re.sub(r"`[^`\n]*`", "", re.sub(r"^(`{3,})sh\n.*\n(?:.*\n)?\1$", "", text, flags=re.MULTILINE))
    for start in links:
        source = re.sub(rf"\]\({re.escape(start)}[^()\s]*\)", "]", source)
    for pattern, searched in ((_LIVE, prose), (_URL, source)):
        for found in pattern.finditer(searched):
            yield f"live {found[0]!r} in {searched[max(found.start() - 20, 0) : found.end() + 20]!r}"
    if prose.count("\u202e") or "\x1b" in text:
        yield "a control character"
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        if len({line.count("|") for line in table.splitlines()}) != 1:
            yield f"a table whose rows differ in cells: {table[:200]}"
    yield from unbalanced(text)


def _prose(token: Token) -> str:
    if token.type == "html_inline" and "span" in token.content:
        return token.content
    return token.content if token.type in {"text", "text_special"} else " "


def _misplaced(token: Token, links: Collection[str]) -> Iterator[str]:
    if token.type in {"image", "em_open", "s_open", "code_block", "hr", "ordered_list_open"}:
        yield f"{token.type}: {token.content or token.attrs}"
    target = str(token.attrs.get("href", ""))
    if token.type == "link_open" and (_CLIMBS.search(target) or not any(target.startswith(start) for start in links)):
        yield f"link to {target}"
    first, *others = token.content.splitlines() if token.type == "fence" else [""]
    # the command, and at most once more with the questions that broke
    if token.type == "fence" and (token.info != "sh" or others[1:] or not "".join(others or [first]).startswith(first)):
        yield f"fence: {token.content}"
    if token.type in {"html_inline", "html_block"}:
        yield from (f"tag {tag}" for tag in re.findall(r"<[^>]*>?", token.content) if tag not in ALLOWED_TAGS)


def unbalanced(text: str) -> Iterator[str]:
    """Name the tags that are opened and not closed, or the other way round."""
    html = "".join(token.content for token in tokens(text) if token.type in {"html_block", "html_inline"})
    for tag in ("details", "summary", "sub"):
        if html.count(f"<{tag}") != html.count(f"</{tag}>"):
            yield f"unbalanced {tag}"
