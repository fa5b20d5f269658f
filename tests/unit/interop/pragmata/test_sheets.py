"""Label files in their exact shape: what a user of the annotation framework brings is read, scored and written."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from label_builders import COMMON, EXPORT, export_csv, to_csv
from raggate.base.csv_table import MAX_FIELD
from raggate.base.errors import UsageError
from raggate.base.escape import plain
from raggate.models.judging import LABELS, Task
from raggate.scoring.intervals import Sampling
from raggate_interop.labels import checks, score as label_scores
from raggate_interop.labels.models import METRICS, TASKS, RetrievalJudgment, ScoreReport, ScoreSource
from raggate_interop.pragmata.files import file_name, read_scores, write_scores
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


# --- the switch-over checklist, item by item


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


def test_checklist_join() -> None:
    """Yesterday's labels score a new list by query text or record, and say how much of it nobody judged."""
    joined = label_scores.join(retrieval(export_csv("retrieval", ROWS)), {"What  is it?": ["c3", "new", "c1"]}, 3)
    # c2 was not retrieved: `new` took its place
    assert joined.means["topical_precision_at_k"].value == pytest.approx(2 / 3)
    assert joined.unjudged_share == pytest.approx(1 / 3)
    assert "1 of the 3 chunks" in joined.caveat
    by_record = label_scores.join(retrieval(export_csv("retrieval", ROWS)), {"r1": ["c3", "new", "c1"]}, 3)
    assert by_record.means == joined.means


def test_checklist_consolidation_constraints_panels() -> None:
    """Majorities with their tie rule, constraints by id, panels, and the units are unique afterwards."""
    sheet = read_sheet(export_csv("retrieval", ROWS), "f.csv")
    units = label_scores.consolidate(sheet.judgments)
    assert [(unit.unit, unit.votes) for unit in units] == [(("r1", "c1"), 2), (("r1", "c2"), 2), (("r1", "c3"), 1)]
    # one against one about c2: the first row counts
    assert units[1].labels["evidence_sufficient"] is False
    assert [(item.rule, item.place) for item in checks.violations(sheet.judgments)] == [
        ("evidence_requires_relevance", "f.csv:6")
    ]
    (panel,) = checks.panels(sheet.judgments, sheet.discarded)
    assert (panel.expected, panel.judged, panel.discarded, panel.complete) == (3, 3, 0, True)


def test_checklist_metrics_and_report() -> None:
    """The reference's query scores as it does there, and the report has exactly their keys."""
    scores = label_scores.score(retrieval(export_csv("retrieval", ROWS)), sampling=Sampling(resamples=20))
    ndcg = scores.metrics["ndcg_at_k"]
    assert ndcg is not None
    assert ndcg.point == pytest.approx(0.688529, abs=5e-7)
    report = ScoreReport(
        task="retrieval",
        source=ScoreSource(kind="annotation_export", ref="export_1", resolved_path="exports/export_1/retrieval.csv"),
        created_at="2026-07-24T10:00:00Z",
        n_examples=scores.n_examples,
        level=scores.level,
        metrics=scores.metrics,
        top_k=scores.top_k,
    )
    written = json.loads(write_scores(report))
    assert set(written) == {
        "task",
        "source",
        "notes",
        "created_at",
        "n_examples",
        "top_k",
        "ci_level",
        *METRICS["retrieval"],
    }
    assert set(written["source"]) == {"kind", "ref", "resolved_path"}
    assert set(written["ndcg_at_k"]) == {"point", "ci_lower", "ci_upper", "method", "n"}
    assert (written["top_k"], written["n_examples"], written["ci_level"]) == (3, 1, 0.95)
    assert read_scores(write_scores(report), "retrieval_scores.json") == report


