"""A baseline file as raggate writes it, read question by question: all of them at once take ten times the file. Pure.

What stands otherwise in a file, or contradicts itself, is left to who reads files as a whole and says what is wrong.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from raggate.gate.baseline_integrity import digested
from raggate.models.judging_quality import highest
from raggate.models.score_packing import SCORES
from raggate.models.scorecard import EPSILON, CaseScore, Direction
from raggate.scoring.slice_means import SliceMeans
from raggate.text.jsonio import dumps, loads
from raggate.text.long_sequence import LongSequence

_BEGIN, _END = b'\n  "cases": [\n', b"\n  ],\n"
_INDENT = 4


class Parts(NamedTuple):
    """A baseline file: all but its cases, which are an empty list there, and these."""

    content: dict[str, Any]
    cases: Sequence[CaseScore]


class _OtherwiseError(ValueError):
    """A file that must be read as a whole."""


def read(data: bytes, case_of: Callable[[bytes], CaseScore]) -> Parts | None:
    """Read a file that has a line for each case, sorted, and a digest that is that of its lines.

    Args:
        data: the content of the file.
        case_of: makes a case of its line; raises ValueError for what is none.

    Returns:
        None for any other file, and for one whose means and counts are not those of its cases.
    """
    begin, end = data.find(_BEGIN), data.rfind(_END)
    if not 0 <= begin < end:
        return None
    try:
        content = loads(data[:begin] + b'\n  "cases": []' + data[end + len(_END) - 2 :])
        if not isinstance(content, dict) or content.get("cases") != [] or "digest" not in content:
            return None
        own, cases = _read(content, _lines(data, begin + len(_BEGIN), end), case_of)
    except (ValueError, LookupError, TypeError, AttributeError):
        # nothing of it was checked before
        return None
    return Parts(content, cases) if own == content["digest"] else None


def _lines(data: bytes, begin: int, end: int) -> Iterator[bytes]:
    """Give each case without its indent, the comma after it, and the end of its line."""
    while begin < end:
        stop = data.find(b"\n", begin, end)
        last = stop < 0
        line = data[begin + _INDENT : end if last else stop - 1]
        if line[:1] != b"{" or line[-1:] != b"}" or not (last or data[stop - 1 : stop] == b","):
            raise _OtherwiseError
        yield line
        begin = end if last else stop + 1


def _read(
    content: Mapping[str, Any], lines: Iterator[bytes], case_of: Callable[[bytes], CaseScore]
) -> tuple[str, Sequence[CaseScore]]:
    """Give the digest of the file and its cases, each of which is looked at once."""
    cases, names = LongSequence(SCORES), dict[str, Direction]()
    slices = SliceMeans(names)
    digest = hashlib.sha256(b"{")

    def passing() -> Iterator[bytes]:
        before = ("", "")
        for line in lines:
            case = case_of(line)
            # by which none is there twice
            if (case.mode, case.case_id) <= before or len(set(case.slices)) < len(case.slices):
                raise _OtherwiseError
            before = (case.mode, case.case_id)
            _refuse_beyond_scale(case)
            names.update(dict.fromkeys(case.values, "higher"))
            slices.add(case)
            cases.append(case)
            yield digested(line)

    for number, key in enumerate(sorted(content.keys() - {"digest"})):
        digest.update(b"," * (number > 0) + dumps(key) + b":")
        if key != "cases":
            # what ends a value tells whether a number ends there
            digest.update(digested(dumps(content[key]) + b"}")[:-1])
            continue
        for place, line in enumerate(passing()):
            digest.update((b"," if place else b"[") + line)
        digest.update(b"]" if cases else b"[]")
    digest.update(b"}")
    if not _agrees(content, slices):
        raise _OtherwiseError
    return digest.hexdigest(), cases[:]


def _refuse_beyond_scale(case: CaseScore) -> None:
    known = [value for value in case.values.values() if value is not None]
    if known and not -EPSILON <= min(known) <= max(known) <= 1 + EPSILON:
        for metric, value in case.values.items():
            if value is not None and not -EPSILON <= value <= highest(metric) + EPSILON:
                raise _OtherwiseError


def _agrees(content: Mapping[str, Any], slices: SliceMeans) -> bool:
    """Say whether counts and means are those of the cases."""
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
