"""Adopting a workflow run: one that holds is taken with its evidence; every condition refuses by its own name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from fakes.github_api import FakeGitHub, Repository
from flavours import EITHER
from promotable import DAY, NAME, NOW, Measured, client, edited, packed
from raggate.errors import CannotTell
from raggate.github.earlier_run import RunSelector, adopt, download
from raggate.github.rest.client import GitHubError
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.inputs.trusted import Inputs
from raggate.models.provenance import Evidence
from raggate.models.run import Run


@pytest.fixture(scope="module")
def inputs(measured: Measured) -> Iterator[Inputs]:
    """Open the trusted inputs of its head, which nothing here changes."""
    with measured.inputs() as opened:
        yield opened


@dataclass
class Stage:
    """A workflow run on a fake, and what is asked of it."""

    fake: FakeGitHub
    repository: Repository
    measured: Measured
    inputs: Inputs
    record: dict[str, Any] = field(default_factory=dict)
    wanted: dict[str, Any] = field(default_factory=dict)
    artifact: dict[str, Any] | None = field(default_factory=dict)
    files: dict[str, bytes] | None = None
    name: str = NAME

    def adopt(self) -> tuple[Run, Evidence]:
        """Let it be adopted."""
        given = {"event": "push", "created_at": DAY, "run_started_at": DAY, "head_sha": self.measured.commit}
        run = self.repository.add_run(77, **{**given, **self.record})
        if self.artifact is not None:
            files = self.measured.run if self.files is None else self.files
            self.repository.add_artifact(run, "raggate-run", packed(files), **self.artifact)
        known = {"target": "main", "head": self.repository.head, "run": run, "attempt": None}
        known |= {"artifact": "raggate-run", "now": NOW}
        with client(self.fake) as github:
            selector = RunSelector(**{**known, **self.wanted})
            return adopt(download(GitHubRepository(github, self.name), selector), self.inputs)

    def refused(self, why: str) -> None:
        """Expect a refusal, and that nothing was written."""
        with pytest.raises(CannotTell, match=why):
            self.adopt()
        assert all(request.method == "GET" for request in self.fake.requests)


@pytest.fixture
def stage(measured: Measured, inputs: Inputs) -> Iterator[Stage]:
    """Yield the repository on a fake."""
    with FakeGitHub() as fake:
        yield Stage(fake, measured.on(fake), measured, inputs)
        fake.assert_clean()


@pytest.mark.parametrize("event", ["push", "merge_group"])
@pytest.mark.parametrize("path", ["nightly.yml", "rag-gate.yml@x.yml", "rag-gate.yml@x.yml@main", "rag-gate.yaml", ""])
def test_another_workflow(stage: Stage, event: str, path: str) -> None:
    """What another workflow file left is refused, although it has the artifact's name and the branch's commit."""
    branch = "main" if event == "push" else "gh-readonly-queue/main/pr-7-abc"
    shown = path and f".github/workflows/{path}"
    stage.record |= {"event": event, "head_branch": branch, "name": "rag-gate", "path": shown}
    stage.refused("is of the workflow '.*', not of 'rag-gate.yml'")


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch"])
def test_adopted(stage: Stage, event: str) -> None:
    """A successful run of the branch is taken, with everything that vouches for it."""
    stage.record["event"] = event
    run, evidence = stage.adopt()
    assert run.suite == "small"
    assert len(run.results) == 8
    assert evidence == Evidence(
        run=77,
        attempt=1,
        event=event,
        commit=stage.measured.commit,
        url=f"{stage.fake.server_url}/{NAME}/actions/runs/77",
        adopted=True,
        artifact="raggate-run",
        digest=f"sha256:{hashlib.sha256(packed(stage.measured.run)).hexdigest()}",
    )


def test_a_merge_queue(stage: Stage) -> None:
    """A merge group's run is taken when its commit has become the branch's."""
    stage.record |= {"event": "merge_group", "head_branch": f"gh-readonly-queue/main/pr-7-{'1' * 40}"}
    assert stage.adopt()[1].event == "merge_group"


def test_an_earlier_commit_of_the_branch(stage: Stage) -> None:
    """A run is taken as well when the branch has gone on since, with the same files to measure by."""
    stage.repository.add_commit({"README.md": "new"}, [stage.measured.commit], branch="main")
    assert stage.adopt()[1].commit == stage.measured.commit


@pytest.mark.parametrize("queue", ["gh-readonly-queue/other/pr-7-1", "gh-readonly-queue/mainly/pr-7-1"])
def test_another_branchs_queue(stage: Stage, queue: str) -> None:
    """A merge group of another branch is not this branch's."""
    stage.record |= {"event": "merge_group", "head_branch": queue}
    stage.refused("it is of the branch 'gh-readonly-queue")


