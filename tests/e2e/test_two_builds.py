"""`raggate diff` of real builds: two images run as containers, and two APIs that are up already."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.engine import NOTES_API, ROOT, compile_program

pytestmark = [pytest.mark.go, pytest.mark.timeout(180)]

WORSE = {"NOTES_DISABLE": "vector"}
"""Takes one of its two rankers from the example API."""

VAULTS = {"VAULT_PERSONAL_PATH": "{vault.personal}", "VAULT_WORK_PATH": "{vault.work}"}


def repository(root: Path, api: dict[str, Any]) -> Path:
    """Write a repository with this one's questions and notes, and no baseline."""
    (root / "golden").symlink_to(ROOT / "golden")
    vault = {name: f"golden/vault/{name}" for name in ("personal", "work")}
    settings = {"suite": "notes", "golden": "golden/eval_set.jsonl", "ask": {"k": 5}, "vault": vault, "api": api}
    (root / "raggate.yml").write_text(yaml.safe_dump(settings))
    return root


def diff(root: Path, *words: str, **environment: str) -> tuple[int, str, dict[str, Any]]:
    """Compare two builds; give the exit code, what was printed, and the report for programs."""
    done = subprocess.run(
        [sys.executable, "-m", "raggate", "diff", *words],
        cwd=root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    reports = sorted(root.glob(".raggate/runs/*/diff/diff.json"), key=lambda path: path.stat().st_mtime_ns)
    assert reports, done.stdout + done.stderr
    return done.returncode, done.stdout + done.stderr, json.loads(reports[-1].read_text())


def test_two_addresses(tmp_path: Path) -> None:
    """Two APIs that are up are asked alike, and neither is stopped; the same on both sides is no change."""
    compile_program(NOTES_API, tmp_path / "notes-api")
    root = tmp_path / "repository"
    root.mkdir()
    with started(tmp_path / "notes-api") as old, started(tmp_path / "notes-api", **WORSE) as new:
        repository(root, {"url": old})
        code, out, report = diff(root, old, new)
        assert code == 1, out
        assert [(side["kind"], side["name"]) for side in sides(report)] == [("url", old), ("url", new)]
        got_worse(report, out)
        code, out, report = diff(root, old, old)
        assert code == 0, out
        assert report["verdict"]["lost"] == []


def sides(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [report["base"], report["head"]]


def got_worse(report: dict[str, Any], out: str) -> None:
    """Check that fewer questions are found, as the verdict and the screen say."""
    rows = [row for row in report["verdict"]["metrics"] if row["slice"] == "overall"]
    (hit,) = [row for row in rows if row["metric"] == "hit_at_5"]
    assert hit["n"] > 150
    assert hit["current"] < hit["baseline"]
    broke = [question["case_id"] for question in report["verdict"]["lost"] if question["kind"] == "broke"]
    assert len(broke) > 5
    assert all(name in out for name in broke[:3])
    assert report["verdict"]["outcome"] == "regression"


@contextlib.contextmanager
def started(program: Path, **environment: str) -> Iterator[str]:
    """Start the example API and give its address; it must still be up at the end."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    vaults = {name: str(ROOT / "golden" / "vault" / name.split("_")[1].lower()) for name in VAULTS}
    process = subprocess.Popen(
        [program], env={**os.environ, **vaults, "API_PORT": str(port), **environment}, stderr=subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{port}"
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
