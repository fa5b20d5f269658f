"""The stored scorecard: sole owner of the baseline's format. Byte-stable, readable in a diff, without note text."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from raggate.errors import UsageError
from raggate.escape import plain
from raggate.jsonio import STORED_DECIMALS, dumps, loads, rounded
from raggate.models import OVERALL, Baseline, CaseScore, Direction, MetricValue, Scorecard

SCHEMA = "raggate/baseline/1"
MAX_BYTES = 256 << 20


@with_config(ConfigDict(extra="forbid"))
class _StoredCase(TypedDict):
    id: str
    hash: str
    mode: str
    rank: int | None
    rank_all: int | None
    failure: str | None
    values: dict[str, float | None]


@with_config(ConfigDict(extra="forbid"))
class _Stored(TypedDict):
    schema: str
    suite: str
    run_id: str
    provenance: dict[str, Any]
    fingerprint: dict[str, Any]
    aggregates: dict[str, dict[str, dict[str, tuple[float | None, int]]]]
    counts: dict[str, dict[str, int]]
    cases: list[_StoredCase]


_ADAPTER = TypeAdapter(_Stored)


def write(scorecard: Scorecard, provenance: dict[str, Any]) -> bytes:
    """Serialise a scorecard: sorted keys, 12 decimals, one line per case and per slice."""
    aggregates = {
        mode: {
            name: {metric: [_fixed(value.value), value.n] for metric, value in values.items()}
            for name, values in slices.items()
        }
        for mode, slices in scorecard.slices.items()
    }
    cases = [
        {
            "id": case.case_id,
            "hash": case.hash,
            "mode": case.mode,
            "rank": case.rank,
            "rank_all": case.rank_all,
            "failure": case.failure,
            "values": {name: _fixed(value) for name, value in case.values.items()},
        }
        for case in sorted(scorecard.cases, key=lambda case: (case.mode, case.case_id))
    ]
    stored = {
        "schema": SCHEMA,
        "suite": scorecard.suite,
        "run_id": scorecard.run_id,
        "provenance": provenance,
        "fingerprint": scorecard.fingerprint,
        "aggregates": aggregates,
        "counts": scorecard.counts,
        "cases": cases,
    }
    return (_lines(stored, 0, spread=3) + "\n").encode()


def read(data: bytes, source: str, directions: dict[str, Direction]) -> Baseline:
    """Read a baseline file, or a bare metrics file with `by_retriever`, of which only the means can be compared.

    Args:
        data: the content of the file.
        source: the file's name for messages and reports.
        directions: the known metrics; others in the file are ignored.

    Raises:
        UsageError: when the file is damaged, from a newer version, or neither of the two.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{source}: larger than {MAX_BYTES} bytes")
    try:
        value = loads(data)
    except ValueError as error:
        raise UsageError(f"{source}: not valid JSON: {plain(str(error))}", hint=_REPAIR) from None
    if isinstance(value, dict) and "by_retriever" in value:
        return _read_bare(value, source, directions)
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise UsageError(
            f"{source}: not a baseline: expected schema {SCHEMA!r} or a metrics file with 'by_retriever'", hint=_REPAIR
        )
    try:
        stored = _ADAPTER.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{source}: damaged at {plain(where)}: {first['msg']}", hint=_REPAIR) from None
    return Baseline(source=source, provenance=stored["provenance"], scorecard=_scorecard(stored, directions))


_REPAIR = "Restore the file from git, or promote a run with `raggate promote`."


def _scorecard(stored: _Stored, directions: dict[str, Direction]) -> Scorecard:
    return Scorecard(
        suite=stored["suite"],
        run_id=stored["run_id"],
        fingerprint=stored["fingerprint"],
        cases=tuple(
            CaseScore(
                case_id=case["id"],
                mode=case["mode"],
                hash=case["hash"],
                values=case["values"],
                rank=case["rank"],
                rank_all=case["rank_all"],
                failure=case["failure"],
            )
            for case in stored["cases"]
        ),
        slices={
            mode: {
                name: {
                    metric: MetricValue(
                        value=value,
                        n=n,
                        unscored=max(stored["counts"].get(mode, {}).get(name, n) - n, 0),
                        direction=directions[metric],
                    )
                    for metric, (value, n) in values.items()
                    if metric in directions
                }
                for name, values in slices.items()
            }
            for mode, slices in stored["aggregates"].items()
        },
        counts=stored["counts"],
        operations=None,
    )


def _read_bare(value: dict[str, Any], source: str, directions: dict[str, Direction]) -> Baseline:
    slices: dict[str, dict[str, dict[str, MetricValue]]] = {}
    counts: dict[str, dict[str, int]] = {}
    try:
        for mode, content in value["by_retriever"].items():
            buckets = {OVERALL: content["overall"]} if "overall" in content else {}
            for dimension in (key for key in content if key.startswith("by_")):
                name = dimension.removeprefix("by_")
                buckets.update({f"{name}={key}": bucket for key, bucket in content[dimension].items()})
            slices[mode] = {name: _bare_bucket(bucket, directions) for name, bucket in buckets.items()}
            counts[mode] = {name: int(bucket["count"]) for name, bucket in buckets.items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{source}: not a metrics file: {plain(repr(error))}") from None
    scorecard = Scorecard(
        suite=str(value.get("suite", "")),
        run_id=str(value.get("run_id", "")),
        fingerprint={},
        cases=(),
        slices=slices,
        counts=counts,
        operations=None,
    )
    return Baseline(source=source, scorecard=scorecard, provenance={})


def _bare_bucket(bucket: dict[str, Any], directions: dict[str, Direction]) -> dict[str, MetricValue]:
    count = int(bucket["count"])
    known = bucket.get("n", {})
    values = {}
    for metric in (name for name in bucket if name in directions):
        value = None if bucket[metric] is None else float(bucket[metric])
        n = 0 if value is None else int(known.get(metric, count))
        values[metric] = MetricValue(value=value, n=n, unscored=count - n, direction=directions[metric])
    return values


def _fixed(value: float | None) -> float | None:
    return None if value is None else rounded(value, STORED_DECIMALS)


def _lines(value: Any, depth: int, *, spread: int) -> str:
    """Lay JSON out with sorted keys: containers above `spread` levels one entry a line, those below on one line."""
    if depth >= spread or not value or not isinstance(value, dict | list):
        return dumps(value).decode()
    inner = "  " * (depth + 1)
    if isinstance(value, list):
        # items of a list are the smallest thing a diff should show
        entries = [f"{inner}{dumps(item).decode()}" for item in value]
        opening, closing = "[", "]"
    else:
        entries = [
            f"{inner}{dumps(key).decode()}: {_lines(value[key], depth + 1, spread=spread)}" for key in sorted(value)
        ]
        opening, closing = "{", "}"
    return f"{opening}\n" + ",\n".join(entries) + f"\n{'  ' * depth}{closing}"
