"""Questions that broke or were fixed, and why: what was expected, where it went, and what took its place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal

from msgspec.structs import replace

from raggate.config.gate_settings import FLIP_AT
from raggate.gate.causes.cause_evidence import cause_evidence
from raggate.gate.causes.cause_wording import sentence
from raggate.gate.causes.causes import find_cause
from raggate.gate.causes.passages import Asked, of_chunk, place, unmatched
from raggate.models.comparison import CauseEvidence, Comparison, Flip
from raggate.models.golden import Case, Support
from raggate.models.metric_names import (
    ABSTENTION,
    ABSTENTION_ACCURACY,
    FALSE_ABSTENTION_RATE,
    HIT,
    RECALL_ALL,
    at_depth,
    family,
)
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL, UNANSWERABLE, CaseScore, Key, Scorecard, by_question, mostly
from raggate.models.verdict import GatedMetric, Verdict
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import first_answers

Pair = tuple[CaseScore, CaseScore]
"""A case before and now."""

NO_EVIDENCE = CauseEvidence()
"""Nothing is known beside a question's own answer."""


def find_flips(run: Run, pairs: Iterable[Pair], evidence: CauseEvidence = NO_EVIDENCE) -> tuple[Flip, ...]:
    """Find the cases found before and not now, or the other way round.

    A case counts as found when a gold support stands within `FLIP_AT`; a case with support groups when a whole group
    does; an unanswerable one when the API abstains. A question that a run did not come to, as it stopped before, is
    neither. Broken ones come first, must-pass and largest falls on top.
    """
    # the others are not looked up
    moved = {(new.mode, new.case_id): (old, new) for old, new in pairs if _standing(old) != _standing(new)}
    flips = []
    for item in first_answers(run, moved):
        failure = item.result.failure
        left = run.stopped is not None and failure is not None and failure.kind == "aborted"
        pair = moved[item.result.mode, item.case.id]
        flip = None if left else _flip(*pair, item, evidence)
        if flip is not None:
            flips.append(flip)
    return tuple(sorted(flips, key=_order))


def _standing(case: CaseScore) -> tuple[bool, ...]:
    return (
        _within(case.rank),
        _within(case.rank_all),
        mostly(case.values.get(ABSTENTION_ACCURACY)),
        _not_refused(case),
    )


def _not_refused(case: CaseScore) -> bool:
    value = case.values.get(FALSE_ABSTENTION_RATE)
    return value is not None and not mostly(value)


def find_fallen(run: Run, comparison: Comparison, decided: Verdict) -> tuple[Flip, ...]:
    """Describe cases that got worse in a gated metric, or must pass and do not, without having broken.

    Must-pass ones come first, then those that make the verdict red, each by the largest fall.
    """
    if comparison.baseline is None or run.stopped is not None:
        return ()
    broken = {(flip.mode, flip.case_id) for flip in comparison.broke}
    relabelled = frozenset(comparison.golden.relabelled)
    metrics = {**_worse(decided.rows), **{key: names[0] for key, names in decided.fell.items()}, **decided.missed}
    metrics = {key: metric for key, metric in metrics.items() if key not in broken}
    before, now = (
        by_question(case for case in side.cases if (case.mode, case.case_id) in metrics)
        for side in (comparison.baseline.scorecard, comparison.scorecard)
    )
    several = {key for key in decided.missed if (case := now.get(key)) is not None and case.answers}
    answers = _several_answers(run, several)
    flips = []
    for item in first_answers(run, metrics):
        key = (item.result.mode, item.case.id)
        old, own, answer = before.get(key), now[key], item
        # ranks of a question that asked or expected something else tell no cause
        same = old if old is not None and old.hash == own.hash else None
        if key in decided.missed and own.answers:
            # of several answers one that counts against it
            number = first_miss(own)
            own, answer = own.answers[number], answers[key][number]
        asked = Asked(
            item=answer,
            metric=metrics[key],
            before=_rank(same, metrics[key]),
            after=_rank(own, metrics[key]),
            old=same,
            evidence=comparison.evidence or NO_EVIDENCE,
        )
        flip = _described("missed" if key in decided.missed else "fell", asked)
        flip = replace(flip, values=_values(same, own, metrics[key]))
        if old is None:
            flip = replace(flip, since="added")
        elif item.case.id in relabelled:
            flip = replace(flip, since="relabelled", before=_rank(old, metrics[key]))
        flips.append(flip)

    def order(flip: Flip) -> tuple[object, ...]:
        place = (flip.after is not None, flip.before or 0, flip.mode, flip.case_id)
        return (not flip.must_pass, not decided.is_red(flip), *place)

    return tuple(sorted(flips, key=order))


