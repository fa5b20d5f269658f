"""TREC files: what is read, which order counts, how every mistake is named, what is written back."""

from __future__ import annotations

from pathlib import Path

import pytest

from raggate.base.errors import UsageError
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import QueryGrades, Ranking, ranked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Name a file that is not there yet."""
    return tmp_path / "file"


def put(file: Path, content: str | bytes) -> Path:
    """Write a file as it is, without translating line ends."""
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def refusal(file: Path, content: str | bytes, *, run: bool = False) -> str:
    """Return the message with which a file is refused, without its directory."""
    put(file, content)
    with pytest.raises(UsageError) as caught:
        list(trec.iter_run(file) if run else trec.iter_qrels(file))
    with pytest.raises(UsageError) as again:
        (trec.read_run if run else trec.read_qrels)(file)
    assert str(again.value) == str(caught.value)
    return str(caught.value).removeprefix(f"{file}:")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\n", id="plain"),
        pytest.param("q1\t0\ta\t1\nq1\tQ0\tb\t0\nq2 \t 0  a\t2", id="tabs, several spaces, no final line end"),
        pytest.param("\n  q1 0 a +1  \n\n \t\nq1 0 b 00\nq2 0 a 2\n\n", id="blank lines and white space around"),
        pytest.param("\ufeffq1 0 a 1\nq1 0 b 0\nq2 0 a 2\n", id="byte order mark"),
    ],
)
def test_qrels(file: Path, content: str) -> None:
    """Judgements come query by query, whatever the white space."""
    put(file, content)
    assert [(judged.query_id, judged.grades) for judged in trec.iter_qrels(file)] == [
        ("q1", {"a": 1, "b": 0}),
        ("q2", {"a": 2}),
    ]


def test_ids_are_only_split_at_ascii_white_space(file: Path) -> None:
    """No-break spaces, separators and NUL are part of an id, as in C."""
    put(file, "q\u00a01 0 a\u2028b 1\nq\x1c2 0 \x1f 1\nq3 0 \0 1\n")
    assert trec.read_qrels(file) == {"q\u00a01": {"a\u2028b": 1}, "q\x1c2": {"\x1f": 1}, "q3": {"\0": 1}}


def test_qrels_may_be_scattered(file: Path) -> None:
    """A query whose lines stand apart comes in pieces, and whole when the file is read whole."""
    put(file, "q1 0 a 1\nq2 0 a 1\nq1 0 b -2\n")
    assert list(trec.iter_qrels(file)) == [
        QueryGrades("q1", {"a": 1}, 1),
        QueryGrades("q2", {"a": 1}, 2),
        QueryGrades("q1", {"b": -2}, 3),
    ]
    assert trec.read_qrels(file) == {"q1": {"a": 1, "b": -2}, "q2": {"a": 1}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("q1 0 a 1\nq1 0 a\n", "2: 3 columns, expected 4: query, iteration, document, grade", id="3"),
        # the columns of both lines together are right, the lines are not
        pytest.param("q1 0 a 1 q2\n0 b 1\n", "1: 5 columns, expected 4: query, iteration, document, grade", id="shift"),
        pytest.param("\n\nq1 0 a 1.0\n", "3: grade '1.0', expected an integer from -1000 to 1000", id="float"),
        pytest.param("q1 0 a １\n", "1: grade '１', expected an integer from -1000 to 1000", id="other digits"),
        pytest.param("q1 0 a 1001\n", "1: grade '1001', expected an integer from -1000 to 1000", id="too large"),
        pytest.param("q1 0 a 1\nq1 0 b 1\nq1 0 a 1\n", "3: document 'a' of query 'q1' is already in line 1", id="2x"),
        pytest.param(b"q1 0 a 1\nq1 0 \xff 1\n", "2: is not UTF-8", id="bytes"),
        pytest.param("q1 0 a \x1b[31mx\n", "1: grade '\\x1b[31mx'", id="escape code in a grade"),
    ],
)
def test_bad_qrels(file: Path, content: str | bytes, message: str) -> None:
    """A mistake is named with file and line."""
    assert refusal(file, content).startswith(message)


def test_duplicate_across_blocks(file: Path) -> None:
    """What occurs twice is found however far apart, with both lines, or the first is kept on request."""
    lines = ["q1 0 a 1", *(f"q{number} 0 d{number} 1" for number in range(2, 9000)), "q1 0 a 2"]
    put(file, "\n".join(lines))
    with pytest.raises(UsageError, match=":9000: document 'a' of query 'q1' is already in line 1"):
        trec.read_qrels(file)
    assert trec.read_qrels(file, keep_first=True)["q1"] == {"a": 1}
    put(file, "q1 0 a 1\nq1 0 a 2\n")
    assert [dict(judged.grades) for judged in trec.iter_qrels(file, keep_first=True)] == [{"a": 1}]


def run_of(file: Path, *lines: str, keep_first: bool = False) -> Ranking:
    """Read a run of one query, given document, rank and score per line; reading whole gives the same."""
    put(file, "".join(f"q Q0 {line} t\n" for line in lines))
    (ranking,) = trec.iter_run(file, keep_first=keep_first)
    assert trec.read_run(file, keep_first=keep_first) == {"q": ranking}
    return ranking


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["a 1 0.9", "b 2 0.5"], Ranking("q", ranked(["a", "b"]), 1), id="falling"),
        pytest.param(["a 0 0.9", "b 1 -5e-3"], Ranking("q", ranked(["a", "b"]), 1), id="ranks from 0"),
        pytest.param(["a 2 0.5", "b 1 0.9"], Ranking("q", ranked(["b", "a"]), 1), id="lines in another order"),
        pytest.param(
            ["a 1 0.5", "b 2 0.9"], Ranking("q", ranked(["b", "a"]), 1, rank_disagrees=True), id="ranks against scores"
        ),
        pytest.param(
            ["a 1 1", "b 1 0.5"], Ranking("q", ranked(["a", "b"]), 1, rank_disagrees=True), id="ranks that say nothing"
        ),
        # equal scores: document id descending, as in trec_eval
        pytest.param(
            ["b 1 1", "a 2 1", "c 3 0"], Ranking("q", ranked(["b", "a", "c"]), 1, tied=(1, 1, 0)), id="tie, ranks agree"
        ),
        pytest.param(
            ["a 1 1", "b 2 1"],
            Ranking("q", ranked(["b", "a"]), 1, tied=(1, 1), rank_disagrees=True),
            id="tie, ranks do not",
        ),
        pytest.param(["é 1 1", "z 2 1"], Ranking("q", ranked(["é", "z"]), 1, tied=(1, 1)), id="ids compare as UTF-8"),
        # 32-bit floats would take these for equal
        pytest.param(["a 1 0.900000001", "b 2 0.9"], Ranking("q", ranked(["a", "b"]), 1), id="near tie"),
        pytest.param(
            ["a 1 1e308", "b 2 9e307"], Ranking("q", ranked(["a", "b"]), 1), id="scores whose sum is not finite"
        ),
    ],
)
def test_order_of_a_run(file: Path, lines: list[str], expected: Ranking) -> None:
    """Scores decide, as 64-bit floats, then ids; ties and ranks that disagree are told."""
    assert run_of(file, *lines) == expected


def test_document_twice_in_a_run(file: Path) -> None:
    """A document that occurs twice is an error with both lines; on request the better place counts."""
    lines = ("a 1 3", "b 2 2", "a 3 1", "c 4 0.5")
    with pytest.raises(UsageError, match=":3: document 'a' of query 'q' is already in line 1") as caught:
        run_of(file, *lines)
    assert "--keep-first" in caught.value.hint
    assert run_of(file, *lines, keep_first=True) == Ranking("q", ranked(["a", "b", "c"]), 1, repeated=1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param("q Q0 a 1 0.5 t\nq Q0 b 2 nan t\n", "2: score 'nan', expected a finite number", id="nan"),
        pytest.param("q Q0 a 1 inf t\n", "1: score 'inf', expected a finite number", id="infinity"),
        pytest.param("q Q0 a 1 1e999 t\n", "1: score '1e999', expected a finite number", id="overflow"),
        pytest.param("q Q0 a 1 ５ t\n", "1: score '５', expected a finite number", id="other digits"),
        pytest.param("\nq Q0 a 1 2 t\nq Q0 b 0.5 1 t\n", "3: rank '0.5', expected an integer", id="rank"),
        pytest.param("q Q0 a 1 0.5\n", "1: 5 columns, expected 6: query, Q0, document, rank, score, tag", id="no tag"),
    ],
)
def test_bad_run(file: Path, lines: str, message: str) -> None:
    """A mistake is named with file and line."""
    assert refusal(file, lines, run=True).startswith(message)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1 << 16])
def test_blocks_do_not_matter(file: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """A file reads the same wherever it is cut into blocks, with the right line numbers."""
    put(file, "q1 Q0 a 1 3 t\r\nq1 Q0 b 2 2 t\n\nq2 Q0 é 1 1 t\nq3 Q0 a 1 1 t\nq1 Q0 c 3 1 t")
    monkeypatch.setattr(trec, "BLOCK_BYTES", size)
    assert list(trec.iter_run(file)) == [
        Ranking("q1", ranked(["a", "b"]), 1),
        Ranking("q2", ranked(["é"]), 4),
        Ranking("q3", ranked(["a"]), 5),
        # the rank column counts on from the piece before
        Ranking("q1", ranked(["c"]), 6),
    ]
    assert trec.read_run(file)["q1"] == Ranking("q1", ranked(["a", "b", "c"]), 1)


def test_endless_line(file: Path) -> None:
    """A line of more than 1 MiB is refused before all of it is in memory."""
    put(file, b"x" * (trec.MAX_LINE_BYTES + trec.BLOCK_BYTES + 1))
    with pytest.raises(UsageError, match="has a line of more than 1048576 bytes"):
        trec.read_run(file)


@pytest.mark.parametrize("bad", ["", "a b", "a\tb", "a\n", "\ufeffa", "\ud800"])
def test_ids_that_cannot_be_written(file: Path, bad: str) -> None:
    """An id that would be read back as something else is refused, and the old file stays."""
    put(file, "old")
    for query_id, doc_id in ((bad, "a"), ("q", bad)):
        with pytest.raises(UsageError, match="id '"):
            trec.write_qrels(file, [(query_id, {doc_id: 1})])
        with pytest.raises(UsageError, match="id '"):
            trec.write_run(file, [(query_id, [doc_id])])
    assert [(path.name, path.read_text()) for path in file.parent.iterdir()] == [("file", "old")]
