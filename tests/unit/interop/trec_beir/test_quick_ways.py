"""The quick ways to read files: whatever is in a file, they read what the slow ones read, or leave it to them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import QueryGrades, Ranking
from tables import each_row
from tries import tried

USUAL_SCORES = st.integers(0, 300).map(lambda number: f"{number / 100:.2f}")
ODD_SCORES = st.sampled_from(
    """2 nan inf -inf .5 5. +1.5 01.5 1_0.5 1e3 1.0e999 -0.0 \u0661.5 1,5 1.5,2.5 [1.5 2.5] [1.5] "1.5" 1.5.2 null {}
    9007199254740993 9007199254740993.0 9007199254740992.0 900719925474099300000000000000000000000""".split()
)
BLANKS = st.sampled_from([" "] * 20 + ["\t", "  ", "\x0b", "\r", "\x1c", "\u00a0"])
ENDS = st.sampled_from(["\n"] * 20 + ["\r\n", "\n\n", " \n", "\n \t\n", "\0\n", ""])
QUERIES = st.sampled_from(["q1", "q1", "q1", "q2", "q10", "Q0"])
DOCUMENTS = st.sampled_from([*"abcdefghij", "Q0", "é", "a\0", "1"])
RANKS = st.sampled_from([*"0123456789"] * 2 + ["x", "+1", "01", "1.0"])


@st.composite
def lines(draw: st.DrawFn, fields: tuple[st.SearchStrategy[str], ...]) -> bytes:
    """Write a line of columns, most of them as they should be."""
    values = [draw(field) for field in fields]
    cut = draw(st.sampled_from([len(values)] * 30 + [len(values) - 1, len(values) + 1]))
    values = [*values, "more"][:cut]
    text = "".join(value + draw(BLANKS) for value in values[:-1]) + values[-1] + draw(ENDS)
    return draw(st.sampled_from([b""] * 30 + [b"\xff", b"\xef\xbb\xbf", b" "])) + text.encode()


def files(*fields: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """Write files of such lines."""
    mark = st.sampled_from([b"", b"", b"\xef\xbb\xbf"])
    return st.tuples(mark, st.lists(lines(fields), max_size=12).map(b"".join)).map(b"".join)


RUNS = files(QUERIES, st.just("Q0"), DOCUMENTS, RANKS, USUAL_SCORES | USUAL_SCORES | ODD_SCORES, st.just("tag"))
QRELS = files(QUERIES, st.just("0"), DOCUMENTS, st.sampled_from(["0", "1", "2", "-1", "x", "1001", "1.0"]))


@contextmanager
def slowly() -> Iterator[None]:
    """Read line by line, and scores as Python does."""
    with patch.object(trec, "_split", lambda *_: None), patch.object(trec, "_decimals", lambda _: None):
        yield


def read(file: Path, *, run: bool, keep_first: bool) -> list[Ranking] | list[QueryGrades] | str:
    """Read a file; give what is wrong with it where it is refused."""
    try:
        if run:
            return list(trec.iter_run(file, keep_first=keep_first))
        return list(trec.iter_qrels(file, keep_first=keep_first))
    except UsageError as error:
        return str(error)


@tried(200)
@given(run=RUNS, block=st.sampled_from([30, 1 << 15]), keep_first=st.booleans())
def test_runs(tmp_path_factory: pytest.TempPathFactory, run: bytes, block: int, *, keep_first: bool) -> None:
    """A run is read to the same lists, or refused in the same words, whatever its white space, scores and bytes are."""
    file = tmp_path_factory.mktemp("run") / "run"
    file.write_bytes(run)
    with patch.object(trec, "BLOCK_BYTES", block):
        with patch.object(trec, "_MANY", 1):
            quick = read(file, run=True, keep_first=keep_first)
        with slowly():
            assert quick == read(file, run=True, keep_first=keep_first)


@given(qrels=QRELS, block=st.sampled_from([30, 1 << 15]), keep_first=st.booleans())
def test_judgements(tmp_path_factory: pytest.TempPathFactory, qrels: bytes, block: int, *, keep_first: bool) -> None:
    """Judgements are read to the same grades, or refused in the same words."""
    file = tmp_path_factory.mktemp("qrels") / "qrels"
    file.write_bytes(qrels)
    with patch.object(trec, "BLOCK_BYTES", block):
        quick = read(file, run=False, keep_first=keep_first)
        with slowly():
            assert quick == read(file, run=False, keep_first=keep_first)


def bits(numbers: list[float]) -> bytes:
    """Return floats by their bits, as 0.0 and -0.0 are equal."""
    return struct.pack(f"{len(numbers)}d", *numbers)


LONG = st.tuples(st.integers(-9, 9), st.integers(0, 10**40)).map("{0[0]}.{0[1]}".format)


@tried(100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr) | LONG, max_size=30))
def test_scores_are_the_floats_that_python_reads(written: list[str]) -> None:
    """The parser of JSON rounds as Python does, to the last bit, or is not believed."""
    numbers = trec._decimals(written)
    assert numbers is None or bits(numbers) == bits(list(map(float, written)))


@each_row(
    "written",
    [
        ["1.5,2"],
        ["1.5,2.5", "3"],
        ["[1.5", "2.5]"],
        ["[1.5,2.5]", "4"],
        ['"1.5"'],
        ["1.0e999"],
        ["NaN.0"],
        ["9007199254740993"],
        ['{"a":1.5}'],
    ],
)
def test_what_only_looks_like_scores(written: list[str]) -> None:
    """A comma or a bracket in a score is not one of JSON, and an integer has more digits than a float."""
    assert trec._decimals(written) is None
