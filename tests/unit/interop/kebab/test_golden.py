"""kebab's files: golden YAML, rows of results and its SQLite file; what is read, what is refused, what survives."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_golden,
    make_labelled,
    make_response,
    make_result,
    make_run,
)
from kebab_builders import SCHEMA, SNAPSHOT, answer, hit, jsonl, row, three_queries, write_database
from kebab_reader import QueryResult
from raggate.base.errors import UsageError
from raggate.config.gate_settings import Score
from raggate.config.imported import ImportedConfig
from raggate.config.invariant_settings import Invariants
from raggate.inputs import golden as raggate_golden
from raggate.models.run import Reference
from raggate.scoring.score import score
from raggate_interop.kebab import golden as kebab_golden
from raggate_interop.kebab.rows import StoredRun, read_rows, write_rows
from raggate_interop.kebab.run import NO_TIME, to_rows, to_run
from raggate_interop.kebab.sqlite import is_store, open_store
from tables import each_row

YAML = b"""\
# a comment
- id: q1
  query: "What is it?"
  lang: en
  expected_doc_ids: ["d1", "d2"]
  expected_chunk_ids: [c1]
  must_contain: ["It"]
  forbidden: ["not"]
  difficulty: medium
  group: g
- id: q2
  query: "What would it be?"
  expected_doc_ids: [d2, d1, d2]
  group: g
"""


def read(text: str | bytes) -> kebab_golden.GoldenFile:
    """Read a golden set."""
    return kebab_golden.read_golden(text.encode() if isinstance(text, str) else text, "golden.yaml")


def test_golden() -> None:
    """Every key is read, and the sets of a group agree whatever their order."""
    first, second = read(YAML).queries
    assert first == kebab_golden.GoldenQuery(
        id="q1",
        query="What is it?",
        lang="en",
        expected_doc_ids=("d1", "d2"),
        expected_chunk_ids=("c1",),
        must_contain=("It",),
        forbidden=("not",),
        difficulty="medium",
        group="g",
    )
    assert (second.lang, second.difficulty, second.answerable, second.must_contain) == ("", None, None, ())


@each_row(
    ("text", "problem"),
    [
        ("", "the golden set has no query"),
        ("id: q1", "expected a list of queries"),
        ("- q1", r"golden.yaml:1: expected a mapping with 'id' and 'query'"),
        ("- id: q1", r"golden.yaml:1: key '\[0\].query' is missing"),
        ("- id: [12]\n  query: x", r"golden.yaml:1: \[0\].id: expected a valid string, found \[12\]"),
        ("- id: ~\n- id:\n  query: x", r"golden.yaml:2: \[1\].id: expected at least 1 character"),
        ("- id: q\n  query: x\n  must_contain: text", r"golden.yaml:3: \[0\].must_contain"),
        ("- id: q\n  query: x\n  should_refuse: maybe", "golden.yaml:3: should_refuse: expected true or false"),
        ("- id: q\n  query: x\n  answerable: true\n  should_refuse: true", "not the same as 'answerable'"),
        ("- {id: a, query: x}\n- {id: a, query: y}\n- {id: b, query: z}", "duplicate query ids: a$"),
        ("<<<<<<< ours\n- id: q", "unresolved merge conflict"),
        ("- id: q\n  id: r", "occurs twice"),
        ("- &a [*a]", "golden.yaml"),
    ],
)
def test_golden_that_is_none(text: str, problem: str) -> None:
    """Every mistake is named with its place."""
    with pytest.raises(UsageError, match=problem):
        read(text)


def test_letters_of_what_yaml_takes_for_something_else() -> None:
    """Where kebab's type is text, a number, a date, a truth value or `null` is what stands in the file."""
    (query,) = read(
        "- id: 007\n  query: 1_000\n  lang: null\n  expected_doc_ids: [0123, 0x1f, 2024-05-01, 1.50]\n"
        "  expected_chunk_ids: [1e3, ~]\n  must_contain: [42, true]\n  difficulty: 3\n  group: null\n"
    ).queries
    assert (query.id, query.query, query.lang) == ("007", "1_000", "null")
    assert query.expected_doc_ids == ("0123", "0x1f", "2024-05-01", "1.50")
    assert (query.expected_chunk_ids, query.must_contain) == (("1e3", "~"), ("42", "true"))
    assert (query.difficulty, query.group) == ("3", None)


