"""The inputs `answers` and `answers-key`: who takes answers, who keeps them, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from raggate.action import kept_answers, steps
from raggate.errors import UsageError
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, StepState
from raggate.pipeline.answers import seal
from raggate.pipeline.request import Request
from tables import each_row

KEY = "k" * 32
ENVIRONMENT = {seal.VARIABLE: "of the job " * 4, "HOME": "/root"}


def asked(tmp_path: Path, event: dict[str, Any], **inputs: str) -> Request:
    """Give what a step asks the pipeline for."""
    usual: dict[str, Any] = {"repository": "team/api", "run_id": 1, "attempt": 1, "graphql_url": ""}
    usual |= {"server_url": "https://github.com", "api_url": "https://api.github.com", "triggering_actor": ""}
    usual |= {"default_branch": "main", "head": "b" * 40, "head_ref": "main"}
    files = {name: tmp_path / name for name in ("output", "state", "summary")}
    runner = Runner(workspace=tmp_path, environment=ENVIRONMENT, **files)
    given = {**step_inputs.DEFAULTS, "answers": ".answers", "answers-key": KEY, **inputs}
    return steps.request(given, Event(**{**usual, **event}), None, runner, StepState())


PULL = {"name": "pull_request", "number": 7, "base": "a" * 40, "base_ref": "main", "head_ref": "change"}


@each_row(
    ("event", "inputs", "keeps"),
    [
        ({"name": "push"}, {}, True),
        ({"name": "push"}, {"against": "working-tree"}, True),
        ({"name": "schedule", "head_ref": ""}, {}, True),
        ({"name": "workflow_dispatch"}, {}, True),
        ({"name": "push", "head_ref": "change"}, {}, False),
        ({"name": "workflow_dispatch", "head_ref": "change"}, {}, False),
        ({"name": "push", "head_ref": "", "default_branch": ""}, {}, False),
        ({"name": "push"}, {"against": "HEAD~1"}, False),
        ({"name": "workflow_run"}, {}, False),
        ({"name": "repository_dispatch"}, {}, False),
        ({"name": "issue_comment"}, {}, False),
        ({"name": "merge_group", "base": "a" * 40, "base_ref": "main"}, {}, False),
        (PULL, {}, False),
        (PULL, {"against": "working-tree"}, False),
        ({**PULL, "head_ref": "main", "from_fork": True}, {}, False),
        ({**PULL, "name": "pull_request_target", "privileged": True}, {}, False),
    ],
)
def test_only_the_default_branch_keeps_answers(
    tmp_path_factory: pytest.TempPathFactory, event: dict[str, Any], inputs: dict[str, str], keeps: bool
) -> None:
    """New answers are kept where the default branch judges itself, and every other event may take what is there."""
    request = asked(tmp_path_factory.mktemp("step"), event, **inputs)
    assert (request.answers, request.keeps_answers) == (Path(".answers"), keeps)
    assert seal.key(request.environment) == KEY.encode()


def test_without_the_secret_there_is_no_key(tmp_path: Path) -> None:
    """A run that is given no secret has none: neither is one made up in the container, nor that of the job taken."""
    request = asked(tmp_path, PULL, **{"answers-key": ""})
    assert request.answers is not None
    assert seal.key(request.environment) is None


def test_without_the_input_nothing_is_taken(tmp_path: Path) -> None:
    """A step that names no directory asks everything, whatever its environment says."""
    request = asked(tmp_path, {"name": "push"}, **{"answers": "", "answers-key": ""})
    assert request.answers is None


@each_row(
    ("inputs", "message"),
    [
        ({"answers-key": KEY}, "'answers-key' is given without 'answers'"),
        ({"answers": "a", "answers-key": "short"}, "'answers-key': expected at least 32 characters"),
        ({"answers": "a", "answers-key": KEY, "run": "b"}, "beside 'run'"),
        ({"answers": "a", "command": "promote"}, "beside 'command: promote'"),
        ({"answers": "a", "command": "shard"}, "beside 'command: shard'"),
        ({"answers": "a", "command": "merge"}, "beside 'command: merge'"),
    ],
)
def test_where_nothing_could_be_taken_is_refused(inputs: dict[str, str], message: str) -> None:
    """Inputs without a use are a usage error, which does not show the key."""
    with pytest.raises(UsageError) as refused:
        kept_answers.check({**step_inputs.DEFAULTS, **inputs})
    assert message in refused.value.message
    assert "short" not in refused.value.message


@pytest.mark.parametrize("place", ["../elsewhere", "/tmp", "leads-out/answers"])
def test_the_directory_lies_in_the_workspace(tmp_path: Path, place: str) -> None:
    """Elsewhere is the action's own container, of which no later step sees anything."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "leads-out").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"input 'answers': .* lies outside the workspace"):
        steps.check_places({**step_inputs.DEFAULTS, "answers": place}, workspace)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_is_kept_belongs_to_the_owner_of_the_workspace(tmp_path: Path) -> None:
    """The next step saves the directory as the runner's user; what a link in it leads to stays whose it was."""
    outside = tmp_path / "outside"
    outside.write_text("x")
    workspace = tmp_path / "workspace"
    kept = workspace / "cache" / "answers"
    kept.mkdir(mode=0o700, parents=True)
    (kept / "f.answers").write_text("x")
    (kept / "link").symlink_to(outside)
    os.chown(workspace, 1234, 1235)
    runner = Runner(workspace=workspace, environment={}, **dict.fromkeys(("output", "state", "summary"), tmp_path))
    kept_answers.give_back({"answers": "cache/answers"}, runner)
    assert {path.lstat().st_uid for path in workspace.rglob("*")} == {1234}
    assert outside.stat().st_uid == 0
