"""Citations as the note system's scripts read them from an answer: text in, (path, section) pairs out.

What they read wrongly is read wrongly here too: a comma ends a path, a closing bracket ends a section, and what
stands behind the first blank line of a "Citations:" section may be lost. raggate's own reading is in
`raggate.metrics.answers`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_ANSWER = 50_000
"""Characters of an answer that are read. The patterns are quadratic in the worst case; no real answer is that long."""

_IGNORE = re.IGNORECASE
_BRACKET_PATH, _BRACKET_SECTION = r"([^,\]]+?)", r"([^\]]+?)"
_MARKDOWN_PATH = r"([^,\]]+?\.md)"
_THEN = r",\s*Section:\s*"

_SECTION = re.compile(r"(?:\A|\n)\s*citations?\s*:?\s*\n(?P<body>.*?)(?=\n\n|\n[a-z]|\Z)", _IGNORE | re.DOTALL)
_BRACKETS = rf"\[File:\s*{_BRACKET_PATH}{_THEN}{_BRACKET_SECTION}\]"
_LISTED = re.compile(_BRACKETS, _IGNORE)
_BARE_BRACKETS = re.compile(rf"(?<!['\"]){_BRACKETS}(?!['\"])", _IGNORE)
_QUOTED = tuple(re.compile(quote + _BRACKETS + quote, _IGNORE) for quote in "'\"")
_WITHOUT_FILE = re.compile(rf"\[{_MARKDOWN_PATH}{_THEN}{_BRACKET_SECTION}\]", _IGNORE)
_PARENTHESES = re.compile(rf"\(File:\s*([^,)]+?){_THEN}([^)]+?)\)", _IGNORE)
_RUNNING_TEXT = re.compile(rf"(?<![\[(])File:\s*([^,\n]+?\.md){_THEN}([^\n.]+?)(?:\.|$|\n)", _IGNORE)


def citations(answer: str) -> tuple[tuple[str, str], ...]:
    """Give path and section of every citation, each once, those of the "Citations:" section first."""
    text = answer[:MAX_ANSWER]
    listed = _SECTION.search(text)
    body = listed["body"] if listed else ""
    found = [*_LISTED.findall(body), *_WITHOUT_FILE.findall(body)]
    # with nothing in the section, nothing is taken for listed there
    found += _elsewhere(text, listed.start() if listed and body else None)
    return tuple(dict.fromkeys(_cleaned(path, section) for path, section in found))


def _elsewhere(text: str, listed_from: int | None) -> Iterator[tuple[str, str]]:
    for path, section in _BARE_BRACKETS.findall(text):
        if not _is_listed(text, f"[File: {path}, Section: {section}]", listed_from):
            yield path, section
    for pattern in (*_QUOTED, _WITHOUT_FILE, _PARENTHESES):
        yield from pattern.findall(text)
    for path, section in _RUNNING_TEXT.findall(text):
        if not _is_listed(text, f"File: {path}, Section: {section}", listed_from):
            yield path, section


def _is_listed(text: str, written: str, listed_from: int | None) -> bool:
    # a citation that is written with other spaces is not found, and so never taken for listed
    return listed_from is not None and text.find(written) >= listed_from


def _cleaned(path: str, section: str) -> tuple[str, str]:
    name = path.strip().strip("'\" ")
    if name.lower().startswith("file:"):
        name = name[len("file:") :].strip()
    return name, section.strip().strip("'\" ])")
