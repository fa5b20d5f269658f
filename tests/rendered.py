"""What a reader of Markdown sees: the tokens of a rendered report, without the source's escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

ALLOWED_TAGS = {"<details>", "<details open>", "</details>", "<summary>", "</summary>", "<sub>", "</sub>", "<br>"}
JOINER = "\u2060"
# what GitHub makes a mention or a reference of after rendering, and what it makes a link of while it reads the source
_LIVE = re.compile(r"@\w|#\d|\b[0-9a-f]{7,40}\b|\bGH-\d", re.IGNORECASE)
_URL = re.compile(r"\bhttps?://\w|\bwww\.\w|\bmailto:\w", re.IGNORECASE)


def tokens(text: str) -> list[Token]:
    """Give all tokens of a Markdown text, inline ones included, in order."""
    return [
        token
        for block in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
        for token in (block, *(block.children or ()))
    ]


def visible(text: str) -> str:
    """Give the text a reader sees, without invisible joiners."""
    pieces = [token.content for token in tokens(text) if token.type in {"text", "text_special", "code_inline"}]
    return "".join(pieces).replace(JOINER, "")


def problems(text: str) -> Iterator[str]:
    """Name everything in a Markdown report that foreign text must never become."""
    parsed = tokens(text)
    for token in parsed:
        if token.type in {"link_open", "image", "em_open", "s_open", "fence", "code_block", "hr", "ordered_list_open"}:
            yield f"{token.type}: {token.content or token.attrs}"
        if token.type in {"html_inline", "html_block"}:
            yield from (f"tag {tag}" for tag in re.findall(r"<[^>]*>?", token.content) if tag not in ALLOWED_TAGS)
    prose = "".join(token.content if token.type in {"text", "text_special"} else " " for token in parsed)
    source = re.sub(r"`[^`\n]*`", "", text)
    for pattern, searched in ((_LIVE, prose), (_URL, source)):
        for found in pattern.finditer(searched):
            yield f"live {found[0]!r} in {searched[max(found.start() - 20, 0) : found.end() + 20]!r}"
    if prose.count("\u202e") or "\x1b" in text:
        yield "a control character"
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        if len({line.count("|") for line in table.splitlines()}) != 1:
            yield f"a table whose rows differ in cells: {table[:200]}"