def test_no_such_run(stage: Stage) -> None:
    """A number that is no workflow run of the repository is said."""
    stage.wanted["run"] = 78
    stage.refused("there is no workflow run 78 in octo/notes")


@pytest.mark.parametrize("event", ["push", "pull_request", "workflow_dispatch"])
def test_a_fork(stage: Stage, event: str) -> None:
    """Whatever started it, a run of a fork's code is never promoted."""
    stage.fake.add_repository("mallory/notes", fork_of=stage.repository)
    stage.record |= {"head_repository": "mallory/notes", "event": event}
    stage.refused("code of 'mallory/notes': a run from a fork is never promoted")


def test_a_deleted_fork(stage: Stage) -> None:
    """A run whose repository is gone counts as a fork's."""
    stage.record["head_repository"] = None
    stage.refused("a repository that was deleted: a run from a fork is never promoted")
    # GitHub's description does not know what its own examples show: the repository can be gone
    stage.fake.violations.clear()


def test_another_repository(stage: Stage) -> None:
    """A run that GitHub says belongs elsewhere is refused, as after a repository was moved."""
    stage.name = "Octo/Notes"
    assert stage.adopt()
    stage.repository.full_name = "octo/moved"
    stage.record["head_repository"] = NAME
    stage.refused("it belongs to another repository: 'octo/moved'")


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "workflow_run", "issue_comment"])
def test_events(stage: Stage, event: str) -> None:
    """A run that a pull request, or something beside the branch, started is refused."""
    stage.record["event"] = event
    stage.refused(f"it was started by '{event}'")


def test_another_branch(stage: Stage) -> None:
    """A run of another branch is refused."""
    stage.record["head_branch"] = "feature"
    stage.refused("it is of the branch 'feature', not of 'main'")


def test_an_attempt_that_was_replaced(stage: Stage) -> None:
    """An attempt that is not the latest is refused."""
    stage.repository.add_run(77, head_sha=stage.measured.commit, conclusion="failure")
    stage.wanted["attempt"] = 1
    stage.refused("attempt 1 is not its latest, which is 2")


def test_the_latest_attempt(stage: Stage) -> None:
    """The latest attempt may be named."""
    stage.repository.add_run(77, head_sha=stage.measured.commit, conclusion="failure")
    stage.wanted["attempt"] = 2
    assert stage.adopt()[1].attempt == 2


def test_a_run_under_way(stage: Stage) -> None:
    """A run that has not ended is refused."""
    stage.record |= {"status": "in_progress", "conclusion": None}
    stage.refused("it has not ended: it is 'in_progress'")


@pytest.mark.parametrize("conclusion", ["failure", "cancelled", "skipped", "neutral", "timed_out"])
def test_conclusions(stage: Stage, conclusion: str) -> None:
    """A run that did not succeed is refused."""
    stage.record["conclusion"] = conclusion
    stage.refused(f"it ended with '{conclusion}', not with 'success'")


def test_a_commit_beside_the_branch(stage: Stage) -> None:
    """A commit that the branch does not have is refused, as after a branch was moved back."""
    stage.record["head_sha"] = stage.repository.add_commit({"x": "1"}, [stage.measured.commit])
    stage.refused("cannot be reached from main")


def test_a_workflow_file_that_was_merged_and_undone(stage: Stage) -> None:
    """A tag of the branch's name runs the workflow file of any merged commit: only the one of the head is believed."""
    file = ".github/workflows/rag-gate.yml"
    measured = stage.repository.add_commit({file: "measured: true"}, [stage.measured.commit], branch="main")
    forged = stage.repository.add_commit({file: "measured: false"}, [measured], branch="main")
    stage.repository.add_commit({file: "measured: true"}, [forged], branch="main")
    stage.record["head_sha"] = forged
    stage.files = edited(stage.measured.run, lambda config: config["config"]["checkout"].update(commit=forged))
    stage.refused("its workflow 'rag-gate.yml' was another than main has now")


def test_age(stage: Stage) -> None:
    """A run older than two weeks is refused."""
    stage.record["run_started_at"] = stage.record["created_at"] = "2025-12-01T00:00:00Z"
    stage.refused("it is 35.0 days old; at most 14 days")


def test_no_artifact(stage: Stage) -> None:
    """A run that left no artifact of the name is refused."""
    stage.artifact = None
    stage.refused("it left no artifact 'raggate-run'")


def test_an_artifact_of_an_earlier_attempt(stage: Stage) -> None:
    """What an attempt that failed left is not taken for the work of the attempt that succeeded and left nothing."""
    first = {"created_at": DAY, "run_started_at": DAY, "head_sha": stage.measured.commit}
    stage.repository.add_run(77, **first, conclusion="failure")
    stage.record["run_started_at"] = "2026-01-04T12:00:00Z"
    stage.wanted["attempt"] = 2
    stage.refused("its attempt 2 left no artifact 'raggate-run', and what an earlier attempt left is not taken")


