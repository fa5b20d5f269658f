"""The steps of a run in shards, each in a job of its own: ask one shard, and merge and judge what all have left.

Nothing that one job hands to the next is trusted: each step reads the trusted inputs itself, and holds the shards
against them.
"""

from __future__ import annotations

from pathlib import Path

from raggate.action import steps
from raggate.action.gate import gate
from raggate.base.errors import ExitCode
from raggate.base.numbers import counted
from raggate.frontends.console import say
from raggate.github.step_context import Step
from raggate.pipeline import shards
from raggate.pipeline.request import Request


def ask(step: Step) -> int:
    """Ask one shard; leave its directory, also where it could not be asked to the end."""
    step.state.fail_on = "regression"  # only a verdict may be waved through
    shard = shards.written_shard(step.inputs["shard"], "input 'shard'")
    result = shards.run(steps.request(step), shard)
    result.refuse_stopped()
    line = f"shard {shard.number} of {shard.of}: {counted(result.answered, 'call')} answered, {result.failed} failed"
    step.state.outputs = {"verdict": "", "exit-code": ""}
    step.state.summary = f"raggate: {line}.\n"
    say(line)
    return int(ExitCode.PASS)


def merge(step: Step) -> int:
    """Merge the shards and judge the run, as `gate` judges one that it has asked. Returns the verdict's code."""

    def merged(request: Request) -> Path:
        return shards.merge(request, [step.runner.workspace / step.inputs["parts"]]).result.directory

    return gate(step, measured=merged)