def test_unknown_keys() -> None:
    """Unknown keys are ignored, and told with the nearest known one."""
    content = read("- id: q\n  query: x\n  expected_docs: [d]\n  zzz: 1\n")
    assert content.ignored == (
        "golden.yaml:3: key 'expected_docs' is ignored. Did you mean 'expected_doc_ids'?",
        "golden.yaml:4: key 'zzz' is ignored",
    )


def test_cases() -> None:
    """Labelled queries become answerable cases that raggate's own golden format can hold."""
    cases = kebab_golden.to_cases(read(YAML))
    assert [support.chunk_id for support in cases[0].gold_supports] == ["c1"]
    assert [support.doc_id for support in cases[1].gold_supports] == ["d2", "d1"]
    written = b"".join(raggate_golden.write_case(case) for case in cases)
    assert [replace(case, line=0) for case in raggate_golden.load(written, "x").cases] == list(cases)


def test_unlabelled_queries_need_a_decision() -> None:
    """A query without labels is not guessed to be a refusal, unless one asks for their convention or says so."""
    content = read(
        "- {id: a, query: x}\n- {id: b, query: y, answerable: false}\n- {id: c, query: z, must_contain: [z]}\n"
    )
    with pytest.raises(UsageError, match="1 query has no labels and does not say whether to refuse it: a"):
        kebab_golden.to_cases(content)
    refused = kebab_golden.to_cases(content, unlabelled="refusal")
    assert [case.answerable for case in refused] == [False, False, True]
    assert [case.id for case in kebab_golden.to_cases(content, unlabelled="skip")] == [
        "b",
        "c",
    ]


@each_row(
    ("entry", "problem"),
    [
        (
            "answerable: false, expected_doc_ids: [d]",
            "'q' is not answerable, but has expected ids: remove one of them",
        ),
        ("should_refuse: false", "'q' is answerable, but has no labels"),
    ],
)
def test_contradictions(entry: str, problem: str) -> None:
    """A query that says one thing and is labelled for another is refused."""
    with pytest.raises(UsageError, match=problem):
        kebab_golden.to_cases(read(f"- {{id: q, query: x, {entry}}}"))


@each_row(
    "stored",
    [
        row("q1", hit(1, "c", "d", new_key=[1]), answer=answer("x", hops=[]), other={"a": None}),
        {"query_id": "q1", "hits_top_k": [{"rank": 1, "chunk_id": "c", "doc_id": "d"}]},
    ],
)
def test_rows_are_kept(stored: dict[str, Any]) -> None:
    """Rows are written as they were read, with keys that are not known, and without all that a hit may lack."""
    assert json.loads(write_rows(read_rows(jsonl([stored]), "f"))) == stored


@each_row(
    ("text", "problem"),
    [
        ("{", "f:1: not valid JSON"),
        ("[]", "f:1: not a result of kebab: Input should be a valid dictionary"),
        ('{"query_id": "q"}', "hits_top_k: Field required"),
        ('{"query_id": "q", "hits_top_k": [{"rank": 0, "chunk_id": "c", "doc_id": "d"}]}', "hits_top_k.0.rank"),
        ('{"query_id": "q", "hits_top_k": [], "answer": {"answer": "x", "grounded": 1}}', "answer.grounded"),
        (
            '{"query_id": "q", "hits_top_k": []}\n\n{"query_id": "q", "hits_top_k": []}',
            "f:3: query 'q' occurs twice",
        ),
    ],
)
def test_rows_that_are_none(text: str, problem: str) -> None:
    """What is no row is named with its line and key."""
    with pytest.raises(UsageError, match=problem):
        read_rows(text.encode(), "f")


def stored_run(*rows: dict[str, Any], **fields: Any) -> StoredRun:
    """Build a run with the usual snapshot."""
    return StoredRun(**{"run_id": "run_1", "rows": rows, "snapshot": SNAPSHOT, "created_at": "2026-01-01", **fields})


