"""The golden set: JSON Lines in, checked cases with content hashes out. A bad line is an error, never skipped."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from raggate.base import yamlio
from raggate.base.errors import FileProblems, Problem, UsageError
from raggate.base.headings import elements
from raggate.base.jsonio import MERGE_MARKERS, as_dict, dumps, loads, refuse_twice
from raggate.base.numbers import counted
from raggate.base.quote import Problems, cut, nearest, problems_of, quoted, suggestion
from raggate.base.yamlio import Path
from raggate.config.question_settings import MUST_PASS, TAG, asked_in
from raggate.models.golden import Case, Golden, Selection, Support, digest, with_hash

MAX_BYTES = 1 << 30
MAX_LINE_BYTES = 1 << 20
MAX_CASES = 1_000_000

RecencyRule = Literal["cite_newer", "acknowledge_both", "cite_both"]
_Text = Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
_Label = Annotated[str, Field(min_length=1, max_length=200, pattern=r"\S")]
_Group = Annotated[list[int], Field(min_length=1)]

# a default that is made, as one that is written down would be copied for every row
_EMPTY: Any = Field(default_factory=list)
_RULED = ("multi_hop", "recency/conflict")
RECENCY_RULES = ("cite_newer", "acknowledge_both", "cite_both")
"""What a case of category `recency/conflict` may demand."""
SHOWN_PROBLEMS = 10

_ALWAYS = frozenset(("id", "question", "answerable", "gold_supports"))
_DEFAULTS = as_dict(Case(id="", question="", answerable=True))
_NO_SUPPORT = as_dict(Support(rel_path=""))


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_empty(cls, row: Any) -> Any:
        # the sources write null, [] and nothing at all for the same thing
        if not isinstance(row, dict) or None not in row.values():
            return row
        lists = {name for name, field in cls.model_fields.items() if field.default_factory is list}
        return {key: value for key, value in row.items() if value is not None or key not in lists}


class _PlaceRow(_Row):
    rel_path: _Text | None = None
    doc_id: _Label | None = None
    chunk_id: _Label | None = None
    heading_path: _Text | None = None
    vault: _Label | None = None


class _SupportRow(_PlaceRow):
    snippets: list[_Text] = _EMPTY
    grade: Annotated[int, Field(ge=1, le=100)] = 1


class _CaseRow(_Row):
    id: _Label
    question: _Text
    answerable: bool
    expected_key_facts: list[str] = _EMPTY
    gold_supports: list[_SupportRow] = _EMPTY
    not_relevant: list[_PlaceRow] = _EMPTY
    required_support_groups: Annotated[list[_Group], Field(min_length=1)] | None = None
    recency_conflict_rule: RecencyRule | None = None
    tags: list[_Label] = _EMPTY
    vaults: list[_Label] = _EMPTY
    folders: list[_Label] = _EMPTY
    category: _Label = "factual"
    difficulty: _Label = "medium"
    group: _Label | None = None
    retriever_types: list[_Label] | None = None
    must_pass: bool = False
    k: Annotated[int, Field(ge=1, le=1000)] | None = None
    detail: Literal["brief", "normal", "detailed"] | None = None
    expected_doc_ids: list[_Label] = _EMPTY
    expected_chunk_ids: list[_Label] = _EMPTY
    must_contain: list[_Text] = _EMPTY
    forbidden: list[_Text] = _EMPTY
    lang: _Label | None = None


_INNER: dict[str, type[_Row]] = {"gold_supports": _SupportRow, "not_relevant": _PlaceRow}


def load(data: bytes | Iterable[bytes], name: str, *, rules: bool = True, snippets: bool = True) -> Golden:
    """Read a golden set.

    Args:
        rules: whether the rules between the keys of a case must hold; a run directory keeps what was scored.
        snippets: whether those of gold supports are read. Without them a case is hashed as if it had none.
    """
    problems, cases = list[Problem](), list[Case]()
    lines_of: dict[str, int] = {}
    for number, line in _lines(io.BytesIO(data) if isinstance(data, bytes) else data, name):
        try:
            case = read_case(line, number, rules=rules, snippets=snippets)
        except ValueError as error:
            problems += [Problem(name, number, problem) for problem in problems_of(error)]
            continue
        if (first := lines_of.setdefault(case.id, number)) != number:
            twice = f"id {quoted(case.id)} is already in line {first}"
            problems.append(Problem(name, number, f"{twice}: rename or remove one"))
        cases.append(case)
    if not cases and not problems:
        raise UsageError(
            f"{name}: the golden set has no question", hint="Add at least one question, one JSON per line."
        )
    refuse_problems("invalid-golden", problems)
    return Golden(name=name, cases=tuple(cases), hash=digest(cases))


def _lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, without their ends, each with its number."""
    size = cases = 0
    for number, line in enumerate(lines, 1):
        size += len(line)
        if size > MAX_BYTES:
            raise UsageError(f"{name}: expected at most {MAX_BYTES} bytes")
        own = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).removesuffix(b"\n")
        if own.strip():
            cases += 1
            if cases > MAX_CASES:
                raise UsageError(f"{name}: expected at most {counted(MAX_CASES, 'case')}, found more")
            yield number, own


