"""The step that comments for an untrusted run of several suites: the base's list counts, whatever the artifact says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from checkouts import files_below
from events import ENDED, make_event, make_source_run, make_step
from fakes.github_api import BOT, FakeGitHub, Repository
from project import make_project
from promotable import packed
from raggate.action import relay
from raggate.github import fork_comment
from raggate.github.fork_comment import ForkRun
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.github.step_context import StepState
from rendered import visible

NAME = "octo/notes"
PATTERN = "services/*/raggate.yml"
Files = Mapping[str, bytes]
Runs = dict[str, Files]


@dataclass(frozen=True)
class Measured:
    """A repository with three suites, and the runs of two of them: `good` as its baseline is, `poor` worse.

    The third, `docs`, is only run where its own files change.
    """

    contents: Mapping[str, bytes]
    runs: Runs


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    root = tmp_path_factory.mktemp("mono")
    runs = {}
    for name in ("good", "poor", "docs"):
        folder = root / "services" / name
        folder.mkdir(parents=True)
        project = make_project(folder, notes=2)
        project.edit("suite: small", f"suite: {name}")
        if name == "docs":
            project.edit("suite: docs", "suite: docs\npaths: [vault]")
            continue
        project.promote()
        assert project.command("check", **({"FAKE_BEHAVIOUR": "worse"} if name == "poor" else {})).code == len(runs)
        runs[name] = {path.name: path.read_bytes() for path in project.last_run().iterdir() if path.is_file()}
    return Measured(files_below(root), runs)


@dataclass
class Stage:
    """A pull request from a fork on a fake, and the second stage of its gate."""

    fake: FakeGitHub
    repository: Repository
    workspace: Path
    base: str
    head: str
    state: StepState = field(default_factory=StepState)

    def change(self, files: dict[str, Any]) -> None:
        """Let the pull request change files; None removes one."""
        self.head = str(self.repository.add_commit(files, [self.base]))
        self.repository.pulls[7].head_sha = self.head

    def relay(self, runs: Runs | None, **inputs: str) -> dict[str, tuple[str, int]]:
        """Relay a run that left these directories, by folder; give each suite's verdict and exit code."""
        if 9 not in self.repository.runs:
            self.repository.add_run(run_id=9, head_sha=self.head, created_at=ENDED)
        if runs is not None:
            files = {f"{folder}/{name}".lstrip("/"): data for folder, run in runs.items() for name, data in run.items()}
            self.repository.add_artifact(9, "raggate-run", packed(files))
        event = make_event("workflow_run", self.fake, head=self.base, source_run=make_source_run(self.head))
        token = self.fake.token({"contents": "read", "pull-requests": "write", "actions": "read"})
        given = {"command": "comment", "config": PATTERN, "github-token": token, **inputs}
        with self.fake.client(token) as github:
            step = make_step(self.workspace, event, given, GitHubRepository(github, NAME))
            self.state = step.state
            assert relay.comment(step) == 0
        told = json.loads(self.state.outputs["suites"])
        return {each["suite"]: (each["verdict"], each["exit-code"]) for each in told}

    @property
    def comment(self) -> str:
        (comment,) = [comment for comment in self.repository.comments_of(7) if comment.login == BOT]
        return str(comment.body)


