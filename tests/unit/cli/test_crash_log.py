"""What is left of a bug in raggate: a file in its own directory, and nothing elsewhere."""

from __future__ import annotations

import platform
import tomllib
from importlib.metadata import version
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
    stderr = capsys.readouterr().err
    assert "sk-0123456789" not in written + stderr
    assert "crash.log" in stderr


def test_it_can_be_pasted_into_an_issue(crash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file begins with the versions of all that took part, and names neither the project's nor a home directory."""
    home = crash.parent / "ada"
    monkeypatch.setenv("HOME", str(home))

    def fail(**_: object) -> None:
        raise RuntimeError(f"no {crash / 'notes'} and no {home / 'notes'}")

    monkeypatch.setattr(main.cli, "main", fail)
    assert main.run_command([]) == 70
    written = (crash / ".raggate" / "crash.log").read_text()
    versions = written.split("\n\n")[0].splitlines()
    assert versions[0] == f"raggate {__version__}"
    assert versions[1] == f"{platform.python_implementation()} {platform.python_version()}"
    assert versions[2].startswith(f"{platform.system()} {platform.release()}")
    assert versions[2].endswith((", in a container", ", not in a container"))
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    libraries = [line.partition(">")[0] for line in project["dependencies"] + extras["label"] + extras["watch"]]
    assert sorted(versions[3].split(", ")) == sorted(f"{name} {version(name)}" for name in libraries)
    assert "RuntimeError: no ./notes and no ~/notes" in written
    assert str(crash) not in written
    assert str(home) not in written


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
