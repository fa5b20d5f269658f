"""The action on a pull request, from the runner to the comment: the built image, a real engine, a fake GitHub."""

from __future__ import annotations

import io
import json
import secrets
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from e2e import image
from e2e.emulator import Job, Step, copy_tree, gateway, leftovers
from e2e.engine import connect
from e2e.image import ROOT
from e2e.pulls import EVENTS, NAME, WRITES, pull_job
from fakes.github_api import BOT, FakeGitHub, Pull, Repository
from hostile_git import forge as forge_object
from raggate.inputs.git_objects import object_id
from rendered import visible

pytestmark = [pytest.mark.docker, pytest.mark.go, pytest.mark.timeout(600)]

FILES = ("golden", "baselines", "raggate.yml", "raggate.container.yml")
GATE = {"config": "raggate.container.yml", "api-image": image.EXAMPLE_API}
READS = {"contents": "read", "pull-requests": "read", "actions": "read"}


@pytest.fixture(scope="session")
def action_image() -> str:
    """Build the action's image and the example API's, where there is an engine."""
    connect().close()
    image.example_api()
    return image.action()


@dataclass
class Forge:
    """A repository on a fake GitHub with this gate on its main branch, a pull request, and runners."""

    fake: FakeGitHub
    repository: Repository
    pull: Pull
    base: str
    image: str
    root: Path
    # what another test's run leaves at the same time is not this one's
    runs: int = field(default_factory=lambda: secrets.randbelow(10**9) + 1000)

    def push(self, changes: dict[str, str | None] | None = None) -> None:
        """Push a commit to the pull request."""
        head = self.repository.add_commit(changes or {"README": str(self.runs)}, [self.pull.head_sha])
        self.pull.head_sha = str(head)

    def from_fork(self) -> None:
        """Let the pull request come from a stranger's fork."""
        self.pull.head_repo = self.fake.add_repository("stranger/repo", fork_of=self.repository)

    def job(self, *, fork: bool = False, **options: Any) -> Job:
        """Return a job for the pull request as it is now, whose workspace is its checkout without git."""
        self.runs += 1
        options |= {"origin": "stranger/repo" if fork else NAME, "run_id": str(self.runs)}
        change = {"number": 7, "base": self.base, "head": self.pull.head_sha}
        made = pull_job(self.fake, self.root / str(self.runs), self.image, **change, **options)
        copy_tree(ROOT, made.workspace, FILES)
        made.own()
        return made

    def comments(self) -> list[str]:
        return [comment.body for comment in self.repository.comments_of(7) if comment.login == BOT]

    def second_stage(self, run: int, conclusion: str, *, workflow: str = "rag-gate.yml") -> Step:
        """Run the report workflow's step for a run that has ended."""
        payload = json.loads(next(iter(sorted((EVENTS / "workflow_run").glob("*completed*.json")))).read_text())
        payload["workflow_run"] |= {
            "id": run,
            "run_attempt": 1,
            "event": "pull_request",
            "head_sha": self.pull.head_sha,
            "head_branch": self.pull.head_ref,
            "head_repository": {"full_name": "stranger/repo"},
            "conclusion": conclusion,
            "path": f".github/workflows/{workflow}",
        }
        made = Job(
            self.root / f"report-{run}",
            ROOT / "action.yml",
            self.image,
            event=("workflow_run", payload),
            token=self.fake.token(WRITES),
            api_url=self.fake.api_url,
            socket=False,
        )
        copy_tree(ROOT, made.workspace, ("raggate.container.yml",))
        made.own()
        return made.run({"command": "comment", "config": "raggate.container.yml"})


