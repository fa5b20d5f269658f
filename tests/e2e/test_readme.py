"""What the README of the example API shows of `make gate` is what it prints, but for times and the names of runs."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from project import ended

ROOT = Path(__file__).parents[2]
CUT = "…"
_TIME = re.compile(r"\b\d+ ms\b")
_RUN = re.compile(r"\b\d{8}_\d{6}\b")
# there are as many bars as versions of the baseline in the clone
_BARS = re.compile(r" [▁▂▃▄▅▆▇█]+(?= ·)")

pytestmark = [
    pytest.mark.go,
    pytest.mark.skipif(shutil.which("go") is None, reason="no Go on PATH; `make test` provides it"),
]


def shown(command: str) -> list[str]:
    """Return the lines that the page shows below a command."""
    text = (ROOT / "examples" / "notes-api" / "README.md").read_text(encoding="utf-8")
    block = re.search(rf"^{re.escape(command)}\b.*?^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert block is not None
    return [masked(line) for line in block[1].splitlines()]


def printed(out: Path, **environment: str) -> list[str]:
    """Return the lines that the gate prints on this repository."""
    done = ended("check", "--out", str(out), at=ROOT, environment={**os.environ, **environment}, seconds=300)
    return [masked(line.replace(f"{out}/", ".raggate/runs/")) for line in done.out.splitlines()]


def masked(line: str) -> str:
    """Take out what no two runs have in common, and spaces at the end."""
    return _BARS.sub("", _RUN.sub("RUN", _TIME.sub("N ms", line))).rstrip()


def parts(lines: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for line in lines:
        if line.strip() == CUT:
            yield part
            part = []
        else:
            part.append(line)
    yield part


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("command", "environment"),
    [("make gate", {}), ("NOTES_DISABLE=vector make gate", {"NOTES_DISABLE": "vector"})],
    ids=["as-it-is", "without-vectors"],
)
def test_the_gate_prints_what_the_readme_shows(tmp_path: Path, command: str, environment: dict[str, str]) -> None:
    """Every line stands in the output, in the same order, and what is left out is marked."""
    output = printed(tmp_path / "runs", **environment)
    rest = "\n".join(output[output.index(next(line for line in output if line.startswith("raggate ·"))) :]) + "\n"
    first = True
    for part in parts(shown(command)):
        block = "\n".join(part) + "\n"
        before, found, rest = rest.partition(block)
        assert found, f"not in the output, or out of order:\n{block}\nrest of the output:\n{rest or before}"
        assert not (first and before), "the beginning is left out without a mark"
        first = False
    assert not rest.strip(), "the end is left out without a mark"
