"""The second stage: what an untrusted run measured, judged by the base commit's files alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from checkouts import files_below
from events import ENDED, make_event, make_source_run
from fakes.github_api import FakeGitHub, Repository, Symlink, primary_limit
from fakes.truncated import cut_short
from project import Project, make_project
from promotable import edited, packed
from raggate.base.errors import UsageError
from raggate.github import fork_comment
from raggate.github.rest import git_objects
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.models.publication import Publication
from raggate.models.suites import SuiteOutcome
from raggate.models.verdict import Preview, Review
from raggate.reports import comment
from stored_rows import files_of

VAULT = "vault/work"
NAME = "octo/notes"
Files = dict[str, bytes]
WORSE = {"FAKE_BEHAVIOUR": "worse"}


@dataclass
class Stage:
    """A repository with a gate on a fake, a pull request from a fork, and a run that has measured it."""

    fake: FakeGitHub
    repository: Repository
    project: Project
    base: str
    head: str
    path: str = ".github/workflows/rag-gate.yml"
    record: dict[str, Any] = field(default_factory=dict)

    def measured(self, code: int, **behaviour: str) -> Files:
        """Run the gate as the pull request's own workflow does, and give its artifact, which is the test's own."""
        return dict(artifact(self.project.root, code, tuple(behaviour.items())))

    def change(self, files: dict[str, Any]) -> None:
        """Let the pull request change files; None removes one."""
        self.head = str(self.repository.add_commit(files, [self.base]))
        self.repository.pulls[7].head_sha = self.head

    def merge(self, files: dict[str, Any]) -> None:
        """Change files of the base commit, and begin the pull request anew from there."""
        self.base = str(self.repository.add_commit(files, [self.base], branch="main"))
        self.repository.pulls[7].base_sha = self.base
        self.change({"README": "change"})

    def upload(self, files: Files | None) -> None:
        """Let the run end, and leave an artifact of these files an hour after the fake's clock began."""
        self.repository.add_run(run_id=9, head_sha=self.head, created_at=ENDED, **self.record)
        if files is not None:
            self.repository.add_artifact(9, "raggate-run", packed(files))

    def judge(
        self,
        files: Files | None,
        *,
        by: str = "pull_request",
        started: str = ENDED,
        config: str = "raggate.yml",
        default_branch: str = "",
        **about: str,
    ) -> SuiteOutcome:
        """Relay a run whose artifact holds these files."""
        self.upload(files)
        run = make_source_run(self.head, event=by, run_started_at=started, path=self.path)
        happened = make_event("workflow_run", self.fake, default_branch=default_branch, head=self.base, source_run=run)
        what = fork_comment.ForkRun(
            event=happened,
            config_file=self.project.root / "elsewhere" / config,
            workspace=self.project.root / "elsewhere",
            artifact="raggate-run",
            say=pytest.fail,
            **about,
        )
        token = self.fake.token({"contents": "read", "pull-requests": "write", "actions": "read"})
        with self.fake.client(token) as github:
            there = GitHubRepository(github, NAME)
            (pull,) = fork_comment.find(there, what)
            assert isinstance(pull, Pull)
            return fork_comment.evaluate(there, what, pull)