def test_an_attempt_of_an_unknown_time(stage: Stage) -> None:
    """Without the time at which a later attempt began nothing tells its artifact from an earlier one's."""
    stage.repository.add_run(77, head_sha=stage.measured.commit, conclusion="failure")
    stage.record["run_started_at"] = ""
    stage.refused("GitHub does not say when its attempt 2 began")
    # GitHub's description promises the time
    stage.fake.violations.clear()


@EITHER
def test_no_digest(measured: Measured, inputs: Inputs, flavour: str) -> None:
    """An artifact without a digest is refused, saying what to do instead, also where the server knows no digests."""
    with FakeGitHub(flavour) as fake:
        stage = Stage(fake, measured.on(fake), measured, inputs, artifact={"digest": ""})
        with pytest.raises(CannotTell, match="knows no digest of its artifact 'raggate-run'") as caught:
            stage.adopt()
        assert "promote without `run-id`" in caught.value.hint
        assert not fake.calls("actions/download-artifact")
        fake.assert_clean()


def test_an_expired_artifact(stage: Stage) -> None:
    """An artifact that is gone is refused."""
    stage.artifact = {"expired": True}
    stage.refused("has expired")


def test_another_digest(stage: Stage) -> None:
    """An artifact that is not what GitHub received is refused."""
    stage.artifact = {"digest": f"sha256:{'0' * 64}"}
    stage.refused("its sha256 digest differs")


def test_nothing_measured(stage: Stage) -> None:
    """An artifact without results is refused."""
    stage.files = {"verdict.json": b"{}"}
    stage.refused("its artifact has no results")


@pytest.mark.parametrize("name", ["config.json", "golden.jsonl", "results.jsonl"])
def test_a_damaged_run_directory(stage: Stage, name: str) -> None:
    """A run directory that cannot be read is refused by the file's name, not by where it was unpacked."""
    stage.files = {**stage.measured.run, name: b"{"}
    with pytest.raises(CannotTell, match=rf"cannot be read: {re.escape(name)}") as caught:
        stage.adopt()
    assert "/tmp" not in caught.value.message


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "suite": (lambda config: config.update(suite="other"), "of another suite: expected small, found other"),
    "golden": (lambda config: config["fingerprint"].update(golden="0" * 64), "measured by another golden set"),
    "vault": (lambda config: config["fingerprint"].update(vault="0" * 64), "measured by another vault"),
    "tolerance": (lambda config: config["config"]["gate"].update(tolerance=0.9), "measured by another configuration"),
    "k": (lambda config: config["config"]["ask"].update(k=3), "measured by another configuration"),
    "api": (lambda config: config["config"]["api"]["command"].update(cwd="x"), "measured by another configuration"),
    "imported": (lambda config: config["config"].update(kebab={}), "measured by another configuration"),
    "commit": (lambda config: config["config"]["checkout"].update(commit="1" * 40), "a checkout of 11111111111"),
    "no-checkout": (lambda config: config["config"].update(checkout={}), "a checkout of None"),
    "dirty": (lambda config: config["config"]["checkout"].update(dirty=True), "files of its checkout had been changed"),
    "almost clean": (lambda config: config["config"]["checkout"].update(dirty=0), "checkout.dirty"),
    "stranger": (lambda config: config["config"].update(ask=7), "the configuration stored with run"),
}


@pytest.mark.parametrize("name", EDITS)
def test_another_measurement(stage: Stage, name: str) -> None:
    """A run that was measured by anything else than what the branch has now is refused, naming what differs."""
    edit, why = EDITS[name]
    stage.files = edited(stage.measured.run, edit)
    stage.refused(why)


def test_other_questions_than_it_says(stage: Stage) -> None:
    """A run directory whose questions are not those of the hash in it is refused."""
    lines = stage.measured.run["golden.jsonl"].replace(b"anchovy matter", b"anchovy other")
    stage.files = {**stage.measured.run, "golden.jsonl": lines}
    stage.refused("its questions are not those of the golden set it names")


def test_where_runs_go_does_not_matter(stage: Stage) -> None:
    """A run that was kept in another directory is the same measurement."""
    stage.files = edited(stage.measured.run, lambda config: config["config"].update(out="elsewhere"))
    assert stage.adopt()


def test_a_missing_permission(stage: Stage) -> None:
    """A token that may not read actions is told the line to add."""
    known = {"target": "main", "head": stage.repository.head, "run": 77, "attempt": None}
    wanted = RunSelector(**known, artifact="raggate-run", now=NOW)  # type: ignore[arg-type]
    with (
        client(stage.fake, {"contents": "read"}) as github,
        pytest.raises(GitHubError) as caught,
    ):
        download(GitHubRepository(github, NAME), wanted)
    assert "actions: read" in caught.value.hint
