"""The check run is begun once, gets every annotation once, and is completed always."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fakes.github_api import COMMIT_THEN_DROP, DROP, FakeGitHub, Fault, Repository, commit_then_status, status
from raggate.errors import ExitCode
from raggate.github.rest import checks
from raggate.github.rest.client import GitHubError
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.reports.annotations import Annotation
from tables import each_row

NAME = "octo/notes"
ADDRESS = "https://ci.example/0"
CREATE, UPDATE = "checks/create", "checks/update"
UNKNOWN_ENDS = [COMMIT_THEN_DROP, commit_then_status(502), DROP, status(502)]


@dataclass
class Stage:
    """A repository on a fake, and a client with a token that may write checks."""

    fake: FakeGitHub
    repository: Repository
    there: GitHubRepository

    def begin(self, **changes: Any) -> int:
        """Begin a check run on the repository's head."""
        about = {"head": self.repository.head, "name": "raggate (main)", "external_id": "5.1", "details_url": ADDRESS}
        return checks.begin(self.there, **{**about, **changes})

    def complete(self, run_id: int, **changes: Any) -> None:
        """Complete a check run."""
        about: dict[str, Any] = {"conclusion": "failure", "title": "worse", "summary": "# worse"}
        checks.complete(self.there, run_id=run_id, **{**about, **changes})


def annotations(count: int, **changes: Any) -> list[Annotation]:
    """Return annotations that can be told apart."""
    about: dict[str, Any] = {"path": "golden/eval_set.jsonl", "level": "error", "title": "broke", "message": "why"}
    return [Annotation(line=line, **{**about, **changes}) for line in range(1, count + 1)]