@cache
def artifact(root: Path, code: int, behaviour: tuple[tuple[str, str], ...]) -> Files:
    """Measure with an API that behaves like this; once, since no test changes what is measured."""
    project = Project(root)
    assert project.command("check", **dict(behaviour)).code == code
    return files_of(project.last_run())


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A gate of twelve questions with a baseline, once for all tests, which only run it."""
    made = make_project(tmp_path_factory.mktemp("project"), notes=3)
    made.promote()
    (made.root / "elsewhere").mkdir()
    return made


@pytest.fixture
def stage(project: Project) -> Iterator[Stage]:
    """Put the gate on the main branch of a fake GitHub, and a pull request from a fork beside it."""
    with staged(project) as stage:
        yield stage


@contextmanager
def staged(project: Project, flavour: str = "api.github.com") -> Iterator[Stage]:
    with FakeGitHub(flavour) as fake:
        repository = fake.add_repository(NAME)
        fork = fake.add_repository("stranger/notes", fork_of=repository)
        base = str(repository.add_commit(files_below(project.root), branch="main"))
        head = str(repository.add_commit({"README": "change"}, [base]))
        repository.add_pull(7, head_sha=head, base_sha=base, head_ref="change", head_repo=fork)
        yield Stage(fake, repository, project, base, head)


def reviewed(told: SuiteOutcome) -> Review:
    assert told.review is not None, told.failure
    return told.review


def previewed(told: SuiteOutcome) -> Preview:
    preview = reviewed(told).context.preview
    assert preview is not None
    return preview


def test_an_enterprise_server_that_knows_no_digest(project: Project) -> None:
    """Enterprise Server 3.17, whose API tells no digest of an artifact: the second stage judges there too."""
    with staged(project, "ghes-3.17") as stage:
        told = stage.judge(stage.measured(1, **WORSE))
        assert reviewed(told).verdict.outcome == "regression"
        assert "/api/v3" in stage.fake.api_url
        (listed,) = stage.fake.calls("actions/list-workflow-run-artifacts")
        assert listed.status == 200


def configured(edit: Callable[[dict[str, Any]], object]) -> Callable[[Files], None]:
    """Return a change of what config.json of an artifact says."""
    return lambda files: files.update(edited(files, edit))


def without(*names: str) -> Callable[[Files], None]:
    """Return a change that drops the first line of files of an artifact."""
    return lambda files: files.update({name: files[name].partition(b"\n")[2] for name in names})


def lenient(files: Files) -> None:
    """Loosen the gate in the artifact's configuration, and take its baseline away."""
    configured(lambda config: config["config"]["gate"].update(tolerance=1.0, metrics={}))(files)
    del files["baseline.json"]


def friendly(files: Files) -> None:
    """Write another verdict and another summary."""
    files["verdict.json"] = b'{"verdict": "pass", "exit_code": 0}'
    files["summary.md"] = b"# pass @everyone"
    files["aside.json"] = b'{"source_lines": {"x": {"path": "../../etc", "line": 1}}}'


def a_part(files: Files) -> None:
    """Drop the answer to a question, and say that it was not asked."""
    without("results.jsonl")(files)
    ids = [json.loads(line)["test_case_id"] for line in files["results.jsonl"].splitlines()]
    selection = {"asked": ids, "of": len(ids) + 1, "words": "**all**"}
    configured(lambda config: config.update(selection=selection))(files)


def answered_too(**changes: Any) -> Callable[[Files], None]:
    """Return a change that answers the first question once more, in another mode or a second time."""

    def change(files: Files) -> None:
        row = json.loads(files["results.jsonl"].partition(b"\n")[0])
        files["results.jsonl"] += json.dumps(row | changes).encode() + b"\n"

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (a_part, "1 of 12 calls, and says that a part was chosen"),
        (configured(lambda config: config["fingerprint"].update(vault="0" * 16)), "vault differs"),
        (answered_too(mode="another"), "1 answer that was not asked for"),
        (answered_too(repeat=2), "1 answer that was not asked for"),
        (
            lambda files: files.update({"results.jsonl": files["results.jsonl"][:-20]}),
            "the artifact cannot be read: results.jsonl:",
        ),
    ],
)
def test_a_run_by_other_means_is_never_green(stage: Stage, change: Callable[[Files], None], reason: str) -> None:
    """A run that was not measured by the base commit's questions, notes and settings, in full, cannot be judged."""
    files = stage.measured(0)
    change(files)
    told = stage.judge(files)
    assert (told.code, told.suite) == (3, "small")
    assert told.failure is not None
    assert reason in " ".join(told.failure.lines)
    assert "/" not in " ".join(told.failure.lines).partition("cannot be read")[2]


