"""What a step asks the pipeline for: whose commit judges, what may run beside the token, and what is refused before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events import make_event, make_step
from raggate.action import steps
from raggate.action.gate import gate
from raggate.base.errors import CannotTell, UsageError
from raggate.config.overrides import Overrides
from raggate.github.runner import step_inputs
from raggate.github.runner.event import Event
from raggate.pipeline import check as pipeline, claimed_run
from raggate.pipeline.request import Request
from tables import each_row

BASE, HEAD = "a" * 40, "b" * 40
PULL = {"name": "pull_request", "number": 7, "base": BASE, "base_ref": "main"}
PUSH = {"name": "push"}


def event_of(**fields: Any) -> Event:
    """Build an event of the default branch's repository."""
    return make_event(**{"head": HEAD, "head_ref": "change", **fields})


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that gates for an event, and gives what the pipeline was asked for and the exit code."""
    monkeypatch.chdir(tmp_path)

    def gated(event: Event, **inputs: str) -> tuple[Request, int]:
        requests: list[Request] = []

        def check(request: Request) -> None:
            requests.append(request)
            raise CannotTell("nothing is measured here")

        monkeypatch.setattr(pipeline, "check", check)
        code = gate(make_step(tmp_path, event, {"comment": "never", **inputs}))
        return (requests or [None])[0], code

    return gated


def test_judges_are_not_called_for_a_fork(asked: Any) -> None:
    """What a stranger's change is judged by is the cassette alone: there is no key, and a server would be its own."""
    for event, replayed in ((PULL, False), ({**PULL, "from_fork": True}, True), (PUSH, False)):
        request, _ = asked(event_of(**event))
        assert request.overrides.replayed is replayed


def test_inputs_stand_in_for_the_configuration(asked: Any) -> None:
    """What inputs name reaches the pipeline; what is empty is as configured."""
    request, _ = asked(event_of(**PUSH), **{"api-image": "api:1", "base-image": "api:0", "out": "runs"})
    assert request.overrides == Overrides(api_image="api:1", base_image="api:0")
    assert request.out == Path("runs")
    assert request.action


def test_a_run_that_was_measured_before_is_judged(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input `run` names a run directory: that is judged by the same request, and nothing is asked."""
    judged: list[tuple[str | None, Path]] = []

    def check_run(request: Request, directory: Path) -> None:
        judged.append((request.against, directory))
        raise CannotTell("judged")

    monkeypatch.setattr(claimed_run, "check_run", check_run)
    assert asked(event_of(**PULL), run="merged/20260102_030405") == (None, 3)
    assert judged == [(BASE, Path("merged/20260102_030405"))]


def test_reports_outside_the_workspace_are_refused(
    asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report goes where later steps can read it."""
    _, code = asked(event_of(**PUSH), reports="junit=../x")
    assert code == 2
    assert "input 'reports'" in capsys.readouterr().err


def test_a_change_cannot_lead_a_report_elsewhere(
    asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where a change has a link, or a file of its own, nothing is written, and nothing is asked."""
    (tmp_path / "kept").write_text("x")
    (tmp_path / "rag.xml").symlink_to("kept")
    (tmp_path / "rag.json").write_text("{}")
    request, code = asked(event_of(**PUSH), reports="junit=rag.xml\njson=rag.json")
    assert (request, code) == (None, 2)
    assert "input 'reports': 'rag.xml' is a link" in (said := capsys.readouterr().err)
    assert "input 'reports': 'rag.json' exists, and is not a report of raggate" in said
    assert ((tmp_path / "kept").read_text(), (tmp_path / "rag.json").read_text()) == ("x", "{}")


@pytest.mark.parametrize("name", ["config", "out", "run", "parts"])
def test_files_outside_the_workspace_are_refused(tmp_path: Path, name: str) -> None:
    """A file that the other steps of the job do not see is refused, by the name of its input."""
    inputs = {**step_inputs.DEFAULTS}
    steps.check_places(inputs, tmp_path)
    (tmp_path / "link").symlink_to("/")
    for outside in ("../x", "/etc/x", "link/x"):
        with pytest.raises(UsageError, match=f"input '{name}'.*outside the workspace"):
            steps.check_places({**inputs, name: outside}, tmp_path)


@each_row(
    ("event", "inputs", "told"),
    [
        ({"name": "push", "head_ref": "main"}, {}, True),
        ({"name": "workflow_dispatch", "head_ref": "main"}, {"against": "working-tree"}, True),
        ({"name": "schedule", "head_ref": "main", "default_branch": ""}, {}, True),
        ({"name": "push", "head_ref": "main"}, {"issue": "never"}, False),
        # judged by another commit, another branch, no branch, another event, and a branch that is only called so
        ({"name": "push", "head_ref": "main"}, {"against": "v1"}, False),
        ({"name": "push"}, {}, False),
        ({"name": "push", "head_ref": "", "default_branch": ""}, {}, False),
        ({"name": "repository_dispatch", "head_ref": "main"}, {}, False),
        ({**PULL, "head_ref": "main"}, {}, False),
    ],
)
def test_which_runs_have_an_issue(event: dict[str, Any], inputs: dict[str, str], told: bool) -> None:
    """An issue is told of the default branch alone, as it judges itself."""
    given = {**step_inputs.DEFAULTS, "issue": "on-regression", **inputs}
    assert steps.tells_issue(given, event_of(**event)) is told


def test_a_step_without_a_token_has_no_repository() -> None:
    """With a token the server's API is asked, without one nothing is."""
    event = event_of(**PUSH)
    with steps.opened_repository({**step_inputs.DEFAULTS, "github-token": "t"}, event) as repository:
        assert repository is not None
    with steps.opened_repository(step_inputs.DEFAULTS, event) as nothing:
        assert nothing is None
