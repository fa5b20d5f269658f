"""One shard of a plan: its questions asked, and a directory that says what became of them, however it ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from raggate.errors import CannotTell, Interrupted, UsageError
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.provenance import Checkout
from raggate.models.shards import PROBING_SHARD, Plan, Receipt
from raggate.pipeline import asked_by, run_directory, unfinished_run
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.asking import Part
from raggate.pipeline.failure_reports import failure_reports
from raggate.pipeline.measure import changed_vault
from raggate.pipeline.request import Request
from raggate.pipeline.shards import planning, shard_directory
from raggate.pipeline.shards.receipt import counts, receipt_of
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.text.dates import now


class ShardResult(Struct, frozen=True, kw_only=True):
    """A shard that was asked: its directory, and what it says it has done."""

    directory: Path
    receipt: Receipt


def run(request: Request, plan_file: Path, shard: int, attempt: int = 1) -> ShardResult:
    """Ask the questions of one shard; leave a directory with the answers and a receipt.

    Args:
        shard: which, from 1.
        attempt: which attempt it is at least.

    Raises:
        RunFailed: for every way to end without a receipt. A shard that broke off is given back;
            `receipt.stopped` says why.
    """
    with load_inputs(request) as inputs:
        plan = planning.read(plan_file)
        planning.check(plan, request, inputs)
        return ask(request, inputs, plan, shard, attempt, plan_file)


def ask(
    request: Request, inputs: Inputs, plan: Plan, shard: int, attempt: int = 1, plan_file: Path | None = None
) -> ShardResult:
    """Ask the questions of one shard of a plan of these inputs; as `run`."""
    parent = run_directory.safe_runs(request, inputs.config.out)
    goes_on = request.resume is not None
    checkout = Checkout(commit=sources.commit_of(request.root, request.remote))
    by = asked_by.asking(request, inputs, plan.cases(shard, inputs.golden), "shard", now(), checkout, plan)
    if goes_on:
        directory, number = _unfinished(request, parent, plan, shard)
    else:
        directory, number = shard_directory.create(parent, plan, shard, attempt)
    keeping = UnfinishedRun(
        directory=directory, asking=by, file=shard_directory.RESULTS, goes_on=goes_on, say=request.say
    )
    with keeping as kept:
        request.created(directory)
        with failure_reports(directory, inputs.config):
            way_on = partial(_way_on, request, kept, plan_file, f"{shard}/{len(plan.shards)}")
            receipt = _ask(request, inputs, plan, shard, kept, number, way_on)
            kept.done()
            return ShardResult(directory=directory, receipt=receipt)


def _unfinished(request: Request, parent: Path, plan: Plan, shard: int) -> tuple[Path, int]:
    """Find the attempt that goes on, and which it is.

    Raises:
        UsageError: when there is none, it has ended, or it is of another shard.
    """
    assert request.resume is not None  # noqa: S101 - the caller has looked
    directory = unfinished_run.place(request, parent, request.resume)
    for attempt in range(1, shard_directory.MOST_ATTEMPTS):
        if shard_directory.name(plan, shard, attempt) == directory.name:
            break
    else:
        raise UsageError(f"{directory}: not of shard {shard} of {len(plan.shards)}", hint="Name its own directory.")
    if (directory / shard_directory.RECEIPT).exists():
        raise UsageError(f"{directory}: it has ended, and has a receipt", hint="Ask the shard again without --resume.")
    return directory, attempt


def _way_on(request: Request, kept: UnfinishedRun, plan_file: Path | None, shard: str, answers: AnswersSoFar) -> str:
    """Return how a shard that was interrupted is asked to its end."""
    if plan_file is None or not kept.can_go_on(answers):
        return f"Ask it again: --shard {shard}."
    return f"To go on: {request.resuming('run', kept.directory, plan=plan_file, shard=shard)}"


def _ask(
    request: Request,
    inputs: Inputs,
    plan: Plan,
    shard: int,
    kept: UnfinishedRun,
    attempt: int,
    way_on: Callable[[AnswersSoFar], str],
) -> Receipt:
    cases = plan.cases(shard, inputs.golden)
    answers, begin = AnswersSoFar(), time.monotonic() - kept.asking.seconds
    kept.load(answers, cases)
    part = Part(
        request=request,
        inputs=inputs,
        cases=cases,
        directory=kept.directory,
        runs=kept.directory.parent,
        before={},
        probes=shard == PROBING_SHARD,
        kept=kept,
    )
    try:
        # nothing to ask is nothing to start an API for
        stopped, log = part.ask(answers) if part.asks_anything() else (None, ())
    except KeyboardInterrupt:
        due = counts(cases, inputs.config.ask, answers.results).due
        raise Interrupted(f"{answers.interrupted(due)} of shard {shard}", hint=way_on(answers)) from None
    kept.check_index(answers)
    started = kept.asking.started
    receipt = replace(
        receipt_of(plan, shard, answers, inputs, started=started, seconds=time.monotonic() - begin),
        attempt=attempt,
        commit=sources.commit_of(request.root, request.remote) or "",
        log=log,
        resumed=kept.resumed,
        stopped=stopped or changed_vault(inputs.vault),
    )
    shard_directory.complete(kept.directory, receipt, answers.again, answers.probes, kept.digest)
    return receipt


def refuse_stopped(result: ShardResult) -> None:
    """Refuse a shard that did not ask everything.

    Raises:
        CannotTell: saying why.
    """
    receipt = result.receipt
    if receipt.stopped is not None:
        hint = f"Ask it again: --shard {receipt.shard}/{receipt.of}. It cannot be merged as it is."
        raise CannotTell(f"shard {receipt.shard} of {receipt.of}: {receipt.stopped}", hint=hint, log=receipt.log)