def _repository_files() -> dict[str, bytes]:
    found = [ROOT / name for name in FILES]
    paths = [path for top in found for path in ([top] if top.is_file() else sorted(top.rglob("*"))) if path.is_file()]
    return {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def forge(tmp_path: Path, action_image: str) -> Iterator[Forge]:
    """Yield a forge that containers reach through the engine's bridge."""
    with FakeGitHub(wire=True, host="0.0.0.0", advertised=gateway()) as fake:
        repository = fake.add_repository(NAME)
        base = str(repository.add_commit(_repository_files(), branch="main"))
        head = str(repository.add_commit({"README": "change"}, [base]))
        pull = repository.add_pull(7, head_sha=head, base_sha=base, head_ref="change")
        yield Forge(fake, repository, pull, base, action_image, tmp_path)


def artifact(made: Job, step: Step, change: Callable[[dict[str, bytes]], None] = lambda files: None) -> bytes:
    """Pack the run directory as the upload step does."""
    directory = made.workspace / step.outputs["run-directory"]
    files = {
        path.relative_to(directory).as_posix(): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }
    change(files)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def test_one_comment_that_pushes_edit_and_a_loud_one(forge: Forge) -> None:
    """A pull request gets exactly one comment; a second push edits it; a regression adds the loud one."""
    step = forge.job().run(GATE)
    assert step.exit_code == 0, step.text
    (first,) = forge.comments()
    assert "raggate: pass" in first
    assert step.outputs["comment-url"].endswith(f"#issuecomment-{forge.repository.comments_of(7)[0].id}")
    forge.push()
    step = forge.job().run(GATE)
    assert step.exit_code == 0, step.text
    (second,) = forge.comments()
    assert second != first
    assert forge.pull.head_sha[:7] in second
    forge.push()
    made = forge.job(env={"NOTES_DISABLE": "vector"})
    step = made.run(GATE)
    assert step.exit_code == 1, step.text
    sticky, loud = forge.comments()
    assert "Questions that broke" in sticky
    assert f"/blob/{forge.base}/golden/vault/" in sticky
    assert "since the last push" in loud
    errors = [note for note in step.log.annotations if note.name == "error"]
    assert 0 < len(errors) <= 10
    assert any(note.properties.get("file", "").startswith("golden/") for note in errors)
    assert "Questions that broke" in step.summary
    assert leftovers(made) == []


def test_the_base_commit_judges(forge: Forge) -> None:
    """What the pull request does to its own gate is previewed, also where git does not have the base commit."""
    made = forge.job(env={"NOTES_DISABLE": "vector"})
    config = made.workspace / "raggate.container.yml"
    config.write_text(config.read_text().replace("tolerance: 0.05", "tolerance: 1"))
    (made.workspace / "baselines" / "notes.json").unlink()
    made.own()
    step = made.run(GATE)
    assert step.exit_code == 1, step.text
    (body,) = forge.comments()
    told = visible(body).partition("If merged")[2]
    assert "gate.tolerance: 0.05 → 1.0" in told
    assert "loosens the gate" in told
    assert "removed: after the merge there is nothing to compare with" in told
    assert forge.fake.calls("git/get-tree")


def test_the_pull_request_that_brings_raggate_in(forge: Forge) -> None:
    """Where the base commit has no configuration it is a first run: measured, told so, and not green."""
    forge.base = forge.pull.base_sha = str(forge.repository.add_commit({"main.go": "package main"}, [], branch="old"))
    step = forge.job().run({**GATE, "allow-first-run": "pass_env"})
    assert step.exit_code == 3, step.text
    (body,) = forge.comments()
    assert "This pull request introduces raggate" in body
    assert "It brings a baseline. Compared with that, this run is: pass." in visible(body)


LEAK = {
    "    pass_env: [NOTES_DISABLE]": "    pass_env: [NOTES_DISABLE, DEPLOY_KEY]\n    user: '0:0'\n  egress: true",
}


def leaking(made: Job) -> Job:
    """Let the change's configuration hand a variable of the job to its API, with the network to send it out."""
    config = made.workspace / "raggate.container.yml"
    for kept, widened in LEAK.items():
        assert kept in config.read_text()
        config.write_text(config.read_text().replace(kept, widened))
    made.own()
    return made


@pytest.mark.parametrize(
    ("event", "inputs", "message"),
    [
        ("pull_request_target", {"allow-first-run": "pass_env, egress, user"}, "pull_request_target is refused"),
        ("pull_request", {"fail-on": "never"}, "api.egress, api.container.pass_env, api.container.user"),
        ("pull_request", {"allow-first-run": "pass_env"}, "allow-first-run: pass_env, egress, user"),
    ],
)
def test_a_first_run_hands_nothing_to_the_change(
    forge: Forge, event: str, inputs: dict[str, str], message: str
) -> None:
    """A change that brings its own configuration gets no variable of the job, no network and no user from it."""
    forge.base = forge.pull.base_sha = str(forge.repository.add_commit({"main.go": "package main"}, [], branch="old"))
    forge.from_fork()
    made = leaking(forge.job(fork=True, event=event, env={"DEPLOY_KEY": "s3cret"}))
    step = made.run({**GATE, **inputs})
    assert (step.exit_code, step.outputs["verdict"]) == (2, "usage error"), step.text
    assert message in step.text
    assert (step.outputs["run-directory"], leftovers(made)) == ("", [])
    assert "relaxed:" not in step.text


def test_a_fork_in_two_stages(forge: Forge) -> None:
    """With a token that can only read, verdict, summary and artifact come out; the second stage posts the comment."""
    forge.from_fork()
    made = forge.job(token=READS, fork=True, env={"NOTES_DISABLE": "vector"})
    step = made.run(GATE)
    assert step.exit_code == 1, step.text
    assert forge.comments() == []
    assert "pull-requests: write" in step.text
    assert "Questions that broke" in step.summary
    run = int(made.run_id)
    forge.repository.add_run(run_id=run, head_sha=forge.pull.head_sha)
    forge.repository.add_artifact(run, "raggate-run", artifact(made, step))
    report = forge.second_stage(run, "failure")
    assert report.exit_code == 0, report.text
    assert len(forge.comments()) == 1, report.text
    (body,) = forge.comments()
    assert "questions broke" in body
    assert "untrusted" in body
    assert report.outputs["verdict"] == "regression"


def test_a_checkout_with_the_base_commit_asks_git(forge: Forge) -> None:
    """With the base commit in the checkout nothing but the comment needs GitHub."""
    made = forge.job()
    head = _committed(made.workspace)
    event = made.temp / "_github_workflow" / "event.json"
    payload = json.loads(event.read_text())
    payload["pull_request"]["base"]["sha"] = head
    event.write_text(json.dumps(payload))
    made.own()
    step = made.run(GATE)
    assert step.exit_code == 0, step.text
    assert forge.fake.calls("git/get-tree") == []
    assert len(forge.comments()) == 1
    assert any((made.workspace / ".raggate").iterdir())


def test_a_repository_planted_beside_the_configuration(forge: Forge) -> None:
    """What git takes for a bare repository, committed beside the configuration, neither judges nor runs a program."""
    made = forge.job(env={"NOTES_DISABLE": "vector"})
    folder = made.workspace / "rag"
    folder.mkdir()
    for name in FILES:
        (made.workspace / name).rename(folder / name)
    config = folder / "raggate.container.yml"
    lenient = config.read_bytes().replace(b"tolerance: 0.05", b"tolerance: 1")
    assert lenient != config.read_bytes()
    head = _committed(made.workspace)
    for inner in ("objects/info", "refs"):
        (folder / inner).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "objects" / "info" / "alternates").write_text("../../.git/objects\n")
    forge_object(folder / "objects", object_id("blob", config.read_bytes(), like=head), lenient)
    # git takes the folder for the top: the forged tree of the commit has there what the true one has in the folder
    ask = ["git", "-c", "safe.directory=*"]
    top = subprocess.check_output([*ask, "rev-parse", f"{head}^{{tree}}"], cwd=made.workspace, text=True).strip()
    inner = subprocess.check_output([*ask, "cat-file", "tree", f"{head}:rag"], cwd=made.workspace)
    forge_object(folder / "objects", top, inner, "tree")
    (folder / "config").write_text(
        '[core]\n\tbare = false\n\tworktree = .\n[filter "a=b"]\n\tclean = "touch ran; cat"\n'
    )
    (folder / ".gitattributes").write_text("* filter=a=b\n")
    config.write_text(config.read_text() + "# touched\n")
    event = made.temp / "_github_workflow" / "event.json"
    payload = json.loads(event.read_text())
    payload["pull_request"]["base"]["sha"] = head
    event.write_text(json.dumps(payload))
    made.own()
    step = made.run({**GATE, "config": "rag/raggate.container.yml"})
    assert step.exit_code == 1, step.text
    (body,) = forge.comments()
    assert "questions broke" in body
    assert not list(made.workspace.rglob("ran"))


