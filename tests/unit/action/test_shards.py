"""The steps of a run in shards: what they refuse before anything is asked, and that a part of a run is no verdict."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from events import make_event, make_step
from raggate.action import main, shards
from raggate.base.errors import RaggateError
from raggate.github.runner import step_inputs

EVENT = make_event("push")


def test_a_step_without_a_verdict_is_never_waved_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fail-on` is for the verdict alone: a shard that failed makes its job red whatever it says."""
    monkeypatch.chdir(tmp_path)
    for shard in ("", "1/2"):
        step = make_step(tmp_path, EVENT, {"shard": shard})
        step.state.fail_on = "never"
        with pytest.raises(RaggateError):
            shards.ask(step)
        assert step.state.fail_on == "regression"
        assert all(code not in main._GREEN[step.state.fail_on] for code in range(256))


def test_a_merge_without_shards_says_what_is_wrong_with_the_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is no configuration there are no shards, and the configuration is what is named."""
    monkeypatch.chdir(tmp_path)
    assert shards.merge(make_step(tmp_path, EVENT, {"comment": "never"})) == 2
    assert "raggate.yml" in capsys.readouterr().err


def test_every_command_of_the_input_has_a_step() -> None:
    """The steps are reached by the names that the action's input has."""
    assert [*main._COMMANDS] == [*step_inputs.INPUTS["command"].choices]
    for module, name in main._COMMANDS.values():
        assert callable(getattr(import_module(f"raggate.action.{module}"), name))
