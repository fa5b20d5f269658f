"""The action's entry point around the pipeline: what makes a step red, and what the runner is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from e2e import grammar
from here import Done, called
from preloaded import start
from raggate.action import main
from raggate.base.errors import CannotTell, UsageError
from raggate.github.publish import StepReporter
from raggate.models.suites import SuiteOutcome
from raggate.pipeline import check as pipeline
from raggate.pipeline.request import CheckResult, Request, RunFailed
from reviews import passing

SHA = "0123456789abcdef0123456789abcdef01234567"
EVENT = {
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_REPOSITORY": "someone/repo",
    "GITHUB_RUN_ID": "1",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_SERVER_URL": "https://github.invalid",
    "GITHUB_API_URL": "https://api.github.invalid",
    "GITHUB_SHA": SHA,
}
NAMES = ("GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
Check = Callable[[Request], CheckResult]
IMPORTS = """
import os, sys
from raggate.action import main as action
from raggate.pipeline import check as pipeline
"""


def surroundings(root: Path, environment: dict[str, str]) -> dict[str, str]:
    """Lay out what the runner gives to a step, and name it; `event` is the payload."""
    workspace = root / "workspace"
    workspace.mkdir(exist_ok=True)
    files = {name: str(root / name) for name in NAMES}
    (root / "event.json").write_text(environment.pop("event", "{}"))
    files |= {**EVENT, "GITHUB_EVENT_PATH": str(root / "event.json")}
    return {"PATH": "/usr/bin:/bin", "GITHUB_WORKSPACE": str(workspace), **files, **environment}


def step(root: Path, stub: str = "", call: str = "step", **environment: str) -> Done:
    """Run the step, or all of the entry point, in a process of its own, with the pipeline replaced by a stub."""
    body = f"{IMPORTS}{stub}\nsys.exit(action.{call}())"
    process = start(at=root, environment={**os.environ, **surroundings(root, environment)}, code=body)
    out, err = process.communicate(timeout=60)
    assert process.returncode is not None
    return Done(process.returncode, out, err)


def step_here(root: Path, check: Check, **environment: str) -> Done:
    """Run the step in this process, with the pipeline replaced by a stub."""
    with mock.patch.object(pipeline, "check", check):
        return called(main.step, at=root, environment=surroundings(root, environment), alone=True)


def ended(root: Path, code: int, **environment: str) -> Done:
    """Run the step in this process, with a gate that ends with an exit code and shows nothing."""
    with mock.patch("raggate.action.gate.gate", return_value=code):
        return called(main.step, at=root, environment=surroundings(root, environment), alone=True)


def passes(_: Request) -> CheckResult:
    """Stand for a pipeline whose verdict is a pass."""
    return CheckResult(review=passing(), directory=Path("run"))


def refuses(_: Request) -> CheckResult:
    """Stand for a pipeline that cannot use what it reads."""
    raise UsageError("no")


def outputs(root: Path) -> dict[str, str]:
    """Read the outputs as the runner does."""
    return grammar.values((root / "GITHUB_OUTPUT").read_text())


RED = {0: "", 1: "regression", 4: "regression", 3: "regression cannot-tell"}


@pytest.mark.parametrize("choice", ["regression", "cannot-tell", "never"])
@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 70, 130, 137])
def test_what_makes_the_step_red(tmp_path: Path, code: int, choice: str) -> None:
    """A pass is green, a lenient choice waives verdicts alone, and what it waives is said loudly; outputs never lie."""
    done = ended(tmp_path, code, **{"INPUT_FAIL-ON": choice})
    red = code != 0 and (code not in RED or choice in RED[code].split())
    assert done.code == (code if red else 0)
    assert outputs(tmp_path)["exit-code"] == str(code)
    waived = code != 0 and not red
    assert len(grammar.Log().feed(done.out + done.err).annotations) == waived
    assert ("green because of fail-on" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()) == waived


@pytest.mark.parametrize(
    ("content", "suite"), [("suite: small\nbogus: 1\n", "small"), ("vault: [\nsuite: small\n", "raggate.yml")]
)
def test_a_broken_configuration_is_told_in_the_comment_of_its_suite(tmp_path: Path, content: str, suite: str) -> None:
    """What ends before the suite is known is told under the name that the configuration gives it, else its file's."""
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "raggate.yml").write_text(content)
    suites: list[str] = []

    def finish(_: StepReporter, outcome: SuiteOutcome) -> None:
        suites.append(outcome.suite)

    with mock.patch.object(StepReporter, "finish_suite", finish):
        step_here(tmp_path, refuses)
    assert suites == [suite]


