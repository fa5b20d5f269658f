"""The stored scorecard: sole owner of the baseline's format. Byte-stable, readable in a diff, without note text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from raggate.errors import FileError
from raggate.gate import baseline_integrity
from raggate.interop.helloworld import baseline
from raggate.models.baseline import Accepted, Baseline, Lowered
from raggate.models.scorecard import OVERALL, CaseScore, Direction, MetricValue, Scorecard
from raggate.text.escape import plain
from raggate.text.jsonio import STORED_DECIMALS, dumps, loads, rounded

SCHEMA = "raggate/baseline/1"
MAX_BYTES = 256 << 20
MAX_VALUE = 1e12
"""No metric is larger; what is would not survive rounding."""

T = TypeVar("T")

_Number = Annotated[float, Field(strict=True, ge=-MAX_VALUE, le=MAX_VALUE)]
_Count = Annotated[int, Field(strict=True, ge=0)]
_Rank = Annotated[int, Field(strict=True, ge=1)]
_Day = Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")]


@with_config(ConfigDict(extra="forbid"))
class _StoredCase(TypedDict):
    id: str
    hash: str
    mode: str
    rank: _Rank | None
    rank_all: _Rank | None
    failure: str | None
    slices: list[str]
    must_pass: bool
    values: dict[str, _Number | None]


# `from` is a word of Python's own
_StoredLowered = TypedDict("_StoredLowered", {"on": _Day, "from": _Number, "to": _Number, "reason": str, "by": str})
_StoredLowered.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]


@with_config(ConfigDict(extra="forbid"))
class _StoredAccepted(TypedDict):
    best: _Number
    drops: Annotated[_Number, Field(ge=0)]
    since: _Day
    lowered: _StoredLowered | None
    moved: NotRequired[_StoredLowered]


@with_config(ConfigDict(extra="forbid"))
class _Stored(TypedDict):
    schema: str
    suite: str
    run_id: str
    provenance: dict[str, Any]
    fingerprint: dict[str, Any]
    aggregates: dict[str, dict[str, dict[str, tuple[_Number | None, _Count]]]]
    counts: dict[str, dict[str, _Count]]
    cases: list[_StoredCase]
    accepted: NotRequired[dict[str, dict[str, _StoredAccepted]]]
    digest: NotRequired[str]


_ADAPTER = TypeAdapter(_Stored)
_VALUE: TypeAdapter[float | None] = TypeAdapter(_Number | None)
_COUNT: TypeAdapter[int] = TypeAdapter(_Count)
_MAPPING: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


def write(
    scorecard: Scorecard,
    provenance: dict[str, Any],
    accepted: Mapping[str, Mapping[str, Accepted]] | None = None,
) -> bytes:
    """Serialise a scorecard: sorted keys, 12 decimals, one line per case, per slice and per accepted metric."""
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
            "slices": [name for name in case.slices if name != OVERALL],
            "must_pass": case.must_pass,
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
    if accepted:
        stored["accepted"] = {
            mode: {metric: _accepted_out(entry) for metric, entry in metrics.items()}
            for mode, metrics in accepted.items()
        }
    stored["digest"] = baseline_integrity.digest(stored)
    return (_lines(stored, 0, spread=3) + "\n").encode()


def read(data: bytes, source: str, directions: dict[str, Direction], beside: Path | None = None) -> Baseline:
    """Read a baseline file, or a bare metrics file, of which only the means can be compared.

    Args:
        data: the content of the file.
        source: the file's name for messages and reports.
        directions: the known metrics; others in the file are ignored.
        beside: the file's directory if it is on disk; a metrics file of the note system has its settings there.

    Raises:
        FileError: when the file is damaged, from a newer version, or none of these.
    """
    if len(data) > MAX_BYTES:
        raise FileError(source, f"larger than {MAX_BYTES} bytes")
    try:
        value = loads(data)
    except ValueError as error:
        raise FileError(source, f"not valid JSON: {plain(str(error))}", hint=_REPAIR) from None
    if isinstance(value, dict) and "by_retriever" in value:
        return _read_bare(value, source, directions)
    if isinstance(value, dict) and "aggregate_metrics" in value:
        return _read_bare(baseline.converted(value, source, beside), source, directions, "helloworld")
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise FileError(
            source,
            f"not a baseline: expected schema {SCHEMA!r} or a metrics file with 'by_retriever' or 'aggregate_metrics'",
            hint=_REPAIR,
        )
    try:
        stored = _ADAPTER.validate_python(value)
    except ValidationError as error:
        raise FileError(source, f"damaged at {_problem(error)}", hint=_REPAIR) from None
    if problem := baseline_integrity.problem(value):
        raise FileError(source, problem, hint=_WHOLE)
    return Baseline(
        source=source,
        provenance=stored["provenance"],
        scorecard=_scorecard(stored, directions),
        early="digest" not in stored,
        accepted={
            mode: {metric: _accepted_in(entry) for metric, entry in metrics.items() if metric in directions}
            for mode, metrics in stored.get("accepted", {}).items()
        },
    )


def _accepted_out(entry: Accepted) -> dict[str, Any]:
    stored = {
        "best": _fixed(entry.best),
        "drops": _fixed(entry.drops),
        "since": entry.since,
        "lowered": None if entry.lowered is None else _lowered_out(entry.lowered),
    }
    # left out where nothing moved, as in files from before it was kept
    return stored if entry.moved is None else {**stored, "moved": _lowered_out(entry.moved)}


def _lowered_out(low: Lowered) -> dict[str, Any]:
    return {"on": low.on, "from": _fixed(low.before), "to": _fixed(low.after), "reason": low.reason, "by": low.by}


def _accepted_in(entry: _StoredAccepted) -> Accepted:
    low, moved = entry["lowered"], entry.get("moved")
    return Accepted(
        best=entry["best"],
        drops=entry["drops"],
        since=entry["since"],
        lowered=None if low is None else _lowered_in(low),
        moved=None if moved is None else _lowered_in(moved),
    )


def _lowered_in(low: _StoredLowered) -> Lowered:
    return Lowered(on=low["on"], before=low["from"], after=low["to"], reason=low["reason"], by=low["by"])


def _problem(error: ValidationError, *parents: str) -> str:
    first = error.errors(include_url=False)[0]
    where = ".".join([*parents, *(str(part) for part in first["loc"])])
    return f"{plain(where) or 'the top'}: {first['msg']}"


_REPAIR = "Restore the file from git, or promote a run with `raggate promote`."
_WHOLE = f"{_REPAIR} After a merge conflict take the whole file of one side, then promote."


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
                slices=(OVERALL, *case["slices"]),
                must_pass=case["must_pass"],
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
                    # in the order of the registry, for reports; the file is sorted by name
                    for metric in directions
                    if metric in values
                    for value, n in [values[metric]]
                }
                for name, values in slices.items()
            }
            for mode, slices in stored["aggregates"].items()
        },
        counts=stored["counts"],
        operations=None,
    )


def _read_bare(value: dict[str, Any], source: str, directions: dict[str, Direction], means_of: str = "") -> Baseline:
    counted = False
    slices: dict[str, dict[str, dict[str, MetricValue]]] = {}
    counts: dict[str, dict[str, int]] = {}
    try:
        for mode, content in _checked(_MAPPING, value["by_retriever"], "by_retriever").items():
            where = f"by_retriever.{mode}"
            slices[mode], counts[mode] = {}, {}
            for name, place, bucket in _bare_buckets(_checked(_MAPPING, content, where), where):
                # raggate's own files tell for each mean over how many questions it is, the search-improver's never
                counted = counted or "n" in bucket
                counts[mode][name] = _checked(_COUNT, bucket.get("count"), f"{place}.count")
                slices[mode][name] = _bare_values(bucket, counts[mode][name], place, directions)
    except _DamagedError as error:
        raise FileError(source, f"not a metrics file: {error}", hint=_REPAIR) from None
    scorecard = Scorecard(
        suite=str(value.get("suite", "")),
        run_id=str(value.get("run_id", "")),
        fingerprint={},
        cases=(),
        slices=slices,
        counts=counts,
        operations=None,
    )
    means_of = means_of or ("raggate" if counted else "substrate")
    return Baseline(source=source, scorecard=scorecard, provenance={"means_of": means_of})


class _DamagedError(ValueError):
    """Names the place in a metrics file and what was expected there."""


def _checked(adapter: TypeAdapter[T], value: object, where: str) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise _DamagedError(_problem(error, where)) from None


def _bare_buckets(content: dict[str, Any], where: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Give slice, place in the file and content of every bucket of a mode."""
    if OVERALL in content:
        place = f"{where}.{OVERALL}"
        yield OVERALL, place, _checked(_MAPPING, content[OVERALL], place)
    for dimension in (key for key in content if key.startswith("by_")):
        for key, bucket in _checked(_MAPPING, content[dimension], f"{where}.{dimension}").items():
            place = f"{where}.{dimension}.{key}"
            yield f"{dimension.removeprefix('by_')}={key}", place, _checked(_MAPPING, bucket, place)


def _bare_values(
    bucket: dict[str, Any], count: int, where: str, directions: dict[str, Direction]
) -> dict[str, MetricValue]:
    known = _checked(_MAPPING, bucket.get("n", {}), f"{where}.n")
    values = {}
    for metric in (name for name in directions if name in bucket):
        value = _checked(_VALUE, bucket[metric], f"{where}.{metric}")
        covered = _checked(_COUNT, known.get(metric, count), f"{where}.n.{metric}")
        n = 0 if value is None else covered
        values[metric] = MetricValue(value=value, n=n, unscored=max(count - n, 0), direction=directions[metric])
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
