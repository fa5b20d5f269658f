"""The answers of a run directory: packed as they are written, read also as older versions wrote them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from builders import make_labelled, make_run
from raggate.errors import FileError, UsageError
from raggate.pipeline import rerun, results_file, run_directory

ROWS = [b"{}\n", b'{"a": 1}\n']


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """Rows come back, by the name that the directory is given, and the same rows are the same bytes."""
    assert not results_file.exists(tmp_path)
    results_file.write(tmp_path, ROWS)
    data = (tmp_path / "results.jsonl.gz").read_bytes()
    assert results_file.exists(tmp_path)
    name, lines = results_file.lines(tmp_path, named=Path("run"))
    assert (name, list(lines)) == ("run/results.jsonl.gz", ROWS)
    results_file.write(tmp_path, ROWS)
    assert (tmp_path / "results.jsonl.gz").read_bytes() == data


def test_what_older_versions_wrote_is_read(tmp_path: Path) -> None:
    """Rows that are not packed are read as they are, and gone once others are written in their place."""
    (tmp_path / "results.jsonl").write_bytes(b"".join(ROWS))
    assert results_file.exists(tmp_path)
    name, lines = results_file.lines(tmp_path)
    assert (name, list(lines)) == (f"{tmp_path}/results.jsonl", ROWS)
    results_file.write(tmp_path, ROWS[:1])
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl.gz"]


def test_two_files_are_refused(tmp_path: Path) -> None:
    """Of two files nobody knows which one counts, so neither is read."""
    results_file.write(tmp_path, ROWS)
    (tmp_path / "results.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match=r"run/results\.jsonl: results\.jsonl\.gz is there too"):
        results_file.lines(tmp_path, named=Path("run"))


def test_no_file_is_told(tmp_path: Path) -> None:
    """A directory without answers is told by the name of the file that it would have."""
    with pytest.raises(FileError, match=r"run/results\.jsonl\.gz: No such file or directory"):
        list(results_file.lines(tmp_path, "Look again.", named=Path("run"))[1])


@pytest.mark.parametrize("name", ["results.jsonl.gz", "results.jsonl"])
def test_a_pipe_in_its_place_is_told(tmp_path: Path, name: str) -> None:
    """It is nothing that can be read, and not a run that asked nothing, whose stored report would be printed."""
    run_directory.write(tmp_path, make_run(make_labelled()))
    (tmp_path / "summary.md").write_text("# pass")
    (tmp_path / "results.jsonl.gz").unlink()
    os.mkfifo(tmp_path / name)
    assert results_file.exists(tmp_path)
    with pytest.raises(FileError, match=rf"{name}: a named pipe, where a file is expected"):
        rerun.report(tmp_path, "summary.md")


@pytest.mark.parametrize(
    ("name", "measured"),
    [
        # the summary of a run that was measured is written again, in place of the link
        ("summary.md", False),
        ("verdict.json", True),
        ("config.json", True),
        ("golden.jsonl", True),
        ("probes.jsonl", True),
    ],
)
def test_a_report_never_shows_where_a_link_leads(tmp_path: Path, name: str, measured: bool) -> None:
    """A file of a run that is a link is named: `raggate report` prints nothing of another file."""
    (tmp_path / "secret").write_text("TOKEN")
    run_directory.write(tmp_path / "run", make_run(make_labelled()))
    if not measured:
        (tmp_path / "run" / "results.jsonl.gz").unlink()
    (tmp_path / "run" / name).unlink(missing_ok=True)
    (tmp_path / "run" / name).symlink_to(tmp_path / "secret")
    with pytest.raises(FileError, match=f"{name}: a link, which is not followed: copy the file there"):
        rerun.report(tmp_path / "run", name)
