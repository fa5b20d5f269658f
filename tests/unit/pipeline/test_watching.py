"""Asked again when what a check rests on changes: what that is, what is none of it, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from project import Project, make_project
from raggate.pipeline.request import Request, Voice
from raggate.pipeline.watching import Stamps, Watched, changed, watch, watched


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A small repository, whose API is a script that runs in its root."""
    return make_project(tmp_path.resolve())


def request(project: Project, said: list[str] | None = None) -> Request:
    """Ask for a check of it."""
    say: Callable[[str], None] = (lambda _: None) if said is None else said.append
    return Request(config_file=project.config, environment={}, voice=Voice(say=say))


def test_what_a_check_rests_on(project: Project) -> None:
    """It is configuration, golden set, baseline, notes, and the folder that the API runs in."""
    places = watched(request(project))
    assert [path.name for path in places.files] == ["raggate.yml", "golden.jsonl", "small.json"]
    assert places.folders == (project.root / "vault" / "personal", project.root / "vault" / "work", project.root)


def test_a_broken_configuration_is_watched_itself(project: Project) -> None:
    """Whatever else there is, only that file can mend it."""
    project.config.write_text("suite: [")
    places = watched(request(project))
    assert (places.files, places.folders) == ((project.config,), ())


def test_what_is_no_part_of_it(tmp_path: Path) -> None:
    """Runs, hidden folders of tools, caches and files that editors swap in say nothing of the API."""
    root = tmp_path / ".venv" / "project"
    places = Watched(files=(), folders=(root,), out=root / "runs")
    changes = (
        "api/main.go",
        "runs/1/config.json",
        ".git/index",
        "a/node_modules/x.js",
        "b/__pycache__/c.pyc",
        "note.md~",
    )
    assert [name for name in changes if places.counts(str(root / name))] == ["api/main.go"]


def test_what_changed() -> None:
    """Files that were made, removed or written again are changed, and no others."""
    assert changed({"a": (1, 1), "b": (1, 1), "c": (1, 1)}, {"a": (1, 1), "b": (2, 1), "d": (1, 1)}) == {"b", "c", "d"}


def watched_for(
    project: Project, monkeypatch: pytest.MonkeyPatch, *checks: Callable[[], object]
) -> tuple[list[str], int]:
    """Watch with these as the checks, one after the other; give what was said, and how often it waited."""
    said: list[str] = []
    left, waits = list(checks), [0]

    def check() -> None:
        if not left:
            raise KeyboardInterrupt
        left.pop(0)()

    def wait(places: Watched, since: Stamps) -> frozenset[str]:
        waits[0] += 1
        assert since == places.stamps()
        return frozenset((str(project.root / "golden.jsonl"),))

    monkeypatch.setattr("raggate.pipeline.watching.wait_for_change", wait)
    with pytest.raises(KeyboardInterrupt):
        watch(request(project, said), check)
    return said, waits[0]


def nothing() -> None:
    """Check, and change nothing."""


def test_a_change_is_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each check it says that it waits, and then what changed; an interrupt ends it."""
    said, waits = watched_for(project, monkeypatch, nothing, nothing)
    assert said == ["waiting for changes, Ctrl-C ends", "golden.jsonl changed: asking again"] * 2
    assert waits == 2


def test_a_change_during_a_check_is_not_lost(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody writes while questions are asked is asked at once, without waiting for another change."""
    note = project.root / "vault" / "work" / "Notes" / "kernel.md"
    said, waits = watched_for(project, monkeypatch, lambda: note.write_text("# Kernel\n\nnew\n"), nothing)
    assert said[0] == "kernel.md changed: asking again"
    assert waits == 1


def test_what_a_check_builds_itself(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that every check builds anew is taken for a change once, and then for what it is."""
    number = iter(range(9))

    def build() -> None:
        (project.root / "server").write_text("built " * next(number))

    said, waits = watched_for(project, monkeypatch, build, build, build)
    assert said.count("server changed: asking again") == 1
    assert waits == 2
