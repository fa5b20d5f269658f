"""Label files in their exact shape: what a user of the annotation framework brings is read, scored and written."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from msgspec.structs import replace

from label_builders import COMMON, EXPORT, export_csv, to_csv
from raggate.base.csv_table import MAX_FIELD
from raggate.base.errors import UsageError
from raggate.base.escape import plain
from raggate.models.judging import LABELS, Task
from raggate.scoring.intervals import Sampling
from raggate_interop.labels import score as label_scores
from raggate_interop.labels.models import METRICS, TASKS, RetrievalJudgment, Sheet
from raggate_interop.pragmata.files import write_report
from raggate_interop.pragmata.sheets import read_sheet
from tables import each_row

# two annotators; the second discarded the third chunk, which then only the first judged
PANEL = [
    {"annotator_id": "a", "chunk_id": "c1", "chunk_rank": "1", "labels": "ynn"},
    {"annotator_id": "a", "chunk_id": "c2", "chunk_rank": "2", "labels": "nnn"},
    {"annotator_id": "a", "chunk_id": "c3", "chunk_rank": "3", "labels": "yyn"},
    {"annotator_id": "b", "chunk_id": "c1", "chunk_rank": "1", "labels": "ynn"},
    {"annotator_id": "b", "chunk_id": "c2", "chunk_rank": "2", "labels": "nyn"},
    {
        "annotator_id": "b",
        "chunk_id": "c3",
        "chunk_rank": "3",
        "response_status": "discarded",
        "discard_reason": "unclear",
    },
]
ROWS = [{"n_retrieved_chunks": "3", **row} for row in PANEL]
SCORED: dict[Task, list[str]] = {
    "retrieval": ["record_uuid", "query", "chunk", "chunk_id", "chunk_rank", *LABELS["retrieval"]],
    "grounding": ["record_uuid", "answer", "context_set", *LABELS["grounding"]],
    "generation": ["record_uuid", "query", "answer", *LABELS["generation"]],
}


def scored(task: Task = "retrieval", **values: str) -> bytes:
    """Write a score input of one row; its labels are 0 unless given."""
    texts = {"record_uuid": "r1", "query": "Q?", "chunk": "C", "chunk_id": "c1", "chunk_rank": "1"}
    return to_csv(
        SCORED[task], [{**dict.fromkeys(LABELS[task], "0"), **texts, "answer": "A", "context_set": "S", **values}]
    )


def retrieval(data: bytes) -> tuple[RetrievalJudgment, ...]:
    """Read the judgments of a retrieval file."""
    judgments = read_sheet(data, "f.csv").judgments
    return tuple(judgment for judgment in judgments if isinstance(judgment, RetrievalJudgment))


def refusal(data: bytes) -> str:
    """Return the message a file is refused with, empty when it is read."""
    try:
        read_sheet(data, "f.csv")
    except UsageError as error:
        return error.message
    return ""


def test_checklist_three_exports() -> None:
    """The three exports are read by their headers, a row per annotator, and discarded rows are dropped and counted."""
    sheet = read_sheet(export_csv("retrieval", ROWS), "retrieval.csv")
    assert (sheet.task, len(sheet.judgments), len(sheet.discarded)) == ("retrieval", 5, 1)
    first = sheet.judgments[0]
    assert isinstance(first, RetrievalJudgment)
    assert (first.annotator, first.chunk_id, first.rank, first.retrieved) == ("a", "c1", 1, 3)
    assert (first.place, sheet.discarded[0].place) == ("retrieval.csv:2", "retrieval.csv:7")
    grounding = read_sheet(export_csv("grounding", [{"labels": "ynnyn"}]), "grounding.csv")
    assert (grounding.task, grounding.judgments[0].task) == ("grounding", "grounding")
    generation = read_sheet(export_csv("generation", [{"labels": "yyynn"}]), "generation.csv")
    assert (generation.task, generation.judgments[0].task) == ("generation", "generation")


@each_row("yes", ["True", "true", "1", "TRUE", "1.0", " true "])
@each_row("no", ["False", "false", "0", "0.0"])
def test_checklist_booleans(yes: str, no: str) -> None:
    """Yes and no are read in every way that exports, score inputs and data frames write them."""
    (judgment,) = retrieval(scored(topically_relevant=yes, misleading=no))
    assert judgment.labels == {"topically_relevant": True, "evidence_sufficient": False, "misleading": False}


@each_row("task", TASKS)
def test_checklist_score_input(task: Task) -> None:
    """Score inputs need no annotator and no status."""
    (judgment,) = read_sheet(scored(task), "f.csv", task=task).judgments
    assert (judgment.task, judgment.annotator, judgment.record) == (task, None, "r1")


def test_checklist_metrics_and_report(tmp_path: Path) -> None:
    """The reference's query scores as it does there, and the report has exactly their keys."""
    scores = label_scores.score(retrieval(export_csv("retrieval", ROWS)), sampling=Sampling(resamples=20))
    ndcg = scores.metrics["ndcg_at_k"]
    assert ndcg is not None
    assert ndcg.point == pytest.approx(0.688529, abs=5e-7)
    directory = tmp_path / "scores"
    write_report(scores, [Sheet(name="f.csv", task="retrieval", judgments=())], directory, created_at="2026-07-24")
    written = json.loads((directory / "retrieval_scores.json").read_text())
    head = {"task", "source", "notes", "created_at", "n_examples", "top_k", "ci_level"}
    assert set(written) == {*head, *METRICS["retrieval"]}
    assert written["source"] == {"kind": "direct_path", "ref": "f.csv", "resolved_path": "f.csv"}
    assert set(written["ndcg_at_k"]) == {"point", "ci_lower", "ci_upper", "method", "n"}
    assert (written["top_k"], written["n_examples"], written["ci_level"]) == (3, 1, 0.95)


