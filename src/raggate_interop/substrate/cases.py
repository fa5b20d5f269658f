"""Queries of substrate as raggate cases and back."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from raggate.inputs.golden import complete
from raggate.models.golden import Case, Support
from raggate_interop.substrate.golden import Query, QuerySet

_NOTE = ".md"
_INTENT = "intent="
_SCENARIO = "scenario="


def to_cases(queries: QuerySet) -> tuple[Case, ...]:
    """Make cases of queries. Intent and scenario become the tags `intent=...` and `scenario=...`.

    A document whose name ends in `.md` is a note by its path, and becomes a support of the whole note.

    A query without an id gets one from its text. One that expects no document becomes unanswerable, as raggate has no
    answerable case without a label. The cases are in the order of the file.
    """
    cases: list[Case] = []
    taken: set[str] = {query.id for query in queries.queries if query.id is not None}
    for number, query in enumerate(queries.queries, 1):
        name = query.id or _id(query, taken)
        taken.add(name)
        cases.append(complete(_case(query, name, number)))
    return tuple(cases)


def from_cases(cases: Sequence[Case]) -> tuple[Query, ...]:
    """Make queries of cases, in order. A support becomes the document it names, with its best grade.

    Headings, snippets, and every key that queries do not have, are dropped.
    """
    return tuple(map(_to_query, cases))


def _case(query: Query, name: str, number: int) -> Case:
    tags = [f"{_INTENT}{query.intent}"] if query.intent else []
    tags += [f"{_SCENARIO}{query.scenario}"] if query.scenario else []
    graded = {doc_id: grade for doc_id, grade in (query.relevance or {}).items() if grade > 0}
    supports = {**dict.fromkeys(query.expected_docs, 1), **graded}
    # a path of a note is met by any of its sections, and other formats and the vault know it
    notes = any(name.endswith(_NOTE) for name in supports)
    return Case(
        id=name,
        question=query.query,
        answerable=bool(query.expected_docs or graded),
        gold_supports=tuple(_support(name, grade) for name, grade in supports.items())
        if notes or any(grade != 1 for grade in supports.values())
        else (),
        tags=tuple(tags),
        difficulty=query.difficulty,
        modes=query.retriever_types,
        expected_doc_ids=() if notes else query.expected_docs or tuple(supports),
        line=number,
    )


def _support(name: str, grade: int) -> Support:
    if name.endswith(_NOTE):
        return Support(rel_path=name, grade=grade)
    return Support(rel_path="", doc_id=name, grade=grade)


def _id(query: Query, taken: set[str]) -> str:
    """Name a query by its text; with its modes where the text occurs twice."""
    for text in (query.query, "\0".join([query.query, *(query.retriever_types or ())])):
        name = f"q-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        if name not in taken:
            return name
    raise AssertionError("read_queries refuses a text that occurs twice in one mode")


def _to_query(case: Case) -> Query:
    grades: dict[str, int] = {}
    for support in case.gold_supports:
        doc_id = support.doc_id or support.rel_path
        if doc_id:
            grades[doc_id] = max(support.grade, grades.get(doc_id, 0))
    documents = case.expected_doc_ids or tuple(grades)
    tagged = {prefix: _tag(case, prefix) for prefix in (_INTENT, _SCENARIO)}
    return Query(
        id=case.id,
        query=case.question,
        expected_docs=documents,
        difficulty=case.difficulty,
        retriever_types=case.modes,
        relevance=grades if any(grade != 1 for grade in grades.values()) else None,
        intent=tagged[_INTENT],
        scenario=tagged[_SCENARIO],
    )


def _tag(case: Case, prefix: str) -> str | None:
    return next((tag.removeprefix(prefix) for tag in case.tags if tag.startswith(prefix)), None)
