"""Golden sets through every format and back: what is not named as lost is equal."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case, make_chunk, make_result, make_support
from here import called
from invoked import ended
from raggate.base.errors import UsageError
from raggate.cli.main import run_command
from raggate.inputs import golden
from raggate.models.golden import Case
from raggate.scoring import score
from raggate.scoring.metrics import METRICS
from raggate_interop.convert import FORMATS, PRAGMATA, Options, convert, read
from raggate_interop.convert_command import SOURCES, TARGETS, convert as command
from raggate_interop.kebab.golden import GoldenFile, GoldenQuery
from raggate_interop.results import Converted
from raggate_interop.substrate.golden import Query, QuerySet
from raggate_interop.trec_beir.golden_graded import Graded
from tries import tried

TOKEN = st.text("abcdef-_.ä0129", min_size=1, max_size=8)
WORDS = st.text("ab >:#'\"{}äß😀\u202e%", min_size=1, max_size=20).map(str.strip).filter(bool)
IDS = st.lists(TOKEN | st.sampled_from(["a.md", "x/b.md"]), unique=True, max_size=3).map(tuple)
GRADES = st.dictionaries(TOKEN, st.integers(-1, 120), min_size=1, max_size=3)


def unique(items: list[Any]) -> tuple[Any, ...]:
    """Keep one of each id."""
    return tuple({item.id: item for item in items}.values())


KEBAB = st.lists(
    st.builds(
        GoldenQuery,
        id=TOKEN,
        query=WORDS,
        lang=st.sampled_from(["", "de"]),
        expected_doc_ids=IDS,
        expected_chunk_ids=IDS,
        must_contain=st.lists(WORDS, max_size=1).map(tuple),
        difficulty=st.sampled_from([None, "hard"]),
        answerable=st.none(),
    ).map(lambda query: query.model_copy(update={"answerable": query.labelled})),
    min_size=1,
    max_size=4,
).map(lambda items: GoldenFile(name="g", queries=unique(items), hash="", ignored=()))
SUBSTRATE = st.lists(
    st.builds(
        Query,
        query=TOKEN,
        expected_docs=IDS,
        difficulty=st.sampled_from(["easy", "fusion"]),
        retriever_types=st.sampled_from([None, ("bm25", "vector")]),
        id=st.none() | TOKEN,
        relevance=st.none() | st.dictionaries(TOKEN, st.integers(0, 3), max_size=2),
        notes=st.none() | WORDS,
        intent=st.none() | WORDS,
        scenario=st.none() | WORDS,
        extra=st.dictionaries(st.sampled_from(["owner"]), TOKEN),
    ),
    min_size=1,
    max_size=4,
    unique_by=(lambda query: query.query, lambda query: query.id or query.query),
).map(lambda items: QuerySet(queries=tuple(items)))
GRADED = st.dictionaries(TOKEN, st.tuples(WORDS, GRADES), min_size=1, max_size=4).map(
    lambda items: Graded(
        queries={name: text for name, (text, _) in items.items()},
        qrels={name: grades for name, (_, grades) in items.items()},
    )
)
NATIVE = {"kebab": KEBAB, "substrate": SUBSTRATE, "substrate-array": SUBSTRATE, "trec": GRADED, "beir": GRADED}


def go(source: Path, target: Path, there: str, to: str, **changes: Any) -> Converted:
    """Convert with the topics of TREC files beside them."""
    options = {"topics": source.with_suffix(".topics"), "topics_out": target.with_suffix(".topics"), **changes}
    return convert(
        source, target, from_format=there, to_format=to, options=Options(**options), strict=False, overwrite=False
    )


@pytest.mark.parametrize("name", sorted(NATIVE))
@given(data=st.data())
@tried(8)
def test_a_format_comes_back_equal_where_nothing_was_reported(name: str, data: st.DataObject) -> None:
    """A -> raggate -> A says the same of every case that neither conversion has a note about."""
    native = data.draw(NATIVE[name])
    with TemporaryDirectory() as directory:
        start, middle, end = (Path(directory) / part for part in ("start", "middle", "end"))
        form = FORMATS[name](Options(topics=start.with_suffix(".topics"), topics_out=start.with_suffix(".topics")))
        try:
            form.save(native, start)
            ways = (go(start, middle, name, "raggate"), go(middle, end, "raggate", name))
        except UsageError as error:
            assert "no case" in error.message or "would be no" in error.message  # noqa: PT017
            return
        back = FORMATS[name](Options(topics=end.with_suffix(".topics")))
        before, after = form.rows(native), back.rows(back.load(end)[0])
    named = {note.case for way in ways for note in (*way.lost, *way.filled)}
    for case_id, row in before.items():
        if case_id not in named:
            assert after[case_id] == row


def write(path: Path, *content: Case) -> Path:
    """Write a golden set."""
    path.write_bytes(b"".join(map(golden.write_case, content)))
    return path


def summary(conversion: Converted) -> list[tuple[str, str, str]]:
    """Return what was lost, as case, key and kind."""
    return [(note.case, note.key, note.kind) for note in conversion.lost]


def test_expected_documents_that_are_notes_go_to_helloworld_and_back(tmp_path: Path) -> None:
    """A path of a note is the whole note: no query is refused on the way there, and none is lost on the way back."""
    queries = [
        {"query": f"{level} {number}", "expected_docs": [f"LabelFiles/{level}{number}.md"], "difficulty": level}
        for level in ("easy", "medium", "hard", "fusion")
        for number in range(6)
    ]
    (tmp_path / "q.json").write_text(json.dumps(queries))
    there = go(tmp_path / "q.json", tmp_path / "g.jsonl", "substrate", "helloworld")
    assert (there.cases, there.written, summary(there)) == (24, 24, [])
    rows = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text().splitlines()]
    assert rows[0]["gold_supports"] == [{"rel_path": "LabelFiles/easy0.md"}]
    back = go(tmp_path / "g.jsonl", tmp_path / "back.json", "helloworld", "substrate-array")
    assert (back.written, summary(back)) == (24, [])
    again = json.loads((tmp_path / "back.json").read_text())
    assert [{key: query[key] for key in queries[0]} for query in again] == queries


@pytest.mark.parametrize("unit", ["document", "chunk"])
@pytest.mark.parametrize("grade", [1, 2])
def test_a_graded_golden_set_scores_what_the_api_names(tmp_path: Path, unit: str, grade: int) -> None:
    """A response that begins with the judged document or chunk scores 1, whatever its grade and its path."""
    (tmp_path / "a").write_text(f"q1 0 d1 {grade}\nq1 0 d2 {grade}\n")
    (tmp_path / "a.topics").write_text("q1\tWhat?\n")
    assert go(tmp_path / "a", tmp_path / "g", "trec", "raggate", unit=unit).lost == ()
    (case,) = golden.load((tmp_path / "g").read_bytes(), "g").cases
    chunks = [
        make_chunk(name if unit == "chunk" else f"c{name}", rel_path=f"notes/{name}.md", doc_id=name)
        for name in ("d1", "d2")
    ]
    item = score.label(case, make_result(case.id, *chunks))
    assert METRICS["hit"].function(item, 1) == 1
    assert METRICS["ndcg"].function(item, 2) == 1


@pytest.mark.parametrize("name", ["trec", "beir"])
def test_a_query_without_a_relevant_document_is_named(tmp_path: Path, name: str) -> None:
    """A query whose judgements are all 0 becomes one to abstain from, which is no silent default: strict refuses."""
    graded = Graded(queries={"q1": "A?", "q2": "B?"}, qrels={"q1": {"d1": 1}, "q2": {"d1": 0}})
    options = Options(topics=tmp_path / "a.topics", topics_out=tmp_path / "a.topics")
    FORMATS[name](options).save(graded, tmp_path / "a")
    conversion = go(tmp_path / "a", tmp_path / "g", name, "raggate")
    assert [case.answerable for case in golden.load((tmp_path / "g").read_bytes(), "g").cases] == [True, False]
    assert ("q2", "answerable", "changed") in summary(conversion)
    assert not [case for case, _, _ in summary(conversion) if case == "q1"]


def test_the_command_counts_what_is_in_the_target(tmp_path: Path) -> None:
    """Of four cases three name places that kebab cannot hold: the last line and the JSON say one of four."""
    cases = [make_case(f"q{index}", question=f"Q{index}?") for index in range(3)]
    held = golden.complete(Case(id="q", question="Q", answerable=True, expected_doc_ids=("d",)))
    source = write(tmp_path / "g.jsonl", held, *cases)
    flags = ("--from", "raggate", "--to", "kebab")
    assert ": 1 of 4 cases, 3 losses" in run(source, tmp_path / "a.yaml", *flags)[1]
    document = told(tmp_path, source, tmp_path / "b.yaml", *flags)
    assert (document["written"], document["cases"]) == (1, 4)
    assert "nothing written: 4 cases, 3 losses" in run(source, tmp_path / "c.yaml", *flags, "--strict")[1]


def test_trec_topics_in_blocks_are_read(tmp_path: Path) -> None:
    """Topics in TREC's `<top>` blocks give number and title; a topic without judgements is a case that is lost."""
    (tmp_path / "a").write_text("301 0 d1 1\n301 0 d2 0\n999 0 d1 1\n")
    (tmp_path / "a.topics").write_text(
        "<top>\n<num> Number: 301\n<title> Crime &amp;\n pay\n<desc> Description:\nx\n</top>\n"
        "<top>\n<num> Number: 302\n<title> Other\n</top>\n"
    )
    conversion = go(tmp_path / "a", tmp_path / "g", "trec", "raggate")
    (case,) = golden.load((tmp_path / "g").read_bytes(), "g").cases
    assert (case.id, case.question, case.expected_doc_ids) == ("301", "Crime & pay", ("d1",))
    assert summary(conversion) == [("301", "grades.d2", "dropped"), ("302", "", "dropped"), ("999", "", "dropped")]


