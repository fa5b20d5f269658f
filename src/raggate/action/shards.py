"""The steps of a run in shards, each in a job of its own: plan, ask one shard, and merge and judge what all have left.

Nothing that one job hands to the next is trusted but the hash of the plan and how jobs ended, which GitHub keeps: each
step reads the trusted inputs itself, and holds plan and shards against them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from raggate.action import steps
from raggate.action.gate import gate
from raggate.cli.console import say
from raggate.errors import CannotTell, ExitCode, UsageError
from raggate.github import bases
from raggate.github.rest.repository import Repository
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState
from raggate.models.shards import Plan
from raggate.pipeline.request import Request
from raggate.pipeline.shards import merge as merging, numbers, planning, running, shard_directory
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.text.jsonio import dumps
from raggate.text.numbers import counted
from raggate.text.quote import quoted

MOST_JOBS = 256
"""Jobs that GitHub makes of one matrix."""

RESULTS = ("success", "failure", "cancelled", "skipped")
"""How GitHub says that a job ended."""

_NUMBER = re.compile(r"[1-9][0-9]{0,5}")
_JOB = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,99})=([a-z]+)")
_AGAIN = "Run all jobs again: the plan is then made anew. The log of the job that failed says what is wrong."


def plan(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Deal the questions of the trusted inputs to shards; leave the plan, and the shards as the outputs of a matrix."""
    state.fail_on = "regression"  # only a verdict may be waved through
    bases.check(event.base_ref, event.default_branch, inputs["bases"])
    if not _NUMBER.fullmatch(inputs["shards"]) or int(inputs["shards"]) > MOST_JOBS:
        raise UsageError(f"input 'shards': expected a number from 1 to {MOST_JOBS}; found {quoted(inputs['shards'])}")
    request = steps.request(inputs, event, repository, runner, state)
    made = planning.plan_of(request, int(inputs["shards"]))
    planning.write(runner.workspace / inputs["plan"], made)
    sizes = sorted(map(len, made.shards))
    line = f"{counted(sum(sizes), 'question')} in {counted(len(sizes), 'shard')} of {sizes[0]} to {sizes[-1]}"
    shards = dumps([*range(1, len(sizes) + 1)]).decode().strip()
    _done(state, line, {"shards": shards, "plan-hash": made.hash})
    return int(ExitCode.PASS)


def ask(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Ask one shard of the plan; leave its directory, also where it could not be asked to the end."""
    state.fail_on = "regression"
    request = steps.request(inputs, event, repository, runner, state)
    made = _plan(inputs, runner)
    shard = numbers.shard_of(inputs["shard"] or None, runner.environment, len(made.shards), "input 'shard'")
    result = running.run(request, runner.workspace / inputs["plan"], shard, event.attempt)
    running.refuse_stopped(result)
    receipt = result.receipt
    line = f"shard {receipt.shard} of {receipt.of}, attempt {receipt.attempt}: {receipt.counts.sentence}"
    _done(state, line, {})
    return int(ExitCode.PASS)


def merge(
    inputs: Mapping[str, str], event: Event, repository: Repository | None, runner: Runner, state: StepState
) -> int:
    """Merge the shards and judge the run, as `gate` judges one that it has asked. Returns the verdict's code."""

    def merged(request: Request) -> Path:
        objections = failed_jobs(inputs["jobs"])
        plan_file = runner.workspace / inputs["plan"]
        if not plan_file.exists():
            # what is wrong with the inputs is why there is none
            with load_inputs(request):
                raise CannotTell([*objections, f"there is no plan: {inputs['plan']}"], hint=_AGAIN)
        _plan(inputs, runner)
        parts = shard_directory.places_below(runner.workspace / inputs["parts"])
        return merging.merge(request, parts, plan_file, objections=objections).result.directory

    return gate(inputs, event, repository, runner, state, measured=merged)


STEPS: Mapping[str, Callable[[Mapping[str, str], Event, Repository | None, Runner, StepState], int]] = {
    "plan": plan,
    "shard": ask,
    "merge": merge,
}
"""`command` -> the step."""


def failed_jobs(text: str) -> list[str]:
    """Return which of the jobs before this one did not succeed."""
    lines = []
    for word in filter(None, re.split(r"[,\s]+", text)):
        match = _JOB.fullmatch(word)
        if match is None or match[2] not in RESULTS:
            known = ", ".join(RESULTS)
            raise UsageError(
                f"input 'jobs': expected words such as ask=success, by any of {known}; found {quoted(word)}"
            )
        if match[2] != "success":
            lines.append(f"the job {quoted(match[1])} did not succeed: {match[2]}")
    return lines


def _plan(inputs: Mapping[str, str], runner: Runner) -> Plan:
    """Read the plan, which must be the one that this run of the workflow has made."""
    made = planning.read(runner.workspace / inputs["plan"])
    if inputs["plan-hash"] not in {"", made.hash}:
        raise CannotTell(f"{inputs['plan']} is not the plan that this run has made: its hash is another", hint=_AGAIN)
    return made


def _done(state: StepState, line: str, outputs: Mapping[str, str]) -> None:
    state.outputs = {"verdict": "", "exit-code": "", **outputs}
    state.summary = f"raggate: {line}.\n"
    say(line)
