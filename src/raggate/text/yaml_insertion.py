"""A YAML file -> the same file with items added to a list at its top. Nothing of what stands there is taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml
from msgspec import Struct

from raggate.errors import UsageError

_FOREIGN_BREAK = re.compile("[\x85\u2028\u2029]|\r(?!\n)")
_COMMENT = re.compile(r"#[^\n]*")
_STEP = "  "

_Event = Any
"""One of PyYAML's events, whose types do not know that an event of a text has its marks."""

Insertion = tuple[int, str]
"""A place in the text, in characters from its beginning, and what is put there."""


class _Text(Struct, frozen=True, kw_only=True):
    """A text that YAML was read from, and how its lines end."""

    text: str
    newline: str

    def line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def next_line(self, index: int) -> int:
        """Give where the line after a place begins, or the end."""
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end + 1

    def lines_at(self, index: int, lines: Sequence[str]) -> Insertion:
        """Put whole lines where a line begins, or behind a last one that does not end."""
        open_end = index > 0 and self.text[index - 1] != "\n"
        return index, (self.newline if open_end else "") + "".join(f"{line}{self.newline}" for line in lines)


def with_items(data: bytes, key: str, items: Sequence[str], name: str) -> bytes:
    """Add items to the end of the list that a key of the top mapping has, or add the key with them.

    The text is only added to. Whether it then means what it should is for the caller to see, by reading it: rare
    spellings, such as a list that is an alias, end in something else or in no YAML.

    Args:
        data: the file, which is a valid YAML mapping.
        key: of the list, a word that needs no quotes.
        items: each as YAML of the flow style on one line, at least one.
        name: of the file for messages.

    Raises:
        UsageError: for line breaks that not all readers of YAML take for one.
    """
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    text = data.removeprefix(mark).decode()
    if _FOREIGN_BREAK.search(text):
        raise UsageError(
            f"{name}: a line ends with something else than a line feed, and readers of YAML differ on that",
            hint="Save the file with line feeds.",
        )
    page = _Text(text=text, newline="\r\n" if "\r\n" in text else "\n")
    for index, added in reversed(_insertions(page, key, items)):
        text = text[:index] + added + text[index:]
    return mark + text.encode()


def _insertions(page: _Text, key: str, items: Sequence[str]) -> list[Insertion]:
    """Say what is put where, in the order of the text."""
    read = yaml.parse(page.text, Loader=yaml.SafeLoader)
    events: list[_Event] = [event for event in read if isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent)]
    root, last = events[0], events[-1]
    for name, value in _pairs(events):
        if name == key:
            return _into_list(page, value, items)
    if root.flow_style:
        return _into_flow(page, events, [f"{key}: [{', '.join(items)}]"])
    indent = " " * events[1].start_mark.column
    lines = [f"{indent}{key}:", *(f"{indent}{_STEP}- {item}" for item in items)]
    return [page.lines_at(last.start_mark.index, lines)]


def _pairs(events: Sequence[_Event]) -> Iterator[tuple[str, list[_Event]]]:
    """Give the keys of the top mapping, each with the events of its value."""
    rest = iter(events[1:-1])
    for first in rest:
        key, value = _node(first, rest), _node(next(rest), rest)
        yield str(getattr(key[0], "value", "")), value


def _node(first: _Event, rest: Iterator[_Event]) -> list[_Event]:
    events, depth = [first], int(isinstance(first, yaml.CollectionStartEvent))
    while depth:
        events.append(next(rest))
        depth += isinstance(events[-1], yaml.CollectionStartEvent) - isinstance(events[-1], yaml.CollectionEndEvent)
    return events


def _into_list(page: _Text, value: Sequence[_Event], items: Sequence[str]) -> list[Insertion]:
    first, begin = value[0], value[0].start_mark.index
    if not isinstance(first, yaml.SequenceStartEvent) or first.flow_style:
        return _into_flow(page, value, items)
    tokens = yaml.scan(page.text, Loader=yaml.SafeLoader)
    marks: Iterator[Any] = (token.start_mark for token in tokens if isinstance(token, yaml.BlockEntryToken))
    dash = next(mark.column for mark in marks if mark.index >= begin)
    content = _last_content(value)
    index = content.end_mark.index
    # a block scalar ends where the next line begins
    if getattr(content, "style", None) not in {"|", ">"}:
        index = page.next_line(index)
    while _is_comment(page, index, deeper=dash):
        index = page.next_line(index)
    return [page.lines_at(index, [f"{' ' * dash}- {item}" for item in items])]


def _last_content(events: Sequence[_Event]) -> _Event:
    """Give what stands last: the end of a block is told only where the next thing begins."""
    begun: list[bool] = []
    content = events[0]
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            begun.append(bool(event.flow_style))
        elif not isinstance(event, yaml.CollectionEndEvent) or begun.pop():
            content = event
    return content


def _is_comment(page: _Text, index: int, *, deeper: int) -> bool:
    """Say whether the line that begins here is a comment about the item above it."""
    line = page.text[index : page.next_line(index)]
    bare = line.lstrip(" ")
    return bare.startswith("#") and len(line) - len(bare) > deeper


def _into_flow(page: _Text, value: Sequence[_Event], items: Sequence[str]) -> list[Insertion]:
    """Add to what stands between brackets."""
    close = value[-1].start_mark.index
    insertions: list[Insertion] = []
    comma = ""
    if len(value) > 2:
        end = _last_content(value[1:-1]).end_mark.index
        if "," in _COMMENT.sub("", page.text[end:close]):
            comma = ","
        else:
            insertions.append((end, ","))
    start = page.line_start(close)
    if page.text[start:close].strip(" \t"):
        gap = "" if len(value) == 2 or page.text[close - 1] in " \t" else " "
        return [*insertions, (close, gap + ", ".join(items))]
    indent = page.text[start:close] + _STEP
    body = f",{page.newline}{indent}".join(items)
    return [*insertions, (start, f"{indent}{body}{comma}{page.newline}")]
