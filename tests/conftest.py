"""What every test shares: an environment without ambient CI variables."""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tries import register_profile

if TYPE_CHECKING:
    from project import Project

register_profile()

# compiled once, not by every process that a test starts; nor need the tests themselves be rewritten for every run
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# a shell that starts the suite in the background lets it ignore interrupts, and so would every process under test
signal.signal(signal.SIGINT, signal.default_int_handler)

AMBIENT = ("GITHUB_", "INPUT_", "RUNNER_", "ACTIONS_", "NOTES_", "FAKE_")
ALSO_AMBIENT = {"CI", "NO_COLOR", "FORCE_COLOR", "GIT_DIR", "GIT_WORK_TREE"}


# a test inside a CI job is the same as one on a laptop, and so is every process that it starts
for ambient in [name for name in os.environ if name.startswith(AMBIENT) or name in ALSO_AMBIENT]:
    del os.environ[ambient]


def pytest_xdist_auto_num_workers() -> int:
    """Give two processes more than there are processors: many tests wait for a process or a timeout."""
    return (os.cpu_count() or 1) + 2


def pytest_collection_finish() -> None:
    """Leave what is loaded by now out of every later collection of garbage: thousands of tests, and all modules.

    What tests make is mostly freed without one; looking for the rest every 700 objects costs more than it frees.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def promoted_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A small repository with a baseline of the healthy API, made once: tests change copies of it."""
    # tests of other things pay nothing for it
    from project import make_project

    project = make_project(tmp_path_factory.mktemp("promoted"))
    project.promote()
    return project


@pytest.fixture
def outside_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no checkout above the directory of a test count, such as one that the temporary files lie in."""
    from raggate.inputs import git

    checkout_of = git._checkout

    def below(top: Path) -> git.Checkout | None:
        return checkout_of(top) if top.is_relative_to(tmp_path) else None

    monkeypatch.setattr(git, "_checkout", below)
