"""Which processes are left over when a group of them has ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from raggate.service.backends import processes


def test_a_process_that_ends_while_orphans_are_listed_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel answers "no such process" for it, and the others are listed all the same."""
    for pid, words in (
        ("77", "77 (gone) S 1 1 1 0"),
        ("78", f"78 (a) b) S {os.getpid()} 78 78 0"),
        ("79", "79 (a) S 1 1 1 0"),
    ):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "stat").write_text(words)
    (tmp_path / "self").mkdir()
    read, status = Path.read_bytes, Path.stat

    def ended(path: Path) -> None:
        if path.parent.name == "77":
            raise ProcessLookupError

    monkeypatch.setattr(processes, "_PROCESSES", tmp_path)
    monkeypatch.setattr(Path, "read_bytes", lambda path: ended(path) or read(path))
    monkeypatch.setattr(Path, "stat", lambda path, **fields: ended(path) or status(path, **fields))
    assert processes._orphans() == {78}
