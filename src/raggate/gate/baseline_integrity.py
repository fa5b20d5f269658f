"""What a baseline file says twice: its means and the values they are of, its content and its digest. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from raggate.models.judging_quality import highest
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.text.jsonio import dumps, key_twice
from raggate.text.numbers import setting, written
from raggate.text.quote import cut, quoted

_WHOLE = re.compile(rb"\.0(?=[,\]}])")

Means = dict[tuple[str, str, str], tuple[float | None, int]]
"""By mode, slice and metric: the mean, and how many cases it is of."""


def digest(content: Mapping[str, Any]) -> str:
    """Return the digest of everything a baseline file holds but for the digest itself, whatever its layout."""
    kept = {key: value for key, value in content.items() if key != "digest"}
    return hashlib.sha256(digested(dumps(kept))).hexdigest()


class RunningDigest:
    """The digest of a baseline whose keys pass by, in their order, and under `cases` one case after the other."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._begin = b"{"

    def add(self, key: str, value: object) -> None:
        """Take a key and what stands under it."""
        # what ends a value tells whether a number ends there
        self._hash.update(self._begin + dumps(key) + b":" + digested(dumps(value) + b"}")[:-1])
        self._begin = b","

    def add_cases(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Take the cases, each as JSON on a line, and give them on."""
        self._hash.update(self._begin + b'"cases":')
        begin = b"["
        for line in lines:
            self._hash.update(begin + digested(line))
            begin = b","
            yield line
        self._hash.update(b"]" if begin == b"," else b"[]")
        self._begin = b","

    def of_all(self) -> str:
        """Return the digest once all have passed by."""
        ended = self._hash.copy()
        ended.update(b"}" if self._begin == b"," else b"{}")
        return ended.hexdigest()


def digested(document: bytes) -> bytes:
    """Return what the digest is of: other JSON tools write 1.0 as 1, which changes nothing."""
    return _WHOLE.sub(b"", document)


def problem(content: Mapping[str, Any], document: bytes) -> str | None:
    """Say what is wrong with a baseline whose layout is right, None when nothing is.

    A file that somebody edited does not have the digest of its content. Means and counts must be those of the cases.
    """
    try:
        if (twice := key_twice(document)) is not None:
            return f"changed by hand: the key {quoted(twice)} stands twice in one place"
        own = digest(content)
    except (ValueError, TypeError):
        return "damaged: it is nested too deeply"
    if content["digest"] != own:
        return "changed by hand: its digest is not that of its content"
    contradiction = next(_contradictions(content), None)
    return None if contradiction is None else f"damaged at {contradiction}"


def _contradictions(content: Mapping[str, Any]) -> Iterator[str]:
    counts = {(mode, name): n for mode, numbers in content["counts"].items() for name, n in numbers.items()}
    means: Means = {
        (mode, name, metric): (mean, n)
        for mode, slices in content["aggregates"].items()
        for name, metrics in slices.items()
        for metric, (mean, n) in metrics.items()
    }
    members: dict[tuple[str, str], list[Mapping[str, float | None]]] = {}
    seen: set[tuple[str, str]] = set()
    for case in content["cases"]:
        # a merge of two baselines can leave both lines
        if (case["mode"], case["id"]) in seen:
            yield f"cases: {quoted(case['id'])} ({cut(case['mode'])}) occurs twice"
        seen.add((case["mode"], case["id"]))
        for name in dict.fromkeys((OVERALL, *case["slices"])):
            members.setdefault((case["mode"], name), []).append(case["values"])
    sizes = {place: len(cases) for place, cases in members.items()}
    values = {(*place, metric): numbers for place, cases in members.items() for metric, numbers in _by_metric(cases)}
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


def _by_metric(cases: Sequence[Mapping[str, float | None]]) -> Iterator[tuple[str, list[float]]]:
    for metric in dict.fromkeys(name for case in cases for name in case):
        numbers = [value for case in cases if (value := case.get(metric)) is not None]
        if numbers:
            yield metric, numbers


def _contradiction(place: tuple[str, ...], stored: str, own: str) -> str:
    return f"{cut('.'.join(place))}: says {stored}, but {own}"
