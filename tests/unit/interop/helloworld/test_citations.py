"""The linear reading of citations held against helloworld's own patterns, and against answers made to be slow."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, strategies as st

from raggate_interop.helloworld.metrics import MAX_ANSWER, citations
from tables import each_row

# as in their score_retrieval.py
_IGNORE = re.IGNORECASE
_THEN = r",\s*Section:\s*"
_SECTION = re.compile(r"(?:\A|\n)\s*citations?\s*:?\s*\n(?P<body>.*?)(?=\n\n|\n[a-z]|\Z)", _IGNORE | re.DOTALL)
_BRACKETS = rf"\[File:\s*([^,\]]+?){_THEN}([^\]]+?)\]"
_LISTED = re.compile(_BRACKETS, _IGNORE)
_BARE_BRACKETS = re.compile(rf"(?<!['\"]){_BRACKETS}(?!['\"])", _IGNORE)
_WITHOUT_FILE = re.compile(rf"\[([^,\]]+?\.md){_THEN}([^\]]+?)\]", _IGNORE)
_OTHERS = (
    *(re.compile(quote + _BRACKETS + quote, _IGNORE) for quote in "'\""),
    _WITHOUT_FILE,
    re.compile(rf"\(File:\s*([^,)]+?){_THEN}([^)]+?)\)", _IGNORE),
)
_RUNNING_TEXT = re.compile(rf"(?<![\[(])File:\s*([^,\n]+?\.md){_THEN}([^\n.]+?)(?:\.|$|\n)", _IGNORE)

PIECES = (
    "[File: ",
    "File: ",
    "(File: ",
    "[",
    "]",
    ")",
    "(",
    ",",
    ".",
    ":",
    ", Section: ",
    "x.md",
    ".md",
    "a b",
    "S T",
    "]'",
    '"',
    "'",
    "\n",
    "\n\n",
    " ",
    "Citations:",
    "Citations:\n",
    "\n[File: b.md, Section: B]",
    "\x1c",
    "\x85",
    # letters that are i, s and k to a pattern that ignores case
    "\u0130",
    "\u0131",
    "\u017f",
    "\u212a",
    "F\u0131le: x.md, \u017fection: y.",
)


def by_patterns(text: str) -> tuple[tuple[str, str], ...]:
    """Read citations as their script does."""
    listed = _SECTION.search(text)
    body = listed["body"] if listed else ""
    places = [*_LISTED.findall(body), *_WITHOUT_FILE.findall(body)]
    places += _elsewhere(text, listed.start() if listed and body else len(text) + 1)
    return tuple(dict.fromkeys(_cleaned(path, section) for path, section in places))


def _elsewhere(text: str, listed_from: int) -> Iterator[tuple[str, str]]:
    for path, section in _BARE_BRACKETS.findall(text):
        if text.find(f"[File: {path}, Section: {section}]") < listed_from:
            yield path, section
    for pattern in _OTHERS:
        yield from pattern.findall(text)
    for path, section in _RUNNING_TEXT.findall(text):
        if text.find(f"File: {path}, Section: {section}") < listed_from:
            yield path, section


def _cleaned(path: str, section: str) -> tuple[str, str]:
    name = path.strip().strip("'\" ")
    name = name[len("file:") :].strip() if name.lower().startswith("file:") else name
    return name, section.strip().strip("'\" ])")


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
@example("x Citation(\nCitations:\n, Section:\n[File: b.md, Section: B]")
@example("File:  .md, Section: ")
@example("[File:  , Section:  ]")
def test_reads_what_their_patterns_read(answer: str) -> None:
    """Any answer gives what their six patterns give, in the same order."""
    assert citations(answer) == by_patterns(answer)


@each_row(
    "answer",
    [
        pytest.param("\n" * MAX_ANSWER, id="line ends"),
        pytest.param("citation" + " " * MAX_ANSWER, id="a heading that does not end"),
        pytest.param("[File: " * 3000 + "," + " " * 25000, id="openings of one comma"),
        pytest.param("[File:" + " " * MAX_ANSWER, id="a path of spaces"),
        pytest.param("[File: a, Section: x " * 2300 + "]'", id="sections that end in a quote"),
        pytest.param("File: \n" * 7000 + ",", id="running text"),
        pytest.param("Citations:\n" + "[File: a.md,  Section: b] " * 1900, id="listed with other spaces"),
    ],
)
def test_no_answer_is_slow(answer: str) -> None:
    """An answer that takes their patterns many seconds is read at once."""
    begin = time.perf_counter()
    citations(answer)
    assert time.perf_counter() - begin < 2