@pytest.fixture
def stage(measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Open a pull request from a fork that changes what no suite is made of; the checkout has no file."""
    monkeypatch.chdir(tmp_path)
    with FakeGitHub() as fake:
        repository = fake.add_repository(NAME)
        fork = fake.add_repository("stranger/notes", fork_of=repository)
        base = str(repository.add_commit(dict(measured.contents), branch="main"))
        head = str(repository.add_commit({"README": "change"}, [base]))
        repository.add_pull(7, head_sha=head, base_sha=base, head_ref="change", head_repo=fork)
        yield Stage(fake, repository, tmp_path, base, head)


NOT_RUN = ("not run", 0)
NOTHING = ("cannot tell", 3)


def folders(runs: Runs) -> Runs:
    return {f"{name}/.raggate/runs/20260102_030405": run for name, run in runs.items()}


def one_of(measured: Measured) -> Runs:
    """Return the artifact of a list of which one suite is enough."""
    return folders({"good": measured.runs["good"]})


def test_one_comment_has_all_suites(stage: Stage, measured: Measured) -> None:
    """Each is judged by the base's files, the worst decides, and one that the change does not concern is not run."""
    ends = stage.relay(folders(measured.runs))
    assert ends == {"good": ("pass", 0), "poor": ("regression", 1), "docs": NOT_RUN}
    assert (stage.state.outputs["verdict"], stage.state.outputs["exit-code"]) == ("regression", "1")
    assert stage.state.outputs["comment-url"]
    text = visible(stage.comment)
    assert "3 suites: 1 regression, 1 pass, 1 not run" in text
    assert "judged here by this repository's own files" in text
    assert "nothing under services/docs/vault differs" in text
    assert text.index("poor") < text.index("good") < text.index("docs")
    assert "3 suites" in stage.state.summary


def test_a_suite_that_is_left_out_is_red(stage: Stage, measured: Measured) -> None:
    """A run that hides its worst suite hides nothing: it is named, and cannot be told."""
    assert stage.relay({"": measured.runs["good"]}) == {"good": ("pass", 0), "poor": NOTHING, "docs": NOT_RUN}
    assert stage.state.outputs["exit-code"] == "3"
    assert "the artifact has no run of this suite" in visible(stage.comment)


def test_what_breaks_on_one_suite_is_its_error(
    stage: Stage, measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where judging one of them fails in a way that nobody thought of, the others get their verdicts all the same."""
    usual = fork_comment.evaluate

    def sometimes(repository: GitHubRepository, fork: ForkRun, *rest: Any) -> Any:
        if fork.config_file.parent.name == "good":
            raise RuntimeError("a bug")
        return usual(repository, fork, *rest)

    monkeypatch.setattr(fork_comment, "evaluate", sometimes)
    ends = stage.relay(folders(measured.runs))
    assert ends == {"good": ("internal error", 70), "poor": ("regression", 1), "docs": NOT_RUN}
    assert stage.state.outputs["exit-code"] == "70"
    assert "3 suites: 1 internal error, 1 regression, 1 not run" in visible(stage.comment)


def test_a_doubled_suite_is_refused(stage: Stage, measured: Measured) -> None:
    """Of two runs of one suite none counts: neither the better one, nor the one that comes first."""
    good, poor = measured.runs["good"], measured.runs["poor"]
    ends = stage.relay({"a": poor, "b": _renamed(good, "poor"), "c": good})
    assert ends == {"good": ("pass", 0), "poor": NOTHING, "docs": NOT_RUN}
    assert "the artifact has 2 runs of this suite" in visible(stage.comment)


def test_a_name_that_no_suite_has_counts_for_none(stage: Stage, measured: Measured) -> None:
    """Runs of any other name are nobody's, stand nowhere, and are no replacement for the one that is missing."""
    names = ["", "GOOD", "good\n", "services/good/raggate.yml", "<b>good</b>", 7, None, ["good"]]
    runs = {str(number): _renamed(measured.runs["good"], name) for number, name in enumerate(names)}
    ends = stage.relay({**runs, "poor": measured.runs["poor"]})
    assert ends == {"good": NOTHING, "poor": ("regression", 1), "docs": NOT_RUN}
    assert "the artifact has no run of this suite" in visible(stage.comment)
    assert "<b>good" not in stage.comment


def test_where_its_paths_change_a_suite_has_to_be_run(stage: Stage, measured: Measured) -> None:
    """The head of the change is asked of GitHub: leaving out the run of a suite that it concerns is red."""
    stage.change({"services/docs/vault/work/Notes/new.md": "# New\n"})
    assert stage.relay(one_of(measured))["docs"] == NOTHING


def test_what_the_change_says_of_its_paths_does_not_count(stage: Stage, measured: Measured) -> None:
    """A change that shortens `paths` beside what it changes has changed the configuration, which concerns it."""
    text = measured.contents["services/docs/raggate.yml"].decode()
    stage.change({"services/docs/raggate.yml": text.replace("[vault]", "[vault/work/Notes]")})
    assert stage.relay(one_of(measured))["docs"] == NOTHING


def test_a_change_of_many_directories_does_not_use_up_the_requests(stage: Stage, measured: Measured) -> None:
    """A pattern is matched by asking GitHub, which answers all jobs of a repository a thousand times an hour."""
    stage.change({f"services/{number}/file": str(number) for number in range(330)})
    assert stage.relay(folders(measured.runs)) == {}
    shown = visible(stage.comment)
    assert "fits more than 300 directories that the change edits" in shown
    assert ("then push or run it again" in shown, "corrects neither" in shown) == (True, False)
    assert len(stage.fake.calls("git/get-tree")) < 330


def test_a_change_that_brings_a_suite_has_a_first_run(stage: Stage, measured: Measured) -> None:
    """It is listed under its path, as nothing that the change says of itself is a name, and cannot be told."""
    stage.change({"services/new/raggate.yml": "suite: new\n"})
    ends = stage.relay(one_of(measured))
    assert ends["services/new/raggate.yml"] == NOTHING
    assert ends["good"] == ("pass", 0)
    assert "This is a first run" in visible(stage.comment)


def _renamed(files: Files, name: object) -> Files:
    config = {**json.loads(files["config.json"]), "suite": name}
    kept = {key: data for key, data in files.items() if key != "verdict.json"}
    return {**kept, "config.json": json.dumps(config).encode()}
