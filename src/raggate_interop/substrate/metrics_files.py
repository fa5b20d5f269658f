"""Metrics files of substrate, in and out: every shape becomes one table of mode, bucket and metric.

    seed      {"by_retriever": {mode: {"by_difficulty": {difficulty: {...}}, "overall": {...}}}}
    by_mode   {"by_mode": {mode: {difficulty: {...}}}}         the skill's scripts
    bare      {mode: {difficulty: {...}}}                      the catalog's harness

A run record with `metrics` is read too. Only the seed's shape can say `overall`; only by_mode says `fts` for `bm25`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeGuard, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from raggate.base.errors import UsageError
from raggate.base.jsonio import loads, parse, refuse_twice
from raggate.base.numbers import setting
from raggate.base.quote import cut
from raggate.config.question_settings import mode_name
from raggate.models.scorecard import EPSILON, OVERALL
from raggate_interop.json_shapes import Number, check
from raggate_interop.substrate.records import read_bytes, script_mode

Shape = Literal["seed", "by_mode", "bare"]
Bucket = Mapping[str, float | None]
Table = Mapping[str, Mapping[str, Bucket]]
"""Metrics by mode, then by difficulty or `overall`, then by name; `count` stands among them."""

_Content = TypeVar("_Content")

_BLOCK = re.compile(r"^```json[ \t]*\n(.*?)\n```[ \t]*$", re.MULTILINE | re.DOTALL)
_SHARE = re.compile(r"(hit|mrr)_at_\d+|(heading_dominance|heading_only_hit|duplicate_doc|diversity)_rate")
"""Metrics that are no more than 1: what is may be percent, which nothing here is."""
_BESIDE = ("n", "unscored")
"""What raggate's own metrics.json keeps in a bucket beside the values."""

_BUCKET: TypeAdapter[Any] = TypeAdapter(dict[str, Number | None])
_OBJECT: TypeAdapter[Any] = TypeAdapter(dict[str, Any])
_THRESHOLDS: TypeAdapter[Any] = TypeAdapter(dict[str, Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]])
_LIMITS: TypeAdapter[Any] = TypeAdapter(dict[str, dict[str, dict[str, Number]]])


def read_shaped(path: Path) -> tuple[Table, Shape]:
    """Read a metrics file of any shape, or a run record, and say which shape its metrics have."""
    content = _unambiguous(path)
    return to_table(content, str(path)), _shape(_metrics(check(_OBJECT, content, str(path))))


def to_table(value: object, name: str) -> Table:
    """Make a table of the content of a metrics file."""
    whole = check(_OBJECT, value, name)
    if whole.get("complete", True) is not True:
        raise UsageError(f"{name}: complete: not all questions were asked", hint="Measure with all questions first.")
    content = _metrics(whole)
    table = _by_mode(dict(_modes(content, name)), name)
    if not any(metric != "count" for buckets in table.values() for bucket in buckets.values() for metric in bucket):
        raise UsageError(
            f"{name}: has no metric",
            hint="Expected by_retriever (the seed's shape), by_mode, or modes with difficulties.",
        )
    return table


def from_table(table: Table, shape: Shape = "seed") -> dict[str, Any]:
    """The content of a metrics file. The shapes of their code have no `overall` and no null: both are left out."""
    if shape == "seed":
        return {
            "by_retriever": {
                mode: {
                    "by_difficulty": {name: dict(bucket) for name, bucket in buckets.items() if name != OVERALL},
                    **({OVERALL: dict(buckets[OVERALL])} if OVERALL in buckets else {}),
                }
                for mode, buckets in table.items()
            }
        }
    named = script_mode if shape == "by_mode" else str
    content = {
        named(mode): {
            # their scripts count in floats
            name: {
                metric: float(value) if metric == "count" else value
                for metric, value in bucket.items()
                if value is not None
            }
            for name, bucket in buckets.items()
            if name != OVERALL
        }
        for mode, buckets in table.items()
    }
    return {"by_mode": content} if shape == "by_mode" else content


def render_metrics(content: Mapping[str, Any]) -> str:
    """Return the text of a metrics file, laid out as their scripts do."""
    return json.dumps(content, indent=2) + "\n"


