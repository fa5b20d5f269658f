"""docs/required-check.md does what it says, from a repository without a gate to its check on pull requests."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from e2e import image
from e2e.emulator import Step, docker, gateway, leftovers
from e2e.engine import connect
from e2e.image import ROOT
from e2e.pulls import NAME, pull_job
from e2e.test_tutorial import CUT, commands, free_port
from fakes.github_api import BOT, FakeGitHub, Repository
from rendered import visible

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

PAGE = (ROOT / "docs" / "required-check.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
ACTION = f"someone/raggate@{'a' * 40}"
WORKFLOW = ".github/workflows/rag-gate.yml"
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_EXIT = re.compile(r"^(raggate .*?)  # exit (\d+)$", re.MULTILINE)


def sections(page: str) -> dict[str, list[tuple[str, str]]]:
    """Return the blocks of each numbered section of a page, with their languages."""
    parts = re.split(r"^## (\d)\. .*$", page, flags=re.MULTILINE)
    return {number: _BLOCK.findall(text) for number, text in zip(parts[1::2], parts[2::2], strict=True)}


@dataclass
class Reader:
    """Somebody who follows the page: a clone with a search service and notes, raggate, git, Docker, and a GitHub."""

    fake: FakeGitHub
    repository: Repository
    action: str
    top: Path
    path: str
    port: int = field(default_factory=free_port)
    name: str = field(default_factory=lambda: f"my-api-{secrets.token_hex(4)}")
    pulls: int = 0

    @property
    def root(self) -> Path:
        return self.top / "allotment"

    def shell(self, block: str, at: Path | None = None) -> str:
        """Run a block of the page; every command must succeed, but for those with another exit code beside them."""
        for written, own in {
            "OWNER/raggate@REF": ACTION,
            "python:3.13-slim": image.base(),
            "my-api:change": f"{self.name}:change",
            "--name my-api": f"--name {self.name}",
            "stop my-api": f"stop {self.name}",
            "localhost:9000": f"localhost:{self.port}",
            "--publish 9000:": f"--publish {self.port}:",
        }.items():
            block = block.replace(written, own)
        script = "set -e\n" + _EXIT.sub(r"\1 || code=$?; test ${code:-0} = \2", block)
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=at or self.root,
            env={**os.environ, "PATH": self.path, **_IDENTITY},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout}{done.stderr}"
        return done.stdout

    def gated(self, branch: str) -> tuple[Step, str]:
        """Open a pull request for a branch, and run the steps of its own workflow. Returns the gate and its comment."""
        self.pulls += 1
        base, head = (self.shell(f"git rev-parse origin/{name}").strip() for name in ("main", branch))
        for sha in (base, head):
            self.repository.add_commit(self._files(sha), sha=sha, branch="main" if sha == base else None)
        self.repository.add_pull(self.pulls, head_sha=head, base_sha=base, head_ref=branch)
        root = self.top / f"job-{self.pulls}"
        made = pull_job(self.fake, root, self.action, number=self.pulls, base=base, head=head)
        self.shell(f"git clone --quiet {self.top}/remote.git . && git checkout --quiet {head}", at=made.workspace)
        text = (made.workspace / WORKFLOW).read_text().replace("my-api:change", f"{self.name}:change")
        (job,) = yaml.load(text, yaml.CSafeLoader)["jobs"].values()
        assert f"`{job['name']}`" in PAGE
        steps = {step["name"]: step for step in job["steps"] if "name" in step}
        self.shell(steps["Build the API's image"]["run"], at=made.workspace)
        made.own()
        assert steps["Gate"]["uses"] == ACTION
        step = made.run(steps["Gate"]["with"])
        assert leftovers(made) == []
        (comment,) = [comment.body for comment in self.repository.comments_of(self.pulls) if comment.login == BOT]
        return step, visible(comment)

    def _files(self, commit: str) -> dict[str, bytes]:
        git = ["git", "-C", str(self.root)]
        names = subprocess.check_output([*git, "ls-tree", "-r", "-z", "--name-only", commit], text=True).split("\0")
        return {name: subprocess.check_output([*git, "show", f"{commit}:{name}"]) for name in names if name}


_IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))
}


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Yield a reader whose default branch has the service and the notes of the tutorial, and no gate."""
    connect().close()
    path = f"{commands(tmp_path / 'bin')}:{os.environ['PATH']}"
    with FakeGitHub(wire=True, host="0.0.0.0", advertised=gateway()) as fake:
        own = Reader(fake, fake.add_repository(NAME), image.action(), tmp_path, path)
        (_, notes), (_, service) = sections(TUTORIAL)["1"]
        own.shell(f"git init --quiet --bare --initial-branch main remote.git\n{notes}\n{service}", at=tmp_path)
        own.shell("git init --quiet --initial-branch main && git add . && git commit --quiet --message notes")
        own.shell(f"git remote add origin {tmp_path}/remote.git && git push --quiet origin main")
        try:
            yield own
        finally:
            docker("rm", "--force", own.name, check=False)
            docker("rmi", "--force", f"{own.name}:change", check=False)


def shows(block: str, text: str) -> None:
    """Expect the lines of a block in a text, in their order."""
    for line in block.splitlines():
        if line != CUT:
            before, found, text = text.partition(line)
            assert found, f"not there, or out of order: {line}\n{before}"


def test_the_page_leads_to_a_check_that_stops_a_change(reader: Reader) -> None:
    """Its commands make a gate whose first pull request is told so; merged, it lets one change pass and stops one."""
    page = sections(PAGE)
    assert [[kind for kind, _ in page[number]] for number in "123457"] == [
        ["sh"], ["sh", "text"], ["sh"], ["sh"], ["sh", "text"], ["sh", "text"]
    ]  # fmt: skip
    reader.shell(page["1"][0][1])
    shows(page["2"][1][1], reader.shell(page["2"][0][1]))
    reader.shell(page["3"][0][1])
    # the ten questions that the page sends its reader to
    reader.shell(sections(TUTORIAL)["3"][1][1])
    reader.shell(page["4"][0][1])
    reader.shell(page["5"][0][1])
    step, comment = reader.gated("gate")
    assert step.exit_code == 3, step.text
    shows(page["5"][1][1], comment)
    for untrue in ("no baseline", "Promote a baseline", "those of commit", "--against"):
        assert untrue not in comment
    reader.shell("git push --quiet origin gate:main && git checkout --quiet -b tidy")
    reader.shell("sed -i.bak 's/Search notes by words/Search the notes/' search.py && rm search.py.bak")
    reader.shell("git commit --quiet --all --message Tidy && git push --quiet origin tidy && git checkout --quiet gate")
    step, comment = reader.gated("tidy")
    assert step.exit_code == 0, step.text
    reader.shell(page["7"][0][1])
    step, comment = reader.gated("fewer-weak-hits")
    assert step.exit_code == 1, step.text
    shows(page["7"][1][1], comment)
