"""Several suites in one command and in one step: each has its own verdict, and none hides behind another."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from checkouts import commit_all, git, write_files
from e2e import grammar
from events import make_pull_event
from fakes.github_api import BOT, FakeGitHub, Repository
from project import Project, make_small_project
from raggate.action.gate import gate
from raggate.base.errors import CannotTell, UsageError
from raggate.github.publish import StepReporter
from raggate.github.rest.client import GitHub
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.github.runner import results, step_inputs
from raggate.github.runner.event import Event
from raggate.github.step_context import Runner, Step as Given, StepState
from raggate.pipeline import check as pipeline, suites
from raggate.pipeline.request import CheckResult, Request
from rendered import visible
from reviews import review

PATTERN = "services/*/raggate.yml"
HEAD = "1" * 40


@pytest.fixture(scope="module")
def monorepo(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository with two suites: one that passes, and one whose API does not start."""
    root = tmp_path_factory.mktemp("mono")
    for name in ("good", "broken"):
        folder = root / "services" / name
        folder.mkdir(parents=True)
        project = make_small_project(folder)
        project.edit("suite: small", f"suite: {name}")
    Project(root / "services" / "good").promote()
    Project(root / "services" / "broken").edit("process_api.py", "nothing.py")
    return Project(root)


def test_one_that_cannot_start_stops_no_other(monorepo: Project) -> None:
    """Each suite is measured where it stands, with its own run directory, and the worst decides the exit code."""
    done = monorepo.command("check", "-c", PATTERN, "--json", "--report", "junit=rag-{suite}.xml")
    assert done.code == 3, done.err
    told = json.loads(done.out)["result"]
    assert told["verdict"] == "cannot tell"
    ends = {each["suite"]: (each["verdict"], each["exit_code"], each["config"]) for each in told["suites"]}
    assert ends == {
        "broken": ("cannot tell", 3, "services/broken/raggate.yml"),
        "good": ("pass", 0, "services/good/raggate.yml"),
    }
    for each in told["suites"]:
        stored = json.loads((monorepo.root / each["run_directory"] / "verdict.json").read_text())
        assert (stored["suite"], stored["verdict"]) == (each["suite"], each["verdict"])
        assert each["run_directory"].startswith(f"{monorepo.root}/services/{each['suite']}/")
        assert each["suite"] in (monorepo.root / f"rag-{each['suite']}.xml").read_text()


def test_a_change_that_takes_a_suite_away_is_no_pass(monorepo: Project, tmp_path: Path) -> None:
    """The suite is measured by its base all the same, and the verdict says that nothing would ask it any more."""
    changed = monorepo.copied(tmp_path / "changed")
    changed.commit()
    (changed.root / "services/good/raggate.yml").unlink()
    done = changed.command("check", "-c", "services/g*/raggate.yml", "--against", "HEAD", "--json")
    (suite,) = json.loads(done.out)["result"]["suites"]
    assert (done.code, suite["suite"]) == (3, "good")
    assert [reason["code"] for reason in suite["result"]["reasons"]] == ["retires-suite"]


@dataclass
class Step:
    """A step on a pull request, whose pipeline is replaced by what each suite ends with."""

    root: Path
    fake: FakeGitHub
    repository: Repository
    base: str
    runner: Runner
    head: str = HEAD
    event: str = "pull_request"
    may: tuple[str, ...] = ("pull-requests",)
    ends: dict[str, Callable[[], CheckResult]] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    state: StepState = field(default_factory=StepState)
    said: list[str] = field(default_factory=list)

    def check(self, request: Request) -> CheckResult:
        self.asked.append(request)
        directory = self.root / request.config_file.parent / "run"
        directory.mkdir(parents=True, exist_ok=True)
        return replace(self.ends[request.config_file.parent.name](), directory=directory)

    def gate(self, *, number: int = 5, **inputs: str) -> int:
        """Run the step for a push to the pull request."""
        self.asked.clear()
        self.state = StepState()
        given = {**step_inputs.DEFAULTS, "config": PATTERN, **inputs}
        with self.client() as github:
            there = GitHubRepository(github, "octo/notes")
            return gate(Given(given, self.happened(number), there, self.runner, self.state))

    def client(self) -> GitHub:
        return self.fake.client(self.fake.token({"contents": "read", **dict.fromkeys(self.may, "write")}))

    def happened(self, number: int) -> Event:
        """Return the push, in a workflow run."""
        number_of = {"number": 7 if self.event == "pull_request" else None}
        return make_pull_event(self.fake, name=self.event, run_id=number, head=self.head, base=self.base, **number_of)

    def comment(self) -> str:
        (comment,) = [comment for comment in self.repository.comments_of(7) if comment.login == BOT]
        return comment.body


def ends_with(kind: str) -> Callable[[], CheckResult]:
    """Return what a suite ends with, by the name of a review."""
    return lambda: CheckResult(review=review(kind), directory=Path())


