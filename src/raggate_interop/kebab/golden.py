"""kebab's golden YAML: bytes in, checked queries out, and back; queries become raggate cases and back."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated, Any, Literal

import yaml
from msgspec import Struct
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from raggate.base import yamlio
from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps
from raggate.base.numbers import counted
from raggate.base.quote import Problems, cut, nearest, problems_of, quoted
from raggate.inputs.golden import complete
from raggate.models.golden import Case

SHOWN_PROBLEMS = 10

Unlabelled = Literal["refuse-to-guess", "refusal", "skip"]

_TEXTS = ("id", "query", "lang")
_OPTIONAL = ("difficulty", "group")
_LISTS = ("expected_doc_ids", "expected_chunk_ids", "must_contain", "forbidden")
_SETS = ("expected_doc_ids", "expected_chunk_ids")


class GoldenQuery(BaseModel):
    """One entry of the golden YAML. `answerable` is raggate's own key, None when the entry does not say."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    id: Annotated[str, Field(min_length=1)]
    query: str
    lang: str = ""
    expected_doc_ids: Annotated[tuple[str, ...], Field(strict=False)] = ()
    expected_chunk_ids: Annotated[tuple[str, ...], Field(strict=False)] = ()
    must_contain: Annotated[tuple[str, ...], Field(strict=False)] = ()
    forbidden: Annotated[tuple[str, ...], Field(strict=False)] = ()
    difficulty: str | None = None
    group: str | None = None
    answerable: bool | None = None

    @property
    def labelled(self) -> bool:
        """Whether something says what a right answer is."""
        return bool(self.expected_doc_ids or self.expected_chunk_ids or self.must_contain)


_KEYS = (*GoldenQuery.model_fields, "should_refuse")


class GoldenFile(Struct, frozen=True, kw_only=True):
    """A golden YAML: its queries in file order, a hash of what they say, and what was ignored, each with its line."""

    name: str
    queries: tuple[GoldenQuery, ...]
    hash: str
    ignored: tuple[str, ...]


def read_golden(data: bytes, name: str) -> GoldenFile:
    """Read a golden YAML, as strictly as theirs does, and check that ids are unique and groups agree.

    Beside their keys an entry may say `answerable: false` or, the other way round, `should_refuse: true`.
    """
    document = yamlio.parse(data, name, max_bytes=yamlio.MAX_SUITE_BYTES)
    entries = [] if document.value is None else document.value
    if not isinstance(entries, list):
        raise UsageError(f"{name}: expected a list of queries", hint="Each entry starts with `- id: …`.")
    problems: list[str] = []
    ignored: list[str] = []
    queries: list[GoldenQuery] = []
    for index, entry in enumerate(entries):
        try:
            queries.append(_query(entry, (index,), document))
        except ValueError as error:
            problems += problems_of(error)
            continue
        ignored += _unknown_keys(entry, index, document)
    _raise_all(problems)
    if not queries:
        raise UsageError(f"{name}: the golden set has no query")
    _raise_all([*_duplicates(queries, name), *_torn_groups(queries, name)])
    return GoldenFile(name=name, queries=tuple(queries), hash=digest(queries), ignored=tuple(ignored))


def digest(queries: Iterable[GoldenQuery]) -> str:
    """Hash what queries say; their order and the layout of the file do not count, nor does the order of ids."""
    entries = [
        {**query.model_dump(), **{name: sorted(set(getattr(query, name))) for name in _SETS}} for query in queries
    ]
    return hashlib.sha256(dumps(sorted(entries, key=lambda item: str(item["id"])))).hexdigest()[:16]


def check_ids(queries: Iterable[GoldenQuery], documents: Collection[str], chunks: Collection[str]) -> None:
    """Check that every labelled document and chunk is in the index."""
    queries = list(queries)
    lost_documents = sorted({name for query in queries for name in query.expected_doc_ids if name not in documents})
    lost_chunks = sorted({name for query in queries for name in query.expected_chunk_ids if name not in chunks})
    parts = [
        f"missing {kind}: {', '.join(cut(name, limit=64) for name in names)}"
        for kind, names in (("doc_ids", lost_documents), ("chunk_ids", lost_chunks))
        if names
    ]
    if parts:
        raise UsageError(
            f"the golden set names ids that the index does not have: {'; '.join(parts)}",
            hint="Ids change with chunker and text. Label again, or index the same notes.",
        )


def write_golden(queries: Iterable[GoldenQuery]) -> bytes:
    """Write a golden YAML that `read_golden` reads back to equal queries. kebab ignores the key `answerable`."""
    entries = []
    for query in queries:
        entry = query.model_dump(exclude_defaults=True)
        entries.append({key: list(value) if isinstance(value, tuple) else value for key, value in entry.items()})
    text = yaml.dump(entries, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1000)
    return text.encode()