def test_a_run_that_failed_is_told_as_the_pipeline_knew_it(tmp_path: Path) -> None:
    """What ends on the way is shown under the suite that the pipeline read, whatever else could be found."""

    def fails(_: Request) -> CheckResult:
        raise RunFailed(CannotTell("not ready"), suite="small")

    with mock.patch.object(StepReporter, "finish_suite") as finish:
        done = step_here(tmp_path, fails)
    (outcome,) = finish.call_args.args
    assert (done.code, outcome.code, outcome.suite, outcome.reason.lines) == (3, 3, "small", ("not ready",))
    assert outputs(tmp_path)["verdict"] == "cannot tell"
    assert "not ready" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()


@pytest.mark.parametrize("name", ["GITHUB_OUTPUT", "GITHUB_STATE"])
@pytest.mark.parametrize("first", [False, True], ids=["process", "first process of its container"])
def test_files_that_cannot_be_written_are_named(tmp_path: Path, name: str, *, first: bool) -> None:
    """A step that cannot even say that it has started ends with 70 and names the file, also where it is process 1."""
    stub = "os.getpid = lambda: 1" if first else ""
    done = step(tmp_path, stub, "main", **{name: str(tmp_path / "nowhere" / "x")})
    assert done.code == 70
    assert "started nothing" in done.err
    assert str(tmp_path / "nowhere" / "x") in done.err


def test_the_run_directory_of_a_killed_step_is_told(tmp_path: Path) -> None:
    """A killed step has said that it was interrupted, and where its run directory is, also to the post step."""
    stub = """
def killed(request):
    directory = action.Path('.raggate/runs/1').absolute()
    directory.mkdir(parents=True)
    request.voice.created(directory)
    os.kill(os.getpid(), 9)
pipeline.check = killed"""
    done = step(tmp_path, stub)
    assert done.code == -9
    found = outputs(tmp_path)
    assert (found["verdict"], found["exit-code"]) == ("interrupted", "130")
    assert found["run-directory"] == ".raggate/runs/1"
    state = grammar.values((tmp_path / "GITHUB_STATE").read_text())
    assert state.pop("RUN_DIRECTORY") == str(tmp_path / "workspace/.raggate/runs/1")
    assert set(state) == {"STARTED", "STEP"}


@pytest.mark.parametrize(("code", "ends"), [(0, 70), (1, 1), (3, 3)])
def test_a_summary_that_cannot_be_written(tmp_path: Path, code: int, ends: int) -> None:
    """Outputs say what the step ends with, no leniency makes it green, and the post step does not call it killed."""
    given = {"GITHUB_STEP_SUMMARY": str(tmp_path / "nowhere" / "x"), "INPUT_FAIL-ON": "never"}
    done = ended(tmp_path, code, **given)
    assert (done.code, outputs(tmp_path)["exit-code"]) == (ends, str(ends))
    assert outputs(tmp_path)["verdict"] == {70: "internal error", 1: "regression", 3: "cannot tell"}[ends]
    assert "could not be handed to the runner" in done.err
    assert grammar.values((tmp_path / "GITHUB_STATE").read_text())["FINISHED"] == "true"


