"""A small repository with notes, questions and a configuration that boots the fake API; and raggate run in it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

import children
from checkouts import commit_all
from here import Done, called
from preloaded import Process, start
from raggate.cli import main

PLUGIN = "raggate.frontends.pytest_plugin"
_PYTEST = """
import sys
sys.path[:0] = ["site", "."]
import pytest
sys.exit(pytest.main(["-v", "-p", "no:cacheprovider"]))
"""
FAKE_API = Path(__file__).parent / "fakes" / "process_api.py"

TOPICS = {
    "personal": ("anchovy", "bicycle", "cardamom", "dahlia", "elderflower", "fennel"),
    "work": ("gateway", "handover", "ingress", "journal", "kernel", "ledger"),
}

CONFIG = """\
suite: small
golden: golden.jsonl
vault: {{personal: vault/personal, work: vault/work}}
api:
  command:
    run: [{python}, -S, {fake}]
    env: {{API_PORT: "{{port}}", VAULT_PERSONAL_PATH: "{{vault.personal}}", VAULT_WORK_PATH: "{{vault.work}}"}}
    pass_env: [PATH, FAKE_BEHAVIOUR, FAKE_ON, FAKE_PID_FILE]
  ready: {{timeout: 20, settle: 0.05}}
ask: {{timeout: 20, concurrency: 4}}
"""


def ended(*arguments: str, at: Path, environment: Mapping[str, str], seconds: float) -> Done:
    """Run `python -m raggate` to its end, for which it has so many seconds."""
    process = start(*arguments, at=at, environment=environment)
    out, err = process.communicate(timeout=seconds)
    assert process.returncode is not None
    return Done(process.returncode, out, err)


class Project(Struct, frozen=True):
    """The repository in a directory, and what can be done with it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.root / "raggate.yml"

    def edit(self, old: str, new: str) -> None:
        """Replace text in the configuration; it must be there."""
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))

    def cases(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.root / "golden.jsonl").read_text().splitlines()]

    def write_cases(self, cases: list[dict[str, Any]]) -> None:
        (self.root / "golden.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))

    def start(self, *arguments: str, **environment: str) -> Process:
        return start(*arguments, at=self.root, environment={**os.environ, **self.environment, **environment})

    def raggate(self, *arguments: str, seconds: float = 60, **environment: str) -> Done:
        """Run raggate in the repository to its end, for which it has so many seconds."""
        variables = {**os.environ, **self.environment, **environment}
        return ended(*arguments, at=self.root, environment=variables, seconds=seconds)

    def command(self, *arguments: str, **environment: str) -> Done:
        """Run a command to its end as `raggate` does, but in this process, which has everything imported already.

        It is the same entry point, with the same directory, environment and streams, and the processes that it starts
        are forked. Tests of processes and signals start a real one, and so does at least one test of each exit code.
        """
        variables = {**self.environment, **environment}
        with children.forked():
            return called(lambda: main.main(arguments), at=self.root, environment=variables)

    def copied(self, root: Path) -> Project:
        """Copy the repository, with its run directories and all times, into an empty or a new directory."""
        shutil.copytree(self.root, root, symlinks=True, dirs_exist_ok=True)
        return Project(root, self.environment)

    def last_run(self) -> Path:
        return max((self.root / ".raggate" / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)

    def verdict(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.last_run() / "verdict.json").read_text())
        return loaded

    def compared(self) -> dict[str, Any]:
        """Read what comparing the newest run anew has come to, which leaves the verdict of the run as it is."""
        loaded: dict[str, Any] = json.loads((self.last_run() / "compared" / "verdict.json").read_text())
        return loaded

    def promote(self) -> None:
        """Measure with the healthy API and make that the baseline."""
        assert self.command("run").code == 0
        done = self.command("promote", str(self.last_run()))
        assert done.code == 0, done.err

    def run_pytest(self, **environment: str) -> Done:
        """Run the tests in the directory, with the plugin as an installation of raggate brings it."""
        metadata = self.root / "site" / "raggate_ci-0.dist-info"
        metadata.mkdir(parents=True, exist_ok=True)
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: raggate-ci\nVersion: 0\n")
        (metadata / "entry_points.txt").write_text(f"[pytest11]\nraggate = {PLUGIN}\n")
        process = start(at=self.root, environment={**os.environ, "PATH": "", **environment}, code=_PYTEST)
        out, err = process.communicate(timeout=60)
        assert process.returncode is not None
        return Done(process.returncode, out, err)

    def commit(self) -> None:
        """Make the directory a git repository and commit everything."""
        commit_all(self.root)


def make_project(root: Path, *, notes: int = 6, questions: Literal[1, 2] = 2) -> Project:
    """Write the repository: two vaults of so many notes with two sections each, and so many questions for each note."""
    cases = []
    for vault, topics in TOPICS.items():
        folder = root / "vault" / vault / "Notes"
        folder.mkdir(parents=True)
        for number, topic in enumerate(topics[:notes]):
            facts = (f"{topic} matter one is {number} litres", f"{topic} second item weighs {number} grams")
            text = f"# {topic.title()}\n\n## First\n\n{facts[0]}\n\n## Second\n\n{facts[1]}\n"
            (folder / f"{topic}.md").write_text(text)
            for section, fact in [*zip(("First", "Second"), facts, strict=True)][:questions]:
                support = {
                    "rel_path": f"Notes/{topic}.md",
                    "heading_path": f"# {topic.title()} > ## {section}",
                    "snippets": [fact],
                }
                case = {"id": f"{topic}-{section.lower()}", "question": fact, "answerable": True}
                case |= {"gold_supports": [support], "vaults": [vault], "category": "factual"}
                case |= {"difficulty": "easy" if section == "First" else "hard", "tags": [vault]}
                cases.append(case)
    (root / "golden.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (root / "raggate.yml").write_text(CONFIG.format(python=sys.executable, fake=FAKE_API))
    (root / ".gitignore").write_text(".raggate/\n")
    return Project(root)


def make_small_project(root: Path) -> Project:
    """Write the same with six questions, each of another note: for tests to which more of them mean nothing."""
    project = make_project(root)
    # of both sections, from both vaults
    project.write_cases([case for number, case in enumerate(project.cases()) if number % 8 in {0, 5}])
    return project


def processes_with(mark: str) -> list[int]:
    """List the processes whose command line or environment holds a text; without /proc, only those that were forked."""
    found = children.running(mark)
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            content = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if mark.encode() in content and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found
