"""Adopting a workflow run: one that holds is taken with its evidence; every condition refuses by its own name."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace

from fakes.github_api import FakeGitHub, Repository
from promotable import DAY, NAME, NOW, Measured, client, edited, packed
from raggate.base.errors import CannotTell
from raggate.github.earlier_run import RunSelector, adopt, download
from raggate.github.rest import artifacts
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
    with FakeGitHub() as fake:
        yield Stage(fake, measured.on(fake), measured, inputs)


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


QUEUE = f"gh-readonly-queue/main/pr-7-{'1' * 40}"


@pytest.mark.parametrize("way", ["a merge queue", "an earlier commit", "the latest attempt", "another directory"])
def test_adopted_too(stage: Stage, way: str) -> None:
    """A merge group's run counts, one before the branch went on, a named latest attempt, and one kept elsewhere."""
    if way == "a merge queue":
        stage.record |= {"event": "merge_group", "head_branch": QUEUE}
    elif way == "an earlier commit":
        stage.repository.add_commit({"README.md": "new"}, [stage.measured.commit], branch="main")
    elif way == "the latest attempt":
        stage.repository.add_run(77, head_sha=stage.measured.commit, conclusion="failure")
        stage.wanted["attempt"] = 2
    else:
        stage.files = edited(stage.measured.run, lambda config: config["config"].update(out="elsewhere"))
    assert stage.adopt()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a fork": ({"head_repository": "mallory/notes"}, "'mallory/notes': a run from a fork is never promoted"),
    "a pull request": ({"event": "pull_request"}, "it was started by 'pull_request'"),
    "a privileged event": ({"event": "pull_request_target"}, "it was started by 'pull_request_target'"),
    "another branch": ({"head_branch": "feature"}, "it is of the branch 'feature', not of 'main'"),
    "another queue": (
        {"event": "merge_group", "head_branch": "gh-readonly-queue/mainly/pr-7-1"},
        "it is of the branch 'gh-readonly-queue",
    ),
    "a branch named like a queue": ({"event": "push", "head_branch": QUEUE}, "it is of the branch 'gh-readonly-queue"),
    "another workflow": ({"path": ".github/workflows/nightly.yml"}, "of the workflow '.*', not of 'rag-gate.yml'"),
    "a similar workflow": ({"path": ".github/workflows/rag-gate.yml@x.yml"}, "not of 'rag-gate.yml'"),
    "another workflow in a queue": (
        {"event": "merge_group", "head_branch": QUEUE, "path": ".github/workflows/nightly.yml"},
        "of the workflow '.*', not of 'rag-gate.yml'",
    ),
    "no workflow": ({"path": ""}, "not of 'rag-gate.yml'"),
    "under way": ({"status": "in_progress", "conclusion": None}, "it has not ended: it is 'in_progress'"),
    **{
        conclusion: ({"conclusion": conclusion}, f"it ended with '{conclusion}', not with 'success'")
        for conclusion in ("failure", "cancelled", "skipped")
    },
    "old": (
        dict.fromkeys(("run_started_at", "created_at"), "2025-12-01T00:00:00Z"),
        "35.0 days old, and at most 14 days",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_github_says_of_a_run(stage: Stage, name: str) -> None:
    """A run of a fork, another branch, another workflow, another event, or that did not succeed lately is refused."""
    stage.fake.add_repository("mallory/notes", fork_of=stage.repository)
    record, why = REFUSED[name]
    stage.record |= record
    stage.refused(why)


LEFT: dict[str, tuple[dict[str, Any] | None, str]] = {
    "no artifact": (None, "its latest attempt left no artifact 'raggate-run'"),
    "expired": ({"expired": True}, "has expired"),
    "another digest": ({"digest": f"sha256:{'0' * 64}"}, "its sha256 digest differs"),
    "no digest": ({"digest": ""}, "has no digest of its artifact 'raggate-run'"),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_github_says_of_an_artifact(stage: Stage, name: str) -> None:
    """An artifact that is not there, is gone, or is not certainly what GitHub received is refused."""
    stage.artifact, why = LEFT[name]
    stage.refused(why)


def test_an_artifact_that_is_too_large(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """An artifact above the limit is refused before it is downloaded."""
    monkeypatch.setattr(artifacts, "MOST_BYTES", 10)
    stage.refused("is too large: at most 10 bytes are taken")
    assert not stage.fake.storage_requests


def test_another_repository(stage: Stage) -> None:
    """A run that GitHub says belongs elsewhere is refused, as after a repository was moved."""
    stage.name = "Octo/Notes"
    assert stage.adopt()
    stage.repository.full_name = "octo/moved"
    stage.record["head_repository"] = NAME
    stage.refused("it belongs to another repository: 'octo/moved'")


def test_no_such_run(stage: Stage) -> None:
    """A number that is no workflow run of the repository is said."""
    stage.wanted["run"] = 78
    stage.refused("there is no workflow run 78 in octo/notes")


def test_an_attempt_that_was_replaced(stage: Stage) -> None:
    """An attempt that is not the latest is refused."""
    stage.repository.add_run(77, head_sha=stage.measured.commit, conclusion="failure")
    stage.wanted["attempt"] = 1
    stage.refused("attempt 1 is not its latest, which is 2")


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
    stage.refused("its workflow 'rag-gate.yml' differs from the one that main has now")


def test_an_artifact_of_an_earlier_attempt(stage: Stage) -> None:
    """What an attempt that failed left is not taken for the work of the attempt that succeeded and left nothing."""
    first = {"created_at": DAY, "run_started_at": DAY, "head_sha": stage.measured.commit}
    stage.repository.add_run(77, **first, conclusion="failure")
    stage.record["run_started_at"] = "2026-01-04T12:00:00Z"
    stage.wanted["attempt"] = 2
    stage.refused("its latest attempt left no artifact 'raggate-run'")


@pytest.mark.parametrize(("name", "why"), [("verdict.json", "has no results"), ("config.json", "cannot be read")])
def test_a_damaged_run_directory(stage: Stage, name: str, why: str) -> None:
    """A run directory without results, or one that cannot be read, is refused."""
    stage.files = {name: b"{"} if name == "verdict.json" else {**stage.measured.run, name: b"{"}
    stage.refused(why)


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "suite": (lambda config: config.update(suite="other"), "of another suite: expected small, found other"),
    "golden": (
        lambda config: config["fingerprint"].update(golden="0" * 64),
        "the branch has other questions now: expected",
    ),
    "vault": (lambda config: config["fingerprint"].update(vault="0" * 64), "the branch has other notes now: expected"),
    "notes": (
        lambda config: config["fingerprint"].update(vault="0" * 64, notes={"test/gone.md": "1"}),
        "the branch has other notes now: added personal/Notes/anchovy.md",
    ),
    "tolerance": (lambda config: config["config"]["gate"].update(tolerance=0.9), "another configuration now: gate$"),
    "k": (lambda config: config["config"]["ask"].update(k=3), "another configuration now: ask$"),
    "api": (lambda config: config["config"]["api"]["command"].update(cwd="x"), "another configuration now: api$"),
    "imported": (lambda config: config["config"].update(kebab={}), "another configuration now: expected"),
    "commit": (lambda config: config["config"]["checkout"].update(commit="1" * 40), "a checkout of 11111111111"),
    "no-checkout": (lambda config: config["config"].update(checkout={}), "a checkout of None"),
    "dirty": (lambda config: config["config"]["checkout"].update(dirty=True), "files of its checkout had been changed"),
    "perhaps dirty": (
        lambda config: config["config"]["checkout"].update(dirty=None),
        "files of its checkout had been changed",
    ),
    "almost clean": (lambda config: config["config"]["checkout"].update(dirty=0), "checkout.dirty"),
    "stranger": (lambda config: config["config"].update(ask=7), "the configuration stored with run"),
}


@pytest.mark.parametrize("name", EDITS)
def test_another_measurement(stage: Stage, name: str) -> None:
    """A run that was measured by anything else than what the branch has now is refused, naming what differs."""
    edit, why = EDITS[name]
    stage.files = edited(stage.measured.run, edit)
    stage.refused(why)


def test_the_questions_that_changed_are_named(stage: Stage) -> None:
    """If the branch has other questions than the run, the refusal names them."""
    cases = stage.inputs.golden.cases
    own = replace(stage.inputs.golden, cases=[*cases[2:], replace(cases[1], hash="0" * 64)], hash="0" * 64)
    stage.inputs = replace(stage.inputs, golden=own)
    stage.refused(f"other questions now: removed {cases[0].id}, changed {cases[1].id}$")


def test_other_questions_than_it_says(stage: Stage) -> None:
    """A run directory whose questions are not those of the hash in it is refused."""
    lines = stage.measured.run["golden.jsonl"].replace(b"anchovy matter", b"anchovy other")
    stage.files = {**stage.measured.run, "golden.jsonl": lines}
    stage.refused("its questions do not match the golden set that it names")
