"""What another system gives the gate: to read its metrics files as baselines, and to score a run as it would. Pure.

The gate knows none of them: they are what installed packages plug in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from msgspec import Meta, Struct, ValidationError, convert

from raggate.base import plugins
from raggate.base.errors import UsageError
from raggate.base.quote import first_problem
from raggate.models.baseline import Baseline, Number, Restated
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, Direction, MetricValue, Scorecard

if TYPE_CHECKING:
    from pathlib import Path

OWN_METRICS_KEY = "by_retriever"
"""The key by which a metrics file has means in the shape that raggate writes."""


_VALUE, _COUNT, _MAPPING = Number | None, Annotated[int, Meta(ge=0)], dict[str, Any]


class Scores(Protocol):
    """Returns the system's own aggregates of one mode of a run; raises UsageError where its code would stop."""

    def __call__(self, run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
        """Score whole texts with `full_text`, else those cut to what a run directory keeps."""


class OtherSystem(Struct, frozen=True, kw_only=True):
    """Another system, as far as the gate has to do with it.

    Attributes:
        name: its name.
        metrics_key: the top-level key by which a metrics file is taken for one of theirs.
        bare_metrics: turns the content of such a file into the shape of `OWN_METRICS_KEY`; takes the content, the
            file's name for messages, and its directory if it is on disk. Raises FileError for a damaged file. None
            where it has that shape already.
        restate: gives a run's means by their definitions, beside a baseline of theirs. Raises UsageError where they
            cannot be computed.
    """

    name: str
    metrics_key: str
    restate: Callable[[Run, Scorecard, Baseline], Restated]
    bare_metrics: Callable[[dict[str, Any], str, Path | None], dict[str, Any]] | None = None


def installed() -> list[OtherSystem]:
    """Return the other systems whose metrics files are taken for baselines."""
    return [plugins.load(plugins.METRICS_FILES, name) for name in plugins.names(plugins.METRICS_FILES)]


def restate(run: Run, scorecard: Scorecard, baseline: Baseline) -> Restated:
    """Score a run by the definitions that a bare metrics file was made with."""
    if baseline.restate is None:
        return Restated(baseline=baseline)
    try:
        return baseline.restate(run, scorecard, baseline)
    except UsageError as error:
        return Restated(
            baseline=baseline,
            problems=(f"the means of this run cannot be computed by their definitions: {error.message}",),
        )


def compat_scores(run: Run, wanted: Iterable[str], *, full_text: bool) -> dict[str, dict[str, Any]]:
    """Score a run as other systems' own code would; never gated, and beside raggate's own numbers.

    Returns:
        By system and then by mode: their aggregates; or `problem` alone where their code would stop.
    """
    if not (names := list(wanted)):
        return {}
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    by_name: dict[str, Scores] = {name: plugins.load(plugins.COMPAT, name) for name in names}
    return {
        name: {mode: _scores(scores, run, mode, full_text=full_text) for mode in modes}
        for name, scores in by_name.items()
    }


def _scores(scores: Scores, run: Run, mode: str, *, full_text: bool) -> dict[str, Any]:
    try:
        return scores(run, mode, full_text=full_text)
    except UsageError as error:
        # what their code stops at must not stop the gate
        return {"problem": error.message}


class DamagedError(ValueError):
    """Names the place in a metrics file and what was expected there."""


def read(value: dict[str, Any], directions: dict[str, Direction]) -> tuple[Scorecard, bool]:
    """Read the content of a metrics file; metrics without a direction are ignored.

    Raises:
        DamagedError: when it is not as it should be.
    """
    if "partial" in value:
        raise DamagedError("partial: these metrics cover only a part of the questions and cannot become a baseline")
    if value.get("complete", True) is not True:
        raise DamagedError("complete: not all questions were asked, so these metrics cannot become a baseline")
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


def _checked(shape: Any, value: object, where: str) -> Any:
    try:
        return convert(value, shape)
    except ValidationError as error:
        raise DamagedError(first_problem(error, where, whole="the top")) from None


def _buckets(content: dict[str, Any], where: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
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