def written(whole: Golden) -> Iterator[bytes]:
    """Write a golden set line by line. Questions of a part keep the numbers of their lines: the others are blank."""
    number = 0
    for case in whole.cases:
        if whole.part_of is not None and case.line > number + 1:
            yield b"\n" * (case.line - number - 1)
            number = case.line - 1
        yield write_case(case)
        number += 1


def write_case(case: Case) -> bytes:
    """Write a case as one line that `load` reads back to an equal case, but for its line number."""
    return dumps(row_of(case)) + b"\n"


def row_of(case: Case) -> dict[str, Any]:
    """Return a case by the keys of its line, without those that have their default."""
    values = {key: value for key, value in as_dict(case).items() if key not in {"hash", "line"}}
    row = {key: value for key, value in values.items() if key in _ALWAYS or value != _DEFAULTS[key]}
    if "modes" in row:
        row["retriever_types"] = row.pop("modes")
    own = () if case.gold_supports == _derived(case) else case.gold_supports
    row["gold_supports"] = [_support_row(support) for support in own]
    if case.not_relevant:
        row["not_relevant"] = [_support_row(place) for place in case.not_relevant]
    return row


def _support_row(support: Support) -> dict[str, Any]:
    row = {key: value for key, value in as_dict(support).items() if value != _NO_SUPPORT[key]}
    # of a place that does not answer, the grade says so, and no key of the file
    return row if support.grade else {key: value for key, value in row.items() if key != "grade"}


