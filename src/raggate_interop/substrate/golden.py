"""Golden sets of substrate: queries.json and corpus.jsonl in, queries, documents and raggate cases out.

`queries.json` is an object with `queries` or a bare array. A query needs no id: it is known by its text and the mode it
is asked in, so one text may stand twice when the modes differ. Keys beyond theirs are kept in `extra`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field
from msgspec.structs import replace
from pydantic import TypeAdapter

from raggate.base.errors import UsageError
from raggate.base.files import write_atomic
from raggate.base.quote import quoted
from raggate.config.question_settings import mode_name
from raggate.inputs.golden import complete
from raggate.models.golden import Case, Support
from raggate_interop.json_shapes import Text, check, typed
from raggate_interop.substrate.records import read_json, read_lines

DEFAULT_DIFFICULTY = "medium"
VERSION = "1.0"

_Grade = Annotated[int, Meta(ge=0, le=100)]
_LIST: TypeAdapter[Any] = TypeAdapter(list[dict[str, Any]])
_NOTE = ".md"
_INTENT = "intent="
_SCENARIO = "scenario="


class Query(Struct, frozen=True, kw_only=True):
    """One query of `queries.json`.

    `retriever_types` are modes under raggate's names, None for all. `relevance` grades documents, from 0 for judged and
    not relevant; without it all of `expected_docs` have grade 1. `id`, `notes`, `intent` and `scenario` are optional.
    """

    query: Text
    expected_docs: tuple[Text, ...]
    difficulty: Text = DEFAULT_DIFFICULTY
    retriever_types: tuple[Text, ...] | None = None
    id: Text | None = None
    relevance: dict[str, _Grade] | None = None
    notes: str | None = None
    intent: str | None = None
    scenario: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """Return the JSON object of the query, in the order of their keys, without those that say nothing."""
        named = {
            **({"id": self.id} if self.id is not None else {}),
            "query": self.query,
            "expected_docs": list(self.expected_docs),
            "difficulty": self.difficulty,
        }
        optional = {
            "retriever_types": None if self.retriever_types is None else list(self.retriever_types),
            "relevance": None if self.relevance is None else dict(self.relevance),
            "notes": self.notes,
            "intent": self.intent,
            "scenario": self.scenario,
        }
        return {**named, **{key: value for key, value in optional.items() if value is not None}, **self.extra}


_KNOWN = tuple(name for name in Query.__struct_fields__ if name != "extra")


class QuerySet(Struct, frozen=True, kw_only=True):
    """A whole `queries.json`. `version` is None for a bare array and for an object that has none."""

    queries: tuple[Query, ...]
    version: str | None = None
    description: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


class Document(Struct, frozen=True, kw_only=True):
    """One line of `corpus.jsonl`."""

    doc_id: Text
    title: str = ""
    body: str = ""
    frontmatter: dict[str, Any] = field(default_factory=dict)


def read_queries(path: Path) -> QuerySet:
    """Read a `queries.json` of either form."""
    value = read_json(path)
    wrapped = value if isinstance(value, dict) else {"queries": value}
    if "queries" not in wrapped or not isinstance(value, dict | list):
        raise UsageError(f"{path}: expected an array of queries, or an object with the key 'queries'")
    items = check(_LIST, wrapped["queries"], f"{path}: queries")
    if not items:
        raise UsageError(f"{path}: has no query")
    queries = tuple(_query(item, f"{path}: query {number}") for number, item in enumerate(items, 1))
    _refuse_repeated(queries, str(path))
    version, description = wrapped.get("version"), wrapped.get("description")
    return QuerySet(
        queries=queries,
        version=version if isinstance(version, str) and version.strip() else None,
        description=description if isinstance(description, str) else "",
        extra={key: kept for key, kept in wrapped.items() if key not in {"queries", "version", "description"}},
    )


def write_queries(path: Path, queries: QuerySet, *, bare: bool = False) -> None:
    """Write a `queries.json`; `bare` leaves the array alone, without version and description."""
    rows = [query.row() for query in queries.queries]
    head = {"version": queries.version or VERSION, "description": queries.description, **queries.extra}
    value: object = rows if bare else {**head, "queries": rows}
    write_atomic(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_corpus(path: Path) -> dict[str, Document]:
    """Read a `corpus.jsonl`: documents by id."""
    documents: dict[str, Document] = {}
    for place, value in read_lines(path):
        document = typed(Document, told(value), place)
        if documents.setdefault(document.doc_id, document) is not document:
            raise UsageError(f"{place}: doc_id {quoted(document.doc_id)} occurs twice")
    return documents


def told(value: object) -> object:
    """Return an object without the keys whose value is null, which stand for what is not said."""
    return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value


def _query(item: dict[str, Any], place: str) -> Query:
    known = {key: value for key, value in item.items() if key in _KNOWN}
    query = typed(Query, told(known), place)
    modes = query.retriever_types
    return replace(
        query,
        retriever_types=None if modes is None else tuple(dict.fromkeys(map(mode_name, modes))),
        extra={key: value for key, value in item.items() if key not in _KNOWN},
    )


def _refuse_repeated(queries: Sequence[Query], name: str) -> None:
    """Refuse two queries that results could not tell apart: the same text in the same mode, or the same id."""
    texts: dict[str, list[tuple[int, frozenset[str] | None]]] = {}
    ids: dict[str, int] = {}
    for number, query in enumerate(queries, 1):
        if query.id is not None and ids.setdefault(query.id, number) != number:
            raise UsageError(f"{name}: query {number}: id {quoted(query.id)} is already in {ids[query.id]}")
        modes = None if query.retriever_types is None else frozenset(query.retriever_types)
        for other, taken in texts.setdefault(query.query, []):
            if modes is None or taken is None or modes & taken:
                raise UsageError(
                    f"{name}: query {number}: {quoted(query.query, limit=80)} is already in {other}",
                    hint="Text and mode identify a query: give the two different retriever_types.",
                )
        texts[query.query].append((number, modes))


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