def _several_answers(run: Run, wanted: Collection[Key]) -> dict[Key, list[LabelledResult]]:
    answers: dict[Key, list[LabelledResult]] = {key: [] for key in wanted}
    for item in run.answers if wanted else ():
        if (key := (item.result.mode, item.case.id)) in answers:
            answers[key].append(item)
    return answers


def absent(run: Run, scorecard: Scorecard, modes: Collection[str]) -> Iterator[Flip]:
    """Describe the questions of some modes whose passage is not within a rank, compared with nothing."""
    below = {
        (case.mode, case.case_id): case
        for case in scorecard.cases
        if case.mode in modes and not all(_within(rank) for rank in (case.rank, case.rank_all))
    }
    nothing = replace(scorecard, cases=(), slices={}, fingerprint={})
    evidence = replace(cause_evidence(run, scorecard, nothing, ()), lists={})
    for item in first_answers(run, below):
        if not item.case.gold_supports:
            continue
        own = below[item.result.mode, item.case.id]
        metric = at_depth(RECALL_ALL if item.case.required_support_groups else HIT, FLIP_AT)
        rank = _rank(own, metric)
        if not _within(rank):
            flip = _described("absent", Asked(item=item, metric=metric, before=None, after=rank, evidence=evidence))
            why = f"is below rank {FLIP_AT}, where a question no longer counts as found"
            yield flip if rank is None else replace(flip, cause=None, why=why)


def _values(before: CaseScore | None, now: CaseScore, metric: str) -> tuple[float, float] | None:
    sides = [None if side is None else side.values.get(metric) for side in (before, now)]
    old, new = sides if metric in METRICS and METRICS[metric].of_answer else (None, None)
    return None if old is None or new is None else (old, new)


def _worse(rows: Sequence[GatedMetric]) -> dict[Key, str]:
    metrics: dict[Key, str] = {}
    for row in rows:
        if row.gated and row.delta.slice == OVERALL:
            for case in sorted(row.delta.fell):
                metrics.setdefault((row.delta.mode, case), row.delta.metric)
    return metrics


def _rank(case: CaseScore | None, metric: str) -> int | None:
    if case is None:
        return None
    return case.rank_all if family(metric) == RECALL_ALL else case.rank


def _order(flip: Flip) -> tuple[object, ...]:
    best = flip.before if flip.kind == "broke" else flip.after
    return (flip.kind, not flip.must_pass, best or 0, flip.mode, flip.case_id)


def _flip(old: CaseScore, new: CaseScore, item: LabelledResult, evidence: CauseEvidence) -> Flip | None:
    case = item.case
    before, after = old.rank, new.rank
    flag = FALSE_ABSTENTION_RATE if case.answerable else ABSTENTION_ACCURACY
    # an API that did not report yet whether it abstains has gained nothing by reporting it
    newly_reported = old.values.get(flag) is None and new.values.get(flag) is not None
    if not case.answerable:
        metric = ABSTENTION_ACCURACY
        was, now = mostly(old.values.get(metric)), mostly(new.values.get(metric))
    elif _within(old.rank) != _within(new.rank) or not case.required_support_groups:
        metric = at_depth(HIT, FLIP_AT)
        was, now = _within(old.rank), _within(new.rank)
    else:
        metric = at_depth(RECALL_ALL, FLIP_AT)
        before, after = old.rank_all, new.rank_all
        was, now = _within(before), _within(after)
    if was and now and case.answerable:
        # found as before, but refused: the user sees the refusal
        metric = FALSE_ABSTENTION_RATE
        was, now = map(_not_refused, (old, new))
    if was == now or (metric in ABSTENTION and newly_reported):
        return None
    asked = Asked(item=item, metric=metric, before=before, after=after, old=old, evidence=evidence)
    return _described("broke" if was else "fixed", asked)