def read_thresholds(path: Path) -> dict[str, float]:
    """Read thresholds: metric -> by how much it may get worse.

    They stand in a file of their own, or in an experiment's specification: in JSON under `thresholds`, in Markdown
    (`spec.md`) in the one JSON block that is such an object, or has one under `thresholds`.
    """
    if path.suffix.lower() != ".md":
        return dict(check(_THRESHOLDS, _inner(_unambiguous(path)), str(path)))
    blocks = _BLOCK.findall(read_bytes(path).decode("utf-8", "replace"))
    tables = [value for block in blocks if _is_thresholds(value := _inner(_parsed(block)))]
    if len(tables) != 1:
        raise UsageError(
            f"{path}: expected one JSON block with thresholds, found {len(tables)}",
            hint='Write ```json, {"hit_at_1": 0.03}, ``` on lines of their own.',
        )
    return dict(tables[0])


def _parsed(block: str) -> object:
    try:
        return loads(block)
    except ValueError:
        return None


def _inner(value: object) -> object:
    return value["thresholds"] if isinstance(value, dict) and isinstance(value.get("thresholds"), dict) else value


def _is_thresholds(value: object) -> TypeGuard[dict[str, float]]:
    try:
        return bool(_THRESHOLDS.validate_python(value))
    except ValidationError:
        return False


def read_limits(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Read absolute limits: mode -> difficulty or `overall` -> metric -> value."""
    return _by_mode(check(_LIMITS, _unambiguous(path), str(path)), str(path))


def read_targets(path: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Read the targets of a `scenario_manifest.json`: scenario -> mode -> metric -> value."""
    scenarios = check(_OBJECT, check(_OBJECT, _unambiguous(path), str(path)).get("scenarios"), f"{path}: scenarios")
    targets = {
        slug: check(_OBJECT, content, f"{path}: scenarios.{slug}").get("metric_targets")
        for slug, content in scenarios.items()
    }
    check(_LIMITS, targets, f"{path}: scenarios")
    return {
        slug: _by_mode(modes, f"{path}: scenarios.{slug}.metric_targets")
        for slug, modes in targets.items()
        if modes is not None
    }


def _unambiguous(path: Path) -> Any:
    """Parse JSON, and refuse a key that an object has twice: readers would differ on it."""
    data = read_bytes(path)
    value = parse(data, str(path))
    try:
        refuse_twice(data)
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    return value


def _by_mode(content: Mapping[str, _Content], place: str) -> dict[str, _Content]:
    """Return what stands under each mode under raggate's name of the mode; one that stands there twice is refused."""
    table: dict[str, _Content] = {}
    for mode, inner in content.items():
        if mode_name(mode) in table:
            raise UsageError(f"{place}: mode {cut(mode)} and its other name are both there")
        table[mode_name(mode)] = inner
    return table


def _metrics(content: dict[str, Any]) -> dict[str, Any]:
    """Return the metrics of a run record; those of a metrics file are the whole of it."""
    if isinstance(content.get("metrics"), dict) and "by_mode" not in content and "by_retriever" not in content:
        return dict(content["metrics"])
    return content


def _shape(content: Mapping[str, Any]) -> Shape:
    if "by_retriever" in content:
        return "seed"
    return "by_mode" if "by_mode" in content else "bare"


def _modes(content: dict[str, Any], name: str) -> Iterator[tuple[str, dict[str, Bucket]]]:
    if _shape(content) == "seed":
        for mode, levels in check(_OBJECT, content["by_retriever"], f"{name}: by_retriever").items():
            place = f"{name}: by_retriever.{mode}"
            check(_OBJECT, levels, place)
            difficulties = check(_OBJECT, levels.get("by_difficulty", {}), f"{place}.by_difficulty")
            buckets = {key: _bucket(bucket, f"{place}.by_difficulty.{key}") for key, bucket in difficulties.items()}
            if OVERALL in levels:
                buckets[OVERALL] = _bucket(levels[OVERALL], f"{place}.{OVERALL}")
            yield mode, buckets
        return
    prefix = "by_mode." if "by_mode" in content else ""
    modes = check(_OBJECT, content.get("by_mode", content), f"{name}: {prefix or 'the top'}")
    for mode, difficulties in modes.items():
        place = f"{name}: {prefix}{mode}"
        yield (
            mode,
            {key: _bucket(bucket, f"{place}.{key}") for key, bucket in check(_OBJECT, difficulties, place).items()},
        )


def _bucket(value: object, place: str) -> Bucket:
    content = check(_OBJECT, value, place)
    bucket = dict(check(_BUCKET, {key: number for key, number in content.items() if key not in _BESIDE}, place))
    for metric, number in bucket.items():
        if number is not None and _SHARE.fullmatch(metric) and not -EPSILON <= number <= 1 + EPSILON:
            raise UsageError(f"{place}: {metric}: expected a share from 0 to 1, found {setting(number)}")
    return bucket
