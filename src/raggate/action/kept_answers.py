"""The inputs `answers` and `answers-key`: which earlier answers a step may take, and who may keep new ones.

The directory travels in a cache that a change can write to, so it is believed by its seal alone. Answers are kept where
the default branch judges itself: whatever is in that branch's cache, merged code has answered.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from raggate.errors import UsageError
from raggate.github.runner import results
from raggate.github.step_context import Runner

if TYPE_CHECKING:
    from raggate.pipeline.request import Request


def check(inputs: Mapping[str, str]) -> None:
    """Refuse inputs by which no answer would be taken or kept, before anything is started.

    Raises:
        UsageError: naming the input.
    """
    if inputs["answers-key"] and not inputs["answers"]:
        raise UsageError(
            "input 'answers-key' is given without 'answers'", hint="Name the directory of kept answers in `answers`."
        )
    if not inputs["answers"]:
        return
    if inputs["command"] != "check" or inputs["run"]:
        beside = "'run'" if inputs["run"] else f"'command: {inputs['command']}'"
        raise UsageError(
            f"input 'answers' is for a step that asks all questions itself: expected it not beside {beside}",
            hint="Leave `answers` and `answers-key` out there.",
        )
    from raggate.pipeline.answers.seal import LEAST

    if inputs["answers-key"] and len(inputs["answers-key"]) < LEAST:
        raise UsageError(f"input 'answers-key': expected at least {LEAST} characters", hint="`openssl rand -hex 32`.")


def with_answers(request: Request, inputs: Mapping[str, str], *, keeps: bool) -> Request:
    """Give the request of a step that may take kept answers; as it was where it names no directory.

    Args:
        request: what the step asks for.
        inputs: its inputs; without `answers-key`, as in a run of a fork, nothing is taken.
        keeps: whether new answers may be kept.
    """
    if not inputs["answers"]:
        return request
    from raggate.pipeline.answers.seal import VARIABLE

    # the input alone gives the key, and none is made up where it is empty
    environment = {**request.environment, "CI": "true", VARIABLE: inputs["answers-key"]}
    return replace(request, environment=environment, answers=Path(inputs["answers"]), keeps_answers=keeps)


def give_back(inputs: Mapping[str, str], runner: Runner) -> None:
    """Make the workspace's owner the owner of what was kept, so that the next step can save it."""
    if inputs["answers"]:
        results.give_back(runner.workspace / inputs["answers"], runner.workspace)
