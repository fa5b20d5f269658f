"""What a command needs and the basic installation leaves out."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from here import called
from raggate.cli import main


@pytest.mark.parametrize(
    ("arguments", "missing", "error"),
    [
        (
            ("check", "--watch"),
            ("watchfiles",),
            "raggate: usage error: --watch needs watchfiles>={watchfiles}, which the basic installation leaves out\n"
            "  Install it: python3 -m pip install 'watchfiles>={watchfiles}'\n",
        ),
        (
            ("label", "--as", "ann"),
            ("starlette", "uvicorn"),
            "raggate: usage error: the page to label (`--terminal` does without it) needs starlette>={starlette} and "
            "uvicorn>={uvicorn}, which the basic installation leaves out\n"
            "  Install it: python3 -m pip install 'starlette>={starlette}' 'uvicorn>={uvicorn}'\n",
        ),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], missing: tuple[str, ...], error: str
) -> None:
    """Without the libraries of its extra a command ends with exit 2, and says what to install."""
    version = importlib.metadata.version

    def present(name: str) -> str:
        if name in missing:
            raise PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", present)
    lines = importlib.metadata.requires("raggate-ci") or ()
    minima = dict(line.partition(";")[0].split(">=") for line in lines if ">=" in line)
    done = called(lambda: main.run_command([*arguments]), at=tmp_path, environment={})
    assert done.code == 2
    assert done.err == error.format(**minima)
