"""The gate works whole without the package for other systems: neither its code nor its entry points are there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from own_source import PACKAGE

HIDING = "import sys; sys.modules['raggate_interop'] = None; from raggate.__main__ import main; main()"
"""Runs raggate in a process in which nothing can import the package."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the gate alone, installed without entry points."""
    place = tmp_path_factory.mktemp("alone")
    shutil.copytree(PACKAGE, place / "raggate", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "raggate_ci-0.1.0.dist-info").mkdir()
    (place / "raggate_ci-0.1.0.dist-info" / "entry_points.txt").write_text("")
    return place


def run(alone: Path, at: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(alone)}
    return subprocess.run(
        [sys.executable, "-c", HIDING, *words], cwd=at, env=environment, capture_output=True, text=True, check=False
    )


def test_the_gate_gates(alone: Path, tmp_path: Path) -> None:
    """A service is checked, compared with a baseline and red for a broken change; its files pass lint."""
    demo = run(alone, tmp_path, "demo", "--keep", "kept")
    assert (demo.returncode, demo.stderr) == (0, "")
    assert "verdict: pass (exit 0)" in demo.stdout
    assert "verdict: regression (exit 1)" in demo.stdout
    assert run(alone, tmp_path / "kept", "lint").returncode == 0


def test_its_help_has_no_other_systems(alone: Path, tmp_path: Path) -> None:
    """The help names the gate's commands, and a command of the other package is refused as one that is not there."""
    shown = run(alone, tmp_path, "--help")
    assert shown.returncode == 0
    assert "Other systems" not in shown.stdout
    assert "  check " in shown.stdout
    refused = run(alone, tmp_path, "kebab", "--help")
    assert (refused.returncode, "No such command 'kebab'" in refused.stderr) == (2, True)
    assert "Traceback" not in refused.stderr


def test_stale_entry_points_are_told(alone: Path, tmp_path: Path) -> None:
    """Entry points of code that is gone are named with how to install it again, and nothing crashes."""
    points = "[raggate.commands]\nkebab = raggate_interop.kebab.command:kebab\n"
    stale = tmp_path / "stale"
    (stale / "raggate_ci-0.1.0.dist-info").mkdir(parents=True)
    (stale / "raggate_ci-0.1.0.dist-info" / "entry_points.txt").write_text(points)
    refused = run(Path(f"{stale}{os.pathsep}{alone}"), tmp_path, "kebab")
    assert refused.returncode == 2
    assert "the entry point kebab = raggate_interop.kebab.command:kebab of raggate.commands cannot be" in refused.stderr
    assert "Traceback" not in refused.stderr