# an alarm that rings while an object is dropped is swallowed there, and comes again
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_artifact_that_takes_long_to_read_is_told(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are made to take minutes keep no comment back."""
    monkeypatch.setattr(fork_comment, "_ARTIFACT_S", 0.3)
    row = json.dumps({"id": "a", "question": "q", "answerable": True, "gold_supports": [{}] * 10_000})
    told = stage.judge({**stage.measured(0), "golden.jsonl": f"{row}\n".encode() * 200})
    assert (told.code, told.failure and told.failure.lines[0]) == (
        3,
        "the artifact could not be read within 0 s",
    )


def test_an_artifact_of_an_earlier_attempt_is_none(stage: Stage) -> None:
    """What an earlier attempt measured is not told of a later one that measured nothing."""
    told = stage.judge(stage.measured(0), started="2026-01-01T01:00:01Z")
    assert told.failure is not None
    assert (told.code, told.suite) == (3, "small")
    assert "left no artifact 'raggate-run', so there is nothing to judge" in " ".join(told.failure.lines)


def test_why_a_run_stopped_is_not_believed(stage: Stage) -> None:
    """A run that says it broke off is told to have stopped; its reason stands in the log, and so does no other."""
    files = stage.measured(0)
    config = json.loads(files["config.json"])
    config |= {"stopped": "All is well.", "log": ["fine"]}
    config["fingerprint"]["a note of raggate"] = "all is well"
    files["config.json"] = json.dumps(config).encode()
    told = stage.judge(files)
    assert reviewed(told).verdict.outcome == "cannot tell"
    assert reviewed(told).run.stopped == "the run stopped before all questions were asked"
    assert reviewed(told).run.log == ("what the run itself says:", "All is well.", "fine")
    assert "a note of raggate" not in reviewed(told).run.fingerprint
    assert "All is well" not in reviewed(told).verdict.headline
    told = stage.judge({**files, "results.jsonl": b""})
    assert (told.code, told.review) == (3, None)
    assert told.failure is not None
    assert told.failure.lines == ("the run has no result: it stopped earlier",)


WAIVER = "waivers: [{metric: hit_at_5, reason: r, owner: o, expires: 2026-01-01}]\n"


@pytest.mark.parametrize(("head", "code"), [("", 0), (WAIVER, 1), ("suite: [\n", 1), (None, 1)])
def test_an_expired_waiver_is_settled_by_the_head_commit(stage: Stage, head: str | None, code: int) -> None:
    """A waiver that has expired is red, unless the pull request's own configuration takes it away."""
    config = (stage.project.root / "raggate.yml").read_text()
    stage.merge({"raggate.yml": config + WAIVER})
    stage.change({"raggate.yml": None if head is None else config + head})
    assert stage.judge(stage.measured(0)).code == code


def test_a_base_without_raggate_is_a_first_run(stage: Stage) -> None:
    """A pull request that brings raggate is told that it does, under the configuration's name, and believed nothing."""
    files = stage.measured(0)
    stage.merge({"raggate.yml": None})
    stage.change({"raggate.yml": (stage.project.root / "raggate.yml").read_bytes()})
    told = stage.judge(files)
    assert told.failure is not None
    assert (told.code, told.suite) == (3, "raggate.yml")
    assert "first run" in " ".join(told.failure.lines)
    assert "**Next:** The message above says why" in comment.render(told.failure, Publication())


@pytest.mark.parametrize(("named", "code"), [("", 2), ("other", 2), ("other, main", 0)])
def test_a_base_that_the_workflow_does_not_name_is_refused(stage: Stage, named: str, code: int) -> None:
    """A pull request into another branch than the default one is judged only where the workflow names that branch."""
    told = stage.judge(stage.measured(0), default_branch="trunk", bases=named)
    assert (told.code, told.suite) == (code, "small")
    assert (told.failure is not None and "goes into 'main'" in " ".join(told.failure.lines)) == (code == 2)


@pytest.mark.parametrize("told", ["the event", "the API"])
def test_another_workflow_of_the_same_name_is_refused(stage: Stage, told: str) -> None:
    """What a workflow file left that the change brings itself is neither judged nor told, whatever it calls itself."""
    path = ".github/workflows/rag-gate-too.yml"
    stage.path, stage.record = (path, {}) if told == "the event" else ("", {"path": path, "name": "rag-gate"})
    with pytest.raises(UsageError, match=f"of the workflow '{path}', not of 'rag-gate.yml'") as caught:
        stage.judge(stage.measured(0))
    assert "input `workflow`" in caught.value.hint
    stage.path = f"{path}@refs/pull/7/merge"
    assert stage.judge(stage.measured(0), workflow="rag-gate-too.yml").code == 0


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 9\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(POINTER, "its content is in Git LFS", id="a-pointer"),
        pytest.param(Symlink("../../../raggate.yml"), "a symbolic link out of its directory", id="a-link-out"),
        pytest.param(None, "question 'gateway-first'", id="a-note-that-questions-are-about"),
    ],
)
def test_a_note_that_would_end_every_run_is_no_pass(stage: Stage, content: Any, problem: str) -> None:
    """What a fork does to a note, so that nothing can be measured after the merge, is told before it."""
    stage.change({f"{VAULT}/Notes/{'gateway' if content is None else 'new'}.md": content})
    told = stage.judge(stage.measured(0))
    assert problem in " ".join(previewed(told).breaks)
    assert told.code == 3