def test_checklist_fabrication_null(tmp_path: Path) -> None:
    """A report on answers of which none cites has null for conditional fabrication alone, and no top_k."""
    sheet = read_sheet(export_csv("grounding", [{"labels": "ynnnn"}]), "f.csv")
    scores = label_scores.score(sheet.judgments)
    write_report(scores, [sheet], tmp_path, created_at="2026-07-24T10:00:00Z")
    written = json.loads((tmp_path / "grounding_scores.json").read_text())
    assert written["conditional_fabrication_rate"] is None
    assert "top_k" not in written
    with pytest.raises(UsageError, match="contradiction_rate has no value"):
        write_report(replace(scores, metrics={"contradiction_rate": None}), [sheet], tmp_path, created_at="x")


def test_older_documents_say_input_query() -> None:
    """`input_query` stands for `query`, and `query` wins when there are both."""
    columns = ["input_query" if column == "query" else column for column in SCORED["retrieval"]]
    texts = {"record_uuid": "r", "chunk": "C", "chunk_id": "c1", "chunk_rank": "1", "input_query": "Q?"}
    row = {**dict.fromkeys(LABELS["retrieval"], "1"), **texts}
    (judgment,) = retrieval(to_csv(columns, [row]))
    assert judgment.query == "Q?"
    (judgment,) = retrieval(to_csv([*columns, "query"], [{**row, "query": "Other?"}]))
    assert judgment.query == "Other?"


@each_row(("written", "expected"), [("", None), ("-1", None), ("0", None), ("5", 5), ("5.0", 5)])
def test_number_of_retrieved_chunks(written: str, expected: int | None) -> None:
    """Exports from before the number was kept have -1, which is unknown."""
    (judgment,) = retrieval(export_csv("retrieval", [{"labels": "ynn", "n_retrieved_chunks": written}]))
    assert judgment.retrieved == expected


def test_texts_keep_what_csv_allows() -> None:
    """Quoted texts keep commas, quotes and line breaks, also lines that look like a merge conflict or a heading."""
    text = 'a, "b"\n=======\n<<<<<<< HEAD\r\n>>>>>>> x\n'
    (judgment,) = retrieval(scored(chunk=text))
    assert judgment.chunk == text
    assert len(retrieval(b"\xef\xbb\xbf" + scored() + b"\r\n\r\n")) == 1
    rows = [{"labels": "ynn", "chunk": text}, {"labels": "ynn", "chunk_id": "c2", "chunk_rank": "2"}]
    assert [judgment.place for judgment in retrieval(export_csv("retrieval", rows))] == ["f.csv:2", "f.csv:7"]


def damaged(replace: bytes, by: bytes, task: Task = "retrieval") -> bytes:
    """Return a score input with something replaced."""
    data = scored(task)
    assert replace in data
    return data.replace(replace, by)