def test_run() -> None:
    """Raggate's own scoring works on a run of theirs, and agrees with their numbers where definitions do."""
    rows, queries = three_queries()
    cases = [
        raggate_golden.complete(kebab_golden.to_cases(read(kebab_golden.write_golden([query])))[0])
        for query in queries.values()
    ]
    run = to_run(stored_run(*rows), make_golden(*cases))
    values = score(run, (1, 3, 5, 10)).slices["lexical"]["overall"]
    assert [values[f"hit_at_{k}"].value for k in (1, 3, 5, 10)] == [1 / 3, 1 / 3, 2 / 3, 2 / 3]
    assert values["mrr_at_10"].value == pytest.approx(1.25 / 3)
    assert values["precision_at_3"].value == pytest.approx(1 / 9)
    assert run.fingerprint["chunker_version"] == "md-heading-v2"
    assert run.config == ImportedConfig(
        system="kebab",
        settings=SNAPSHOT,
        score=Score(k=[1, 3, 5, 10]),
        invariants=Invariants(chunk_ids_stable="off"),
    )


def test_answers_of_a_run() -> None:
    """Answers, refusals, failures and missing rows become what they are in raggate."""
    golden = make_golden(*(make_case(f"q{number}", answerable=False) for number in range(4)))
    rows = [
        row("q0", hit(1, "c", "d"), answer=answer("yes")),
        row("q1", answer=answer("no", grounded=False, paths=())),
        row("q2", hit(1, "c", "d"), error="llm down"),
    ]
    given, refused, failed, missing = (item.result for item in to_run(stored_run(*rows), golden).results)
    assert given.response is not None
    assert (given.response.answer, given.response.grounded, given.response.abstained) == ("yes", True, False)
    assert given.response.references[0].rel_path == "docs/d1.md"
    assert refused.response is not None
    assert (refused.response.abstained, refused.response.abstain_reason) == (True, "score_gate")
    assert failed.failure is not None
    assert failed.failure.message == "llm down"
    assert missing.failure is not None
    assert missing.failure.kind == "aborted"


def test_rows_are_read_by_kebab() -> None:
    """Every row has every field that kebab's own type requires, of its kind, whatever the API told raggate."""
    chunk = make_chunk(heading_path="# A > ## B", score_final=0.5, score_vector=0.4, doc_id="d1")
    cited = Reference(vault="v", rel_path="a.md", heading_path="", chunk_index=0)
    answers = {
        "q1": make_response(chunk, make_chunk("c2"), answer="Yes.", references=(cited, cited), grounded=True),
        "q2": make_response(answer="", abstained=True, abstain_reason="no_relevant_context"),
        "q3": make_response(abstained=True, answer="No.", abstain_reason="no_chunks", latency={"generation_ms": 7.6}),
        "q4": make_response(chunk),
    }
    items = [
        make_labelled(make_case(name), make_result(name, response=entry, mode="bm25"))
        for name, entry in answers.items()
    ]
    items.append(make_labelled(make_case("q5"), make_result("q5", failure=make_failure(), mode="bm25")))
    for run in (
        make_run(*items, fingerprint={"k": 5}),
        make_run(*items, started="", config=ImportedConfig(system="kebab", settings=SNAPSHOT)),
    ):
        read = [QueryResult.model_validate(entry, strict=True) for entry in to_rows(run, "bm25")]
        assert {entry.mode for entry in read} == {"lexical"}
        reasons = [entry.answer.refusal_reason for entry in read if entry.answer is not None]
        assert reasons == [None, None, "no_chunks"]
        assert read[2].answer is not None
        assert (read[2].answer.usage.latency_ms, read[2].answer.grounded) == (8, False)
    assert read[0].answer is not None
    assert (read[0].answer.model.id, read[0].answer.retrieval.score_gate) == ("m", 0.3)
    assert (read[0].hits_top_k[0].indexed_at, read[0].hits_top_k[0].chunker_version) == (NO_TIME, "unknown")
    assert (read[0].answer.retrieval.chunks_used, read[0].answer.retrieval.top_score) == (1, 0.5)


