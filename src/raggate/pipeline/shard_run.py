"""One shard of a plan: its questions asked, and a directory that says what became of them, however it ended."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from raggate.errors import CannotTell, Interrupted
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.run import Result
from raggate.models.shards import Plan, Receipt
from raggate.pipeline import planning, run_directory, shard_directory
from raggate.pipeline.asking import Part
from raggate.pipeline.measure import changed_vault, failure_reports
from raggate.pipeline.partial_run import PartialRun
from raggate.pipeline.request import Request
from raggate.pipeline.shard_directory import Journal
from raggate.pipeline.shard_receipt import counts, receipt_of
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.text.clock import now


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """A shard that was asked: its directory, and what it says it has done."""

    directory: Path
    receipt: Receipt


def run(request: Request, plan_file: Path, shard: int, attempt: int = 1) -> ShardResult:
    """Ask the questions of one shard; leave a directory with the answers and a receipt.

    Args:
        request: what the front end asks for.
        plan_file: the plan.
        shard: which, from 1.
        attempt: which attempt it is at least.

    Raises:
        RunFailed: for every way to end without a receipt. A shard that stopped early is given back;
            `receipt.stopped` says why.
    """
    with load_inputs(request) as inputs:
        plan = planning.read(plan_file)
        planning.check(plan, request, inputs)
        return ask(request, inputs, plan, shard, attempt)


def ask(request: Request, inputs: Inputs, plan: Plan, shard: int, attempt: int = 1) -> ShardResult:
    """Ask the questions of one shard of a plan of these inputs; as `run`."""
    if request.out is None:
        run_directory.check_place(request.root, inputs.config.out)
    parent = request.out or request.root / inputs.config.out
    directory, number = shard_directory.create(parent, plan, shard, attempt)
    request.created(directory)
    with failure_reports(directory, inputs.config):
        return ShardResult(directory=directory, receipt=_ask(request, inputs, plan, shard, directory, number))


def _ask(request: Request, inputs: Inputs, plan: Plan, shard: int, directory: Path, attempt: int) -> Receipt:
    cases = plan.cases(shard, inputs.golden)
    probes = plan.beside.probes == shard
    started, begin = now(), time.monotonic()
    answers = PartialRun()
    with Journal(directory / shard_directory.RESULTS) as journal:

        def answered(result: Result) -> None:
            journal.add(result)
            request.answered(result)

        part = Part(
            request=replace(request, answered=answered),
            inputs=inputs,
            cases=cases,
            directory=directory,
            runs=directory.parent,
            before={},
            again=plan.beside.again,
            probes=probes,
        )
        try:
            # nothing to ask is nothing to start an API for
            stopped, log = part.ask(answers) if part.asks_anything() else (None, ())
        except KeyboardInterrupt:
            due = counts(cases, inputs.config.ask, answers.results).planned
            progress = f"interrupted after {len(answers.results)} of {due} questions of shard {shard}"
            raise Interrupted(progress, hint=f"Ask it again: --shard {shard}/{len(plan.shards)}.") from None
        digest = journal.digest
    receipt = replace(
        receipt_of(plan, shard, answers, inputs, started=started, seconds=time.monotonic() - begin),
        attempt=attempt,
        commit=sources.head(request.root, request.remote).commit or "",
        log=log,
        stopped=stopped or changed_vault(inputs.vault),
    )
    shard_directory.complete(directory, receipt, answers.again, answers.probes, digest)
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
