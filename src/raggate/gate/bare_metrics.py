"""A metrics file that has means and no cases -> a scorecard: all that other tools keep, and raggate's metrics.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from raggate.gate.other_systems import OWN_METRICS_KEY
from raggate.models.scorecard import OVERALL, Direction, MetricValue, Scorecard
from raggate.text.problems import first_problem

MAX_VALUE = 1e12
"""No metric is larger; what is would not survive rounding."""

Number = Annotated[float, Field(strict=True, ge=-MAX_VALUE, le=MAX_VALUE)]
Count = Annotated[int, Field(strict=True, ge=0)]

T = TypeVar("T")

_VALUE: TypeAdapter[float | None] = TypeAdapter(Number | None)
_COUNT: TypeAdapter[int] = TypeAdapter(Count)
_MAPPING: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


class DamagedError(ValueError):
    """Names the place in a metrics file and what was expected there."""


def read(value: dict[str, Any], directions: dict[str, Direction]) -> tuple[Scorecard, bool]:
    """Read the content of a metrics file; metrics without a direction are ignored.

    Returns:
        The means as a scorecard without cases, and whether the file tells over how many questions single means are.

    Raises:
        DamagedError: when it is not as it should be.
    """
    if "partial" in value:
        raise DamagedError("partial: these are metrics of a part of the questions, and no baseline")
    if value.get("complete", True) is not True:
        raise DamagedError("complete: not all questions were asked, so these metrics are no baseline")
    counted = False
    slices: dict[str, dict[str, dict[str, MetricValue]]] = {}
    counts: dict[str, dict[str, int]] = {}
    for mode, content in _checked(_MAPPING, value[OWN_METRICS_KEY], OWN_METRICS_KEY).items():
        where = f"{OWN_METRICS_KEY}.{mode}"
        slices[mode], counts[mode] = {}, {}
        for name, place, bucket in _buckets(_checked(_MAPPING, content, where), where):
            counted = counted or "n" in bucket
            counts[mode][name] = _checked(_COUNT, bucket.get("count"), f"{place}.count")
            slices[mode][name] = _values(bucket, counts[mode][name], place, directions)
    scorecard = Scorecard(
        suite=str(value.get("suite", "")),
        run_id=str(value.get("run_id", "")),
        fingerprint={},
        cases=(),
        slices=slices,
        counts=counts,
        operations=None,
    )
    return scorecard, counted


def _checked(adapter: TypeAdapter[T], value: object, where: str) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise DamagedError(first_problem(error, where, whole="the top")) from None


def _buckets(content: dict[str, Any], where: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield slice, place in the file and content of every bucket of a mode."""
    if OVERALL in content:
        place = f"{where}.{OVERALL}"
        yield OVERALL, place, _checked(_MAPPING, content[OVERALL], place)
    for dimension in (key for key in content if key.startswith("by_")):
        for key, bucket in _checked(_MAPPING, content[dimension], f"{where}.{dimension}").items():
            place = f"{where}.{dimension}.{key}"
            yield f"{dimension.removeprefix('by_')}={key}", place, _checked(_MAPPING, bucket, place)


def _values(bucket: dict[str, Any], count: int, where: str, directions: dict[str, Direction]) -> dict[str, MetricValue]:
    known = _checked(_MAPPING, bucket.get("n", {}), f"{where}.n")
    values = {}
    for metric in (name for name in directions if name in bucket):
        value = _checked(_VALUE, bucket[metric], f"{where}.{metric}")
        covered = _checked(_COUNT, known.get(metric, count), f"{where}.n.{metric}")
        n = 0 if value is None else covered
        values[metric] = MetricValue(value=value, n=n, unscored=max(count - n, 0), direction=directions[metric])
    return values
