"""The processes of a run are known by its mark, and those of another run by theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from raggate.service.backends import watchdog


def test_a_mark_that_begins_like_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the process whose variable is the whole mark is of the run: one more letter on either side is another's."""
    for number, variable in ((10, "MARK=run"), (11, "MARK=run2"), (12, "OTHER_MARK=run")):
        (tmp_path / str(number)).mkdir()
        content = f"HOME=/\0{variable.replace('MARK', watchdog.MARK)}\0PATH=/bin\0"
        (tmp_path / str(number) / "environ").write_bytes(content.encode())
    monkeypatch.setattr(watchdog, "_PROCESSES", tmp_path)
    assert watchdog.marked("run") == [10]