def test_post_step_tells_of_a_killed_step(tmp_path: Path) -> None:
    """The post step of a step that did not end says so in the summary; after one that did it is silent."""

    def post(**state: str) -> Done:
        with mock.patch.object(main, "SOCKET", Path("/nowhere")):
            return called(main.post, at=tmp_path, environment=surroundings(tmp_path, state), alone=True)

    assert post(STATE_STARTED="1").code == 0
    assert "killed" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    (tmp_path / "GITHUB_STEP_SUMMARY").unlink()
    done = post(STATE_STARTED="1", STATE_FINISHED="true")
    assert (done.code, done.out + done.err) == (0, "")
    assert not (tmp_path / "GITHUB_STEP_SUMMARY").exists()


PULL = json.dumps(
    {
        "action": "opened",
        "number": 7,
        "pull_request": {
            "number": 7,
            "state": "open",
            "head": {"sha": "1" * 40, "ref": "change", "repo": {"full_name": "someone/repo"}},
            "base": {"sha": "2" * 40, "ref": "main", "repo": {"full_name": "someone/repo"}},
        },
        "repository": {"full_name": "someone/repo", "default_branch": "main"},
    }
)
GROUP = json.dumps(
    {
        "merge_group": {
            "head_sha": "1" * 40,
            "base_sha": "2" * 40,
            "head_ref": "refs/heads/q",
            "base_ref": "refs/heads/m",
        }
    }
)
BASE = "2" * 40


def requests(root: Path, **environment: str) -> list[Request]:
    """Return what a step asks of the pipeline, which passes; the step is green then."""
    asked: list[Request] = []
    done = step_here(root, lambda request: asked.append(request) or passes(request), **environment)
    assert done.code == 0, done.err
    return asked


@pytest.mark.parametrize(
    ("name", "event", "inputs", "expected"),
    [
        ("pull_request", PULL, {}, (BASE, True, True)),
        ("pull_request", PULL, {"INPUT_ALLOW-COMMAND": "true"}, (BASE, True, False)),
        ("pull_request", PULL, {"INPUT_AGAINST": "main"}, ("main", False, True)),
        ("pull_request", PULL, {"INPUT_AGAINST": "working-tree"}, (None, False, True)),
        ("pull_request_review", PULL, {}, (BASE, True, True)),
        ("merge_group", GROUP, {}, (BASE, True, True)),
        ("issue_comment", "{}", {}, (None, False, True)),
        ("push", "{}", {}, (None, False, False)),
        ("schedule", "{}", {}, (None, False, False)),
    ],
)
def test_what_judges_which_event(
    tmp_path: Path, name: str, event: str, inputs: dict[str, str], expected: tuple[object, ...]
) -> None:
    """The base commit judges pull requests and merge groups, the working tree everything else, unless one is named.

    Where a change may be checked out, an API beside the token is refused unless the workflow allows it.
    """
    (request,) = requests(tmp_path, event=event, GITHUB_EVENT_NAME=name, **inputs)
    assert (request.against, request.first_run is not None, request.overrides.contained) == expected


def test_terms_that_are_refused(tmp_path: Path) -> None:
    """A setting that nobody knows is no setting to allow in a first run."""
    given = {"INPUT_ALLOW-FIRST-RUN": "pass_env, memory"}
    done = step_here(tmp_path, passes, event=PULL, GITHUB_EVENT_NAME="pull_request", **given)
    assert (done.code, done.out) == (2, ""), done.err
    assert "found 'memory'" in done.err


