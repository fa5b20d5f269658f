"""The images that end-to-end tests run, made on this machine: the action's from its Dockerfile, the example API's."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from e2e.emulator import docker
from e2e.engine import NOTES_API, ROOT, compile_program

CACHE = ROOT / ".raggate" / "wheels"
_CONTEXT = ("Dockerfile", ".dockerignore", "requirements.txt", "requirements-build.txt", "pyproject.toml", "src")
_LOCKS = ("requirements.txt", "requirements-build.txt")

_COPY = hashlib.sha256(str(ROOT).encode()).hexdigest()[:8]
ACTION = f"raggate-test-action:{_COPY}"
EXAMPLE_API = f"raggate-test-notes-api:{_COPY}"
"""Names of the images: each working copy has its own, so that two can be tested at the same time."""


def base() -> str:
    """Make the base image; the one of an earlier run is used again. BASE_IMAGE in the environment names another."""
    given = os.environ.get("BASE_IMAGE")
    if given:
        return given
    done = subprocess.run(
        [Path(__file__).with_name("base-image.sh")], capture_output=True, text=True, check=False, timeout=900
    )
    if done.returncode != 0:
        raise RuntimeError(f"base-image.sh: {done.stdout}{done.stderr}")
    return done.stdout.strip()


def wheels(version: str) -> Path:
    """Fetch the locked wheels for a version of Python, such as 3.11, once for each state of the lock files."""
    content = b"".join((ROOT / name).read_bytes() for name in _LOCKS)
    directory = CACHE / f"{version}-{hashlib.sha256(content).hexdigest()[:12]}"
    if directory.exists():
        return directory
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as scratch:
        found = Path(scratch, "found")
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--require-hashes"]
        words += ["--only-binary=:all:", "--python-version", version, "--dest", str(found)]
        subprocess.run([*words, *(word for name in _LOCKS for word in ("-r", str(ROOT / name)))], check=True)
        found.replace(directory)
    return directory


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one process of the tests build at a time; the next finds it built."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def action() -> str:
    """Build the action's image from the Dockerfile, without network, and give its name."""
    with _alone():
        return _built()


def _built() -> str:
    foundation = base()
    show = "import sys; print('%d.%d' % sys.version_info[:2])"
    version = docker("run", "--rm", "--network", "none", foundation, "python3", "-c", show)
    with tempfile.TemporaryDirectory() as scratch:
        context = Path(scratch)
        for name in (*_CONTEXT, "README.md", "LICENSE"):
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, context / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, context / name)
        shutil.copytree(wheels(version), context / "wheels")
        docker(
            "build", "-q", "--network", "none", "--build-arg", f"BASE_IMAGE={foundation}", "-t", ACTION, str(context)
        )
    return ACTION


def example_api() -> str:
    """Build the example API FROM scratch around a static binary, and give its name."""
    with tempfile.TemporaryDirectory() as scratch:
        compile_program(NOTES_API, Path(scratch, "notes-api"))
        shutil.copy(NOTES_API / "Dockerfile", scratch)
        docker("build", "-q", "-t", EXAMPLE_API, scratch)
    return EXAMPLE_API