def read_case(line: bytes, number: int, *, rules: bool = True, snippets: bool = True) -> Case:
    """Read one line of a golden set; the `ValueError` of a bad one has an argument for each problem."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"the line has {len(line)} bytes, expected at most {MAX_LINE_BYTES}")
    if line.startswith(MERGE_MARKERS):
        raise ValueError("unresolved merge conflict: keep the questions of one side or both, and commit again")
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"not valid UTF-8 at byte {error.start} of the line: save the file as UTF-8") from None
    try:
        value = loads(line)
    except ValueError as error:
        raise ValueError(f"not valid JSON: {error}") from None
    refuse_twice(line)
    if not isinstance(value, dict):
        raise ValueError(f"expected a JSON object, found {yamlio.one_line(value, limit=40)}")
    prefix = f"question {quoted(value['id'])}: " if isinstance(value.get("id"), str) else ""
    try:
        row = _CaseRow.model_validate(value, strict=True)
    except ValidationError as error:
        raise Problems(*(prefix + text for text in _explain(error))) from None
    case = _to_case(row, number, snippets=snippets)
    names = (_broken_name(key, index, place) for key in _INNER for index, place in enumerate(getattr(row, key)))
    broken = next(filter(None, names), None) or (broken_rule(case) if rules else None)
    if broken:
        raise ValueError(prefix + broken)
    return case


def _explain(error: ValidationError) -> list[str]:
    texts = []
    for problem in error.errors(include_url=False)[:SHOWN_PROBLEMS]:
        model = _INNER.get(str(problem["loc"][0]), _CaseRow) if len(problem["loc"]) > 1 else _CaseRow
        texts.append(yamlio.sentence(problem["loc"], problem, tuple(model.model_fields)))
    return texts


def _to_case(row: _CaseRow, number: int, *, snippets: bool) -> Case:
    same = row.model_dump(exclude={*_INNER, "required_support_groups", "retriever_types"})
    fields: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in same.items()}
    groups = row.required_support_groups
    case = Case(
        **fields,
        gold_supports=tuple(
            _to_support(support, support.grade, support.snippets if snippets else ()) for support in row.gold_supports
        ),
        not_relevant=tuple(_to_support(place, 0) for place in row.not_relevant),
        required_support_groups=None if groups is None else tuple(map(tuple, groups)),
        modes=tuple(row.retriever_types or ()) or None,
        line=number,
    )
    return complete(case)


def _to_support(row: _PlaceRow, grade: int, snippets: Sequence[str] = ()) -> Support:
    place = row.model_dump(include=set(_PlaceRow.model_fields))
    return Support(**{**place, "rel_path": row.rel_path or ""}, grade=grade, snippets=tuple(snippets))


def complete(case: Case) -> Case:
    """Return a case that was put together its derived parts: supports for ids, and the content hash."""
    return with_hash(case if case.gold_supports else replace(case, gold_supports=_derived(case)))


def _derived(case: Case) -> tuple[Support, ...]:
    chunks = tuple(Support(rel_path="", chunk_id=name) for name in dict.fromkeys(case.expected_chunk_ids))
    return chunks or tuple(Support(rel_path="", doc_id=name) for name in dict.fromkeys(case.expected_doc_ids))


def _broken_name(key: str, index: int, support: _PlaceRow) -> str | None:
    """Return what is wrong with the place that a support or an irrelevant passage names, if anything."""
    where = f"{key}[{index}]"
    names = [name for name in ("rel_path", "doc_id", "chunk_id") if getattr(support, name) is not None]
    if not names:
        return f"key '{where}.rel_path' is missing: add it, or doc_id or chunk_id instead"
    if len(names) > 1:
        return f"{where}: {' and '.join(names)} cannot be combined: keep one of them"
    beside = [name for name in ("heading_path", "snippets", "vault") if getattr(support, name, None)]
    if names != ["rel_path"] and beside:
        return f"{where}.{beside[0]} belongs to rel_path, not to {names[0]}: remove it"
    return None


def broken_rule(case: Case) -> str | None:
    """Return which rule between the keys of a case is broken, if any."""
    count = len(case.gold_supports)
    groups = case.required_support_groups
    if case.answerable and not count and not (case.must_contain or case.forbidden):
        return "answerable, but gold_supports is empty: add a gold support, or set answerable to false"
    if not case.answerable and count:
        return "not answerable, but gold_supports is not empty: remove it, or set answerable to true"
    gold = {place_key(support) for support in case.gold_supports}
    for index in (index for index, place in enumerate(case.not_relevant) if place_key(place) in gold):
        return f"not_relevant[{index}] is a gold support too: remove it from one of them"
    for index in (index for group in groups or () for index in group if not 0 <= index < count):
        return f"required_support_groups: expected indexes from 0 to {count - 1} into gold_supports, found {index}"
    if case.category == "multi_hop" and groups is None:
        return "category is multi_hop: add required_support_groups"
    conflict, rule = case.category == "recency/conflict", case.recency_conflict_rule
    if conflict and rule is None:
        return f"category is recency/conflict: add recency_conflict_rule, one of {', '.join(RECENCY_RULES)}"
    if rule is not None and not conflict:
        return f"recency_conflict_rule needs category 'recency/conflict', found category {quoted(case.category)}"
    if groups is None and not conflict and (meant := _meant(case.category)):
        # misspelt, it would leave its rule behind without a word
        return f"category {quoted(case.category)} has no rule. Did you mean {meant!r}, which has one?"
    return None


@lru_cache(maxsize=1_000)  # a golden set has few categories
def _meant(category: str) -> str | None:
    return nearest(category, _RULED, cutoff=0.8)


def place_key(support: Support) -> tuple[str | tuple[str, ...] | None, ...]:
    """Return what tells a place from others, however its headings are spaced."""
    path = elements(support.heading_path or "")
    return (support.vault, support.rel_path, path, support.chunk_id, support.doc_id)


def check_must_pass_asked(golden: Golden, modes: Sequence[str]) -> None:
    """See that what must pass is asked in one of these modes."""
    for case in golden.cases:
        if case.must_pass and not any(asked_in(case.modes, mode) for mode in modes):
            named = ", ".join(map(cut, case.modes or ()))
            raise UsageError(
                f"{golden.name}:{case.line}: question {quoted(case.id)} must pass, but is never asked. It is for "
                f"{named}, and ask.modes has {', '.join(modes)}.",
                hint="Add its mode to ask.modes, or change its `retriever_types` or `must_pass`.",
            )


def refuse_problems(check: str, problems: Sequence[Problem]) -> None:
    """Refuse a golden set with the first of its problems, if it has any; `check` is what `raggate lint` calls them."""
    if problems:
        shown = problems[:SHOWN_PROBLEMS]
        hint = "docs/golden-set.md describes every key."
        raise FileProblems(check, shown, more=len(problems) - len(shown), hint=hint)


Refuse = Callable[[Path, str], UsageError]
"""Makes the error of what is wrong with a key of the configuration."""


def asked_of(golden: Golden, selection: Selection | None) -> Golden:
    """Return a golden set with the questions of a partial run alone; its hash stays that of the whole one."""
    if selection is None:
        return golden
    asked = frozenset(selection.asked)
    return replace(golden, cases=tuple(case for case in golden.cases if case.id in asked), part_of=None)


def part_of(whole: Golden, questions: Sequence[str], refuse: Refuse) -> Golden:
    """Return the golden set of a suite: all of it, or the questions that its configuration chooses, in order."""
    if not questions:
        return whole
    known = dict.fromkeys(tag for case in whole.cases for tag in case.tags)
    kept = tuple(case for case in whole.cases if chosen(case, questions))
    for index, choice in enumerate(questions):
        tag = choice.removeprefix(TAG)
        if choice != MUST_PASS and tag not in known:
            text = f"no question of {whole.name} has the tag {quoted(tag)}{suggestion(tag, known)}"
            raise refuse(("questions", index), text)
    if not kept:
        text = (
            f"none of the {counted(len(whole.cases), 'question')} of {whole.name} is chosen, so nothing would be asked"
        )
        raise refuse(("questions",), text)
    if len(kept) == len(whole.cases):
        return whole
    return replace(whole, cases=kept, hash=digest(kept), part_of=len(whole.cases))


def chosen(case: Case, questions: Collection[str]) -> bool:
    """Return whether a question is one of a suite. Nothing but the question itself has a say."""
    return (case.must_pass and MUST_PASS in questions) or any(f"{TAG}{tag}" in questions for tag in case.tags)
