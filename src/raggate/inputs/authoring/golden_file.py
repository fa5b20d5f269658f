"""A golden set's file and new or changed cases -> the file with these lines. All other lines stay, byte by byte."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from raggate.inputs import golden
from raggate.inputs.notes import words
from raggate.models.golden import Case

ID_WORDS = 6
ID_CHARACTERS = 60

_MARK = b"\xef\xbb\xbf"
_NUMBERED = re.compile(r"(.*?)([0-9]+)\Z", re.DOTALL)


def with_cases(data: bytes, cases: Iterable[Case]) -> bytes:
    """Add cases to the content of a file, which may be empty."""
    ended = not data or data.endswith(b"\n")
    return data + (b"" if ended else b"\n") + b"".join(_line(golden.row_of(case)) + b"\n" for case in cases)


def with_changed(data: bytes, changed: Mapping[str, Case]) -> bytes:
    """Write other cases in the place of those of the same ids. Only keys whose values differ change."""
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        row = json.loads(line.removeprefix(_MARK)) if line.strip() else {}
        case = changed.get(row.get("id", ""))
        if case is not None:
            mark, end = (_MARK if line.startswith(_MARK) else b""), (b"\r" if line.endswith(b"\r") else b"")
            lines[number] = mark + _line(_merged(row, case)) + end
    return b"\n".join(lines)


def _merged(row: dict[str, Any], case: Case) -> dict[str, Any]:
    before, after = golden.row_of(golden.read_case(json.dumps(row).encode(), 1)), golden.row_of(case)
    changed = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    merged = {
        key: after[key] if key in changed else value for key, value in row.items() if key in after or key not in changed
    }
    return merged | {key: value for key, value in after.items() if key in changed}


def _line(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False).encode()
    golden.read_case(text, 1)
    return text


def new_id(question: str, taken: Sequence[str], beside: Sequence[str]) -> str:
    """Make the id of a new case: the next number if those of its vault are numbered, else words of the question."""
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
    """Make an id of the first words of a question, with a number behind it if it is taken."""
    name = "-".join(words(question)[:ID_WORDS])[:ID_CHARACTERS].strip("-") or "question"
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free
