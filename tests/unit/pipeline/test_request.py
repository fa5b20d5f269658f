"""What a front end asks for: where its files are, and the command line that asks for the same."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, NoReturn

import pytest

from raggate.config.overrides import Overrides
from raggate.pipeline import check, report_files
from raggate.pipeline.request import Request, Voice, unheard
from tables import each_row

SHA = "0" * 40


def request(file: str = "raggate.yml", **fields: Any) -> Request:
    """Ask for a check by a configuration."""
    return Request(config_file=Path(file), environment={}, voice=Voice(say=unheard), **fields)


@each_row(
    ("given", "words"),
    [
        (request(), []),
        (request("a b/raggate.yml"), ["--config", "a b/raggate.yml"]),
        (
            request(overrides=Overrides(api_url="http://x"), against=SHA, baseline_file=Path("b.json")),
            ["--api-url", "http://x", "--against", SHA, "--baseline", "b.json"],
        ),
        (request(overrides=Overrides(base_image="b")), ["--base-image", "b"]),
        (request(overrides=Overrides(api_image="i", contained=True), full_text=True), ["--api-image", "i"]),
    ],
)
def test_the_command_line_that_does_the_same(given: Request, words: list[str]) -> None:
    """A report names every flag that decides what is measured, quoted for a shell, and none that says the usual."""
    assert shlex.split(given.reproduce) == ["raggate", "check", *words]


def test_the_command_line_that_promotes() -> None:
    """It finds the suite and the baseline of the check, quoted for a shell."""
    assert request().promoting("runs/1") == "raggate promote runs/1"
    named = request("raggate.b.yml", against=SHA, baseline_file=Path("x y.json")).promoting("runs/a b")
    assert named == "raggate promote 'runs/a b' --config raggate.b.yml --baseline 'x y.json'"


def test_a_link_is_followed_in_the_working_tree_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration behind a link is where the link leads, but for a revision, which knows files by their paths."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.chdir(tmp_path)
    assert request("link/raggate.yml").root == tmp_path / "real"
    assert request("link/raggate.yml", against=SHA).root == tmp_path / "link"
    assert request("link/../raggate.yml", against=SHA).root == tmp_path


def test_the_way_on_has_the_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command by which an interrupted check goes on writes the reports that the check was to write."""
    monkeypatch.chdir(tmp_path)

    def interrupted(given: Request) -> NoReturn:
        raise KeyboardInterrupt(given.resuming("check", Path("runs/1")))

    monkeypatch.setattr(check, "check", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        report_files.check(request(), report_files.parsed(["junit=a b.xml"], "--report"))
    assert shlex.split(str(stopped.value))[-2:] == ["--report", "junit=a b.xml"]
