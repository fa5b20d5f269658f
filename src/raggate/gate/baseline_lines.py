"""A baseline file as raggate writes it, read question by question: all of them at once take ten times the file. Pure.

What stands otherwise in a file, or contradicts itself, is left to who reads files as a whole and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raggate.gate.baseline_integrity import RunningDigest, digested
from raggate.models.judging_quality import highest
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction
from raggate.scoring.slice_means import SliceMeans
from raggate.text.jsonio import dumps, key_twice, loads

MOST_LINE_BYTES = 1 << 20
"""Bytes of a line; a case with ten chunks has some 2,300."""

_MOST_REST_BYTES = 64 << 20
"""Bytes of all that stands around the cases, which is in memory as a whole."""

_BEGIN, _END, _INDENT = b'  "cases": [\n', b"  ],\n", b"    "


class Parts(NamedTuple):
    """A baseline file: all but its cases, which are an empty list there, and these."""

    content: dict[str, Any]
    cases: Sequence[CaseScore]


class _OtherwiseError(ValueError):
    """A file that must be read as a whole."""


_NOT_CHECKED = (ValueError, LookupError, TypeError, AttributeError)
"""What reading raises of a file that is otherwise: nothing of it was checked before."""


def read(lines: Iterable[bytes], case_of: Callable[[Any], CaseScore]) -> Parts | None:
    """Read a file that has a line for each case, sorted, and a digest that is that of its lines.

    Args:
        case_of: makes a case of what its line holds; raises ValueError for what is none.

    Returns:
        None for any other file, and for one whose means and counts are not those of its cases.
    """
    cases = _Cases(case_of)
    try:
        content = _content(iter(lines), cases.add)
        return Parts(content, tuple(cases.cases)) if _agrees(content, cases.slices) else None
    except _NOT_CHECKED:
        return None


def read_rest(lines: Iterable[bytes]) -> dict[str, Any] | None:
    """Read all but the cases of such a file: of these, only that the means over all of them are theirs.

    Returns:
        What stands in it, with no cases; None for any other file.
    """
    means = _OverallMeans()
    try:
        content = _content(iter(lines), means.add)
        return content if means.are_those_of(content) else None
    except _NOT_CHECKED:
        return None


class _OverallMeans:
    """The means over all cases, which pass by as lines: six times as quick as reading what else they hold."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, line: bytes) -> None:
        """Take a case by its line."""
        case = loads(line)
        mode = case["mode"]
        for metric, value in case["values"].items():
            if value is not None:
                total, number = self._sums.get((mode, metric), (0.0, 0))
                self._sums[mode, metric] = total + value, number + 1

    def are_those_of(self, content: Mapping[str, Any]) -> bool:
        """Return whether a file tells these."""
        stored = {
            (mode, metric): (mean, n)
            for mode, slices in content["aggregates"].items()
            for metric, (mean, n) in slices.get(OVERALL, {}).items()
            if n or mean is not None
        }
        own = {key: (total / n, n) for key, (total, n) in self._sums.items()}
        return own.keys() == stored.keys() and all(_alike(own[key], stored[key]) for key in own)


class _Cases:
    """The cases of a file, which pass by in their order.

    Attributes:
        cases: what they are.
        slices: their means.
    """

    def __init__(self, case_of: Callable[[Any], CaseScore]) -> None:
        self.cases = list[CaseScore]()
        self._names: dict[str, Direction] = {}
        self.slices = SliceMeans(self._names)
        self._case_of, self._before = case_of, ("", "")

    def add(self, line: bytes) -> None:
        """Take a case by its line."""
        # what is not as raggate writes it may show people another value than the one that counts
        stored = loads(line)
        if (again := dumps(stored)) != line and digested(again) != digested(line):
            raise _OtherwiseError
        case = self._case_of(stored)
        # by which none is there twice
        if (case.mode, case.case_id) <= self._before or len(set(case.slices)) < len(case.slices):
            raise _OtherwiseError
        self._before = (case.mode, case.case_id)
        _refuse_beyond_scale(case)
        self._names.update(dict.fromkeys(case.values, "higher"))
        self.slices.add(case)
        self.cases.append(case)


def _content(lines: Iterator[bytes], add: Callable[[bytes], None]) -> dict[str, Any]:
    """Return what stands in a file beside its cases, once its digest is that of its lines; each case is passed on."""
    digest = RunningDigest()
    content = _rest(_together(_until(_BEGIN, lines)) + b'  "cases": []\n}')
    for key in sorted(content.keys() - {"cases"}):
        digest.add(key, content[key])
    for line in digest.add_cases(_case_lines(_until(_END, lines))):
        add(line)
    later = _rest(b"{\n" + _together(lines))
    for key in sorted(later.keys() - {"digest"}):
        digest.add(key, later[key])
    # as raggate sorts them, so that none is there twice
    if not max(content) == "cases" < min(later) or content["cases"] != []:
        raise _OtherwiseError
    if digest.of_all() != later["digest"]:
        raise _OtherwiseError
    return content | later


def _until(end: bytes, lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines up to one that ends a part of the file, which must come."""
    for line in lines:
        if line == end:
            return
        yield line
    raise _OtherwiseError


def _together(lines: Iterator[bytes]) -> bytes:
    data = bytearray()
    for line in lines:
        data += line
        if len(data) > _MOST_REST_BYTES:
            raise _OtherwiseError
    return bytes(data)


def _rest(data: bytes) -> dict[str, Any]:
    """Read what stands before or after the cases."""
    content = loads(data)
    if not isinstance(content, dict) or key_twice(data) is not None:
        raise _OtherwiseError
    return content


def _case_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Yield each case without its indent, the comma after it, and the end of its line; the last has no comma."""
    ahead = next(lines, b"")
    while line := ahead:
        ahead = next(lines, b"")
        end = b"},\n" if ahead else b"}\n"
        if not line.startswith(_INDENT + b"{") or not line.endswith(end):
            raise _OtherwiseError
        yield line[len(_INDENT) : 1 - len(end)]


def _refuse_beyond_scale(case: CaseScore) -> None:
    known = [value for value in case.values.values() if value is not None]
    if known and not -EPSILON <= min(known) <= max(known) <= 1 + EPSILON:
        for metric, value in case.values.items():
            if value is not None and not -EPSILON <= value <= highest(metric) + EPSILON:
                raise _OtherwiseError


def _agrees(content: Mapping[str, Any], slices: SliceMeans) -> bool:
    """Return whether counts and means are those of the cases."""
    own = {
        (mode, name, metric): (mean.value, mean.n)
        for mode, its in slices.means().items()
        for name, metrics in its.items()
        for metric, mean in metrics.items()
        if mean.n
    }
    stored = {
        (mode, name, metric): (mean, n)
        for mode, its in content["aggregates"].items()
        for name, metrics in its.items()
        for metric, (mean, n) in metrics.items()
        if n or mean is not None
    }
    counts = {mode: {name: n for name, n in its.items() if n} for mode, its in content["counts"].items()}
    return (
        {mode: its for mode, its in counts.items() if its} == slices.counts()
        and own.keys() == stored.keys()
        and all(_alike(own[key], stored[key]) for key in own)
    )


def _alike(own: tuple[float | None, int], stored: tuple[float | None, int]) -> bool:
    (mean, n), (known, of) = own, stored
    return n == of and mean is not None and known is not None and abs(mean - known) <= EPSILON