def test_promotion_writes_what_the_command_line_does(forge: Forge, tmp_path: Path) -> None:
    """Promoted by workflow dispatch or on a laptop, the same run becomes the same baseline, byte for byte."""
    forge.runs += 1
    made = Job(
        forge.root / "promotion",
        ROOT / "action.yml",
        forge.image,
        event=("workflow_dispatch", {"inputs": {}, "repository": {"full_name": NAME, "default_branch": "main"}}),
        token=forge.fake.token({**WRITES, "contents": "write"}),
        api_url=forge.fake.api_url,
        run_id=str(forge.runs),
    )
    copy_tree(ROOT, made.workspace, FILES)
    head = _committed(made.workspace)
    forge.repository.add_commit(_repository_files(), [forge.base], branch="main", sha=head)
    made.own()
    inputs = {**GATE, "command": "promote", "reason": "a new chunker"}
    step = made.run(inputs, variables={"GITHUB_REF": "refs/heads/main", "GITHUB_SHA": head, "GITHUB_ACTOR": "someone"})
    assert step.exit_code == 0, step.text
    (pull,) = [found for number, found in forge.repository.pulls.items() if number != 7]
    proposed = forge.repository.read("baselines/notes.json", pull.head_sha)
    local = tmp_path / "notes.json"
    local.write_bytes((ROOT / "baselines" / "notes.json").read_bytes())
    words = ["promote", str(made.workspace / step.outputs["run-directory"]), "--baseline", str(local)]
    words += ["--reason", "a new chunker", "--by", "someone", "--config", str(made.workspace / GATE["config"])]
    done = subprocess.run([sys.executable, "-m", "raggate", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert local.read_bytes() == proposed
    assert step.outputs["pull-request-url"]
    assert (step.outputs["verdict"], step.outputs["exit-code"]) == ("pass", "0")
    assert "a new chunker" in str(pull.body)


def _committed(workspace: Path) -> str:
    """Make a workspace a git repository with everything committed, and give the commit."""
    git = ["git", "-c", "safe.directory=*", "-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["-c", "commit.gpgsign=false", "commit", "-q", "-m", "base"]):
        subprocess.run([*git, *words], cwd=workspace, check=True, capture_output=True)
    return subprocess.check_output([*git, "rev-parse", "HEAD"], cwd=workspace, text=True).strip()