def test_kebab_asks_for_a_decision_on_unlabelled_entries(tmp_path: Path) -> None:
    """An entry without labels is refused, taken for one to abstain from, or left out and named."""
    source = tmp_path / "g.yaml"
    source.write_text("- {id: a, query: A, expected_doc_ids: [d]}\n- {id: b, query: B, typo: 1}\n")
    with pytest.raises(UsageError, match="1 query has no labels"):
        go(source, tmp_path / "x", "kebab", "raggate")
    go(source, tmp_path / "refusal", "kebab", "raggate", unlabelled="refusal")
    assert [case.answerable for case in golden.load((tmp_path / "refusal").read_bytes(), "g").cases] == [True, False]
    conversion = go(source, tmp_path / "skip", "kebab", "raggate", unlabelled="skip")
    assert summary(conversion) == [("", "", "dropped"), ("b", "", "dropped")]
    assert "typo" in conversion.lost[0].message


LABELS = """record_uuid,query,chunk,chunk_id,chunk_rank,annotator_id,topically_relevant,evidence_sufficient,misleading
r1,What?,x,c1,1,ann,True,True,False
r1,What?,x,c1,1,bob,True,True,False
r1,What?,y,c2,2,ann,True,False,True
r1,What?,z,c3,3,ann,False,False,False
r2,Why?,z,c3,1,ann,False,False,False
"""
RECORDS = [
    {
        "query": "What?",
        "answer": "a",
        "context_set": "s",
        "language": "en",
        "chunks": [{"chunk_id": "c1", "doc_id": "d1", "chunk_rank": 1, "text": "x"}],
    }
]


