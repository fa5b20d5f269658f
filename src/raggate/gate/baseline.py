"""The stored scorecard: sole owner of the baseline's format. Byte-stable, readable in a diff, without note text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from sys import intern
from typing import Annotated, Any

from msgspec import Meta, Raw, Struct, ValidationError, convert, field, to_builtins
from msgspec.json import decode

from raggate.base import jsonio
from raggate.base.errors import FileError
from raggate.base.jsonio import MERGE_MARKERS, dumps, loads, refuse_twice
from raggate.base.numbers import STORED_DECIMALS, rounded_or_none, setting, written
from raggate.base.quote import cut, first_problem, quoted
from raggate.gate import other_systems
from raggate.gate.other_systems import OWN_METRICS_KEY, OtherSystem, installed
from raggate.models.baseline import MAX_VALUE, MOST_BYTES, Baseline, Number, RatchetEntry
from raggate.models.judging import highest
from raggate.models.scorecard import (
    EPSILON,
    OVERALL,
    CaseScore,
    Direction,
    Key,
    ListEntry,
    MetricValue,
    Scorecard,
    Values,
)
from raggate.scoring.score import SliceMeans, columns_of

SCHEMA = "raggate/baseline/1"
_fixed = partial(rounded_or_none, decimals=STORED_DECIMALS)
MOST_REST_BYTES = 64 << 20
"""Bytes of all that stands around the cases, which is parsed as a whole."""
MOST_CASE_BYTES = 1 << 20
"""Bytes of a case; one with ten chunks has some 2,300."""
_POINT_ZERO = re.compile(rb"\.0(?=[,\]}])")
_SPREAD = 3
SCORE_DECIMALS = 6
"""Decimals of the API's scores: there are thirty a case."""
_Rank = Annotated[int, Meta(ge=1)]
_Count = Annotated[int, Meta(ge=0)]
_Hash = Annotated[str, Meta(pattern=r"^([0-9a-f]{8})?$")]
_REPAIR = "Restore the file from git, or promote a run with `raggate promote`."
_WHOLE = f"{_REPAIR} After a merge conflict take the whole file of one side, then promote."


def laid_out(stored: Mapping[str, Any], cases: Iterable[Mapping[str, Any]]) -> bytes:
    """Lay a file out: keys sorted, a line for each case, slice and accepted metric, and the digest of all the rest."""
    lines = [dumps(case) for case in cases]
    signed = {**stored, "digest": digest(stored, lines)}
    between = b"{\n"
    document = bytearray()
    for key in sorted({*signed, "cases"}):
        document += between
        if key == "cases":
            rows = b"\n    " + b",\n    ".join(lines) + b"\n  " if lines else b""
            document += b'  "cases": [%b]' % rows
        else:
            document += f"  {dumps(key).decode()}: {_lines(signed[key], 1)}".encode()
        between = b",\n"
    document += b"\n}\n"
    return bytes(document)


def in_order(cases: Iterable[CaseScore]) -> list[CaseScore]:
    """Return cases as they stand in a file: by mode and id."""
    return sorted(cases, key=lambda case: (case.mode, case.case_id))


def _lines(value: Any, depth: int) -> str:
    """Lay JSON out with sorted keys: containers of the first levels one entry a line, those below on one line."""
    if depth >= _SPREAD or not value or not isinstance(value, dict | list):
        return dumps(value).decode()
    margin, ends = "  " * depth, "{}"
    if isinstance(value, list):
        # items of a list are the smallest thing a diff should show
        entries, ends = [dumps(item).decode() for item in value], "[]"
    else:
        entries = [f"{dumps(key).decode()}: {_lines(value[key], depth + 1)}" for key in sorted(value)]
    lines = ",\n".join(f"{margin}  {entry}" for entry in entries)
    return f"{ends[0]}\n{lines}\n{margin}{ends[1]}"


