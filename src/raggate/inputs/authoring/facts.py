"""A passage -> facts that a question can be made of: cells of tables, items with a key, definitions, commands. Pure.

Definitions in running text and the purposes of commands are found in English alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from raggate.inputs.note_words import bare, words

MOST_KEY_WORDS = 5
MOST_ANSWER = 300
"""Characters of an answer; what is longer is no fact."""

MAX_LINE = 2_000
"""Characters of a line that is looked at: blanks without end would take the patterns below long."""

FEWEST_DEFINING = 4
"""Words from which on the text behind a name in bold or code defines it."""

MOST_PURPOSE = 200
"""Characters before a command that are looked at."""

MOST_PURPOSE_WORDS = 12

Form = Literal["table", "list", "definition", "command"]

_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_BULLET = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?=\S)")
_PLAIN_KEY = re.compile(r"(?P<key>[^:|*_`]{2,80}?)\s*:\s+(?P<value>\S.*)")
_MARKED_KEY = re.compile(
    r"(?:\*\*`?|__`?|`)(?P<key>[^|*`]{2,80}?)(?:`?\*\*|`?__|`)\s*(?::|\s[-–—]\s)\s*(?P<value>\S.*)"
    r"|(?:\*\*`?|__`?)(?P<own>[^:|*`]{2,80}?)`?:(?:\*\*|__)\s+(?P<rest>\S.*)"
)
_DEFINITION = re.compile(
    r"(?:(?:An?|The)\s+)?(?P<mark>\*\*`?|__`?|`)?(?P<key>[^:|*`.,;()]{2,60}?)(?:`?\*\*|`?__|`)?\s+"
    r"(?P<verb>is|are|means)\s+(?P<value>(?:an?|the)\s.*)"
)
_FENCE = re.compile(r"\s{0,3}(?P<fence>`{3,}|~{3,})\s*(?P<language>[\w-]*)")
_SHELLS = frozenset(("bash", "sh", "shell", "console", "zsh", "shell-session", "powershell"))
_PURPOSE = re.compile(
    r"(?:.*\b(?:run|use|type|execute|command)\b.*?\s)?to (?P<to>[a-z][^:,]*?)(?:,.*| (?:run|use|type|execute)\b.*)?:"
    r"|You can (?P<can>[a-z][^:,]*?) (?:with|by|using)\b.*:",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*])")
_VAGUE = frozenset("it its this that these those there they them here he she we also".split())
_SAYING_NOTHING = (["yes"], ["no"], ["none"], ["null"], ["n", "a"], ["true"], ["false"])
_MARKUP = re.compile(r"[*_`\[\]]")
# an address alone says nothing that somebody would ask for
_ADDRESS = re.compile(r"<?https?://\S+")


class Fact(NamedTuple):
    """Something a passage says, and the answer as it is written.

    `property` is that of a cell's column, or the verb of a definition, where the form names one. The subject of a
    command is its purpose.
    """

    form: Form
    subject: str
    property: str
    answer: str


def facts(text: str) -> Iterator[Fact]:
    """Return the facts of a text, in its order."""
    header: list[str] | None = None
    before = ""
    for block in _blocks([line if len(line) <= MAX_LINE else "" for line in text.split("\n")]):
        first = block[0]
        if _FENCE.match(first):
            yield from _of_code(block, before)
        elif header is not None and "|" in first:
            yield from _of_row(header, _cells(first))
        elif _is_rule(first) and "|" in before:
            header = _cells(before)
            continue
        else:
            yield from _of_item(block) if _BULLET.match(first) else _of_paragraph(block)
        header = header if header is not None and "|" in first else None
        before = " ".join(block) if first.strip() else before


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Put the lines of fenced code, an item or a paragraph together; rows of tables stay alone."""
    block: list[str] = []
    fence = ""
    for line in lines:
        opening = _FENCE.match(line)
        if fence:
            block.append(line)
            fence = "" if line.strip().startswith(fence) else fence
            continue
        goes_on = block and block[0].strip() and line.strip() and "|" not in line + block[-1]
        if block and (opening or not goes_on or _BULLET.match(line) or _closed(block)):
            yield block
            block = []
        block.append(line)
        fence = opening["fence"] if opening else ""
    if block:
        yield block


def _closed(block: Sequence[str]) -> bool:
    return len(block) > 1 and _FENCE.match(block[0]) is not None


def _is_rule(line: str) -> bool:
    return "|" in line and "-" in line and _RULE.fullmatch(line) is not None


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _of_row(header: list[str], cells: list[str]) -> Iterator[Fact]:
    subject = _plain(cells[0]) if cells else ""
    for name, cell in zip(header[1:], cells[1:], strict=False):
        if _names(subject) and _names(_plain(name)) and _says(cell):
            yield Fact("table", subject, _plain(name), cell)


def _of_item(block: Sequence[str]) -> Iterator[Fact]:
    text = _BULLET.sub("", _joined(block), count=1)
    marked = _MARKED_KEY.fullmatch(text)
    item = marked or _PLAIN_KEY.fullmatch(text)
    if item is None:
        return
    found = item.groupdict()
    key, value = bare(found.get("own") or found["key"]), found.get("rest") or found["value"]
    # a colon within brackets ends no key
    if key.count("(") == key.count(")") and _names(_plain(key)) and _says(answer := _first_sentence(value)):
        form: Form = "definition" if marked and len(words(answer)) >= FEWEST_DEFINING else "list"
        yield Fact(form, _plain(key), "", answer)


def _of_paragraph(block: Sequence[str]) -> Iterator[Fact]:
    """Return what the first sentence of a paragraph defines, if a mark or an article shows that it does."""
    first = _first_sentence(_joined(block))
    found = _DEFINITION.fullmatch(first) if len(first) <= MOST_ANSWER else None
    if found is None or not (found["mark"] or first.startswith(("A ", "An "))):
        return
    key = _plain(found["key"])
    if _names(key) and not _VAGUE & set(words(key)) and len(words(found["value"])) >= FEWEST_DEFINING:
        yield Fact("definition", key, found["verb"], first)


def _of_code(block: Sequence[str], before: str) -> Iterator[Fact]:
    """Return the only command of a fence in a shell's language, if the text before it says what it is for."""
    fence = _FENCE.match(block[0])
    if fence is None or fence["language"].lower() not in _SHELLS:
        return
    inside = [line.strip().removeprefix("$ ") for line in block[1:] if not line.strip().startswith(fence["fence"])]
    commands = [line for line in inside if line and not line.startswith("#")]
    purpose = _PURPOSE.fullmatch(bare(_SENTENCE_END.split(before[-MOST_PURPOSE:].strip())[-1]))
    if purpose is None or len(commands) != 1 or not _says(commands[0]) or " # " in commands[0]:
        return
    goal = _plain(purpose["to"] or purpose["can"])
    if 1 < len(words(goal)) <= MOST_PURPOSE_WORDS and not _VAGUE & set(words(goal)):
        yield Fact("command", goal, "", commands[0])


def _joined(block: Sequence[str]) -> str:
    return " ".join(line.strip() for line in block)[:MAX_LINE]


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(text, maxsplit=1)[0].strip()


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split())


def _names(text: str) -> bool:
    """Say whether a text can be the name of something: a few words, with a letter."""
    return 0 < len(words(text)) <= MOST_KEY_WORDS and any(letter.isalpha() for letter in text)


def _says(text: str) -> bool:
    given = words(text)
    return bool(given) and given not in _SAYING_NOTHING and len(text) <= MOST_ANSWER and not _ADDRESS.fullmatch(text)