def test_labels_of_pragmata_become_graded_chunks(tmp_path: Path) -> None:
    """A sufficient chunk has grade 2, one on topic grade 1; TREC keeps the grades, and records give documents."""
    (tmp_path / "labels.csv").write_text(LABELS)
    (tmp_path / "records.json").write_text(json.dumps(RECORDS))
    go(tmp_path / "labels.csv", tmp_path / "qrels", PRAGMATA, "trec", unit="chunk")
    assert (tmp_path / "qrels").read_text() == "r1 0 c1 2\nr1 0 c2 1\n"
    conversion = go(tmp_path / "labels.csv", tmp_path / "g", PRAGMATA, "raggate", records=tmp_path / "records.json")
    first, second = golden.load((tmp_path / "g").read_bytes(), "g").cases
    assert (first.expected_chunk_ids, first.expected_doc_ids, first.lang) == (("c1", "c2"), ("d1",), "en")
    assert (second.id, second.answerable) == ("r2", False)
    assert [(support.chunk_id, support.grade) for support in first.gold_supports] == [("c1", 2), ("c2", 1)]
    assert not [key for _, key, _ in summary(conversion) if key.startswith("gold_supports")]
    assert ("r1", "misleading", "dropped") in summary(conversion)
    assert ("r2", "answerable", "changed") in summary(conversion)
    with pytest.raises(UsageError, match="have no labels"):
        read(tmp_path / "records.json", PRAGMATA, Options())


