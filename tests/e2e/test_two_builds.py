"""`raggate diff` of real builds: two images run as containers, and two APIs that are up already."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.engine import NOTES_API, ROOT, compile_program
from e2e.test_tutorial import free_port
from project import ended

pytestmark = [pytest.mark.go, pytest.mark.timeout(180)]

WORSE = {"NOTES_DISABLE": "vector"}
"""Takes one of its two rankers from the example API."""

VAULTS = {f"VAULT_{name.upper()}_PATH": str(ROOT / "golden" / "vault" / name) for name in ("personal", "work")}
SETTINGS = {
    "suite": "notes",
    "golden": "golden/eval_set.jsonl",
    "ask": {"k": 5},
    "vault": {name: f"golden/vault/{name}" for name in ("personal", "work")},
}


def diff(root: Path, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Compare two builds; give the exit code, what was printed, and the report for programs."""
    done = ended("diff", *words, at=root, environment=os.environ, seconds=150)
    reports = sorted(root.glob(".raggate/runs/*/diff/diff.json"), key=lambda path: path.stat().st_mtime_ns)
    assert reports, done.out + done.err
    return done.code, done.out + done.err, json.loads(reports[-1].read_text())


def test_two_addresses(tmp_path: Path) -> None:
    """Two APIs that are up are asked alike, and neither is stopped; the same on both sides is no change."""
    compile_program(NOTES_API, tmp_path / "notes-api")
    (tmp_path / "golden").symlink_to(ROOT / "golden")
    with started(tmp_path / "notes-api") as old, started(tmp_path / "notes-api", **WORSE) as new:
        (tmp_path / "raggate.yml").write_text(yaml.safe_dump({**SETTINGS, "api": {"url": old}}))
        code, out, report = diff(tmp_path, old, new)
        assert code == 1, out
        sides = [(report[side]["kind"], report[side]["name"]) for side in ("base", "head")]
        assert sides == [("url", old), ("url", new)]
        broke = [question["case_id"] for question in report["verdict"]["lost"] if question["kind"] == "broke"]
        assert len(broke) > 5
        assert all(name in out for name in broke[:3])
        code, out, report = diff(tmp_path, old, old)
        assert code == 0, out
        assert report["verdict"]["lost"] == []


@contextlib.contextmanager
def started(program: Path, **environment: str) -> Iterator[str]:
    """Start the example API and give its address; it must still be up at the end."""
    port = free_port()
    process = subprocess.Popen(
        [program], env={**os.environ, **VAULTS, "API_PORT": str(port), **environment}, stderr=subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}"
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