@pytest.fixture(params=["api.github.com", "ghes-3.17"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    """Yield a stage on either flavour; what was sent has to fit GitHub's description."""
    with FakeGitHub(request.param) as fake:
        repository = fake.add_repository(NAME)
        token = fake.token({"checks": "write"})
        with fake.client(token) as github:
            yield Stage(fake, repository, GitHubRepository(github, NAME))
        fake.assert_clean()


def test_a_check_run_is_in_progress_until_it_is_complete(stage: Stage) -> None:
    """Beginning and completing take one request each when there is nothing to annotate."""
    run_id = stage.begin(details_url="https://ci.example/1")
    check = stage.repository.check_runs[run_id]
    assert (check["status"], check["conclusion"], check["head_sha"]) == ("in_progress", None, stage.repository.head)
    assert (check["name"], check["external_id"]) == ("raggate (main)", "5.1")
    assert check["details_url"] == "https://ci.example/1"
    stage.complete(run_id, conclusion="cancelled")
    assert (check["status"], check["conclusion"]) == ("completed", "cancelled")
    assert check["output"] == {"title": "worse", "summary": "# worse"}
    assert len(stage.fake.requests) == 2


@pytest.mark.parametrize("fault", UNKNOWN_ENDS)
def test_a_beginning_whose_end_is_not_known(stage: Stage, fault: Fault) -> None:
    """Among check runs of other names and runs there is exactly one of this name and run, and it is the one given."""
    others = [stage.begin(name="other"), stage.begin(external_id="4.1")]
    stage.fake.fail_next(CREATE, fault)
    run_id = stage.begin()
    assert sorted(stage.repository.check_runs) == [*others, run_id]


@pytest.mark.parametrize("count", [1, 50, 51, 120])
def test_annotations_come_in_batches(stage: Stage, count: int) -> None:
    """All annotations arrive, in order, at most fifty at a time, before the check run is complete."""
    run_id = stage.begin()
    stage.complete(run_id, annotations=annotations(count))
    check = stage.repository.check_runs[run_id]
    assert [one["start_line"] for one in check["annotations"]] == list(range(1, count + 1))
    bodies = [request.body for request in stage.fake.calls(UPDATE)]
    assert max(len(body["output"].get("annotations", [])) for body in bodies) == min(count, 50)
    assert [body.get("conclusion") for body in bodies] == [None] * (len(bodies) - 1) + ["failure"]
    assert check["status"] == "completed"


@pytest.mark.parametrize("fault", UNKNOWN_ENDS)
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_no_annotation_comes_twice(stage: Stage, fault: Fault, before: int) -> None:
    """Whichever request goes unanswered, every annotation is there once and the check run complete."""
    run_id = stage.begin()
    seen = [0]

    def nth(request: Any) -> bool:
        if request.operation == UPDATE and request.method == "PATCH":
            seen[0] += 1
        return request.operation == UPDATE and seen[0] == before + 1

    stage.fake.fail_next(nth, fault)
    stage.complete(run_id, annotations=annotations(70))
    check = stage.repository.check_runs[run_id]
    assert [one["start_line"] for one in check["annotations"]] == list(range(1, 71))
    assert check["status"] == "completed"


def test_annotations_that_are_refused_leave_no_check_open(stage: Stage) -> None:
    """The check run is completed even when GitHub does not want its annotations, and then the refusal is told."""
    run_id = stage.begin()
    stage.fake.fail_next(lambda request: b'"annotations"' in request.raw, status(422, {"message": "Invalid path"}))
    with pytest.raises(GitHubError, match="Invalid path"):
        stage.complete(run_id, annotations=annotations(3))
    check = stage.repository.check_runs[run_id]
    assert (check["status"], check["conclusion"], check["annotations"]) == ("completed", "failure", [])


def test_only_what_has_a_place_is_annotated(stage: Stage) -> None:
    """Annotations without a path are left out, and all texts are cut to what GitHub takes."""
    run_id = stage.begin()
    long = annotations(1, title="t" * 300, message="é" * 65_536) + annotations(1, message="")
    stage.complete(run_id, title="x" * 300, annotations=[*annotations(1, path=""), *long])
    check = stage.repository.check_runs[run_id]
    first, second = check["annotations"]
    assert len(first["title"]) == len(check["output"]["title"]) == 255
    assert 60_000 < len(first["message"].encode()) < 65_536
    assert second["message"] == "broke"


def test_hostile_text_is_sent_as_text(stage: Stage) -> None:
    """Lone surrogates and control characters do not keep a check run from being completed."""
    run_id = stage.begin()
    found = annotations(1, path="a\udc80.md", title="\x1b[31m\udc80\n::error::", message="\udc80\x00")
    stage.complete(run_id, title="\udc80", summary="\udc80 ok", annotations=found)
    assert stage.repository.check_runs[run_id]["status"] == "completed"


def test_a_summary_that_is_too_long_is_a_bug(stage: Stage) -> None:
    """A summary is refused beyond 65,535 characters, before anything is sent."""
    run_id = stage.begin()
    with pytest.raises(ValueError, match="65536 characters"):
        stage.complete(run_id, summary="x" * 65_536)
    assert not stage.fake.calls(UPDATE)
    stage.complete(run_id, summary="x" * 65_535)


def test_a_token_that_can_only_read(stage: Stage) -> None:
    """The error names the permission that is missing."""
    token = stage.fake.token({"checks": "read"})
    with stage.fake.client(token) as github:
        reader = Stage(stage.fake, stage.repository, GitHubRepository(github, NAME))
        with pytest.raises(GitHubError, match="403") as error:
            reader.begin()
    assert "`checks: write`" in error.value.hint


@each_row("code", [*ExitCode, 125, 137, -1])
def test_only_a_pass_is_a_success(code: int) -> None:
    """Every way to end but a pass is a failure, and an interruption is a cancellation."""
    expected = {ExitCode.PASS: "success", ExitCode.INTERRUPTED: "cancelled"}.get(code, "failure")  # type: ignore[call-overload]
    assert checks.conclusion_of(code) == expected
