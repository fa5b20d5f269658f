"""What a baseline file says twice: its means and the values they are of, its content and its digest. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from raggate.models.judging import highest
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Values
from raggate.text.jsonio import dumps, key_twice
from raggate.text.numbers import setting, written
from raggate.text.quote import cut, quoted

_WHOLE = re.compile(rb"\.0(?=[,\]}])")

Means = dict[tuple[str, str, str], tuple[float | None, int]]
"""By mode, slice and metric: the mean, and how many cases it is of."""


def digest(content: Mapping[str, Any], cases: Iterable[bytes]) -> str:
    """Return the digest of everything a baseline file holds but for the digest itself, whatever its layout.

    Args:
        content: what stands in the file, beside its cases.
        cases: the JSON of each case, as `dumps` writes it.
    """
    own, begin = hashlib.sha256(), b"{"
    for key in sorted({*content, "cases"} - {"digest"}):
        own.update(begin + dumps(key) + b":")
        if key == "cases":
            _add_cases(own, cases)
        else:
            # what ends a value tells whether a number ends there
            own.update(digested(dumps(content[key]) + b"}")[:-1])
        begin = b","
    own.update(b"}")
    return own.hexdigest()


def _add_cases(own: hashlib._Hash, cases: Iterable[bytes]) -> None:
    begin = b"["
    for line in cases:
        own.update(begin + digested(line))
        begin = b","
    own.update(b"]" if begin == b"," else b"[]")


def digested(document: bytes) -> bytes:
    """Return what the digest is of: other JSON tools write 1.0 as 1, which changes nothing."""
    return _WHOLE.sub(b"", document)


def doubled(document: bytes) -> str | None:
    """Say that a key stands twice in one object of JSON, None where none does."""
    try:
        twice = key_twice(document)
    except ValueError:
        return "damaged: it is nested too deeply"
    return None if twice is None else f"changed by hand: the key {quoted(twice)} stands twice in one place"


def problem(content: Mapping[str, Any], cases: Sequence[CaseScore], own: str, rest: bytes) -> str | None:
    """Say what is wrong with a baseline whose layout is right, None when nothing is.

    A file that somebody edited does not have the digest of its content. Means and counts must be those of the cases.

    Args:
        content: what stands in the file, beside its cases.
        cases: its cases.
        own: the digest of all that stands in it.
        rest: the file without its cases.
    """
    if (twice := doubled(rest)) is not None:
        return twice
    if content["digest"] != own:
        return "changed by hand: its digest is not that of its content"
    contradiction = next(_contradictions(content, cases), None)
    return None if contradiction is None else f"damaged at {contradiction}"


def _contradictions(content: Mapping[str, Any], cases: Sequence[CaseScore]) -> Iterator[str]:
    counts = {(mode, name): n for mode, numbers in content["counts"].items() for name, n in numbers.items()}
    means: Means = {
        (mode, name, metric): (mean, n)
        for mode, slices in content["aggregates"].items()
        for name, metrics in slices.items()
        for metric, (mean, n) in metrics.items()
    }
    members: dict[tuple[str, str], list[Values]] = {}
    seen: set[tuple[str, str]] = set()
    for case in cases:
        # a merge of two baselines can leave both lines
        if (case.mode, case.case_id) in seen:
            yield f"cases: {quoted(case.case_id)} ({cut(case.mode)}) occurs twice"
        seen.add((case.mode, case.case_id))
        for name in dict.fromkeys(case.slices):
            members.setdefault((case.mode, name), []).append(case.values)
    sizes = {place: len(rows) for place, rows in members.items()}
    values = {(*place, metric): numbers for place, rows in members.items() for metric, numbers in _by_metric(rows)}
    for (mode, name, metric), numbers in values.items():
        most = highest(metric)
        if name == OVERALL and not -EPSILON <= min(numbers) <= max(numbers) <= most + EPSILON:
            worst = min(numbers) if min(numbers) < 0 else max(numbers)
            scale = f"expected values from 0 to {setting(most)}, found {written(worst)}"
            yield f"cases: {cut(metric)} ({cut(mode)}): {scale}"
    for place in sorted({*counts, *sizes}):
        if counts.get(place, 0) != sizes.get(place, 0):
            yield _contradiction(
                ("counts", *place), str(counts.get(place, 0)), f"there are {sizes.get(place, 0)} such cases"
            )
    for key in sorted({*means, *values}):
        numbers = values.get(key, [])
        mean, n = means.get(key, (None, 0))
        own = sum(numbers) / len(numbers) if numbers else None
        if n != len(numbers) or (mean is None) != (own is None) or abs((mean or 0.0) - (own or 0.0)) > EPSILON:
            yield _contradiction(
                ("aggregates", *key), f"{written(mean)} of {n}", f"the cases make {written(own)} of {len(numbers)}"
            )


def _by_metric(rows: Sequence[Values]) -> Iterator[tuple[str, list[float]]]:
    for metric in dict.fromkeys(name for row in rows for name in row):
        numbers = [value for row in rows if (value := row.get(metric)) is not None]
        if numbers:
            yield metric, numbers


def _contradiction(place: tuple[str, ...], stored: str, own: str) -> str:
    return f"{cut('.'.join(place))}: says {stored}, but {own}"
