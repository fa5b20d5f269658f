"""Rows of answers, read from a run directory that nobody has to trust."""

from __future__ import annotations

import io
import os
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from builders import make_chunk, make_labelled, make_response, make_result, make_run
from probed import make_probe
from raggate.base.errors import FileError, UsageError
from raggate.models.run import Leak, ProbeAnswer
from raggate.pipeline import result_rows, run_directory
from raggate.service.answer_limits import MAX_NAME
from tables import each_row


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"[%s]" % b",".join([b"{}"] * result_rows.MOST_LISTS), "more than 200000 lists in a line"),
        (b"[" * 300 + b"]" * 300, "the index coverage cannot be written: Recursion limit reached"),
        (b"[" * 3000 + b"]" * 3000, "not a result: "),
        (b"1" + b"0" * 30, "the index coverage cannot be written: Integer exceeds 64-bit range"),
        (b"NaN", "not a result: "),
    ],
)
def test_a_value_that_no_api_gives_is_refused(value: bytes, words: str) -> None:
    """What is too much, too deep or no JSON is refused, in few megabytes; a long text is not."""
    result = make_result(response=make_response(coverage={"a": "HERE"}))
    line = result_rows.asked_line(result)
    tracemalloc.start()
    try:
        with pytest.raises(UsageError, match=f"results:1: {words}"):
            list(result_rows.read_asked([line.replace(b'"HERE"', value)], "results"))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    (row,) = result_rows.read_asked([line], "results")
    assert row.whole == result


def test_found_headings_are_those_of_chunks() -> None:
    """A position that no chunk has is refused."""
    line = result_rows.asked_line(make_result(response=make_response(make_chunk(), found_headings=(0,))))
    (row,) = result_rows.read_asked([line], "results")
    assert row.whole.response is not None
    assert row.whole.response.found_headings == (0,)
    for position in (b"1", b"-1"):
        wrong = line.replace(b'"found_headings":[0]', b'"found_headings":[%s]' % position)
        with pytest.raises(UsageError, match="results:1: found_headings: expected positions of retrieved passages"):
            list(result_rows.read_asked([wrong], "results"))


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
    stored = result_rows.write_probes(answers, full_text=False)
    assert read(stored) == answers
    assert len(stored.splitlines()) == 3
    assert b"\x1b" not in stored


def test_long_texts_are_cut_as_those_of_the_suite() -> None:
    """A chunk's text is kept to 200 characters and a hash, or whole where that is asked for."""
    (answer,) = answers = (make_probe("private", make_chunk(text="x" * 201)),)
    (again,) = read(result_rows.write_probes(answers, full_text=False))
    assert again.result.response is not None
    (chunk,) = again.result.response.chunks
    assert (chunk.text, len(chunk.text_hash or "")) == ("x" * 200 + "...", 32)
    assert read(result_rows.write_probes(answers, full_text=True)) == (answer,)


@each_row(
    ("old", "new", "words"),
    [
        (b'"kind":"private"', b'"kind":"other"', "probes.jsonl:1: not a probe: Invalid enum value 'other'"),
        (b'"failure":null', b'"failure":{"kind":"status","message":"no"}', "expected either a response or a failure"),
        (b'"chunk_id":"c1"', b'"chunk_id":"' + b"c" * (MAX_NAME + 1) + b'"', "chunk_id of passage 1: expected at most"),
        (b'"strange_texts":[]', b'"strange_texts":[1]', "probes.jsonl:1: the labels do not fit the retrieved passages"),
        (b'"leaks":[]', b'"leaks":[{"rank":2,"note":"a"}]', "probes.jsonl:1: the labels do not fit"),
        (b"{", b"[", "probes.jsonl:1"),
    ],
)
def test_what_is_no_probe_is_refused(old: bytes, new: bytes, words: str) -> None:
    """A row that does not hold what it should is named by its line."""
    stored = result_rows.write_probes((make_probe("private", make_chunk()),), full_text=False)
    assert old in stored
    with pytest.raises(UsageError) as caught:
        read(stored.replace(old, new, 1))
    assert words in caught.value.message


ROWS = [b"{}\n", b'{"a": 1}\n']


def test_rows_that_are_packed_are_read(tmp_path: Path) -> None:
    """Rows come back, by the name that the directory is given, and the same rows are the same bytes."""
    assert not result_rows.exists(tmp_path)
    result_rows.write_packed(tmp_path, ROWS)
    data = (tmp_path / "results.jsonl.gz").read_bytes()
    assert result_rows.exists(tmp_path)
    name, lines = result_rows.packed_lines(tmp_path, named=Path("run"))
    assert (name, list(lines)) == ("run/results.jsonl.gz", ROWS)
    result_rows.write_packed(tmp_path, ROWS)
    assert (tmp_path / "results.jsonl.gz").read_bytes() == data


def test_rows_that_are_not_packed_are_read(tmp_path: Path) -> None:
    """Rows of an artifact that was unpacked are read as they are, unless there are packed ones."""
    (tmp_path / "results.jsonl").write_bytes(b"".join(ROWS))
    assert result_rows.exists(tmp_path)
    name, lines = result_rows.packed_lines(tmp_path)
    assert (name, list(lines)) == (f"{tmp_path}/results.jsonl", ROWS)
    result_rows.write_packed(tmp_path, ROWS[:1])
    assert list(result_rows.packed_lines(tmp_path)[1]) == ROWS[:1]


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
