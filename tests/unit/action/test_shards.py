"""The steps of a run in shards: what they refuse before anything is asked, and that a part of a run is no verdict."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from raggate.action import main, shards
from raggate.base.errors import RaggateError
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, Step, StepState

EVENT = Event(
    name="push",
    repository="team/api",
    run_id=1,
    attempt=1,
    server_url="https://forge.example",
    api_url="https://forge.example/api",
    graphql_url="",
    triggering_actor="",
    default_branch="main",
    head="b" * 40,
    head_ref="main",
)


def taken(root: Path, command: Callable[[Step], int], **inputs: str) -> StepState:
    """Take a step in an empty workspace."""
    files = {name: root / name for name in ("output", "state", "summary")}
    runner = Runner(workspace=root, environment={}, **files)
    given = {**step_inputs.DEFAULTS, "fail-on": "never", "comment": "never", **inputs}
    state = StepState(fail_on="never")
    state.outputs = {"code": str(command(Step(given, EVENT, None, runner, state)))}
    return state


def test_a_step_without_a_verdict_is_never_waved_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fail-on` is for the verdict alone: a shard that failed makes its job red whatever it says."""
    monkeypatch.chdir(tmp_path)
    files = {name: tmp_path / name for name in ("output", "state", "summary")}
    runner = Runner(workspace=tmp_path, environment={}, **files)
    for shard in ("", "1/2"):
        state = StepState(fail_on="never")
        with pytest.raises(RaggateError):
            shards.ask(Step({**step_inputs.DEFAULTS, "shard": shard}, EVENT, None, runner, state))
        assert state.fail_on == "regression"
        assert all(code not in main._GREEN[state.fail_on] for code in range(256))


def test_a_merge_without_shards_says_what_is_wrong_with_the_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no configuration there are no shards, and the configuration is what is named."""
    monkeypatch.chdir(tmp_path)
    assert taken(tmp_path, shards.merge).outputs["code"] == "2"
    assert "raggate.yml" in capsys.readouterr().err


def test_every_command_of_the_input_has_a_step() -> None:
    """The steps are reached by the names that the action's input has."""
    assert [*main._COMMANDS] == [*step_inputs.INPUTS["command"].choices]
    for module, name in main._COMMANDS.values():
        assert callable(getattr(import_module(f"raggate.action.{module}"), name))
