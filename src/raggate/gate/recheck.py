"""A regression and what the base build answers today -> the verdict that is left of it. Pure.

The base build stands for the change's past: of the questions that count against the change, those that it fails as well
are no fault of the change. What is left of the loss decides once more, by the same policy. That can make a red verdict
one of which nothing can be told, never a pass: the base answered other questions than these by nothing but the past.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Set as AbstractSet
from functools import partial
from sys import maxsize

from msgspec.structs import replace

from raggate.config.gate_settings import Gate, Rule
from raggate.gate import wording
from raggate.gate.judged_metrics import is_judged
from raggate.gate.must_pass import lacking
from raggate.gate.noise import noisy
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.recheck import Recheck, RecheckOutcome
from raggate.models.scorecard import EPSILON, CaseScore, Direction, Scorecard, improvement, oriented
from raggate.models.verdict import GatedMetric, Reason, Verdict
from raggate.scoring.repeats import EACH_MODE
from raggate.text.numbers import counted

Key = tuple[str, str]
"""A question: mode and case id."""

Decide = Callable[[Scorecard, Baseline, Gate], Verdict]
"""Holds a scorecard against a baseline and decides by a policy."""


def against(verdict: Verdict) -> AbstractSet[Key]:
    """Name the questions that count against a change: worse in a metric that is red, or must pass and do not."""
    return frozenset((*verdict.fell, *verdict.missed))


def graded(verdict: Verdict) -> frozenset[Key]:
    """Name the questions that count against a change by grades of judges alone.

    Nobody grades what is asked again, so neither the base build nor a second answer says anything of these.
    """
    by_grades = {key for key, metrics in verdict.fell.items() if all(map(is_judged, metrics))}
    return frozenset(by_grades - verdict.missed.keys())


def standing(verdict: Verdict) -> str:
    """Say of how many questions the loss stands, whatever is answered again; empty where that is none."""
    number = len(graded(verdict))
    if not number:
        return ""
    verb = "counts by grades" if number == 1 else "count by grades"
    loss = "its loss stands" if number == 1 else "their loss stands"
    questions = counted(number, "more question") + each_mode(graded(verdict))
    return f"; {questions} {verb} of judges alone, and as what is asked again is not graded, {loss}"


def checked(recheck: Recheck, first: Verdict) -> Recheck:
    """Take of what was asked the questions that something can be told of."""
    keys = against(first) - graded(first)
    return replace(recheck, asked=tuple(key for key in recheck.asked if key in keys))


def held_against_base(first: Verdict, recheck: Recheck, comparison: Comparison, gate: Gate, decide: Decide) -> Verdict:
    """Decide again with the base's own answers of today in place of those in the baseline.

    Args:
        recheck: what the base build answered to the questions that count against the change.
        decide: decides by other numbers, with everything else as for the first verdict.
    """
    baseline = comparison.baseline
    if baseline is None or not (recheck.base or recheck.problem):
        return first
    recheck = checked(recheck, first)
    if recheck.problem:
        outcome = RecheckOutcome(asked=len(recheck.asked), problem=recheck.problem)
        return _red(first, outcome, "not-rechecked", f"not checked on the base build: {recheck.problem}")
    measured = _by_key(comparison.scorecard)
    answers = _answers(recheck, measured, directions(comparison))
    fails = failing(first, recheck, comparison, gate)
    outcome = RecheckOutcome(
        build=recheck.build,
        asked=len(recheck.asked),
        failing=len(fails),
        unanswered=len(recheck.asked) - len(answers),
    )
    message = _counts(outcome, modes=each_mode(recheck.asked)) + standing(first)
    today = _today(baseline, answers, measured, directions(comparison))
    scorecard = _without_must_pass(comparison.scorecard, fails & first.missed.keys())
    if not fails or _still_red(scorecard, today, gate, decide):
        red = _red(first, outcome, "rechecked", message)
        return replace(red, sentences=(*first.sentences, *shared(fails, recheck.asked)), cleared=fails)
    left = "" if fails >= set(recheck.asked) else ", and what is left would not be red"
    noise = ", or it is the API's noise" if noisy(comparison) else ""
    cause = f"{message}{left}: the baseline is stale or the environment changed{noise}"
    reasons = (Reason("base-fails-too", cause), *first.reasons)
    sentences = wording.headline("cannot tell", reasons, comparison, first.warnings)
    return replace(
        first, outcome="cannot tell", reasons=reasons, sentences=sentences, fell={}, missed={}, recheck=outcome
    )


def shared(fails: Collection[Key], asked: Collection[Key]) -> tuple[str, ...]:
    """Say for the headline how many questions are no fault of the change alone, each once; nothing where none is."""
    number = len({case for _, case in fails} - {case for _, case in set(asked) - set(fails)})
    verb = "fails" if number == 1 else "fail"
    return (f"Of the questions that count against the change {number} {verb} on the base build too.",) if number else ()


def failing(first: Verdict, recheck: Recheck, comparison: Comparison, gate: Gate) -> frozenset[Key]:
    """Name the questions that count against the change and that the base build answers no better each time."""
    recheck = checked(recheck, first)
    measured = _by_key(comparison.scorecard)
    answers = _answers(recheck, measured, directions(comparison))
    fails = (key for key, score in answers.items() if _fails(key, score, measured[key], first, comparison, gate))
    return frozenset(fails)


def red_without(
    fails: AbstractSet[Key],
    scorecard: Scorecard,
    baseline: Baseline,
    first: Verdict,
    ways: Mapping[str, Direction],
    gate: Gate,
    decide: Decide,
) -> bool:
    """Return whether a run is red where these questions, which the base build fails too, are no loss."""
    measured = _by_key(scorecard)
    # held to what the change answers itself, they neither lose nor gain, but for grades, of which the base has none
    today = _today(baseline, {key: _without_grades(measured[key]) for key in fails}, measured, ways)
    return _still_red(_without_must_pass(scorecard, fails & first.missed.keys()), today, gate, decide)


def _without_grades(score: CaseScore) -> CaseScore:
    return replace(score, values={name: value for name, value in score.values.items() if not is_judged(name)})


def _by_key(scorecard: Scorecard) -> dict[Key, CaseScore]:
    return {(case.mode, case.case_id): case for case in scorecard.cases}


def _red(first: Verdict, outcome: RecheckOutcome, code: str, message: str) -> Verdict:
    """Keep a regression, and tell how it was checked."""
    return replace(first, reasons=(*first.reasons, Reason(code, message)), recheck=outcome)


def each_mode(keys: Collection[Key]) -> str:
    """Say that questions are counted in each mode, where one of them is in several; with a space before."""
    return EACH_MODE if len({case for _, case in keys}) < len(keys) else ""


def _counts(outcome: RecheckOutcome, *, modes: str) -> str:
    asked = counted(outcome.asked, "question")
    verb = "counts" if outcome.asked == 1 else "count"
    silent = f" ({outcome.unanswered} of them got no answer there)" if outcome.unanswered else ""
    every = f"all {asked}" if outcome.asked > 1 else f"the {asked}"
    failing = every if outcome.failing == outcome.asked else f"{outcome.failing or 'none'} of the {asked}"
    return (
        f"the base build ({outcome.build}), asked in the same job, fails {failing} that {verb} against the "
        f"change{modes}{silent}"
    )


def _still_red(scorecard: Scorecard, today: Baseline, gate: Gate, decide: Decide) -> bool:
    again = decide(scorecard, today, gate)
    limits = {row.delta.metric for row in again.rows if _base_is_beyond(row)}
    if again.outcome == "regression" and limits:
        again = decide(scorecard, today, _without_limits(gate, limits))
    return again.outcome == "regression"


def _without_must_pass(scorecard: Scorecard, released: AbstractSet[Key]) -> Scorecard:
    cases = (
        replace(case, must_pass=False) if (case.mode, case.case_id) in released else case for case in scorecard.cases
    )
    return replace(scorecard, cases=tuple(cases))


def _answers(
    recheck: Recheck, measured: Mapping[Key, CaseScore], ways: Mapping[str, Direction]
) -> dict[Key, CaseScore]:
    """Take what tells something of the base: a call that failed there alone may be anybody's fault.

    Of several answers to a question each metric has the best: what the base fails, it fails every time.
    """
    answers: dict[Key, CaseScore] = {}
    for score in (score for asked in recheck.base for score in asked):
        key = (score.mode, score.case_id)
        own = measured.get(key)
        same = own is not None and own.hash == score.hash and key in recheck.asked
        if own is not None and same and (score.failure is None or own.failure is not None):
            answers[key] = _best(answers[key], score, ways) if key in answers else score
    return answers


def _best(first: CaseScore, second: CaseScore, ways: Mapping[str, Direction]) -> CaseScore:
    values = {}
    for name, value in first.values.items():
        known = [item for item in (value, second.values.get(name)) if item is not None]
        way = ways.get(name, "higher")
        values[name] = max(known, key=partial(oriented, way)) if known else None
    better = min((first, second), key=lambda score: (score.failure is not None, score.rank or maxsize))
    return replace(better, values=values)


def _fails(key: Key, base: CaseScore, own: CaseScore, first: Verdict, comparison: Comparison, gate: Gate) -> bool:
    """Whether the base answers a question no better than the change, by what it counts against the change for."""
    if key in first.missed:
        return lacking(base, gate.flip_at) is not None
    ways = directions(comparison)
    sides = ((name, base.values.get(name), own.values.get(name)) for name in first.fell[key])
    return all(
        before is not None and after is not None and improvement(ways.get(name, "higher"), before, after) >= -EPSILON
        for name, before, after in sides
    )


def directions(comparison: Comparison) -> dict[str, Direction]:
    """Say for each metric which way is better."""
    return {delta.metric: delta.current.direction for delta in comparison.deltas}


def _today(
    baseline: Baseline,
    answers: Mapping[Key, CaseScore],
    measured: Mapping[Key, CaseScore],
    directions: Mapping[str, Direction],
) -> Baseline:
    """Put the base's answers of today where the baseline has those of its own day, for what counts as lost alone."""
    cases = {(case.mode, case.case_id): case for case in baseline.scorecard.cases}
    for key, base in answers.items():
        own, stored = measured[key], cases.get(key)
        if stored is None or stored.hash != own.hash:
            # one that was added or relabelled since has no value of its own there
            stored = base
        values = {
            name: _before(directions.get(name, "higher"), value, base.values.get(name), own.values.get(name))
            for name, value in stored.values.items()
        }
        cases[key] = replace(stored, values=values)
    return replace(baseline, scorecard=replace(baseline.scorecard, cases=tuple(cases.values())))


def _before(direction: Direction, stored: float | None, base: float | None, own: float | None) -> float | None:
    """Return the value that a question is held to: the base's, but never so low that its loss becomes a gain."""
    if stored is None or base is None or own is None or improvement(direction, stored, own) >= -EPSILON:
        return stored
    return base if improvement(direction, own, base) > 0 else own


def _base_is_beyond(row: GatedMetric) -> bool:
    """Return whether a metric that is beyond its limit is so with the base's answers too."""
    before = row.delta.baseline
    if row.status != "below floor" or row.floor is None or before.value is None:
        return False
    return improvement(before.direction, row.floor, before.value) < -EPSILON


def _without_limits(gate: Gate, metrics: AbstractSet[str]) -> Gate:
    rules: dict[str, Rule] = {}
    for name in metrics:
        rule = gate.rule(name)
        if rule is not None:
            rules[name] = rule.model_copy(update={"floor": None, "ceiling": None})
    return gate.model_copy(update={"metrics": {**gate.metrics, **rules}})
