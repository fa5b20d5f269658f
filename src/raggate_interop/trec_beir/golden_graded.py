"""Queries with graded judgements, as TREC and BEIR files hold them: files in and out, and as raggate cases and back.

A document with grade 1 or more answers the query. With `unit` chunk, what the files call a document is a chunk.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from raggate.base.errors import UsageError
from raggate.base.quote import quoted
from raggate.inputs.golden import complete
from raggate.models.golden import Case, Support
from raggate_interop.golden_rows import Note, note
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import open_binary, write_whole

Unit = Literal["document", "chunk"]
MAX_TOPICS_BYTES = 256 << 20
MAX_GRADE = 100
"""The largest grade of a golden set."""

_TOPIC = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.DOTALL | re.IGNORECASE)
_FIELD = re.compile(r"<(num|title)>(.*?)(?=<[a-z/]|\Z)", re.DOTALL | re.IGNORECASE)


class Graded(Struct, frozen=True, kw_only=True):
    """Queries in order, and the grade of each judged document per query."""

    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]


def read_trec(qrels: Path, topics: Path) -> Graded:
    """Read a qrels file with the topics it judges.

    Args:
        topics: a line `id<TAB>text` for each query, or the titles of TREC's `<top>` blocks.
    """
    return Graded(queries=_topics(topics), qrels=trec.read_qrels(qrels))


def write_trec(graded: Graded, qrels: Path, topics: Path) -> None:
    """Write a qrels file, and topics as lines `id<TAB>text`."""
    for name, text in graded.queries.items():
        if not name or any(sign.isspace() for sign in name):
            raise UsageError(f"id {quoted(name)} is empty or contains white space, which a topics file cannot express")
        if not text.strip() or text != text.strip() or set(text) & set("\t\r\n"):
            raise UsageError(
                f"question {quoted(name)}: it is blank, contains a tab or a line end, or begins or ends with "
                "white space, which a topics file cannot express"
            )
    with write_whole(topics) as stream:
        for name, text in graded.queries.items():
            stream.write(f"{name}\t{text}\n".encode())
    trec.write_qrels(qrels, graded.qrels.items())


def to_cases(graded: Graded, unit: Unit) -> tuple[Case, ...]:
    """Make a case of each query that is judged. One without a relevant document is one to abstain from."""
    return tuple(
        complete(_case(name, text, graded.qrels[name], unit))
        for name, text in graded.queries.items()
        if name in graded.qrels
    )


def from_cases(cases: Sequence[Case], unit: Unit) -> Graded:
    """Make queries of cases: a support becomes the document (or the chunk) it names, with its best grade."""
    qrels = {case.id: _grades(case, unit) for case in cases}
    return Graded(
        # a question that is answered by what has no name here would look like one to abstain from
        queries={case.id: case.question for case in cases if qrels[case.id] or not case.answerable},
        qrels={name: grades for name, grades in qrels.items() if grades},
    )


def rows(graded: Graded) -> dict[str, dict[str, Any]]:
    """Return what is said of each query, those included that are only judged."""
    names = dict.fromkeys((*graded.queries, *graded.qrels))
    return {
        name: {
            **({"question": graded.queries[name]} if name in graded.queries else {}),
            **({"grades": dict(graded.qrels[name])} if name in graded.qrels else {}),
        }
        for name in names
    }


def refused(graded: Graded, unit: Unit) -> tuple[Note, ...]:
    """Name the queries without a relevant judgement: `to_cases` makes them cases to abstain from."""
    why = f"no {unit} is relevant, so it became one to abstain from"
    return tuple(
        note(name, "answerable", "changed", why)
        for name in graded.queries
        if name in graded.qrels and all(grade <= 0 for grade in graded.qrels[name].values())
    )


def refuse_unjudged(graded: Graded, unit: Unit) -> None:
    """Refuse queries without any judgement, which would make every result list a miss."""
    if not graded.qrels:
        other = "chunk" if unit == "document" else "document"
        raise UsageError(
            f"no case names a {unit}, so there would be no judgements", hint=f"`--unit {other}` takes {other}s instead."
        )


def _case(name: str, text: str, grades: Mapping[str, int], unit: Unit) -> Case:
    relevant = {doc_id: min(grade, MAX_GRADE) for doc_id, grade in grades.items() if grade > 0}
    graded = any(grade != 1 for grade in relevant.values())
    supports = [
        Support(rel_path="", doc_id=doc_id, grade=grade)
        if unit == "document"
        else Support(rel_path="", chunk_id=doc_id, grade=grade)
        for doc_id, grade in relevant.items()
    ]
    return Case(
        id=name,
        question=text,
        answerable=bool(relevant),
        gold_supports=tuple(supports) if graded else (),
        expected_doc_ids=tuple(relevant) if unit == "document" else (),
        expected_chunk_ids=tuple(relevant) if unit == "chunk" else (),
    )


def _grades(case: Case, unit: Unit) -> dict[str, int]:
    named: dict[str, int] = {}
    for support in case.gold_supports:
        name = support.chunk_id if unit == "chunk" else support.doc_id or support.rel_path
        if name:
            named[name] = max(support.grade, named.get(name, 0))
    expected = case.expected_chunk_ids if unit == "chunk" else case.expected_doc_ids
    return {name: named.get(name, 1) for name in expected} if expected else named


def _topics(path: Path) -> dict[str, str]:
    with open_binary(path) as stream:
        data = stream.read(MAX_TOPICS_BYTES + 1)
    if len(data) > MAX_TOPICS_BYTES:
        raise UsageError(f"{path}: larger than {MAX_TOPICS_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 at byte {error.start}") from None
    topics = _blocks(text, path) if text.lstrip()[:5].lower() == "<top>" else _lines(text, path)
    if not topics:
        raise UsageError(f"{path}: has no topic")
    return topics


def _lines(text: str, path: Path) -> dict[str, str]:
    topics: dict[str, str] = {}
    # not splitlines: a question may hold the other line separators
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        name, tab, question = line.rstrip("\r").partition("\t")
        place = f"{path}:{number}"
        if not tab or not name.strip() or not question.strip():
            raise UsageError(f"{place}: expected an id, a tab and a question")
        _add(topics, name.strip(), question.strip(), place)
    return topics


def _blocks(text: str, path: Path) -> dict[str, str]:
    topics: dict[str, str] = {}
    for number, block in enumerate(_TOPIC.finditer(text), 1):
        fields = {match[1].lower(): " ".join(html.unescape(match[2]).split()) for match in _FIELD.finditer(block[1])}
        place = f"{path}: topic {number}"
        name = fields.get("num", "").removeprefix("Number:").strip()
        question = fields.get("title", "").removeprefix("Topic:").strip()
        if not name or not question:
            raise UsageError(f"{place}: expected <num> and <title>")
        _add(topics, name, question, place)
    return topics


def _add(topics: dict[str, str], name: str, question: str, place: str) -> None:
    if name in topics:
        raise UsageError(f"{place}: topic {quoted(name)} occurs twice")
    topics[name] = question
