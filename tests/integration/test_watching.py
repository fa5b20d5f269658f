"""`raggate check --watch` as somebody has it in a terminal: a change is asked, an interrupt ends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from project import Project
from raggate.pipeline.watching import Watched, wait_for_change


@pytest.fixture
def promoted(promoted_once: Project, tmp_path: Path) -> Project:
    """A repository of 24 questions with a baseline of the healthy API."""
    return promoted_once.copied(tmp_path)


def test_json_is_one_document(promoted: Project) -> None:
    """Reports without an end are no document: the two flags exclude each other."""
    done = promoted.command("check", "--watch", "--json")
    assert done.code == 2
    assert "--watch: there is one report after another" in done.err


def test_a_change_of_the_file_system_is_seen(tmp_path: Path) -> None:
    """A file that was changed before the watch began is seen too, as nothing may be lost between check and watch."""
    (tmp_path / "notes").mkdir()
    note = tmp_path / "notes" / "a.md"
    places = Watched(files=(tmp_path / "golden.jsonl",), folders=(tmp_path / "notes",), out=tmp_path / "runs")
    since = places.stamps()
    note.write_text("new")
    assert wait_for_change(places, since) == {str(note)}
