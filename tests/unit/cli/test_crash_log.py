"""What is left of a bug in raggate: a file in its own directory, and nothing elsewhere."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from raggate import __version__
from raggate.cli import main


@pytest.fixture
def crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory, in which every command fails by a bug that names a secret."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEARCH_KEY", "sk-0123456789")

    def fail(**_: object) -> None:
        raise RuntimeError("cannot use sk-0123456789\n::error::x")

    monkeypatch.setattr(main.cli, "main", fail)
    return tmp_path


def test_details_are_kept_without_secrets(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The traceback is in a file, and neither it nor the message shows the value of a secret variable."""
    assert main.run_command([]) == 70
    written = (crash / ".raggate" / "crash.log").read_text()
    assert "RuntimeError: cannot use ***" in written
    assert written.startswith(
        f"raggate {__version__}, {platform.python_implementation()} {platform.python_version()}, "
    )
    stderr = capsys.readouterr().err
    assert "sk-0123456789" not in written + stderr
    assert "crash.log" in stderr


def test_a_link_in_place_of_the_file_is_replaced(crash: Path) -> None:
    """What the link leads to stays as it is."""
    (crash / "precious").write_text("mine")
    (crash / ".raggate").mkdir()
    (crash / ".raggate" / "crash.log").symlink_to("../precious")
    assert main.run_command([]) == 70
    assert (crash / "precious").read_text() == "mine"
    assert not (crash / ".raggate" / "crash.log").is_symlink()


def test_a_link_in_place_of_the_directory_is_not_followed(crash: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The details are printed then, as lines that no runner takes for a command."""
    (crash / "elsewhere").mkdir()
    (crash / ".raggate").symlink_to("elsewhere")
    assert main.run_command([]) == 70
    assert not list((crash / "elsewhere").iterdir())
    stderr = capsys.readouterr().err
    assert "RuntimeError: cannot use ***" in stderr
    assert not [line for line in stderr.splitlines() if line.startswith("::")]