def test_text_of_private_notes_in_a_public_one_is_told(stage: Stage) -> None:
    """A fork that copies a private note into one that everybody may see is told of as any other change is."""
    config = (stage.project.root / "raggate.yml").read_text()
    stage.merge({"raggate.yml": config + "private: {places: [work/Notes/gateway.md]}\n"})
    stage.change({f"{VAULT}/Notes/copy.md": (stage.project.root / VAULT / "Notes" / "gateway.md").read_bytes()})
    told = stage.judge(stage.measured(0))
    (warning,) = [item for item in reviewed(told).verdict.warnings if item.code == "unmarks-notes"]
    assert "makes text of private notes public: work/Notes/gateway.md" in warning.message


def test_what_is_too_much_to_read_is_told_as_not_looked_at(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork with more new notes than are read keeps no other finding back, and is no pass: they were not seen."""
    monkeypatch.setattr(git_objects, "MOST_OF_A_STRANGER", 20)
    config = (stage.project.root / "raggate.yml").read_text()
    notes = {f"{VAULT}/Notes/new-{number}.md": f"# {number}\n" for number in range(30)}
    stage.change(notes | {"raggate.yml": config + "gate: {tolerance: 0.9}\n"})
    told = stage.judge(stage.measured(0))
    preview = previewed(told)
    assert (preview.loosened, preview.breaks) == (("gate.tolerance",), ())
    (problem,) = preview.unseen
    assert problem.startswith("its notes were not checked for private text")
    assert "more than 20 requests to GitHub" in problem
    assert told.code == 3
    page = comment.render(reviewed(told), Publication())
    assert "not checked" in page
    assert "gate.tolerance" in page


def test_what_github_does_not_answer_is_no_pass(stage: Stage) -> None:
    """A fork whose files could not be looked at, as the hour's requests were used up, is told as not seen."""
    stage.change({f"{VAULT}/new.md": "# New\n"})
    files, head = stage.measured(0), stage.head
    # asked for the waivers first
    stage.fake.fail_next(lambda call: call.path.endswith(head), *[primary_limit(4_000_000_000)] * 2)
    told = stage.judge(files)
    assert "rate limit" in " ".join(previewed(told).unseen)
    assert (told.code, reviewed(told).verdict.outcome) == (3, "cannot tell")


def test_updates_of_the_base_are_none_of_a_fork(stage: Stage) -> None:
    """Versions of both commits are read, not the artifact's: behind its base a change takes none back."""
    stage.change({"requirements.txt": "a==1\n"})
    head = stage.head
    stage.merge({"go.mod": "require x v1\n"})
    stage.head = stage.repository.pulls[7].head_sha = head
    told = stage.judge(stage.measured(0))
    assert reviewed(told).context.dependencies == ("requirements.txt (new file)", "only in the base: go.mod (new file)")
    stage.head = stage.repository.pulls[7].head_sha = str(stage.repository.add_commit({"go.mod": "require x v2\n"}, []))
    told = stage.judge(stage.measured(0))
    assert reviewed(told).context.dependencies == ()


def test_folders_without_end_take_a_few_requests(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork's chain of folders, too much for one answer of GitHub, leaves requests for the comment that says so."""
    cut_short(monkeypatch)
    objects = stage.repository.objects
    empty = below = objects.add_tree({})
    for _ in range(600):
        below = objects.add_tree({"a": ("040000", empty), "d": ("040000", below)})
    top = objects.changed_tree(objects.commits[stage.base].tree, {f"{VAULT}/deep": ("040000", below)})
    author = stage.repository.world.person("mallory")
    stage.head = objects.add_commit(top, [stage.base], message="x", author=author).sha
    stage.repository.pulls[7].head_sha = stage.head
    told = stage.judge(stage.measured(0))
    assert len(stage.fake.requests) < git_objects.MOST_OF_A_STRANGER + 50
    assert "more than 300 requests to GitHub" in comment.render(reviewed(told), Publication())
    assert told.code == 3


def test_only_a_run_of_a_pull_request_is_relayed(stage: Stage) -> None:
    """A run that something else started is refused."""
    with pytest.raises(UsageError, match="started by 'push'"):
        stage.judge(None, by="push")
