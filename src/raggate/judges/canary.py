"""The canary set: answers that people graded, judged in every run, so that it is known what the judges are worth.

A frozen file of JSON lines: `id`, `score`, `question`, `answer`, `passages` (`source`, `text`), `references`,
`key_facts`, `rule`, `answerable`, the people's `value`, and `by`, who they are.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Annotated, get_args

from msgspec import Meta, Struct, convert
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.jsonio import loads, refuse_twice
from raggate.base.numbers import setting
from raggate.base.quote import cut, quoted
from raggate.config.judge_settings import JudgedScore
from raggate.judges.prompts import Material, Passage
from raggate.judges.scores import Panel, configured, names_of
from raggate.models.judging import CanaryAgreement, highest, scale_of
from raggate.models.run import Reference, Response
from raggate.scoring.agreement import weighted_kappa, weighted_kappa_interval
from raggate.scoring.metrics.citations import has_citation

MOST_BYTES = 16 << 20
"""The largest canary set that is read."""

_HINT = "docs/judges.md describes the file."

_KNOWN = names_of(get_args(JudgedScore))


class CanaryCase(Struct, frozen=True, kw_only=True):
    """An answer that people graded: which score, what of, and their grade on its scale."""

    id: str
    score: str
    material: Material
    value: float


class CanarySet(Struct, frozen=True, kw_only=True):
    """The canary set: its cases, and the hash of its content."""

    cases: tuple[CanaryCase, ...]
    hash: str


class _Passage(Struct, frozen=True, forbid_unknown_fields=True):
    text: str
    source: str = ""


class _Row(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1, max_length=200)]
    score: str
    question: str
    answer: str
    passages: list[_Passage] = []
    references: list[str] = []
    key_facts: list[str] = []
    rule: str = ""
    answerable: bool = True
    value: Annotated[float, Meta(ge=0, le=5)]
    by: Annotated[str, Meta(min_length=1)]


def read(data: bytes, name: str) -> CanarySet:
    """Read a canary set."""
    if len(data) > MOST_BYTES:
        raise UsageError(f"{name}: larger than {MOST_BYTES} bytes", hint=_HINT)
    cases: dict[tuple[str, str], CanaryCase] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            case = _case(line)
            if (case.score, case.id) in cases:
                raise ValueError(f"{quoted(case.id)} of {case.score} occurs twice: remove one")
        except ValueError as error:
            raise UsageError(f"{name}:{number}: {cut(error)}", hint=_HINT) from None
        cases[case.score, case.id] = case
    if not cases:
        raise UsageError(f"{name}: no questions", hint=_HINT)
    return CanarySet(cases=tuple(cases.values()), hash=hashlib.sha256(data).hexdigest())


def _case(line: bytes) -> CanaryCase:
    row = convert(loads(line), _Row)
    refuse_twice(line)
    if row.score not in _KNOWN:
        raise ValueError(f"score: expected one of {', '.join(_KNOWN)}, found {quoted(row.score)}")
    most = highest(row.score)
    if row.value > most or (scale_of(row.score) == "yes_no" and row.value not in {0, 1}):
        raise ValueError(f"value: {setting(row.value)} is no grade of {row.score}, from 0 to {setting(most)}")
    references = tuple(Reference(vault="", rel_path=path, heading_path="", chunk_index=0) for path in row.references)
    passages = enumerate(row.passages, 1)
    material = Material(
        question=row.question,
        answer=row.answer,
        passages=tuple(Passage(number=number, source=item.source, text=item.text) for number, item in passages),
        references=tuple(row.references),
        key_facts=tuple(row.key_facts),
        rule=row.rule,
        answerable=row.answerable,
        cites=bool(references) or has_citation(Response(chunks=(), answer=row.answer, references=references)),
    )
    return CanaryCase(id=row.id, score=row.score, material=material, value=row.value)


async def agreement(cases: Sequence[CanaryCase], panel: Panel) -> dict[str, CanaryAgreement]:
    """Have the judges grade what people graded, and say by score how far they agree.

    Only the scores that the panel gives are judged.
    """
    given = names_of(panel.scores)
    asked = [case for case in cases if case.score in given]
    grades = await asyncio.gather(*(_grade(case, panel) for case in asked))
    graded = list(zip(asked, grades, strict=True))
    scores = dict.fromkeys(case.score for case in asked)
    return {score: _agreement([pair for pair in graded if pair[0].score == score]) for score in scores}


async def _grade(case: CanaryCase, panel: Panel) -> float | None:
    alone = replace(panel, scores=(configured(case.score),))
    judgements = await alone.grade(case.material)
    return next(judgement.value for judgement in judgements if judgement.score == case.score)


def _agreement(graded: Sequence[tuple[CanaryCase, float | None]]) -> CanaryAgreement:
    judged = [(case, grade) for case, grade in graded if grade is not None]
    people, judges = [case.value for case, _ in judged], [grade for _, grade in judged]
    interval = weighted_kappa_interval(people, judges)
    return CanaryAgreement(
        cases=len(graded),
        judged=len(judged),
        # the same answer again, by whatever id, shows nothing more
        answers=len({case.material for case, _ in judged}),
        kappa=weighted_kappa(people, judges),
        low=None if interval is None else interval.lower,
        high=None if interval is None else interval.upper,
    )