def test_what_cannot_be_judged_is_not_written(tmp_path: Path) -> None:
    """Cases without a document make no qrels, ids with white space no TREC file, and nothing is left behind."""
    chunks = golden.complete(Case(id="q 1", question="Q", answerable=True, expected_chunk_ids=("c",)))
    source = write(tmp_path / "g.jsonl", chunks)
    for unit, expected in (("document", "no case has a label"), ("chunk", "white space")):
        with pytest.raises(UsageError, match=expected):
            go(source, tmp_path / "qrels", "raggate", "trec", unit=unit)
    assert [path.name for path in tmp_path.iterdir()] == ["g.jsonl"]


def test_what_the_reader_of_the_target_refuses_is_not_written(tmp_path: Path) -> None:
    """A group whose members expect different documents is an error in kebab, so the file is not written."""
    documents = [
        golden.complete(Case(id=name, question="Q", answerable=True, group="g", expected_doc_ids=(name,)))
        for name in ("a", "b")
    ]
    source = write(tmp_path / "g.jsonl", *documents)
    with pytest.raises(UsageError, match="own reader refuses the result"):
        go(source, tmp_path / "g.yaml", "raggate", "kebab")
    assert not (tmp_path / "g.yaml").exists()


run = partial(ended, command)


def told(at: Path, *arguments: str | Path) -> dict[str, Any]:
    """Run the command with --json; give its result."""
    done = called(lambda: run_command(["convert", *map(str, arguments), "--json"]), at=at, environment={})
    assert done.code == 0
    result: dict[str, Any] = json.loads(done.out)["result"]
    return result


def test_the_command_lists_losses_and_strict_writes_nothing(tmp_path: Path) -> None:
    """Losses are printed per case and key; with --strict the exit code is 2 and the target is not there."""
    hostile = "::error::x\u202e\x1b[31m"
    case = make_case("q1", gold_supports=(make_support("a.md", "# A"),), group=hostile)
    arguments = (write(tmp_path / "g.jsonl", case), tmp_path / "q.json", "--from", "raggate", "--to", "substrate-array")
    code, output = run(*arguments, "--strict")
    assert (code, (tmp_path / "q.json").exists()) == (2, False)
    assert 'dropped: q1: gold_supports[0].heading_path: "# A"' in output
    assert "nothing written: 1 case, 2 losses" in output
    assert not {"\x1b", "\u202e"} & set(output)
    assert told(tmp_path, *arguments)["lost"][0]["key"] == "group"
    assert isinstance(json.loads((tmp_path / "q.json").read_text()), list)
    with pytest.raises(UsageError, match="exists already"):
        run(*arguments)
    assert run(*arguments, "--force")[0] == 0


def test_the_command_offers_every_format() -> None:
    """The choices of the command are the formats that there are."""
    assert set(TARGETS) == set(FORMATS)
    assert set(SOURCES) == {*FORMATS, PRAGMATA}
