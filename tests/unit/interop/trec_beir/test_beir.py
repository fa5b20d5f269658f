"""BEIR folders: what is read, how every mistake is named, and what is written back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from raggate.base.errors import UsageError
from raggate.inputs.authoring import question_sets
from raggate.inputs.authoring.question_sets import Question, detect
from raggate_interop.trec_beir import beir

HEADER = "query-id\tcorpus-id\tscore\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a small data set as its authors would."""
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "d1", "title": "Knots", "text": "A bowline.", "metadata": {"url": "x"}}\n\n{"_id": 2, "text": "B"}\n'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Which knot?", "metadata": {}}\n')
    (tmp_path / "qrels" / "test.tsv").write_text(HEADER + "q1\td1\t2\nq2\td 2\t0\nq1\t2\t1\n")
    return tmp_path


def test_read(folder: Path) -> None:
    """Documents, queries and judgements are read; ids may be numbers and hold spaces, titles may be missing."""
    assert list(beir.iter_corpus(folder)) == [("d1", "A bowline."), ("2", "B")]
    assert beir.read_queries(folder) == {"q1": "Which knot?"}
    assert beir.read_qrels(folder) == {"q1": {"d1": 2, "2": 1}, "q2": {"d 2": 0}}


def test_line_ends_and_mark(folder: Path) -> None:
    """CRLF, blank lines and a byte order mark change nothing."""
    (folder / "qrels" / "dev.tsv").write_bytes(("\ufeff" + HEADER + "q1\td1\t2\n\n").replace("\n", "\r\n").encode())
    assert beir.read_qrels(folder, "dev") == {"q1": {"d1": 2}}
    (folder / "queries.jsonl").write_bytes('\ufeff{"_id": "q", "text": "Ü"}\r\n'.encode())
    assert beir.read_queries(folder) == {"q": "Ü"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("q1\td1\t1\n", "test.tsv:1: expected the header query-id, corpus-id, score", id="no header"),
        pytest.param(HEADER + "q1 d1 1\n", "test.tsv:2: expected three columns with tabs between", id="spaces"),
        pytest.param(HEADER + "q1\td1\t1.5\n", "test.tsv:2: grade '1.5', expected an integer", id="grade"),
        pytest.param(
            HEADER + "q1\td1\t1\nq1\td1\t1\n",
            "test.tsv:3: document 'd1' of query 'q1' occurs twice",
            id="twice",
        ),
    ],
)
def test_bad_qrels(folder: Path, content: str, message: str) -> None:
    """A mistake is named with file and line."""
    (folder / "qrels" / "test.tsv").write_text(content)
    with pytest.raises(UsageError) as caught:
        beir.read_qrels(folder)
    assert message in str(caught.value)


def test_keep_first(folder: Path) -> None:
    """Of two judgements the first counts on request."""
    (folder / "qrels" / "test.tsv").write_text(HEADER + "q1\td1\t1\nq1\td1\t2\n")
    assert beir.read_qrels(folder, keep_first=True) == {"q1": {"d1": 1}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("{", ":1: is not JSON", id="not JSON"),
        pytest.param("[]", ":1: '[]', expected a JSON object", id="a list"),
        pytest.param('{"text": "x"}', ":1: _id is 'None', expected a text or a number", id="no id"),
        pytest.param('{"_id": "a", "text": ["x"]}', ":1: text is", id="text is a list"),
    ],
)
def test_bad_lines(folder: Path, line: str, message: str) -> None:
    """A line of corpus or queries that cannot be read is named."""
    for name, read in (("corpus.jsonl", beir.iter_corpus), ("queries.jsonl", beir.read_queries)):
        (folder / name).write_text(line)
        with pytest.raises(UsageError) as caught:
            list(read(folder))
        assert f"{name}{message}" in str(caught.value)


def test_query_twice(folder: Path) -> None:
    """A query id that occurs twice is an error."""
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "a"}\n{"_id": "q", "text": "b"}\n')
    with pytest.raises(UsageError, match=r"queries\.jsonl:2: query 'q' occurs twice"):
        beir.read_queries(folder)


@pytest.mark.parametrize("split", ["", "..", "../x", "a/b", "a\\b"])
def test_split_is_a_name(folder: Path, split: str) -> None:
    """A split cannot name a file outside qrels."""
    with pytest.raises(UsageError, match="expected the name of a file"):
        beir.read_qrels(folder, split)


@pytest.mark.parametrize(
    ("queries", "qrels", "message"),
    [
        pytest.param({"q": "x"}, {"q": {"a\tb": 1}}, "contains a tab", id="tab in an id"),
        pytest.param({"q": "\ud800"}, {}, "cannot be written as JSON", id="not Unicode"),
        pytest.param({"q": "x"}, {"p": {"a": 1}}, "query 'p', which is not there", id="unknown query"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, queries: dict[str, str], qrels: dict[str, dict[str, int]], message: str
) -> None:
    """Judgements that would be read back as something else are refused, and no half file stays."""
    with pytest.raises(UsageError, match=message):
        beir.write_folder(tmp_path, "test", queries=queries, qrels=qrels)
    assert not list(tmp_path.glob("qrels/*"))
    assert not list(tmp_path.glob(".*"))


CONTEXT = "The Rhine rises in the canton of Grisons."


def test_a_beir_folder(tmp_path: Path) -> None:
    """A query has the texts of its relevant documents, any of which answers it, with their grades."""
    corpus = [{"_id": "d1", "title": "", "text": CONTEXT}, {"_id": "d2", "title": "", "text": "other"}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "Where?"}\n')
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n")
    assert detect(tmp_path) == "beir"
    [question] = question_sets.read(tmp_path, "beir")
    assert question == Question(
        place=f"{tmp_path / 'queries.jsonl'}: query q1",
        question="Where?",
        contexts=(CONTEXT,),
        grades=(2,),
        documents=("d1",),
        needed="any",
        id="q1",
    )


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    """A folder that no format recognises is refused with the formats that are folders."""
    with pytest.raises(UsageError, match="expected a file, or a folder of the format beir"):
        detect(tmp_path)
