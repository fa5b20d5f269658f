"""A golden set's file and new cases -> the same file with lines added in its own style. What stands there is kept."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from raggate.inputs import golden
from raggate.inputs.note_words import words
from raggate.models.golden import Case
from raggate.text.jsonio import as_dict

_MARK = b"\xef\xbb\xbf"

ID_WORDS = 6
ID_CHARACTERS = 60

_NUMBERED = re.compile(r"(.*?)([0-9]+)\Z", re.DOTALL)
_ALWAYS = ("id", "question", "answerable", "gold_supports")
LOOKED_AT = 200
"""Lines at the end of a file whose style counts."""


class Style(NamedTuple):
    """How lines are written: keys in order, those that every line has, the keys of supports, and the letters."""

    keys: tuple[str, ...] = ()
    always: frozenset[str] = frozenset(_ALWAYS)
    support_keys: tuple[str, ...] = ()
    ascii_only: bool = False
    compact: bool = False
    line_end: str = "\n"


def with_cases(data: bytes, cases: Iterable[Case]) -> bytes:
    """Add cases to the content of a file, which may be empty. All that stands there stays, byte by byte.

    Raises:
        ValueError: for a file whose lines are no JSON objects, and for a case that no line can hold.
    """
    style = style_of(data)
    lines = [_line(case, style) for case in cases]
    ended = not data or data.endswith(b"\n")
    return data + (b"" if ended else style.line_end.encode()) + b"".join(lines)


def with_changed(data: bytes, changed: Mapping[str, Case]) -> bytes:
    """Write other cases in the place of those of the same ids. All other lines stay, byte by byte.

    A changed line keeps the order of its keys and what they hold where the case says the same.

    Raises:
        ValueError: for a case that no line can hold.
    """
    style = style_of(data)
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        row = json.loads(line.removeprefix(_MARK)) if line.strip() else {}
        case = changed.get(row.get("id", ""))
        if case is not None:
            text = _written(_merged(row, case, style), style).encode()
            mark = _MARK if line.startswith(_MARK) else b""
            lines[number] = mark + text + (b"\r" if line.endswith(b"\r") else b"")
    return b"\n".join(lines)


def _merged(row: dict[str, Any], case: Case, style: Style) -> dict[str, Any]:
    """Return a row that says what a case does, as it stands where it says so already."""
    before = _row(golden.read_case(json.dumps(row).encode(), 1), Style())
    after = _row(case, Style())
    merged = dict(row)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) == after.get(key):
            continue
        if key == "gold_supports":
            merged[key] = _supports(row, before, case, style)
        elif key in after:
            merged[key] = after[key]
        else:
            del merged[key]
    return _beside_gold(merged) if "not_relevant" not in row else merged


def _beside_gold(row: dict[str, Any]) -> dict[str, Any]:
    """Put what does not answer behind what does, where people look for it."""
    places = {key: row.pop(key) for key in ("not_relevant",) if key in row}
    keys = [*row]
    at = keys.index("gold_supports") + 1 if "gold_supports" in row else len(keys)
    return {**{key: row[key] for key in keys[:at]}, **places, **{key: row[key] for key in keys[at:]}}


def _supports(row: dict[str, Any], before: dict[str, Any], case: Case, style: Style) -> list[Any]:
    """Return the supports of a case, those that it had already as they stand in its row."""
    plain = [_support(as_dict(support), Style()) for support in case.gold_supports]
    # those that follow from ids alone stand in no row
    old = list(zip(before["gold_supports"], row.get("gold_supports") or [], strict=False))
    return [
        next((kept for stored, kept in old if stored == new), _support(as_dict(support), style))
        for new, support in zip(plain, case.gold_supports, strict=True)
    ]


def style_of(data: bytes) -> Style:
    """Tell the style of a golden set from its last lines."""
    lines = [line for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()][-LOOKED_AT:]
    if not lines:
        return Style()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    supports = [support for row in rows for support in row.get("gold_supports") or ()]
    text = b"".join(lines)
    return Style(
        keys=tuple(dict.fromkeys(key for row in rows for key in row)),
        always=frozenset(_ALWAYS).union(set.intersection(*map(set, rows))),
        support_keys=tuple(dict.fromkeys(key for support in supports for key in support)),
        ascii_only=text.isascii() and b"\\u" in text,
        compact=b'": ' not in text,
        line_end="\r\n" if lines[-1].endswith(b"\r") else "\n",
    )


def _line(case: Case, style: Style) -> bytes:
    return (_written(_row(case, style), style) + style.line_end).encode()


def _written(row: dict[str, Any], style: Style) -> str:
    separators = (",", ":") if style.compact else (", ", ": ")
    text = json.dumps(row, ensure_ascii=style.ascii_only, separators=separators)
    golden.read_case(text.encode(), 1)
    return text


def _row(case: Case, style: Style) -> dict[str, Any]:
    values = {key: value for key, value in as_dict(case).items() if key not in {"hash", "line"}}
    values["retriever_types"] = values.pop("modes")
    values["not_relevant"] = tuple(golden.place_row(place) for place in case.not_relevant)
    values["gold_supports"] = [_support(as_dict(support), style) for support in case.gold_supports]
    defaults = {**as_dict(Case(id="", question="", answerable=True)), "retriever_types": None}
    keys = dict.fromkeys((*style.keys, *values))
    return {key: values[key] for key in keys if key in style.always or values[key] != defaults[key]}


def _support(support: dict[str, Any], style: Style) -> dict[str, Any]:
    empty = {"rel_path": "", "heading_path": None, "vault": None, "grade": 1, "chunk_id": None, "doc_id": None}
    keys = dict.fromkeys((*style.support_keys, *support))
    # a list of snippets says that there are none, where others have some
    shown = {key for key in keys if key in support and support[key] != empty.get(key, ())}
    return {key: support[key] for key in keys if key in shown or (key == "snippets" and key in style.support_keys)}


def new_id(question: str, taken: Sequence[str], beside: Sequence[str]) -> str:
    """Make the id of a new case: the next number where ids are numbered, else the first words of the question.

    Args:
        beside: those of the cases of the same vault, whose numbers go on.
    """
    prefixes = Counter(match[1] for match in map(_NUMBERED.match, beside) if match)
    prefix, count = prefixes.most_common(1)[0] if prefixes else ("", 0)
    if count > len(beside) / 2:
        numbers = [match[2] for match in map(_NUMBERED.match, taken) if match and match[1] == prefix]
        width = max(map(len, numbers))
        # a number of thousands of digits is no number to go on from
        if width < 10:
            return f"{prefix}{max(map(int, numbers)) + 1:0{width if numbers[0].startswith('0') else 0}d}"
    return id_of_words(question, frozenset(taken))


def id_of_words(question: str, taken: Container[str]) -> str:
    """Make an id of the first words of a question, with a number behind it where it is taken."""
    name = "-".join(words(question)[:ID_WORDS])[:ID_CHARACTERS].strip("-") or "question"
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
