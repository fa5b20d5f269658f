"""The trusted inputs -> a plan: which shard asks which questions. And back: whether a plan is of these inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from pathlib import Path
from secrets import token_hex
from statistics import median
from typing import Any

from msgspec.structs import replace
from pydantic import ValidationError

from raggate import __version__
from raggate.config.schema import Config
from raggate.errors import RaggateError, UsageError
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.provenance import Checkout, exact_image
from raggate.models.shards import Means, Plan, PlannedApi, PlannedBy
from raggate.pipeline import result_rows, stored_runs
from raggate.pipeline.request import Request
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.scoring.score import METRICS_VERSION
from raggate.text import jsonio
from raggate.text.files import read_file, write_file
from raggate.text.jsonio import Shape, as_dict, dumps, parse_object
from raggate.text.numbers import lot
from raggate.text.quote import first_problem

SCHEMA = "raggate/plan/1"
MOST_SHARDS = 10_000
_AGAIN = "Make a new plan: `raggate plan`, with the same flags as the other steps."
_PLAN: Shape[Plan] = Shape(Plan)


_API_WORDS = {
    "url": "the API's address",
    "image": "the API's image",
    "source": "the checkout that the API is built from",
}
_WORDS = {
    "raggate_version": "the version of raggate",
    "metrics_version": "the version of the metrics",
    "golden": "the golden set",
    "config": "the configuration",
    "vault": "the vault",
}


def plan_of(request: Request, shards: int, *, by_latency: bool = False) -> Plan:
    """Read the inputs, and deal their questions; `by_latency` of the newest stored run of the suite.

    Raises:
        RunFailed: for inputs that cannot be read, and where no such run is.
    """
    with load_inputs(request) as inputs:
        latencies = _latencies(request.runs(inputs.config.out), inputs.config.suite) if by_latency else None
        return plan(request, inputs, shards, latencies=latencies, nonce=token_hex(8))


def _latencies(out: Path, suite: str) -> dict[str, float]:
    stored = (run for run in stored_runs.stored_runs(out) if run.measured and run.suite == suite and not run.stopped)
    newest = next((run for run in stored if run.partial is None), None)
    if newest is None:
        raise UsageError(
            f"--by latency: no whole run of suite {suite!r} in {out}", hint="Deal by hash: leave --by out."
        )
    stored_runs.refuse_committed(out, [newest.name], "--by latency")
    name, lines = result_rows.packed_lines(newest.directory)
    return stored_latencies(parse_object(line, f"{name}:{number}") for number, line in enumerate(lines, 1))


def plan(
    request: Request,
    inputs: Inputs,
    shards: int,
    *,
    latencies: Mapping[str, float] | None = None,
    nonce: str = "",
) -> Plan:
    """Deal the questions to shards.

    Args:
        shards: how many, from 1.
        latencies: milliseconds by question, of a stored run; None to deal by a hash of the ids.
        nonce: tells the plan from others of the same inputs.
    """
    ids = sorted((case.id for case in inputs.golden.cases), key=lambda name: (lot(name), name))
    dealt = _by_hash(ids, shards) if latencies is None else _by_latency(ids, shards, latencies)
    by: PlannedBy = "hash" if latencies is None else "latency"
    unsigned = Plan(
        nonce=nonce,
        means=means(request, inputs),
        by=by,
        shards=tuple(tuple(sorted(part)) for part in dealt),
        hash="",
    )
    return replace(unsigned, hash=digest(unsigned))


def _by_hash(ids: Sequence[str], shards: int) -> list[Sequence[str]]:
    """Cut the ids, in the order of a hash of each, into parts of which none is larger by more than one."""
    return [ids[len(ids) * part // shards : len(ids) * (part + 1) // shards] for part in range(shards)]


def _by_latency(ids: Sequence[str], shards: int, latencies: Mapping[str, float]) -> list[Sequence[str]]:
    """Deal the slowest first, each to the shard with least to do; one that nobody asked before takes the usual time."""
    usual = median(latencies.values()) if latencies else 1.0
    parts: list[list[str]] = [[] for _ in range(shards)]
    load = [(0.0, number) for number in range(shards)]
    heapify(load)
    for name in sorted(ids, key=lambda name: -latencies.get(name, usual)):
        total, number = load[0]
        parts[number].append(name)
        heapreplace(load, (total + latencies.get(name, usual), number))
    return [*parts]


def means(request: Request, inputs: Inputs, seen: Checkout | None = None) -> Means:
    """Return by what these inputs measure; `seen` is what was just seen of the checkout, None to look."""
    settings = inputs.config
    return Means(
        raggate_version=__version__,
        metrics_version=METRICS_VERSION,
        suite=settings.suite,
        golden=inputs.golden.hash,
        config=hashlib.sha256(dumps(settings.model_dump(mode="json"))).hexdigest(),
        vault=inputs.vault.hash,
        api=_api(settings, request.root, request.remote, seen),
        modes=tuple(settings.ask.modes),
        repeat=settings.ask.repeat,
    )


def _api(settings: Config, root: Path, remote: sources.Remote | None, seen: Checkout | None) -> PlannedApi:
    api = settings.api
    if api.url is not None:
        return PlannedApi(kind="url")
    if api.container is not None and api.container.image is not None:
        return PlannedApi(kind="image", name=api.container.image, id=exact_image(api.container.image))
    # a run writes what its judges reply, which changes nothing of the API
    replies = None if settings.judging is None else settings.judging.cassette
    return PlannedApi(kind="source", id=sources.tree_id(root, remote, but=replies, seen=seen))


def digest(unsigned: Plan) -> str:
    """Hash all of a plan but its hash."""
    return _hash_of(_stored(unsigned))


def _hash_of(stored: Mapping[str, Any]) -> str:
    return hashlib.sha256(dumps({**stored, "hash": ""})).hexdigest()


def _stored(plan: Plan) -> dict[str, Any]:
    return {"schema": SCHEMA, **as_dict(plan)}


def plan_bytes(plan: Plan) -> bytes:
    """Return the content of a `plan.json`."""
    return dumps(_stored(plan), pretty=True)


def write(file: Path, plan: Plan) -> None:
    """Write a `plan.json`, over nothing but an earlier plan.

    Raises:
        UsageError: when something else is there, or it cannot be written.
    """
    if file.is_symlink() or (file.exists() and not _is_plan(file)):
        raise UsageError(
            f"{file}: something else than a plan is there", hint="Name another file with --out: it is left as it is."
        )
    write_file(file, plan_bytes(plan))


def _is_plan(file: Path) -> bool:
    try:
        stored = parse_object(read_file(file), str(file))
    except RaggateError:
        return False
    return str(stored.get("schema")).startswith("raggate/plan/")


def read(file: Path) -> Plan:
    """Read a `plan.json`. Nothing in it is trusted but what its hash says.

    Raises:
        UsageError: when it cannot be read, or was changed after it was made.
    """
    stored = parse_object(read_file(file, _AGAIN), str(file))
    if problem := jsonio.schema_problem(stored.pop("schema", None), SCHEMA):
        raise UsageError(f"{file}: not a plan: {problem}", hint=_AGAIN)
    try:
        made = _PLAN.validate_python(stored)
    except ValidationError as error:
        raise UsageError(f"{file}: not a plan: {first_problem(error)}", hint=_AGAIN) from None
    if digest(made) != made.hash:
        raise UsageError(
            f"{file}: its content is not what its hash says: it was changed after it was made", hint=_AGAIN
        )
    return made


def check(made: Plan, request: Request, inputs: Inputs) -> None:
    """Refuse a plan that is of other inputs than these.

    Raises:
        UsageError: naming what differs.
    """
    if differing := differences(made.means, means(request, inputs)):
        raise UsageError(
            f"the plan is of other inputs than those here: {', '.join(differing)} "
            f"{'differs' if len(differing) == 1 else 'differ'}",
            hint=f"Give every step the same files and flags, or plan anew. {_AGAIN}",
        )
    dealt = sorted(name for part in made.shards for name in part)
    if dealt != sorted(case.id for case in inputs.golden.cases):
        raise UsageError("the plan does not deal every question of the golden set once", hint=_AGAIN)


def differences(before: Means, here: Means) -> list[str]:
    """Name in words what two ways to measure differ in."""
    others = as_dict(before)
    words = {**_WORDS, "api": _API_WORDS[here.api.kind]}
    return [words.get(key, key) for key, value in as_dict(here).items() if others[key] != value]


def stored_latencies(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the milliseconds that each question took in all modes and repeats, by the rows of its results."""
    total: dict[str, float] = {}
    for row in rows:
        result = row.get("result")
        took = result.get("elapsed_ms") if isinstance(result, dict) else None
        if isinstance(took, int | float):
            name = str(row.get("test_case_id"))
            total[name] = total.get(name, 0.0) + min(max(float(took), 0.0), 1e9)
    return total
