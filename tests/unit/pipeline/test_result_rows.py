"""Rows of answers, read from a run directory that nobody has to trust."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders import make_chunk, make_labelled, make_run
from probed import make_probe
from raggate.errors import FileError, UsageError
from raggate.models.run import Leak, ProbeAnswer
from raggate.pipeline import result_rows, run_directory
from raggate.service.answer_limits import MAX_NAME
from tables import each_row


@pytest.mark.parametrize("values", ["{}", '"a"', "[[1]]"])
def test_a_line_of_very_many_values_is_not_checked(values: str) -> None:
    """Many small values in a line of few megabytes would take gigabytes to be checked, or minutes."""
    line = b'{"result": [%s]}' % ",".join([values] * result_rows.MOST_VALUES).encode()
    with pytest.raises(UsageError, match="results:1: more than 200000 values in a line"):
        result_rows.parse_row(line, "results:1")


def test_a_line_of_long_texts_is_read() -> None:
    """What is long by its texts has few values."""
    line = b'{"result": {"text": "%s"}}' % (b"[{," * result_rows.MOST_VALUES)
    assert len(result_rows.parse_row(line, "results:1")) == 1


def read(data: bytes) -> Sequence[ProbeAnswer]:
    """Read the content of a file."""
    return result_rows.read_probes(io.BytesIO(data), "probes.jsonl")


def test_what_is_written_is_read() -> None:
    """Probes, answers and failures come back as they were, whatever letters they hold; each on a line of its own."""
    answers = (
        make_probe("private", make_chunk(), question="WHAT\x1b[31m\u2028?"),
        replace(make_probe("private", make_chunk()), strange_texts=(0,), leaks=(Leak(rank=1, note="work/b.md"),)),
        make_probe("principal", failed=True, principal="anna"),
    )
    stored = result_rows.write(answers, full_text=False)
    assert read(stored) == answers
    assert len(stored.splitlines()) == 3
    assert b"\x1b" not in stored


def test_long_texts_are_cut_as_those_of_the_suite() -> None:
    """A chunk's text is kept to 200 characters and a hash, or whole where that is asked for."""
    (answer,) = answers = (make_probe("private", make_chunk(text="x" * 201)),)
    (again,) = read(result_rows.write(answers, full_text=False))
    assert again.result.response is not None
    (chunk,) = again.result.response.chunks
    assert (chunk.text, len(chunk.text_hash or "")) == ("x" * 200 + "...", 32)
    assert read(result_rows.write(answers, full_text=True)) == (answer,)


@each_row(
    ("old", "new", "words"),
    [
        (b'"kind":"private"', b'"kind":"other"', "probes.jsonl:1: not a probe: probe.kind"),
        (b'"mode":"hybrid"', b'"mode":7', "probes.jsonl:1: not a probe: probe.mode"),
        (b'"failure":null', b'"failure":{"kind":"status","message":"no"}', "expected either a response or a failure"),
        (b'"chunk_id":"c1"', b'"chunk_id":"' + b"c" * (MAX_NAME + 1) + b'"', "chunk_id of chunk 1: expected at most"),
        (b'"strange_texts":[]', b'"strange_texts":[1]', "probes.jsonl:1: the labels do not fit the retrieved chunks"),
        (b'"leaks":[]', b'"leaks":[{"rank":2,"note":"a"}]', "probes.jsonl:1: the labels do not fit"),
        (b"{", b"[", "probes.jsonl:1"),
    ],
)
def test_what_is_no_probe_is_refused(old: bytes, new: bytes, words: str) -> None:
    """A row that does not hold what it should is named by its line."""
    stored = result_rows.write((make_probe("private", make_chunk()),), full_text=False)
    assert old in stored
    with pytest.raises(UsageError) as caught:
        read(stored.replace(old, new, 1))
    assert words in caught.value.message


def test_a_row_from_before_texts_were_looked_up() -> None:
    """A run directory of an earlier version is read; nothing is known of its texts."""
    answers = (make_probe("private", make_chunk()),)
    row = json.loads(result_rows.write(answers, full_text=True))
    del row["strange_texts"], row["leaks"]
    assert read(json.dumps(row).encode()) == answers


def test_neither_a_response_nor_a_failure_is_none() -> None:
    """An answer is one of both."""
    answer = make_probe("private", make_chunk())
    neither = replace(answer, result=replace(answer.result, response=None))
    with pytest.raises(UsageError, match="either a response or a failure"):
        read(result_rows.write((neither,), full_text=True))


ROWS = [b"{}\n", b'{"a": 1}\n']


def test_what_is_written_is_read_results_file(tmp_path: Path) -> None:
    """Rows come back, by the name that the directory is given, and the same rows are the same bytes."""
    assert not result_rows.exists(tmp_path)
    result_rows.write_packed(tmp_path, ROWS)
    data = (tmp_path / "results.jsonl.gz").read_bytes()
    assert result_rows.exists(tmp_path)
    name, lines = result_rows.packed_lines(tmp_path, named=Path("run"))
    assert (name, list(lines)) == ("run/results.jsonl.gz", ROWS)
    result_rows.write_packed(tmp_path, ROWS)
    assert (tmp_path / "results.jsonl.gz").read_bytes() == data


def test_what_older_versions_wrote_is_read(tmp_path: Path) -> None:
    """Rows that are not packed are read as they are, and gone once others are written in their place."""
    (tmp_path / "results.jsonl").write_bytes(b"".join(ROWS))
    assert result_rows.exists(tmp_path)
    name, lines = result_rows.packed_lines(tmp_path)
    assert (name, list(lines)) == (f"{tmp_path}/results.jsonl", ROWS)
    result_rows.write_packed(tmp_path, ROWS[:1])
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl.gz"]


def test_two_files_are_refused(tmp_path: Path) -> None:
    """Of two files nobody knows which one counts, so neither is read."""
    result_rows.write_packed(tmp_path, ROWS)
    (tmp_path / "results.jsonl").write_bytes(b"")
    with pytest.raises(UsageError, match=r"run/results\.jsonl: results\.jsonl\.gz is there too"):
        result_rows.packed_lines(tmp_path, named=Path("run"))


def test_no_file_is_told(tmp_path: Path) -> None:
    """A directory without answers is told by the name of the file that it would have."""
    with pytest.raises(FileError, match=r"run/results\.jsonl\.gz: No such file or directory"):
        list(result_rows.packed_lines(tmp_path, "Look again.", named=Path("run"))[1])


@pytest.mark.parametrize("name", ["results.jsonl.gz", "results.jsonl"])
def test_a_pipe_in_its_place_is_told(tmp_path: Path, name: str) -> None:
    """It is nothing that can be read, and not a run that asked nothing, whose stored report would be printed."""
    run_directory.write(tmp_path, make_run(make_labelled()))
    (tmp_path / "summary.md").write_text("# pass")
    (tmp_path / "results.jsonl.gz").unlink()
    os.mkfifo(tmp_path / name)
    assert result_rows.exists(tmp_path)
    with pytest.raises(FileError, match=rf"{name}: a named pipe, where a file is expected"):
        run_directory.read(tmp_path)