@each_row(
    ("data", "message"),
    [
        (b"", "f.csv: the file is empty"),
        (b'{"id": "q1"}\n', "f.csv:1: this is JSON, not CSV with a header"),
        (scored().split(b"\r\n")[0], "f.csv: no rows below the header"),
        (damaged(b"r1", b""), "f.csv:2: column record_uuid: is empty"),
        (
            scored(topically_relevant="yes"),
            "f.csv:2: column topically_relevant: is 'yes', expected True, False, 1 or 0",
        ),
        (scored(misleading=""), "f.csv:2: column misleading: is empty, expected"),
        (scored(chunk_rank="0"), "f.csv:2: column chunk_rank: is '0', expected 1 or more"),
        (scored(chunk_rank="9" * 5000), "f.csv:2: column chunk_rank: is '999"),
        (scored(chunk_rank="\u0661"), "f.csv:2: column chunk_rank"),
        (damaged(b",chunk_id", b",chunkid"), "f.csv:1: column chunk_id is missing"),
        (damaged(b"query", b""), "f.csv:1: column '' has no name"),
        (damaged(b"query", b"chunk"), "f.csv:1: column 'chunk' occurs twice"),
        (damaged(b"Q?", b"Q,?"), "f.csv:2: 9 fields, but the header has 8 columns"),
        (damaged(b"Q?", b'"Q?'), "f.csv:2: not CSV"),
        (damaged(b"Q?", b"\xff"), "f.csv:2: not UTF-8"),
        (b"a,b\r\n1,2\r\n", "f.csv:1: no labels of any task here"),
        (scored() + b"<<<<<<< HEAD\r\n", "f.csv:3: a merge-conflict marker (<<<<<<< HEAD)"),
        (b"<<<<<<<< HEAD:x\n" + scored(), "f.csv:1: a merge-conflict marker"),
    ],
)
def test_refused(data: bytes, message: str) -> None:
    """What is not as it should be is an error that names file, line and column."""
    with pytest.raises(UsageError) as caught:
        read_sheet(data, "f.csv")
    assert caught.value.message.startswith(message)


@each_row(
    ("fields", "message"),
    [
        ({"response_status": "draft"}, "f.csv:2: column response_status: is 'draft', expected submitted or discarded"),
        ({"task": "grounding"}, "f.csv:2: column task: is 'grounding' in a file about retrieval"),
        ({"labels": ""}, "f.csv:2: column topically_relevant: is empty"),
        ({"n_retrieved_chunks": "many"}, "f.csv:2: column n_retrieved_chunks: is 'many'"),
    ],
)
def test_refused_exports(fields: dict[str, str], message: str) -> None:
    """A submitted row has all labels, and its status and task are those of the export."""
    with pytest.raises(UsageError) as caught:
        read_sheet(export_csv("retrieval", [{"labels": "ynn", **fields}]), "f.csv")
    assert caught.value.message.startswith(message)


def test_long_fields() -> None:
    """A field may be as long as the limit and no longer; the limit of the process stays what it was."""
    before = csv.field_size_limit(4321)
    assert len(retrieval(scored(chunk="x" * MAX_FIELD))[0].chunk) == MAX_FIELD
    with pytest.raises(UsageError, match=r"f\.csv:2: not CSV: field larger than field limit"):
        read_sheet(scored(chunk="x" * (MAX_FIELD + 1)), "f.csv")
    assert csv.field_size_limit(before) == 4321


HOSTILE = [
    '"',
    ",",
    "\n",
    "\r",
    "\0",
    "\x1b[31m",
    "::error::",
    "True",
    "1",
    "\ufeff",
    "\u2028",
    "=======",
    "<<<<<<< x",
    *EXPORT["retrieval"],
    *COMMON,
]


@example(parts=["<<<<<<< x", "\ud7fc"])
@given(parts=st.lists(st.sampled_from(HOSTILE) | st.text(max_size=5), max_size=40))
def test_hostile_files(parts: list[str]) -> None:
    """Any text is either read or refused in one line, printable where it is shown; nothing else happens."""
    for data in ("".join(parts), ",".join(parts), scored().decode() + "".join(parts)):
        message = refusal(data.encode("utf-8", "replace"))
        assert len(message.splitlines()) <= 1
        assert plain(message, limit=len(message) + 1).isprintable()
        assert message.startswith("f.csv") or not message
