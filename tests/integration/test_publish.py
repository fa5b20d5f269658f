"""What a run shows on GitHub: comment, annotations and summary; and that showing it decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from e2e import grammar
from events import make_pull_event
from fakes.github_api import BOT, FakeGitHub, Pull, Repository
from flavours import EITHER
from raggate.github.publish import Settings, StepReporter
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.github.runner.event import Event
from raggate.models.comparison import Finding
from raggate.models.publication import RunFailure
from raggate.models.suites import SuiteOutcome
from rendered import visible
from reviews import REVIEWS, review

HEAD, BASE = "1" * 40, "2" * 40
NAME = "octo/notes"
WRITES = {"contents": "read", "pull-requests": "write"}


@dataclass
class Stage:
    """A pull request on a fake, and what a run said about what it could not show."""

    fake: FakeGitHub
    repository: Repository
    pull: Pull
    said: list[str] = field(default_factory=list)
    url: str = ""

    def finish(
        self,
        outcome: SuiteOutcome,
        *,
        permissions: dict[str, str] | None = None,
        event: dict[str, Any] | None = None,
        prefix: str = "",
        **asked: Any,
    ) -> StepReporter:
        happened = replace(event_of(self.fake), **(event or {}))
        with self.fake.client(self.fake.token(permissions or WRITES)) as github:
            reporter = StepReporter(happened, GitHubRepository(github, NAME), Settings(**asked), self.said.append)
            reporter.prefixes[outcome.config] = prefix
            reporter.finish_suite(outcome)
            reporter.finish([outcome])
            self.url = reporter.url
            return reporter

    def comments(self) -> list[str]:
        return [comment.body for comment in self.repository.comments_of(7) if comment.login == BOT]


def event_of(fake: FakeGitHub) -> Event:
    """Describe a push to a pull request of the same repository."""
    return make_pull_event(fake, run_id=5, head=HEAD, base=BASE)


@pytest.fixture
def stage(flavour: str) -> Iterator[Stage]:
    """Yield a pull request; what was sent has to fit GitHub's description."""
    with FakeGitHub(flavour) as fake:
        repository = fake.add_repository(NAME)
        base = repository.add_commit({"a.txt": "a"}, branch="main", sha=BASE)
        repository.add_commit({"a.txt": "b"}, [base], sha=HEAD)
        pull = repository.add_pull(7, head_sha=HEAD, base_sha=BASE, head_ref="change")
        yield Stage(fake, repository, pull)


def outcome(name: str, **fields: Any) -> SuiteOutcome:
    made = review(name)
    return SuiteOutcome(config="raggate.yml", suite="notes", code=made.verdict.exit_code, review=made, **fields)


def failed(failure: RunFailure) -> SuiteOutcome:
    return SuiteOutcome(config="raggate.yml", suite="notes", code=failure.exit_code, failure=failure)


USAGE = failed(RunFailure(label="usage error", exit_code=2, lines=("raggate.yml:3: no",), suite="notes"))


@EITHER
def test_everything_that_is_asked(stage: Stage) -> None:
    """Among all that showing a run asks there is nothing that either flavour would not take."""
    for run, name in enumerate(("pass", "regression", "pass"), 5):
        stage.finish(outcome(name), event={"run_id": run})
    comments = ("list-comments", "get-comment", "create-comment", "update-comment")
    assert {request.operation for request in stage.fake.requests} == {
        *(f"issues/{name}" for name in comments),
        *("pulls/get", "graphql"),
    }


@pytest.mark.parametrize("base", ["main", "lenient", "@team/x"])
def test_the_base_is_told(stage: Stage, base: str) -> None:
    """Comment and summary say which branch it was judged for, as text that calls nobody."""
    reporter = stage.finish(outcome("pass"), event={"base_ref": base})
    assert not reporter.failed
    for text in (reporter.summary(limit=1 << 20), *stage.comments()):
        assert f"Judged for a merge into {base}." in visible(text)
        assert "@team" not in text


@pytest.mark.parametrize("name", sorted(REVIEWS))
def test_every_verdict_is_one_comment(stage: Stage, name: str) -> None:
    """Each kind of verdict is one comment that begins with a marker, says the verdict and leads to the run."""
    found = outcome(name)
    stage.finish(found)
    (body,) = stage.comments()
    assert body.startswith("<!-- raggate:comment ")
    assert found.review is not None
    broke = len({flip.case_id for flip in found.review.comparison.broke})
    told = f"{broke} of" if found.review.verdict.outcome == "regression" else found.review.verdict.outcome
    assert f"raggate: {told}" in body
    assert f"{stage.fake.server_url}/{NAME}/actions/runs/5" in body
    assert stage.url.startswith(stage.fake.server_url)
    assert stage.said == []


def test_a_run_without_a_verdict_is_told_too(stage: Stage) -> None:
    """A configuration that cannot be read is a comment that says so."""
    stage.finish(USAGE)
    (body,) = stage.comments()
    assert "raggate.yml:3: no" in visible(body)


def test_the_comment_says_who_judged(stage: Stage) -> None:
    """What an untrusted run measured is judged by the repository's own files, which is said where they judged it."""
    stage.finish(outcome("pass"), relayed=True)
    assert "own files" in stage.comments()[0]
    stage.finish(USAGE, relayed=True, event={"run_id": 6})
    assert "own files" not in stage.comments()[0]


@pytest.mark.parametrize(
    ("asked", "name", "count"),
    [
        ("always", "pass", 1),
        ("on-change", "pass", 0),
        ("on-change", "regression", 1),
        ("on-change", "first-run", 1),
        ("never", "regression", 0),
    ],
)
def test_when_to_comment(stage: Stage, asked: str, name: str, count: int) -> None:
    """The workflow chooses: always, only when there is something to tell, or never."""
    stage.finish(outcome(name), comment=asked)
    assert len(stage.comments()) == count


def test_no_secret_is_shown(stage: Stage) -> None:
    """A token that found its way into a message stands in no comment and no summary."""
    secret = "ghs_" + "0123456789" * 2
    failure = RunFailure(label="cannot tell", exit_code=3, lines=(f"the API said {secret}",), log=(f"key={secret}",))
    reporter = stage.finish(failed(failure), secrets=(secret,))
    assert secret not in stage.comments()[0] + reporter.summary(limit=1 << 20)
    assert "***" in reporter.summary(limit=1 << 20)


def test_a_green_step_has_no_more_annotations_than_are_shown(stage: Stage) -> None:
    """With errors as warnings, and one for the step and one for what was not shown, the runner drops none of them."""
    found = outcome("regression")
    assert found.review is not None
    flips = found.review.comparison.flips * 4
    findings = tuple(
        Finding(invariant=f"i{number}", level="warning", message="m", count=1, examples=()) for number in range(12)
    )
    many = replace(found.review, comparison=replace(found.review.comparison, flips=flips), findings=findings)
    reporter = stage.finish(replace(found, review=many), permissions={"contents": "read", "pull-requests": "read"})
    assert len(stage.said) == 1
    lines = reporter.annotate(lenient=True)
    log = grammar.Log().feed("\n".join(["::warning::not shown", "::warning::green all the same", *lines]))
    assert (len(log.annotations), log.dropped) == (10, 0)
    broke = sum(flip.kind == "broke" for flip in flips)
    assert log.annotations[-1].data.endswith(f"(+{1 + len(findings) + broke - 8} more)")
