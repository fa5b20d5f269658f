"""Reviews of what is met less often, each decided as a check decides it: by the run's own configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from builders import make_config, make_failure, make_golden, make_labelled, make_result
from raggate.gate.evaluation import evaluate_run
from raggate.models.baseline import Baseline
from raggate.models.judging import (
    Canary,
    CanaryAgreement,
    Coverage,
    Judgement,
    Judging,
    JudgingSummary,
    Spending,
    Usage,
)
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import CaseScore
from raggate.models.verdict import Recheck, ReportContext, Review
from raggate.scoring.score import score
from reviews import CUTOFFS, NOTES, QUESTIONS, answer, baseline_of, good, others, run_of

INVARIANTS = {"notes_exist": "off", "index_complete": "off", "list_deep_enough": "off"}
EARLIER = "20260101_000000"


def settings(**keys: Any) -> Any:
    return make_config(score={"k": [*CUTOFFS]}, **{"invariants": INVARIANTS, **keys})


def now(items: Sequence[LabelledResult], *, keys: Mapping[str, Any] | None = None, **fields: Any) -> Run:
    return run_of(items, config=settings(**(keys or {})), run_id="20260102_030405", **fields)


def judged(run: Run, before: Baseline, **context: Any) -> Review:
    return evaluate_run(run, score(run, CUTOFFS), before, context=ReportContext(**context))


@cache
def usual() -> Baseline:
    return earlier()


def earlier(items: Sequence[LabelledResult] | None = None, **fields: Any) -> Baseline:
    return baseline_of(run_of(good() if items is None else items, run_id=EARLIER, **fields))


def lost(*numbers: int) -> list[LabelledResult]:
    """Answer all questions well but for these."""
    items = good()
    for number in numbers:
        items[number] = answer(QUESTIONS[number], *others())
    return items


def unanswered(*numbers: int) -> list[LabelledResult]:
    """Answer all questions well but for these, whose calls fail."""
    items = good()
    for number in numbers:
        case = QUESTIONS[number]
        items[number] = make_labelled(case, make_result(case.id, failure=make_failure(message="no answer within 60 s")))
    return items


@cache
def must_pass_alone() -> Review:
    """A question that must pass is lost; its loss alone is within every tolerance."""
    return judged(now(lost(7)), usual())


def _graded(items: Sequence[LabelledResult], grade: float, low: int = 0) -> dict[str, Any]:
    """Return the fields of a run whose answers judges graded, so many of them lower by two."""
    summary = JudgingSummary(
        scores={
            "groundedness": Coverage(
                expected=len(items),
                judged=len(items) - 1,
                reasons={"timeout": 1},
                usage=Usage(replies=len(items), input_tokens=90000, output_tokens=4000, usd=0.12),
            )
        },
        canary=Canary(
            hash="h",
            scores={"groundedness": CanaryAgreement(cases=24, judged=24, kappa=0.8, low=0.7, high=0.9)},
        ),
    )
    results = [
        replace(item, judgements=(Judgement(score="groundedness", value=grade - 2 * (place < low)),))
        for place, item in enumerate(items)
    ]
    judges = {"models": [{"model": "small", "build": "b1"}], "scores": ["groundedness"]}
    spending = Spending(calls=27, retries=1, tokens=94000, usd=0.12)
    return {
        "items": results,
        "fingerprint": {"judges": judges, "judging": summary.stored()},
        "judging": Judging(mode="auto", spending=spending),
    }


@cache
def judged_run() -> Review:
    """Answers were graded by a judge that agrees with people, and half of them are graded lower."""
    gate = {"gate": {"metrics": {"groundedness": 0.3}}}
    return judged(now(**_graded(good(), 4.5, low=12), keys=gate), earlier(**_graded(good(), 4.5)))


@cache
def second_suite() -> Review:
    """Another suite of the same pull request."""
    return judged(now(lost(1, 2, 3, 4), suite="handbook"), earlier(suite="handbook"))


@cache
def interrupted() -> Review:
    """The job was cancelled after four questions."""
    items = [*good()[:4], *(_not_asked(item) for item in good()[4:])]
    return judged(now(items, stopped="interrupted after 4 of 26 calls", interrupted=True), usual())


def _not_asked(item: LabelledResult) -> LabelledResult:
    failure = make_failure("aborted", message="not asked")
    return make_labelled(item.case, make_result(item.case.id, failure=failure))


@cache
def waiver_expired() -> Review:
    """A waiver has expired, and nothing else is wrong."""
    waiver = {"metric": "hit_at_5", "owner": "search team", "reason": "the new chunker is on its way"}
    return judged(now(good(), keys={"waivers": [{**waiver, "expires": "2026-01-01"}]}), usual())


@cache
def older_than_the_vault() -> Review:
    """The baseline is of older notes, and four months old."""
    notes = {**NOTES, "work/n00.md": "2", "work/new.md": "1"}
    return judged(now(good(), fingerprint={"notes": notes}), earlier(started="2025-09-01T08:00:00Z"))


@cache
def vault_refused() -> Review:
    """The notes changed, which `on_vault_change: refuse` does not accept."""
    notes = {**NOTES, "work/n00.md": "2"}
    gate = {"gate": {"on_vault_change": "refuse"}}
    return judged(now(good(), fingerprint={"notes": notes}, keys=gate), usual())


@cache
def calls_failed() -> Review:
    return judged(now(unanswered(1, 2, 3, 4, 5), log=("search: deadline exceeded",)), usual())


@cache
def asked_otherwise() -> Review:
    """The baseline was asked for ten chunks, the run for five."""
    return judged(now(good()), earlier(fingerprint={"k": 10}))


@cache
def other_questions() -> Review:
    """Most questions of the baseline are not asked any more."""
    return judged(now(good()[:8]), usual())


@cache
def questions_gone() -> Review:
    """Two questions of the baseline are not in the golden set any more."""
    return judged(now(good()[2:]), usual())


@cache
def mode_gone() -> Review:
    """The baseline knows a mode that is no longer asked."""
    second = [replace(item, result=replace(item.result, mode="vector")) for item in good()]
    return judged(now(good()), earlier([*good(), *second], fingerprint={"modes": ["hybrid", "vector"]}))


@cache
def answers_lost() -> Review:
    """A question of the golden set has no result."""
    return judged(now(good()[:-1], golden=make_golden(*(item.case for item in good()))), usual())


@cache
def nothing_asked() -> Review:
    """The golden set has no question."""
    return judged(now([], golden=make_golden()), usual())


@cache
def documents_missing() -> Review:
    """The index holds fewer documents of the same notes."""
    return judged(now(good(), fingerprint=_index(28, 214)), earlier(fingerprint=_index(31, 214)))


@cache
def index_smaller() -> Review:
    """The index holds fewer chunks of the same notes, cut the same way, and does not count its documents."""
    return judged(now(good(), fingerprint=_index(None, 120)), earlier(fingerprint=_index(None, 214)))


def _index(documents: int | None, chunks: int) -> dict[str, Any]:
    return {"vault": "v1", "documents": documents, "chunks": chunks, "chunker_version": "1"}


@cache
def field_gone() -> Review:
    """The API returned the vector score of each chunk, and does not any more."""
    return judged(now(good()), earlier([_with_vector_scores(item) for item in good()]))


def _with_vector_scores(item: LabelledResult) -> LabelledResult:
    response = item.result.response
    if response is None:
        return item
    chunks = tuple(replace(chunk, score_vector=chunk.score_final) for chunk in response.chunks)
    return replace(item, result=replace(item.result, response=replace(response, chunks=chunks)))


KEYS = tuple(("hybrid", QUESTIONS[number].id) for number in (1, 2, 3, 4))


def _scores(items: Sequence[LabelledResult]) -> tuple[CaseScore, ...]:
    scored = score(run_of(items), CUTOFFS).cases
    return tuple(case for case in scored if (case.mode, case.case_id) in KEYS)


@cache
def base_fails_too() -> Review:
    """What broke is broken on the build before the change too."""
    recheck = Recheck(asked=KEYS, build="commit 0123456789ab", base=(_scores(lost(1, 2, 3, 4)),))
    return judged(now(lost(1, 2, 3, 4)), usual(), recheck=recheck)


@cache
def checked_on_the_base() -> Review:
    """What broke is found by the build before the change."""
    recheck = Recheck(asked=KEYS, build="commit 0123456789ab", base=(_scores(good()),))
    return judged(now(lost(1, 2, 3, 4)), usual(), recheck=recheck)


@cache
def not_confirmed() -> Review:
    """What broke came back in part when it was asked again."""
    again = (_scores(lost(1)), _scores(good()))
    recheck = Recheck(asked=KEYS, build="commit 0123456789ab", base=(_scores(good()),) * 2, again=again)
    return judged(now(lost(1, 2, 3, 4)), usual(), recheck=recheck)


@cache
def part_of_the_file() -> Review:
    """The suite asks some questions of its golden set, and nothing got worse."""
    whole = make_golden(*(item.case for item in good()))
    return judged(now(good(), golden=replace(whole, name="golden/eval_set.jsonl", part_of=20_000)), usual())


SITUATIONS = {
    "must-pass-alone": must_pass_alone,
    "judged": judged_run,
    "second-suite": second_suite,
    "interrupted-run": interrupted,
    "waiver-expired": waiver_expired,
    "older-than-the-vault": older_than_the_vault,
    "checked-on-the-base": checked_on_the_base,
    "vault-refused": vault_refused,
    "calls-failed": calls_failed,
    "asked-otherwise": asked_otherwise,
    "other-questions": other_questions,
    "questions-gone": questions_gone,
    "mode-gone": mode_gone,
    "answers-lost": answers_lost,
    "nothing-asked": nothing_asked,
    "documents-missing": documents_missing,
    "index-smaller": index_smaller,
    "field-gone": field_gone,
    "base-fails-too": base_fails_too,
    "not-confirmed": not_confirmed,
    "part-of-the-file": part_of_the_file,
}
