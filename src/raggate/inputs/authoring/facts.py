"""A passage -> what it says in a form that a question can be made of: cells of tables, and items with a key. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from raggate.inputs.note_words import words

MOST_KEY_WORDS = 5
MOST_ANSWER = 300
"""Characters of an answer; what is longer is no fact."""

MAX_LINE = 2_000
"""Characters of a line that is looked at: blanks without end would take the patterns below long."""

Form = Literal["table", "list"]

_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_ITEM = re.compile(
    r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\*\*|__)?(?P<key>[^:|*_`]{2,80}?)(?:\*\*|__)?\s*:(?:\*\*|__)?\s+(?P<value>\S.*)"
)
_MARKUP = re.compile(r"[*_`\[\]]")
# an address alone says nothing that somebody would ask for
_ADDRESS = re.compile(r"<?https?://\S+")


class Fact(NamedTuple):
    """Something a passage says: of what, which property where the form names one, and the answer as it is written."""

    form: Form
    subject: str
    property: str
    answer: str


def facts(text: str) -> Iterator[Fact]:
    """Give the facts of a text, in its order."""
    lines = [line if len(line) <= MAX_LINE else "" for line in text.split("\n")]
    header: list[str] | None = None
    for number, line in enumerate(lines):
        if number and _is_rule(line) and "|" in lines[number - 1]:
            header = _cells(lines[number - 1])
        elif header is not None and "|" in line:
            yield from _of_row(header, _cells(line))
        else:
            header = None
            yield from _of_item(line)


def _is_rule(line: str) -> bool:
    return "|" in line and "-" in line and _RULE.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _of_row(header: list[str], cells: list[str]) -> Iterator[Fact]:
    subject = _plain(cells[0]) if cells else ""
    for name, cell in zip(header[1:], cells[1:], strict=False):
        if _names(subject) and _names(_plain(name)) and _says(cell):
            yield Fact("table", subject, _plain(name), cell)


def _of_item(line: str) -> Iterator[Fact]:
    item = _ITEM.fullmatch(line.rstrip())
    # a colon within brackets ends no key
    if item is None or item["key"].count("(") != item["key"].count(")"):
        return
    if _names(key := _plain(item["key"])) and _says(item["value"]):
        yield Fact("list", key, "", item["value"])


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split())


def _names(text: str) -> bool:
    """Say whether a text can be the name of something: a few words, with a letter."""
    return 0 < len(words(text)) <= MOST_KEY_WORDS and any(letter.isalpha() for letter in text)


def _says(text: str) -> bool:
    return bool(words(text)) and len(text) <= MOST_ANSWER and not _ADDRESS.fullmatch(text)
