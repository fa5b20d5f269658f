"""The values of one question: a mapping of metric to number, a fifth as large as a dict, as there may be very many."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Self

Values = Mapping[str, float | None]

_NOTHING = float("nan")  # no metric has this value


class CompactValues(Mapping[str, float | None]):
    """Values by metric, in their order. Equal to a dict of the same.

    Attributes:
        places: metric -> its place in `numbers`; one mapping for all questions with the same metrics.
        numbers: the values; not a number where there is none.
    """

    __slots__ = ("numbers", "places")

    def __init__(self, places: Mapping[str, int], values: Iterable[float | None]) -> None:
        self.places = places
        self.numbers = array("d", (_NOTHING if value is None else value for value in values))

    @classmethod
    def of_bytes(cls, metrics: tuple[str, ...], data: bytes) -> Self:
        """Give the values whose `numbers` have these bytes, for these metrics in their order."""
        values = cls(_places(metrics), ())
        values.numbers.frombytes(data)
        return values

    def __getitem__(self, metric: str) -> float | None:
        value = self.numbers[self.places[metric]]
        return value if value == value else None

    def get(self, metric: str, default: float | None = None) -> float | None:  # type: ignore[override]
        """Give a value, or `default` where the question has no such metric."""
        place = self.places.get(metric)
        if place is None:
            return default
        value = self.numbers[place]
        return value if value == value else None

    def values(self) -> list[float | None]:  # type: ignore[override]
        """Give the values alone."""
        return [value if value == value else None for value in self.numbers]

    def items(self) -> list[tuple[str, float | None]]:  # type: ignore[override]
        """Give the metrics with their values."""
        return [*zip(self.places, self.values(), strict=True)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)

    def __repr__(self) -> str:
        return repr(dict(self))


def compact(values: Values) -> Values:
    """Give the same values, compact where all of them are finite floats or none."""
    held = (value is None or (type(value) is float and isfinite(value)) for value in values.values())
    if isinstance(values, CompactValues) or not all(held):
        return values
    return CompactValues(_places(tuple(values)), values.values())


@lru_cache(maxsize=1_000)
def _places(metrics: tuple[str, ...]) -> Mapping[str, int]:
    return {metric: place for place, metric in enumerate(metrics)}


def columns(rows: Sequence[Values]) -> dict[str, list[float]] | None:
    """Give metric by metric the values there are, in the order of the rows; None where these differ in metrics."""
    together = [row for row in rows if isinstance(row, CompactValues)]
    places = together[0].places if together else {}
    if len(together) < len(rows) or any(row.places is not places for row in together):
        return None
    numbers = [row.numbers for row in together]
    return {metric: [value for row in numbers if (value := row[place]) == value] for metric, place in places.items()}


class Numbers:
    """Takes the values of some metrics, in their order, out of those of one question after the other.

    What a question has no value for is not a number.
    """

    def __init__(self, metrics: Sequence[str]) -> None:
        self._metrics = metrics
        self._places: Mapping[str, int] = {}
        self._at: list[int | None] = [None] * len(metrics)

    def __call__(self, values: Values) -> list[float]:
        """Give the values of one question."""
        if not isinstance(values, CompactValues):
            return [_NOTHING if (value := values.get(metric)) is None else value for metric in self._metrics]
        if values.places is not self._places:
            self._places = values.places
            self._at = [*map(values.places.get, self._metrics)]
        numbers = values.numbers
        return [_NOTHING if place is None else numbers[place] for place in self._at]
