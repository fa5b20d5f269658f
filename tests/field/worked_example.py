"""A worked example of `examples/`, in a directory of its own: the commands of its README are run as it has them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"# exit (\d+)$")
_MARK = "raggate-field-exit"


def blocks(name: str) -> list[list[str]]:
    """Return the commands that a README shows, a list for each of its blocks."""
    text = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    return [block.splitlines() for block in _BLOCK.findall(text)]


def expected_codes(commands: list[str]) -> list[int]:
    """Return the exit codes that the README says, 0 where it says nothing."""
    return [int(code[1]) if (code := _CODE.search(command)) else 0 for command in commands]


@dataclass(frozen=True)
class Output:
    """What came of some commands."""

    codes: list[int]
    text: str


@dataclass(frozen=True)
class Example:
    """An example in a directory; `programs` are those that an engine brings, its Python among them, first on PATH."""

    root: Path
    programs: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, commands: list[str], seconds: float = 300) -> Output:
        """Run commands one after the other in one shell, whatever each ends with."""
        script = "".join(f"{command}\necho {_MARK} $?\n" for command in commands)
        own = str(Path(sys.executable).parent)
        path = ":".join([*([str(self.programs)] if self.programs else []), own, os.environ["PATH"]])
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.root,
            env={**os.environ, "PATH": path, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        codes = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith(f"{_MARK} ")]
        return Output(codes, done.stdout)

    def check(self) -> int:
        """Check, and give the exit code."""
        output = self.run(["raggate check"])
        print(output.text)  # noqa: T201 - what raggate says is what a failure is about
        return output.codes[0]

    def copied(self, root: Path) -> Example:
        """Copy everything but the runs."""
        shutil.copytree(self.root, root, ignore=shutil.ignore_patterns(".raggate"))
        return Example(root, self.programs, self.environment)

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text in a file; it must be there."""
        text = (self.root / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        (self.root / name).write_text(text.replace(old, new), encoding="utf-8")

    def runs(self) -> list[Path]:
        """Return the directories of all runs, the newest last."""
        return sorted((self.root / ".raggate" / "runs").iterdir())

    def verdict(self, run: Path | None = None) -> dict[str, Any]:
        """Read the verdict of a run, the newest one unless it is named."""
        directory = run or self.runs()[-1]
        return dict(json.loads((directory / "verdict.json").read_text(encoding="utf-8")))

    def likely_cause(self) -> str:
        """Return the sentence on what caused it, by the newest run."""
        return str(self.verdict()["diagnosis"]["likely"])


def as_shown(
    name: str,
    root: Path,
    programs: Path | None = None,
    environment: dict[str, str] | None = None,
    *,
    seconds: float = 300,
) -> tuple[Example, Output]:
    """Run the first commands of a README in a copy of the repository; return the example that they leave."""
    checkout(root, name)
    output = Example(root, programs, environment or {}).run(blocks(name)[0], seconds)
    return Example(root / "try", programs, environment or {}), output


def checkout(root: Path, name: str) -> None:
    """Put into a directory what the commands of an example use of this repository."""
    for folder in ("golden", f"examples/{name}"):
        shutil.copytree(ROOT / folder, root / folder)
