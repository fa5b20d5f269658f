"""What every test shares: an environment without ambient CI variables, how modules are loaded, and few fixtures."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import sys
import tempfile
import zlib
from collections.abc import Generator
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

# what a test writes need not outlive the machine, and a run waits for the disk at each file it writes
os.fsync = lambda _: None

AMBIENT = ("GITHUB_", "INPUT_", "RUNNER_", "ACTIONS_", "NOTES_", "FAKE_")
ALSO_AMBIENT = {"CI", "TERM", "NO_COLOR", "FORCE_COLOR", "GIT_DIR", "GIT_WORK_TREE"}


# a test inside a CI job is the same as one on a laptop, and so is every process that it starts
for ambient in [name for name in os.environ if name.startswith(AMBIENT) or name in ALSO_AMBIENT]:
    del os.environ[ambient]

# nor do the settings of a person's own git count, such as that every commit is signed
os.environ["GIT_CONFIG_GLOBAL"] = str(Path(__file__).with_name("data") / "gitconfig")
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"


IN_MEMORY = Path("/dev/shm")
ROOM = 4 << 30
OF_SMALL_FILES = ("tests/unit", "tests/integration")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let unit and integration tests write into memory where there is room, and nobody has said where they shall.

    They make a hundred thousand small files, for each of which a disk looks for a place. What Docker is to see is no
    such file: end-to-end tests write where every program does.
    """
    small = all(str(argument).startswith(OF_SMALL_FILES) for argument in config.args)
    if "TMPDIR" in os.environ or not small or not IN_MEMORY.is_dir() or not os.access(IN_MEMORY, os.W_OK | os.X_OK):
        return
    place = os.statvfs(IN_MEMORY)
    if not place.f_flag & os.ST_NOEXEC and place.f_bavail * place.f_frsize > ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)


def pytest_xdist_auto_num_workers() -> int:
    """Return twice as many processes as there are processors, and one: many tests only wait."""
    return 2 * (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Look for no garbage while all modules and thousands of tests are loaded, and leave them out of every later look.

    What tests make is mostly freed without one; looking for the rest every 700 objects costs more than it frees.
    """
    gc.disable()
    try:
        load_a_share(session.config)
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


def load_a_share(config: pytest.Config) -> None:
    """Let each of several processes load other test modules first: all would compile each of them at the same time.

    What the others have compiled meanwhile each finds on the disk. It finds the modules of its share loaded.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    modules = sorted(path for argument in config.args for path in Path(argument).rglob("test_*.py"))
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        # which error a module has tells pytest, which loads it again
        with contextlib.suppress(Exception):
            importlib.import_module(".".join(path.with_suffix("").parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mix modules whose tests wait with those whose tests compute, where several processes share the processors.

    Each process then has some of both all the time, and at the end too. The tests of a module stay together, as they
    share what it made.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: zlib.crc32(item.path.name.encode()))


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Look for garbage once and leave the rest out: pytest looks ten times for what still raises an error there."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def promoted_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository of 24 questions with a baseline of the healthy API, made once: tests change copies of it."""
    # tests of other things pay nothing for it
    from project import make_project

    project = make_project(tmp_path_factory.mktemp("promoted"))
    project.promote()
    return project


@pytest.fixture
def promoted(promoted_once: Project, tmp_path: Path) -> Project:
    """A copy of it to change."""
    return promoted_once.copied(tmp_path / "project")


@pytest.fixture
def outside_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no checkout above the directory of a test count, such as one that the temporary files lie in."""
    from raggate.inputs import git

    checkout_of = git._checkout

    def below(top: Path) -> git.Checkout | None:
        return checkout_of(top) if top.is_relative_to(tmp_path) else None

    monkeypatch.setattr(git, "_checkout", below)