@each_row("rows", [(), (row("q1"), row("q2", mode="vector"))])
def test_runs_of_several_modes(rows: tuple[dict[str, Any], ...]) -> None:
    """A run of no mode or of several is refused."""
    with pytest.raises(UsageError, match="expected rows of one retrieval mode"):
        to_run(stored_run(*rows), make_golden(make_case()))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Write an SQLite file with two runs and an index."""
    rows, _ = three_queries()
    runs = {"run_a": rows, "run_b": rows[:1]}
    return write_database(tmp_path / "ke#bab?.sqlite", runs, chunks={"c1": ("d1", (3, 9))})


def test_store(database: Path) -> None:
    """Runs, their rows, documents, chunks and spans are read, and nothing is left beside the file."""
    assert is_store(database)
    with open_store(database) as store:
        assert [(run.run_id, run.suite, run.queries) for run in store.runs()] == [
            ("run_a", "golden", 3),
            ("run_b", "golden", 1),
        ]
        run = store.run("run_a")
        assert run.rows == tuple(three_queries()[0])
        assert (run.snapshot, run.aggregate, run.commit_hash) == (SNAPSHOT, {}, None)
        assert store.has_index()
        assert store.documents() == {"d1": "docs/d1.md"}
        assert store.chunk_ids() == {"c1"}
        assert store.spans(["c1", "c9"]) == {"c1": ("d1", [{"kind": "line", "start": 3, "end": 9}])}
    assert [path.name for path in database.parent.iterdir()] == [database.name]


def test_store_with_a_write_ahead_log(database: Path) -> None:
    """A file in write-ahead mode is read, also where nothing may be written beside it."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with open_store(database) as store:
        assert len(store.runs()) == 2
    # what a reader would have to make are directories already, so that they cannot be made
    shared, log = (database.with_name(f"{database.name}-{name}") for name in ("shm", "wal"))
    for path in (shared, log):
        path.unlink()
        path.mkdir()
    with open_store(database) as store:
        assert len(store.runs()) == 2


def test_store_that_is_locked(database: Path) -> None:
    """A file that somebody writes to is told as such, after a short wait."""
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        with (
            pytest.raises(UsageError, match="database is locked") as caught,
            open_store(database, busy=0.01) as store,
        ):
            store.runs()
    assert "Another process writes" in caught.value.hint


def change(path: Path, *statements: str) -> Path:
    """Change a database."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.parametrize(
    ("statements", "problem"),
    [
        (["DROP TABLE eval_query_results"], "no such table: eval_query_results"),
        (["ALTER TABLE eval_runs DROP COLUMN aggregate_json"], "no such column: aggregate_json"),
        (["UPDATE eval_runs SET aggregate_json = '[]'"], "aggregate_json: expected a JSON object"),
        (["UPDATE eval_runs SET config_snapshot_json = 'x'"], "config_snapshot_json: not valid JSON"),
        (["UPDATE eval_query_results SET result_json = x'ff'"], "expected text in a column, found bytes"),
        (["UPDATE eval_query_results SET result_json = CAST(x'ff' AS TEXT)"], "cannot be read: Could not decode"),
        (
            ["UPDATE eval_query_results SET query_id = 'zz' WHERE query_id = 'q1' AND run_id = 'run_a'"],
            "is of query 'q1'",
        ),
        (["DELETE FROM eval_runs"], "no run 'run_a'"),
    ],
)
def test_store_that_is_damaged(database: Path, statements: list[str], problem: str) -> None:
    """Whatever the file lacks or holds in the wrong form is one clear error."""
    change(database, *statements)
    with pytest.raises(UsageError, match=problem), open_store(database) as store:
        assert (store.runs(), store.run("run_a")) is None


def test_store_that_computes_for_ever(tmp_path: Path) -> None:
    """A file is given up when reading it takes too long."""
    path = tmp_path / "slow.sqlite"
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    with pytest.raises(UsageError, match="it takes too long"), open_store(path, seconds=0.05) as store:
        store._rows(endless)


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0" + b"x" * 5000, b"hello" * 1000])
def test_files_that_are_no_store(tmp_path: Path, content: bytes) -> None:
    """A file that is no database, or a broken one, is one clear error."""
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"cannot be read|no table"), open_store(path) as store:
        store.runs()
    with pytest.raises(UsageError, match="no such file"), open_store(tmp_path / "gone"):
        pass
    assert not is_store(tmp_path / "gone")