def test_checklist_fabrication_null() -> None:
    """A report on answers of which none cites has null for conditional fabrication, and no top_k."""
    scores = label_scores.score(read_sheet(export_csv("grounding", [{"labels": "ynnnn"}]), "f.csv").judgments)
    report = ScoreReport(
        task="grounding",
        source=ScoreSource(kind="direct_path", ref="f.csv", resolved_path="f.csv"),
        created_at="2026-07-24T10:00:00Z",
        n_examples=1,
        level=0.95,
        metrics=scores.metrics,
    )
    written = json.loads(write_scores(report))
    assert written["conditional_fabrication_rate"] is None
    assert "top_k" not in written
    del written["conditional_fabrication_rate"], written["notes"]
    assert read_scores(json.dumps(written).encode(), "x") == report
    assert [file_name(task) for task in TASKS] == [
        "retrieval_scores.json",
        "grounding_scores.json",
        "generation_scores.json",
    ]


# --- other shapes


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
    rows = [{"labels": "ynn", "chunk": text}, {"labels": "ynn", "chunk_id": "c2", "chunk_rank": "2"}]
    assert [judgment.place for judgment in retrieval(export_csv("retrieval", rows))] == ["f.csv:2", "f.csv:7"]


def test_byte_order_mark_and_blank_lines() -> None:
    """A byte order mark and blank lines, as spreadsheets leave them, do not matter."""
    assert len(retrieval(b"\xef\xbb\xbf" + scored() + b"\r\n\r\n")) == 1


# --- what is refused


def damaged(replace: bytes, by: bytes, task: Task = "retrieval") -> bytes:
    """Return a score input with something replaced."""
    data = scored(task)
    assert replace in data
    return data.replace(replace, by)