def _described(kind: Literal["broke", "fixed", "fell", "missed", "absent"], asked: Asked) -> Flip:
    case, item, metric = asked.item.case, asked.item, asked.metric
    supports = _wanted(item, metric, asked.after)
    cause = None if kind == "fixed" else find_cause(asked)
    risen = None if kind == "fixed" or metric in ABSTENTION else asked.risen()
    return Flip(
        case_id=case.id,
        mode=item.result.mode,
        kind=kind,
        metric=metric,
        question=case.question,
        gold=_gold(case, supports),
        before=asked.before,
        after=asked.after,
        why="" if cause is None else sentence(cause),
        cause=cause,
        displaced_by=None if risen is None else of_chunk(risen),
        must_pass=case.must_pass,
        support=supports[0] if supports else None,
        trace_id=item.result.trace_id,
    )


def _within(rank: int | None) -> bool:
    return rank is not None and rank <= FLIP_AT


def _wanted(item: LabelledResult, metric: str, after: int | None) -> tuple[Support, ...]:
    if not item.case.answerable:
        return ()
    incomplete = family(metric) == RECALL_ALL and after is None
    return (unmatched(item) if incomplete else ()) or item.case.gold_supports


def _gold(case: Case, supports: Sequence[Support]) -> str:
    if not supports:
        return "(should abstain)"
    more = f" (+{len(supports) - 1} more)" if len(supports) > 1 else ""
    return place(supports[0], case) + more


def lacking(case: CaseScore) -> tuple[str, str] | None:
    """Return what a question that must pass lacks, and by which metric that is seen; None when it passes."""
    lacks = [_lack(answer) for answer in _answers(case)]
    missed = [lack for lack in lacks if lack is not None]
    if not missed:
        return None
    message, metric = missed[0]
    return f"{message} in {len(missed)} of {len(lacks)} answers" if len(lacks) > 1 else message, metric


def first_miss(case: CaseScore) -> int:
    """Return the place of the first answer, from 0, in which a question lacks something; 0 where none does."""
    places = (place for place, answer in enumerate(_answers(case)) if _lack(answer) is not None)
    return next(places, 0)


def _answers(case: CaseScore) -> tuple[CaseScore, ...]:
    return case.answers or (case,)


def _lack(case: CaseScore) -> tuple[str, str] | None:
    if case.failure is not None:
        message = "it was not asked" if case.failure == "aborted" else f"the call failed ({case.failure})"
        return message, at_depth(HIT, FLIP_AT)
    abstained = case.values.get(ABSTENTION_ACCURACY)
    if abstained is not None:
        return None if mostly(abstained) else ("the API answered and should have abstained", ABSTENTION_ACCURACY)
    if mostly(case.values.get(FALSE_ABSTENTION_RATE)):
        return "the API abstained", FALSE_ABSTENTION_RATE
    if UNANSWERABLE in case.slices:
        return "raggate does not read from the answers whether the API abstains", ABSTENTION_ACCURACY
    grouped = any(family(name) == RECALL_ALL and value is not None for name, value in case.values.items())
    rank = case.rank_all if grouped else case.rank
    if rank is not None and rank <= FLIP_AT:
        return None
    nothing = "not every needed passage is" if grouped else "nothing expected is"
    return f"{nothing} within rank {FLIP_AT}", at_depth(RECALL_ALL if grouped else HIT, FLIP_AT)