def fails(error: BaseException) -> Callable[[], CheckResult]:
    """Return a suite that ends without a verdict."""

    def end() -> CheckResult:
        raise error

    return end


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository with three suites, and its commit: tests change copies of it."""
    root = tmp_path_factory.mktemp("base")
    write_files(root, {f"services/{name}/raggate.yml": f"suite: {name}\n" for name in ("docs", "pay", "web")})
    commit_all(root)
    return root, git(root, "rev-parse", "HEAD")


@pytest.fixture
def step(base: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Step]:
    """Yield a step in a committed repository with three suites, two of which pass."""
    root, commit = base
    shutil.copytree(root, tmp_path, symlinks=True, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    files = {name: tmp_path / name for name in ("output", "state", "summary")}
    runner = Runner(workspace=tmp_path, environment={}, **files)
    with FakeGitHub("api.github.com") as fake:
        repository = fake.add_repository("octo/notes")
        first = repository.add_commit({"a.txt": "a"}, branch="main", sha="2" * 40)
        repository.add_commit({"a.txt": "b"}, [first], sha=HEAD)
        repository.add_pull(7, head_sha=HEAD, base_sha="2" * 40, head_ref="change")
        made = Step(tmp_path, fake, repository, commit, runner)
        made.ends = {"docs": ends_with("pass"), "pay": ends_with("placed"), "web": ends_with("pass")}
        monkeypatch.setattr(pipeline, "check", made.check)
        yield made


def names(step: Step) -> list[str]:
    """Name the suites that were asked."""
    return [request.config_file.parent.name for request in step.asked]


def test_one_comment_for_all(step: Step) -> None:
    """All suites stand in one comment, and outputs name each."""
    assert step.gate() == 1
    read = visible(step.comment())
    assert "3 suites: 1 regression, 2 pass" in read
    told = json.loads(step.state.outputs["suites"])
    assert [(each["suite"], each["verdict"], each["exit-code"]) for each in told] == [
        ("docs", "pass", 0),
        ("pay", "regression", 1),
        ("web", "pass", 0),
    ]
    directories = [f"services/{name}/run" for name in ("docs", "pay", "web")]
    assert step.state.outputs["run-directory"].splitlines() == directories
    assert [request.against for request in step.asked] == [step.base] * 3
    assert step.state.reporter is not None
    log = grammar.Log().feed("\n".join(step.state.reporter.annotate(lenient=False)))
    assert log.annotations
    assert "3 suites: 1 regression, 2 pass" in visible(step.state.reporter.summary(limit=1 << 20))


@pytest.mark.parametrize(
    ("error", "code"), [(CannotTell("not ready"), 3), (UsageError("no golden set"), 2), (KeyError("a bug"), 70)]
)
def test_nothing_hides_under_the_green_of_others(step: Step, error: Exception, code: int) -> None:
    """A suite that could not be measured makes the step red, in its words, and the others are measured all the same."""
    step.ends |= {"docs": fails(error), "pay": ends_with("placed")}
    assert step.gate() == code
    assert names(step) == ["docs", "pay", "web"]
    assert "1 regression, 1 pass" in visible(step.comment())


@pytest.mark.parametrize("place", ["concern", "give back", "show"])
def test_trouble_around_one_suite_is_its_own(step: Step, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """Whatever fails for one suite, before, after or beside its measuring, is its error; all others get verdicts."""
    broken = {
        "concern": (suites, "not_run", lambda request: str(request.config_file)),
        "give back": (results, "give_back", lambda directory, _: str(directory)),
        "show": (StepReporter, "finish_suite", lambda _, outcome: outcome.suite),
    }
    owner, name, told = broken[place]
    usual = getattr(owner, name)

    def sometimes(*given: Any) -> Any:
        if "docs" in told(*given):
            raise RuntimeError("a bug")
        return usual(*given)

    monkeypatch.setattr(owner, name, sometimes)
    assert step.gate() == 70
    told_of = {each["suite"]: each["verdict"] for each in json.loads(step.state.outputs["suites"])}
    assert told_of == {"docs": "internal error", "pay": "regression", "web": "pass"}
    assert "3 suites: 1 internal error, 1 regression, 1 pass" in visible(step.comment())


WHEN = "suite: {}\ngolden: golden.jsonl\nvault: {{v: v}}\napi: {{url: 'http://127.0.0.1:1'}}\npaths: [src]\n"


def limit(step: Step, *suites: str) -> None:
    """Commit a base in which these suites are concerned by their own sources alone."""
    for name in suites:
        files = {"src/a.go": "a", "v/a.md": "a", "golden.jsonl": "{}\n", "raggate.yml": WHEN.format(name)}
        write_files(step.root / "services" / name, files)
    commit_all(step.root)
    step.base = step.head = git(step.root, "rev-parse", "HEAD")
    step.repository.add_commit({"a.txt": "c"}, ["2" * 40], sha=step.head)
    step.repository.add_pull(7, head_sha=step.head, base_sha="2" * 40, head_ref="change")


def test_a_suite_that_nothing_concerns_is_not_run(step: Step) -> None:
    """It is told as not run, and a suite that is concerned is measured."""
    limit(step, "docs", "pay", "web")
    (step.root / "services/web/src/b.go").write_text("b")
    assert step.gate() == 0
    assert names(step) == ["web"]
    told = {each["suite"]: (each["verdict"], each["exit-code"]) for each in json.loads(step.state.outputs["suites"])}
    assert told == {"docs": ("not run", 0), "pay": ("not run", 0), "web": ("pass", 0)}
    read = visible(step.comment())
    assert "3 suites: 1 pass, 2 not run" in read
    assert "nothing under services/pay/src differs from" in read
    assert step.state.outputs["verdict"] == "pass"


def test_a_step_that_runs_nothing_is_no_pass(step: Step) -> None:
    """Where no suite is concerned nothing was measured, and the verdict says so; the step keeps nobody from merging."""
    limit(step, "docs", "pay", "web")
    assert step.gate() == 0
    assert (names(step), step.state.outputs["verdict"]) == ([], "not run")
    assert "pass" not in visible(step.comment())


def test_an_interrupt_ends_the_step(step: Step) -> None:
    """After a signal no other suite is begun, and each that was not asked says so."""
    step.ends["docs"] = fails(KeyboardInterrupt())
    assert step.gate() == 130
    assert names(step) == ["docs"]
    assert "3 suites: 3 interrupted" in visible(step.comment())