class _Entry(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    note: _Hash
    chunk: _Hash
    final: Number | None
    vector: Number | None
    lexical: Number | None
    supports: tuple[_Count, ...]
    heading: _Hash = ""


class _StoredCase(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    hash: str
    mode: str
    rank: _Rank | None
    rank_all: _Rank | None
    failure: str | None
    slices: tuple[str, ...]
    must_pass: bool
    values: dict[str, Number | None]
    entries: tuple[_Entry, ...] = ()


class _Stored(Struct, frozen=True, forbid_unknown_fields=True):
    schema: str
    suite: str
    run_id: str
    provenance: dict[str, Any]
    fingerprint: dict[str, Any]
    aggregates: dict[str, dict[str, dict[str, tuple[Number | None, _Count]]]]
    counts: dict[str, dict[str, _Count]]
    cases: list[Any]
    digest: str
    accepted: dict[str, dict[str, RatchetEntry]] = field(default_factory=dict)


def write(
    scorecard: Scorecard, provenance: dict[str, Any], accepted: Mapping[str, Mapping[str, RatchetEntry]] | None = None
) -> bytes:
    """Serialise a scorecard: sorted keys, 12 decimals, one line per case, per slice and per accepted metric."""
    aggregates = {
        mode: {
            name: {metric: [_fixed(value.value), value.n] for metric, value in values.items()}
            for name, values in slices.items()
        }
        for mode, slices in scorecard.slices.items()
    }
    stored: dict[str, Any] = {
        "schema": SCHEMA,
        "suite": scorecard.suite,
        "run_id": scorecard.run_id,
        "provenance": provenance,
        "fingerprint": scorecard.fingerprint,
        "aggregates": aggregates,
        "counts": scorecard.counts,
    }
    if accepted:
        stored["accepted"] = _rounded(to_builtins(accepted))
    return laid_out(stored, map(_case_out, in_order(scorecard.cases)))


def _case_out(case: CaseScore) -> dict[str, Any]:
    return {
        "id": case.case_id,
        "hash": case.hash,
        "mode": case.mode,
        "rank": case.rank,
        "rank_all": case.rank_all,
        "failure": case.failure,
        "slices": [name for name in case.slices if name != OVERALL],
        "must_pass": case.must_pass,
        "values": {name: _fixed(value) for name, value in case.values.items()},
        **({"entries": [_entry_out(entry) for entry in case.entries]} if case.entries else {}),
    }


def read(document: bytes, source: str, directions: dict[str, Direction], beside: Path | None = None) -> Baseline:
    """Read a baseline file, or a bare metrics file, which has only means to compare.

    Cases are parsed one by one: all of them at once take ten times the file.
    """
    if len(document) > MOST_BYTES:
        raise FileError(source, f"larger than {MOST_BYTES} bytes", hint=_REPAIR)
    content, cases, rest = _split(document, source)
    system = next((system for system in installed() if system.metrics_key in content), None)
    if system is not None or OWN_METRICS_KEY in content:
        reshape = system.bare_metrics if system is not None else None
        bare = content if reshape is None else reshape(content, source, beside)
        return _read_bare(bare, source, directions, system)
    other = content.get("schema")
    if other != SCHEMA:
        ours = isinstance(other, str) and other.startswith("raggate/baseline/")
        problem = jsonio.schema_problem(other, SCHEMA) if ours else ""
        raise FileError(source, problem or _not_one(), hint=_REPAIR)
    try:
        stored = convert(content, _Stored)
    except ValidationError as error:
        raise FileError(source, f"damaged at {first_problem(error, whole='the top')}", hint=_REPAIR) from None
    scores: list[CaseScore] = []
    own = digest(content, _case_of_each(cases, scores, source))
    if problem := next(_edits(content, scores, own, rest), None):
        raise FileError(source, problem, hint=_WHOLE)
    return Baseline(
        source=source,
        provenance=stored.provenance,
        scorecard=_scorecard(stored, tuple(scores), directions),
        accepted=stored.accepted,
    )


def _split(document: bytes, source: str) -> tuple[dict[str, Any], Sequence[Raw], bytes]:
    """Return what stands in a file, with an empty list of cases; its cases, unread; and the file without them."""
    try:
        parts = decode(document, type=dict[str, Raw])
    except (ValueError, RecursionError):
        if len(document) > MOST_REST_BYTES or isinstance(_parsed(document, document, source), dict):
            raise FileError(source, "not valid JSON", hint=_REPAIR) from None
        raise FileError(source, _not_one(), hint=_REPAIR) from None
    rest, unread = document, parts.get("cases")
    cases = () if unread is None else _listed(unread)
    if unread is not None and cases:
        parts["cases"] = Raw(b"[]")
        begin = document.find(memoryview(unread))
        rest = b"%b[]%b" % (document[:begin], document[begin + memoryview(unread).nbytes :])
    if len(rest) > MOST_REST_BYTES:
        raise FileError(source, f"more than {MOST_REST_BYTES} bytes beside its questions", hint=_REPAIR)
    return {key: _parsed(bytes(value), document, source) for key, value in parts.items()}, cases, rest


def _listed(unread: Raw) -> Sequence[Raw]:
    try:
        return decode(unread, type=list[Raw])
    except (ValueError, RecursionError):
        return ()


def _parsed(part: bytes, document: bytes, source: str) -> Any:
    try:
        return loads(part)
    except ValueError as error:
        lines = enumerate(document.split(b"\n"), 1)
        if marked := next((number for number, line in lines if line.startswith(MERGE_MARKERS)), 0):
            raise FileError(f"{source}:{marked}", "unresolved merge conflict", hint=_WHOLE) from None
        raise FileError(source, f"not valid JSON: {error}", hint=_REPAIR) from None


def _case_of_each(unread: Sequence[Raw], scores: list[CaseScore], source: str) -> Iterator[bytes]:
    """Add the score of each case to a list, and yield the case as raggate writes it."""
    for number, raw in enumerate(unread):
        if memoryview(raw).nbytes > MOST_CASE_BYTES:
            raise FileError(source, f"damaged at cases.{number}: more than {MOST_CASE_BYTES} bytes", hint=_REPAIR)
        line = bytes(raw)
        stored = _parsed(line, line, source)
        again = dumps(stored)
        # of two values people may see one in a diff and the gate count the other
        if again != line and (problem := _doubled(line)):
            raise FileError(source, problem, hint=_WHOLE)
        try:
            scores.append(_case(convert(stored, _StoredCase)))
        except ValidationError as error:
            problem = first_problem(error, "cases", str(number))
            raise FileError(source, f"damaged at {problem}", hint=_REPAIR) from None
        yield again


def digest(content: Mapping[str, Any], cases: Iterable[bytes]) -> str:
    """Return the digest of everything a baseline file holds but for the digest itself, whatever its layout."""
    own, begin = hashlib.sha256(), b"{"
    for key in sorted({*content, "cases"} - {"digest"}):
        own.update(begin + dumps(key) + b":")
        if key == "cases":
            opening = b"["
            for line in cases:
                own.update(opening + _digested(line))
                opening = b","
            own.update(b"]" if opening == b"," else b"[]")
        else:
            # what ends a value tells whether a number ends there
            own.update(_digested(dumps(content[key]) + b"}")[:-1])
        begin = b","
    own.update(b"}")
    return own.hexdigest()


def _digested(document: bytes) -> bytes:
    """Return what the digest is of: other JSON tools write 1.0 as 1, which changes nothing."""
    return _POINT_ZERO.sub(b"", document)


def _doubled(document: bytes) -> str:
    try:
        refuse_twice(document)
    except ValueError as error:
        return f"changed by hand: {error}"
    return ""


def _edits(content: Mapping[str, Any], cases: Sequence[CaseScore], own: str, rest: bytes) -> Iterator[str]:
    """Yield what is wrong with a baseline whose layout is right: its digest, means and counts must be its own."""
    if twice := _doubled(rest):
        yield twice
    if content["digest"] != own:
        yield "changed by hand: its digest is not that of its content"
    rows: dict[str, list[Values]] = {}
    seen: set[Key] = set()
    for case in cases:
        # a merge of two baselines can leave both lines
        if (case.mode, case.case_id) in seen:
            yield f"damaged at cases: {quoted(case.case_id)} ({cut(case.mode)}) occurs twice"
        seen.add((case.mode, case.case_id))
        rows.setdefault(case.mode, []).append(case.values)
    columns = {mode: columns_of(values) for mode, values in rows.items()}
    yield from _beyond(columns)
    sums = SliceMeans({metric: "higher" for own in columns.values() for metric in own})
    for case in cases:
        sums.add(case)
    yield from _wrong_counts(content["counts"], sums.counts())
    yield from _wrong_means(content["aggregates"], sums.means())


def _beyond(modes: Mapping[str, Mapping[str, Sequence[float | None]]]) -> Iterator[str]:
    for mode, columns in modes.items():
        for metric, column in columns.items():
            numbers, most = [value for value in column if value is not None], highest(metric)
            if numbers and not -EPSILON <= min(numbers) <= max(numbers) <= most + EPSILON:
                worst = min(numbers) if min(numbers) < 0 else max(numbers)
                scale = f"expected values from 0 to {setting(most)}, found {written(worst)}"
                yield f"damaged at cases: {cut(metric)} ({cut(mode)}): {scale}"


def _wrong_counts(told: Mapping[str, Mapping[str, int]], own: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for mode, name in _places(told, own):
        n, of = (side.get(mode, {}).get(name, 0) for side in (told, own))
        if n != of:
            place = cut(f"counts.{mode}.{name}")
            yield f"damaged at {place}: says {n}, but there are {of} such questions"


def _wrong_means(told: Mapping[str, Any], own: Mapping[str, dict[str, dict[str, MetricValue]]]) -> Iterator[str]:
    for mode, name in _places(told, own):
        says, makes = told.get(mode, {}).get(name, {}), own.get(mode, {}).get(name, {})
        for metric in sorted({*says, *makes}):
            mean, n = says.get(metric, (None, 0))
            value, of = (makes[metric].value, makes[metric].n) if metric in makes else (None, 0)
            if n != of or (mean is None) != (value is None) or abs((mean or 0.0) - (value or 0.0)) > EPSILON:
                place = cut(f"aggregates.{mode}.{name}.{metric}")
                found = f"says {written(mean)} of {n}, but its questions make {written(value)} of {of}"
                yield f"damaged at {place}: {found}"


def _places(*sides: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    return sorted({(mode, name) for side in sides for mode, names in side.items() for name in names})


def _not_one() -> str:
    keys = dict.fromkeys((OWN_METRICS_KEY, *(system.metrics_key for system in installed())))
    return f"not a baseline: expected schema {SCHEMA!r} or a metrics file with {' or '.join(map(repr, keys))}"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return _fixed(value) if isinstance(value, float) else value


def _case(stored: _StoredCase) -> CaseScore:
    return CaseScore(
        case_id=stored.id,
        mode=stored.mode,
        hash=stored.hash,
        values=stored.values,
        rank=stored.rank,
        rank_all=stored.rank_all,
        failure=stored.failure,
        slices=(OVERALL, *stored.slices),
        must_pass=stored.must_pass,
        entries=tuple([_list_entry(entry) for entry in stored.entries]),
    )


def _list_entry(stored: _Entry) -> ListEntry:
    # the same chunks come back for many questions
    names = intern(stored.note), intern(stored.chunk)
    scores = stored.final, stored.vector, stored.lexical
    return ListEntry(*names, *scores, stored.supports, intern(stored.heading))


def _scorecard(stored: _Stored, cases: Sequence[CaseScore], directions: dict[str, Direction]) -> Scorecard:
    slices: dict[str, dict[str, dict[str, MetricValue]]] = {mode: {} for mode in stored.aggregates}
    for mode, name in _places(stored.aggregates):
        values, asked = stored.aggregates[mode][name], stored.counts.get(mode, {}).get(name, 0)
        # in the order of the registry, for reports; the file is sorted by name
        slices[mode][name] = {
            metric: MetricValue(value=value, n=n, unscored=max(asked - n, 0), direction=directions[metric])
            for metric in directions
            if metric in values
            for value, n in [values[metric]]
        }
    return Scorecard(
        suite=stored.suite,
        run_id=stored.run_id,
        fingerprint=stored.fingerprint,
        cases=cases,
        slices=slices,
        counts=stored.counts,
        operations=None,
    )


def _read_bare(
    value: dict[str, Any], source: str, directions: dict[str, Direction], system: OtherSystem | None
) -> Baseline:
    try:
        scorecard, counted = other_systems.read(value, directions)
    except other_systems.DamagedError as error:
        raise FileError(source, f"not a metrics file: {error}", hint=_REPAIR) from None
    if counted and (system is None or system.metrics_key == OWN_METRICS_KEY):
        # raggate's own files alone have the shape, and tell for each mean over how many questions it is
        return Baseline(source=source, scorecard=scorecard, provenance={"means_of": "raggate"})
    if system is None:
        raise FileError(source, "not a metrics file: its means do not say over how many questions they are")
    return Baseline(source=source, scorecard=scorecard, provenance={"means_of": system.name}, restate=system.restate)


def _entry_out(entry: ListEntry) -> list[Any]:
    scores = (
        rounded_or_none(score if score is not None and abs(score) <= MAX_VALUE else None, SCORE_DECIMALS)
        for score in (entry.final, entry.vector, entry.lexical)
    )
    return [entry.note, entry.chunk, *scores, list(entry.supports), *filter(None, [entry.heading])]
