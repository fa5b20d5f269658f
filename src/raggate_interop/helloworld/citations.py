"""Citations as helloworld's scripts read them from an answer: text in, (path, section) pairs out.

What they read wrongly is read wrongly here too: a comma ends a path, a closing bracket ends a section, and what
stands behind the first blank line of a "Citations:" section may be lost. raggate's own reading is in
`raggate.scoring.metrics.citations`.

Their patterns take quadratic time and more for answers that are made for it. The same is found here in linear time:
an opening that leads to nothing is not tried again from the next one before the same comma. The patterns themselves
stand in the tests, which hold both against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_ANSWER = 50_000
"""Characters of an answer that are read; no real answer is that long."""

_IGNORE = re.IGNORECASE
_FILE = r"\[File:"
_LISTED = re.compile(_FILE, _IGNORE)
_BARE = re.compile(rf"(?<!['\"]){_FILE}", _IGNORE)
_QUOTED = tuple((quote, re.compile(quote + _FILE, _IGNORE)) for quote in "'\"")
_WITHOUT_FILE = re.compile(r"\[")
_PARENTHESES = re.compile(r"\(File:", _IGNORE)
_RUNNING_TEXT = re.compile(r"(?<![\[(])File:", _IGNORE)
_THEN = re.compile(r",\s*+Section:", _IGNORE)
_SPACES = re.compile(r"\s*+")
_HEADER = re.compile(r"(?P<before>\s++|\A)citations?(?=(?P<first>\s*+)(?P<second>:\s*+)?)|\s++", _IGNORE)
_HEADER_END = re.compile(r"\n\n|\n[a-z]|\Z", _IGNORE)


def citations(answer: str) -> tuple[tuple[str, str], ...]:
    """Return path and section of every citation, each once, those of the "Citations:" section first."""
    text = answer[:MAX_ANSWER]
    listed = _section(text)
    body = text[listed[1] : listed[2]] if listed else ""
    places = [*_bracketed(_LISTED, body), *_bracketed(_WITHOUT_FILE, body, extension=".md")]
    # with nothing in the section, nothing is taken for listed there
    places += _elsewhere(text, listed[0] if listed and body else None)
    return tuple(dict.fromkeys(_cleaned(path, section) for path, section in places))


def _elsewhere(text: str, listed_from: int | None) -> Iterator[tuple[str, str]]:
    for path, section in _bracketed(_BARE, text, unquoted=True):
        if not _is_listed(text, f"[File: {path}, Section: {section}]", listed_from):
            yield path, section
    for quote, opening in _QUOTED:
        yield from _bracketed(opening, text, closing="]" + quote)
    yield from _bracketed(_WITHOUT_FILE, text, extension=".md")
    yield from _bracketed(_PARENTHESES, text, closing=")")
    for path, section in _running(text):
        if not _is_listed(text, f"File: {path}, Section: {section}", listed_from):
            yield path, section


def _section(text: str) -> tuple[int, int, int] | None:
    """Find the first "Citations:" section: where its heading starts, and where its body starts and ends."""
    for match in _HEADER.finditer(text):
        before = match["before"]
        if before is None or (match.start() and "\n" not in before):
            continue
        # the last line end behind the word, or else the colon, ends the heading
        line = max(text.rfind("\n", *match.span("first")), text.rfind("\n", *match.span("second")))
        if line >= 0:
            end = _HEADER_END.search(text, line + 1)
            start = match.start() + (before.index("\n") if match.start() else 0)
            return start, line + 1, end.start() if end else len(text)
    return None


def _bracketed(
    opening: re.Pattern[str], text: str, *, closing: str = "]", extension: str = "", unquoted: bool = False
) -> Iterator[tuple[str, str]]:
    """Find `<opening> path, Section: section<closing>`.

    Args:
        opening: what stands before the path; its first bracket's counterpart is the first character of `closing`.
        extension: how the path must end; spaces before it are then part of the path.
        unquoted: whether no quote may stand behind the closing bracket.
    """
    position = 0
    while start := opening.search(text, position):
        begin = start.end()
        comma = text.find(",", begin)
        if comma < 0:
            return
        closed = text.find(closing[0], begin, comma)
        # whatever fails from here on fails for every opening before the same comma
        position = max(comma if closed < 0 else closed, begin)
        then = _THEN.match(text, comma) if closed < 0 and comma > begin else None
        path = (text[begin:comma] if extension else _trimmed(text, begin, comma)) if then else ""
        if then is None or (extension and not _ends(path, extension)):
            continue
        end = text.find(closing[0], then.end())
        if end < 0:
            return
        quoted = unquoted and text[end + 1 : end + 2] in ("'", '"')
        if end > then.end() and text.startswith(closing, end) and not quoted:
            yield path, _trimmed(text, then.end(), end)
            position = end + len(closing)


def _running(text: str) -> Iterator[tuple[str, str]]:
    """Find `File: path.md, Section: section` outside brackets; the section ends at a full stop or with its line."""
    position = 0
    while start := _RUNNING_TEXT.search(text, position):
        position = start.end()
        begin = _past_spaces(text, position)
        comma = text.find(",", begin)
        if comma < 0:
            return
        if text.find("\n", begin, comma) >= 0:
            continue
        # a path is more than its extension: then the space before it is its first character
        path = text[begin - 1 if comma - begin == len(".md") and begin > start.end() else begin : comma]
        then = _THEN.match(text, comma)
        position = comma
        if then is None or "\n" in path or not _ends(path, ".md"):
            continue
        first = _past_spaces(text, then.end())
        ends = [end for end in (text.find(".", first), text.find("\n", first)) if end >= 0]
        end = min(ends, default=len(text))
        # nothing but spaces: the last of them that is no line end
        section = text[first:end] or text[then.end() : first].rstrip("\n")[-1:]
        if section:
            yield path, section
            position = end


def _trimmed(text: str, begin: int, end: int) -> str:
    """Return a piece of the text without the spaces before it, of nothing but spaces the last one."""
    return text[begin:end].lstrip() or text[end - 1 : end]


def _ends(path: str, extension: str) -> bool:
    return len(path) > len(extension) and path[-len(extension) :].lower() == extension


def _past_spaces(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position


def _is_listed(text: str, written: str, listed_from: int | None) -> bool:
    # a citation that is written with other spaces is not found, and so never taken for listed
    return listed_from is not None and text.find(written) >= listed_from


def _cleaned(path: str, section: str) -> tuple[str, str]:
    name = path.strip().strip("'\" ")
    if name.lower().startswith("file:"):
        name = name[len("file:") :].strip()
    return name, section.strip().strip("'\" ])")