@pytest.mark.parametrize("name", ["pull_request", "merge_group"])
def test_a_base_that_the_workflow_does_not_name_is_refused(tmp_path: Path, name: str) -> None:
    """A change that goes into another branch is refused, told so, and measured once the workflow names the branch."""
    event = json.loads(PULL) | json.loads(GROUP)
    event["repository"] = {"full_name": "someone/repo", "default_branch": "trunk"}
    event["merge_group"]["base_ref"] = "refs/heads/main"
    given = {"event": json.dumps(event), "GITHUB_EVENT_NAME": name, "INPUT_FAIL-ON": "never"}
    with mock.patch.object(StepReporter, "finish_suite") as finish:
        done = step_here(tmp_path, passes, **given)
    assert (done.code, done.out, outputs(tmp_path)["verdict"]) == (2, "", "usage error")
    assert "goes into 'main', which the workflow does not name in `bases`" in done.err
    assert finish.call_args.args[0].code == 2
    assert "`bases: main`" in finish.call_args.args[0].reason.hint
    done = step_here(tmp_path, passes, **given, INPUT_BASES="release/*, main")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"INPUT_COMMAND": "comment"}, "github-token is empty"),
        ({"INPUT_COMMAND": "comment", "INPUT_GITHUB-TOKEN": "x" * 20}, "needs the event workflow_run, found push"),
        ({"INPUT_COMMAND": "respond"}, "github-token is empty"),
        ({"INPUT_COMMAND": "respond", "INPUT_GITHUB-TOKEN": "x" * 20}, "needs the event issue_comment, found push"),
    ],
)
def test_comment_is_for_its_event(tmp_path: Path, environment: dict[str, str], message: str) -> None:
    """The second stage says what it needs."""
    done = step_here(tmp_path, passes, **environment)
    assert done.code == 2
    assert message in done.err


def test_the_token_is_masked_before_anything_else_is_printed(tmp_path: Path) -> None:
    """The runner is told to hide the token, in every shape, before anything could print it."""

    def check(request: Request) -> CheckResult:
        print(request.against)  # noqa: T201
        raise ZeroDivisionError

    done = step_here(tmp_path, check, **{"INPUT_GITHUB-TOKEN": "ghs_0123456789", "INPUT_COMMENT": "never"})
    lines = done.out.splitlines()
    assert "::add-mask::ghs_0123456789" in lines
    assert all(line.startswith("::add-mask::") for line in lines[:-1])
    assert "ghs_0123456789" not in lines[-1] + done.err


@pytest.mark.parametrize(
    "environment",
    [
        {"INPUT_GITHUB-TOKEN": "ghs_0123456789", "INPUT_GITHUB_TOKEN": "ghs_9876543210"},
        {"INPUT_GITHUB-TOKEN": "ghs_0123456789\nghs_9876543210"},
        {"INPUT_GITHUB-TOKEN": "ghs_0123456789", "INPUT_NOT-KNOWN": "ghs_0123456789"},
    ],
)
def test_the_token_is_masked_before_inputs_are_judged(tmp_path: Path, environment: dict[str, str]) -> None:
    """Inputs that are refused are refused after the masks, line by line, and without the token."""
    done = step_here(tmp_path, passes, **environment)
    assert done.code == 2
    assert "ghs_" not in done.err + (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    masks = [line for line in done.out.splitlines() if line.startswith("::add-mask::")]
    for token in {line for value in environment.values() for line in value.splitlines()}:
        assert f"::add-mask::{token}" in masks


COMMAND = "suite: s\nvault: {a: vault}\napi: {command: {run: [server, '{port}']}}\n"


def test_command_is_refused_beside_the_token(tmp_path: Path) -> None:
    """On a pull request the real pipeline refuses api.command, and says why and what to do."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "raggate.yml").write_text(COMMAND)
    given = {"event": PULL, "GITHUB_EVENT_NAME": "pull_request", "INPUT_AGAINST": "working-tree"}
    done = step_here(tmp_path, pipeline.check, INPUT_COMMENT="never", **given)
    assert done.code == 2
    assert "api.command is refused for this event" in done.err
    assert "api.container" in done.err
    assert "allow-command: true" in done.err
    done = step_here(tmp_path, pipeline.check, INPUT_COMMENT="never", **given, **{"INPUT_ALLOW-COMMAND": "true"})
    assert "api.command is refused" not in done.err


def test_too_little_memory_for_the_step(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A step that has no memory for what surrounds the gate ends with 70, too, and says so."""

    def fail() -> int:
        raise MemoryError

    monkeypatch.setattr(main, "step", fail)
    monkeypatch.setattr(main, "close_memory", lambda: None)
    with pytest.raises(SystemExit) as ended:
        main.main()
    assert ended.value.code == 70
    assert "too little memory" in capfd.readouterr().err