def to_cases(golden: GoldenFile, *, unlabelled: Unlabelled = "refuse-to-guess") -> tuple[Case, ...]:
    """Make raggate cases.

    Args:
        unlabelled: what a query is that has no labels and does not say `answerable`. `refusal` is kebab's own
            convention, `skip` leaves it out, the default asks for a decision.
    """
    undecided = [query for query in golden.queries if query.answerable is None and not query.labelled]
    if undecided and unlabelled == "refuse-to-guess":
        names = ", ".join(cut(query.id, limit=60) for query in undecided[:SHOWN_PROBLEMS])
        one, several = "has no labels and does not say", "have no labels and do not say"
        which = f"{counted(len(undecided), 'query', 'queries')} {one if len(undecided) == 1 else several}"
        raise UsageError(
            f"{golden.name}: {which} whether to refuse {'it' if len(undecided) == 1 else 'them'}: {names}",
            hint="Add `answerable: false` or labels to each. kebab itself ignores that key.",
        )
    skipped = {query.id for query in undecided} if unlabelled == "skip" else set()
    kept = [query for query in golden.queries if query.id not in skipped]
    wrong = [
        f"{golden.name}: {quoted(query.id)} "
        + (
            "is not answerable, but has expected ids: remove one of them"
            if query.answerable is False
            else "is answerable, but has no labels"
        )
        for query in kept
        if (query.answerable is False and (query.expected_doc_ids or query.expected_chunk_ids))
        or (query.answerable is True and not query.labelled and not query.forbidden)
    ]
    _raise_all(wrong)
    return tuple(complete(_case(query)) for query in kept)


def from_case(case: Case) -> GoldenQuery:
    """Make a golden query of a case; keys that kebab has no word for are dropped."""
    # what raggate writes for kebab has the path of a note in place of an id
    whole = [support.rel_path for support in case.gold_supports if support.rel_path and support.heading_path is None]
    return GoldenQuery(
        id=case.id,
        query=case.question,
        lang=case.lang or "",
        expected_doc_ids=case.expected_doc_ids or tuple(dict.fromkeys(whole)),
        expected_chunk_ids=case.expected_chunk_ids,
        must_contain=case.must_contain,
        forbidden=case.forbidden,
        difficulty=case.difficulty,
        group=case.group,
        answerable=case.answerable,
    )


class _Dumper(yaml.SafeDumper):
    """Quotes what another YAML version might take for something else than text."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Dumper.add_representer(str, _represent_text)


def _query(entry: object, path: yamlio.Path, document: yamlio.Document) -> GoldenQuery:
    if not isinstance(entry, dict):
        raise ValueError(f"{document.name}:{document.line(path)}: expected a mapping with 'id' and 'query'")
    refuse = entry.get("should_refuse")
    if refuse is not None and (not isinstance(refuse, bool) or entry.get("answerable") not in (None, not refuse)):
        where = f"{document.name}:{document.line((*path, 'should_refuse'))}"
        raise ValueError(f"{where}: should_refuse: expected true or false, and not the same as 'answerable'")
    fields = {
        key: _as_text(key, value, (*path, key), document)
        for key, value in entry.items()
        if key in GoldenQuery.model_fields
    }
    try:
        query = GoldenQuery.model_validate(fields)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        raise Problems(
            *(yamlio.explain(document, (*path, *problem["loc"]), problem, _KEYS) for problem in problems)
        ) from None
    return query if refuse is None else query.model_copy(update={"answerable": not refuse})


def _as_text(key: str, value: object, path: yamlio.Path, document: yamlio.Document) -> object:
    """Return what kebab reads where its type is text: the letters of the file, also of a number, a date or `null`."""
    if key in _LISTS and isinstance(value, list):
        return [_letters(item, (*path, index), document) for index, item in enumerate(value)]
    if key in _TEXTS or (key in _OPTIONAL and value is not None):
        return _letters(value, path, document)
    return value


def _letters(value: object, path: yamlio.Path, document: yamlio.Document) -> object:
    return document.texts.get(path, value) if not isinstance(value, str | list | dict) else value


def _unknown_keys(entry: dict[str, Any], index: int, document: yamlio.Document) -> list[str]:
    notes = []
    for key in entry:
        if key not in _KEYS:
            close = nearest(key, _KEYS)
            advice = f". Did you mean {close!r}?" if close else ""
            notes.append(f"{document.name}:{document.line((index, key))}: key {quoted(key)} is ignored{advice}")
    return notes


def _duplicates(queries: Sequence[GoldenQuery], name: str) -> list[str]:
    ids = [query.id for query in queries]
    twice = sorted({query_id for query_id in ids if ids.count(query_id) > 1}) if len(set(ids)) < len(ids) else []
    return [f"{name}: duplicate query ids: {', '.join(cut(query_id, limit=60) for query_id in twice)}"] if twice else []


def _torn_groups(queries: Sequence[GoldenQuery], name: str) -> list[str]:
    groups: dict[str, list[GoldenQuery]] = {}
    for query in queries:
        if query.group is not None:
            groups.setdefault(query.group, []).append(query)
    problems = []
    for group, members in sorted(groups.items()):
        odd = [query.id for query in members if set(query.expected_doc_ids) != set(members[0].expected_doc_ids)]
        if odd:
            examples = ", ".join(cut(query_id, limit=60) for query_id in odd[:SHOWN_PROBLEMS])
            first = cut(members[0].id)
            problems.append(f"{name}: group {quoted(group)}: other expected_doc_ids than {first!r}: {examples}")
    return problems


def _case(query: GoldenQuery) -> Case:
    return Case(
        id=query.id,
        question=query.query,
        answerable=query.labelled if query.answerable is None else query.answerable,
        difficulty=query.difficulty or "medium",
        group=query.group,
        lang=query.lang or None,
        expected_doc_ids=query.expected_doc_ids,
        expected_chunk_ids=query.expected_chunk_ids,
        must_contain=query.must_contain,
        forbidden=query.forbidden,
    )


def _raise_all(problems: list[str]) -> None:
    if problems:
        more = [f"… and {len(problems) - SHOWN_PROBLEMS} more"] if len(problems) > SHOWN_PROBLEMS else []
        raise UsageError(problems[:SHOWN_PROBLEMS] + more, hint="docs/systems/kebab.md describes every key.")