@each_row(
    ("data", "message"),
    [
        (b"", "f.csv: the file is empty"),
        (b'{"id": "q1"}\n', "f.csv:1: this is JSON; found no CSV header"),
        (scored().split(b"\r\n")[0], "f.csv: no rows below the header"),
        (damaged(b"r1", b""), "f.csv:2: column record_uuid: is empty"),
        (damaged(b"Q?", b"  "), "f.csv:2: column query: is empty"),
        (
            scored(topically_relevant="yes"),
            "f.csv:2: column topically_relevant: is 'yes', expected True, False, 1 or 0",
        ),
        (scored(misleading=""), "f.csv:2: column misleading: is empty, expected"),
        (scored(misleading="2"), "f.csv:2: column misleading: is '2'"),
        (scored(chunk_rank="0"), "f.csv:2: column chunk_rank: is '0', expected 1 or more"),
        (scored(chunk_rank="1.5"), "f.csv:2: column chunk_rank: is '1.5'"),
        (scored(chunk_rank="9" * 5000), "f.csv:2: column chunk_rank: is '999"),
        (scored(chunk_rank="\u0661"), "f.csv:2: column chunk_rank"),
        (damaged(b",chunk_id", b",chunkid"), "f.csv:1: column chunk_id is missing"),
        (damaged(b",misleading", b",mislead"), "f.csv:1: column misleading is missing"),
        (damaged(b"query", b""), "f.csv:1: column '' has no name"),
        (damaged(b"query", b"chunk"), "f.csv:1: column 'chunk' occurs twice"),
        (damaged(b"Q?", b"Q,?"), "f.csv:2: 9 fields, but the header has 8 columns"),
        (damaged(b"Q?", b'"Q?'), "f.csv:2: not CSV"),
        (damaged(b"Q?", b"\xff"), "f.csv:2: not UTF-8"),
        (b"a,b\r\n1,2\r\n", "f.csv:1: no labels of any task here"),
        (scored() + b"<<<<<<< HEAD\r\n", "f.csv:3: a merge-conflict marker (<<<<<<< HEAD)"),
        (scored() + b"========\r\n", "f.csv:3: a merge-conflict marker"),
        (b"<<<<<<<< HEAD:x\n" + scored(), "f.csv:1: a merge-conflict marker"),
        (b">>>>>>> branch\n" + scored(), "f.csv:1: a merge-conflict marker"),
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


def test_other_task_wanted() -> None:
    """A file about another task is refused with the name of its task."""
    with pytest.raises(UsageError, match="no labels of the task grounding") as caught:
        read_sheet(scored(), "f.csv", task="grounding")
    assert caught.value.hint == "This file is about retrieval."


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


@given(chunk=st.text(alphabet=st.characters(codec="utf-8"), min_size=1), query=st.text(st.characters(codec="utf-8")))
def test_hostile_values(chunk: str, query: str) -> None:
    """Whatever stands in the texts comes back as it was, or is refused for being blank."""
    data = scored(chunk=chunk, query=query)
    if chunk.strip() and query.strip():
        (judgment,) = retrieval(data)
        assert (judgment.chunk, judgment.query) == (chunk, query)
    else:
        assert "is empty" in refusal(data)


@each_row(
    ("change", "message"),
    [
        ({"extra": 1}, "s.json: unknown key 'extra'"),
        ({"task": "other"}, "s.json: task: expected one of"),
        ({"n_examples": 0}, "s.json: n_examples: expected a whole number"),
        ({"n_examples": True}, "s.json: n_examples"),
        ({"ci_level": "x"}, "s.json: ci_level: expected a number"),
        ({"source": {}}, "s.json: source: key kind is missing"),
        ({"source": []}, "s.json: source: expected an object"),
        ({"source": {"kind": "x", "ref": "", "resolved_path": ""}}, "s.json: source.kind"),
        ({"helpfulness_rate": None}, "s.json: helpfulness_rate: expected an object"),
        ({"helpfulness_rate": 0.5}, "s.json: helpfulness_rate: expected an object"),
        ({"top_k": 3}, "s.json: unknown key 'top_k'"),
    ],
)
def test_refused_reports(change: dict[str, object], message: str) -> None:
    """A report of another shape is refused by key."""
    score = {"point": 0.5, "ci_lower": 0.1, "ci_upper": 0.9, "method": "wilson", "n": 2}
    report = {
        "task": "generation",
        "source": {"kind": "direct_path", "ref": "a", "resolved_path": "a"},
        "created_at": "2026-07-24T10:00:00Z",
        "n_examples": 2,
        "ci_level": 0.95,
        **dict.fromkeys(METRICS["generation"], score),
    }
    read_scores(json.dumps(report).encode(), "s.json")
    with pytest.raises(UsageError) as caught:
        read_scores(json.dumps({**report, **change}).encode(), "s.json")
    assert caught.value.message.startswith(message)
    for key, value in (("point", 1.5), ("ci_lower", 0.95), ("method", "exact"), ("n", 0), ("more", 1)):
        broken = {**report, "helpfulness_rate": {**score, key: value}}
        with pytest.raises(UsageError, match=r"s\.json: helpfulness_rate"):
            read_scores(json.dumps(broken).encode(), "s.json")


@each_row("data", [b"", b"[]", b"{", b"\xff", b"<<<<<<< HEAD\n{}"])
def test_refused_report_files(data: bytes) -> None:
    """What is no report at all is refused by name."""
    with pytest.raises(UsageError, match=r"s\.json"):
        read_scores(data, "s.json")


def test_report_without_a_value() -> None:
    """A metric without a value cannot be written where their shape has no null."""
    report = ScoreReport(
        task="generation",
        source=ScoreSource(kind="direct_path", ref="f", resolved_path="f"),
        created_at="x",
        n_examples=1,
        level=0.95,
        metrics=dict.fromkeys(METRICS["generation"]),
    )
    with pytest.raises(UsageError, match="proper_action_rate has no value"):
        write_scores(report)


def test_fixture_files(tmp_path: Path) -> None:
    """The header of an export has the columns in their order."""
    path = tmp_path / "retrieval.csv"
    path.write_bytes(export_csv("retrieval", ROWS))
    header = path.read_text().splitlines()[0].split(",")
    assert header[:11] == COMMON
    assert (
        header[-5:] == "panel_complete n_annotated_chunks n_submitted_chunks n_discarded_chunks n_records_seen".split()
    )
