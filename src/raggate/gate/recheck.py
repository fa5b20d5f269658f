"""A regression and what the base build answers today -> the verdict that is left of it. Pure.

The base build stands for the change's past: of the questions that count against the change, those that it fails as well
are no fault of the change. What is left of the loss decides once more, by the same policy. That can make a red verdict
one of which nothing can be told, never a pass: the base answered other questions than these by nothing but the past.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from functools import partial
from sys import maxsize

from msgspec.structs import replace

from raggate.config.gate_settings import Gate, Rule
from raggate.gate import noise, wording
from raggate.gate.composite import same_questions
from raggate.gate.flips import lacking
from raggate.gate.judge_advice import is_judged
from raggate.gate.noise import noisy
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.metric_names import FALSE_ABSTENTION_RATE
from raggate.models.scorecard import EPSILON, CaseScore, Direction, Scorecard, improvement, mostly, oriented
from raggate.models.verdict import GatedMetric, Reason, Recheck, RecheckOutcome, Verdict
from raggate.scoring.repeats import EACH_MODE
from raggate.text.numbers import counted, often

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


def gained(verdict: Verdict, comparison: Comparison) -> frozenset[Key]:
    """Name the questions that got better in a gated metric, and do not count against the change."""
    metrics = {row.delta.metric for row in verdict.rows if row.gated}
    ways = directions(comparison)
    better = {
        key
        for key, (stored, own) in _compared(comparison).items()
        for name in metrics
        if _moved(ways.get(name, "higher"), stored.values.get(name), own.values.get(name)) > EPSILON
    }
    return frozenset(better - against(verdict))


def decided_again(first: Verdict, asked: Recheck, comparison: Comparison, gate: Gate, decide: Decide) -> Verdict:
    """Check a regression on the base build, and what is left of it by asking both builds again."""
    checked = held_against_base(first, asked, comparison, gate, decide)
    if checked.outcome != "regression":
        return checked
    return by_second_answers(checked, asked, comparison, gate, decide, failing(first, asked, comparison, gate))


def by_second_answers(
    first: Verdict,
    asked: Recheck,
    comparison: Comparison,
    gate: Gate,
    decide: Decide,
    failing: AbstractSet[Key] = frozenset(),
) -> Verdict:
    """Decide once more by what the flipped questions were answered when they were asked again.

    Args:
        first: the regression, as it stands after the base build was asked.
        asked: what both sides answered when asked again; the base side may be missing.
        decide: decides by other numbers, with everything else as for the first verdict.
        failing: the questions that the base build fails too; they alone confirm nothing, and dismiss nothing.

    Returns:
        The regression, where it is confirmed. Else a pass with loud warnings, as far as the noise of the baseline's own
        run explains it, metric by metric; where that is not known, or too small, a verdict that nothing can be told.
    """
    baseline = comparison.baseline
    if baseline is None or not asked.again:
        return first
    asked = checked(asked, first)
    before, after = _settled(asked, comparison)
    ways = directions(comparison)
    left = [key for key in asked.asked if key not in after or _still_lost(key, before, after, first, ways, gate)]
    outcome = replace(
        first.recheck or RecheckOutcome(asked=len(asked.asked)), times=len(asked.again), lost_again=len(left)
    )
    modes, too = each_mode(asked.asked), len(failing & set(left))
    message = _counts_of_confirmation(outcome, both=bool(asked.base), too=too, modes=modes) + standing(first)
    now, then = _with_cases(comparison.scorecard, after), _with_cases(baseline.scorecard, before)
    again = decide(now, replace(baseline, scorecard=then), gate)
    if again.outcome == "regression" or len(left) == len(asked.asked):
        shared = failing & set(left) if len(left) < len(asked.asked) else frozenset()
        today = replace(baseline, scorecard=then)
        if shared and not red_without(shared, now, today, first, ways, gate, decide):
            return _undecided(first, outcome, f"{message}, and what is left without these would not be red")
        told = replace(first, reasons=(*first.reasons, Reason("confirmed", message)), recheck=outcome)
        return _confirmed(told, set(asked.asked) - set(left), left)
    doubt = noise.doubt(_taken_back(first, comparison, gate, before, after, left), baseline)
    if doubt or again.outcome != "pass":
        return _undecided(first, outcome, f"{message}; that is no pass{f', as {doubt}' if doubt else ''}")
    return _passed(first, outcome, message)


def _confirmed(first: Verdict, back: AbstractSet[Key], left: Collection[Key]) -> Verdict:
    """Return the regression with its own sentences and rows: `back` came back, and `left` is lost."""
    came = len({case for _, case in back} - {case for _, case in left})
    less = f", but for {counted(came, 'question')} that came back as good as before" if came else ""
    sentences = (*first.sentences, f"Confirmed by asking again{less}.")
    return replace(first, sentences=sentences, cleared=first.cleared | back)


def _undecided(first: Verdict, outcome: RecheckOutcome, cause: str) -> Verdict:
    return replace(
        first,
        outcome="cannot tell",
        reasons=(Reason("not-confirmed", cause), *first.reasons),
        sentences=(f"No verdict is possible: {cause}.",),
        recheck=outcome,
    )


def _passed(first: Verdict, outcome: RecheckOutcome, message: str) -> Verdict:
    """Let it pass, with everything that made it red as a warning."""
    unconfirmed = (Reason("not-confirmed", f"not confirmed: {reason.message}") for reason in first.reasons)
    return replace(
        first,
        outcome="pass",
        reasons=(),
        warnings=(Reason("not-confirmed", message), *unconfirmed, *first.warnings),
        sentences=("Worse than allowed when first asked, and not confirmed.", f"{message[0].upper()}{message[1:]}."),
        fell={},
        missed={},
        recheck=outcome,
    )


def _taken_back(
    first: Verdict,
    comparison: Comparison,
    gate: Gate,
    before: Mapping[Key, CaseScore],
    after: Mapping[Key, CaseScore],
    left: Collection[Key],
) -> dict[tuple[str, str], float]:
    """Say by mode and metric how much less the questions lost, all together, than when they were first asked."""
    ways, watched = directions(comparison), _watched(first, gate)
    taken = dict.fromkeys(sorted(watched), 0.0)
    for key, (stored, own) in _compared(comparison).items():
        for name in (name for mode, name in taken if mode == key[0] and key in after):
            way = ways.get(name, "higher")
            lost = _moved(way, own.values.get(name), stored.values.get(name))
            rest = _moved(way, after[key].values.get(name), before[key].values.get(name))
            amount = max(lost, 0.0) - max(rest, 0.0)
            # one that must pass and passes now counts as a whole, whatever it had in the baseline
            missed = key not in left and first.missed.get(key) == name
            taken[key[0], name] += max(amount, 1.0 if missed else 0.0)
    return taken


def _watched(first: Verdict, gate: Gate) -> set[tuple[str, str]]:
    """Name what can be red, by mode and metric."""
    gated = {(row.delta.mode, row.delta.metric) for row in first.rows if row.gated}
    missed = {(mode, metric) for (mode, _), metric in first.missed.items()}
    tests = first.evidence.tests if first.evidence is not None and gate.policy != "threshold" else ()
    return gated | missed | {(test.mode, name) for test in tests for name in test.metrics}


def _counts_of_confirmation(outcome: RecheckOutcome, *, both: bool, too: int, modes: str) -> str:
    sides = "on both builds" if both else "on the change's build alone"
    verb = "counts" if outcome.asked == 1 else "count"
    fails_too = f", {too} of which the base build fails too" if too else ""
    return (
        f"this API is known to be noisy, so what flipped was asked again {often(outcome.times)} in a process of its "
        f"own, {sides}: {outcome.lost_again} of {counted(outcome.asked, 'question')} that {verb} against the "
        f"change{modes} did not come back as good as before each time{fails_too}"
    )


def _settled(asked: Recheck, comparison: Comparison) -> tuple[dict[Key, CaseScore], dict[Key, CaseScore]]:
    """Return both sides' scores of the flipped questions, as asking again leaves them."""
    ways = directions(comparison)
    # a call that failed is no noise of rankings: it stays lost
    pairs = {key: pair for key, pair in _compared(comparison).items() if pair[1].failure is None}
    base, again = _by_question(asked.base), _by_question(asked.again)
    before, after = {}, {}
    lost = {key for key in asked.asked if key in pairs}
    for key in (*asked.asked, *asked.gained):
        # a question that is refused when it is asked again did not come back
        refused = key in lost and any(_refused_since(pairs[key][0], score) for score in again.get(key, ()))
        if key in pairs and not refused and len(again.get(key, ())) == len(asked.again):
            before[key], after[key] = _both(pairs[key], base.get(key, ()), again[key], ways)
    return before, after


def _refused_since(stored: CaseScore, again: CaseScore) -> bool:
    name = FALSE_ABSTENTION_RATE
    return mostly(again.values.get(name)) and not mostly(stored.values.get(name))


def _both(
    pair: tuple[CaseScore, CaseScore],
    base: Sequence[CaseScore],
    again: Sequence[CaseScore],
    ways: Mapping[str, Direction],
) -> tuple[CaseScore, CaseScore]:
    """Settle one question: the base's mean against the change's worst, in each metric that moved."""
    stored, own = pair
    before, after = dict(stored.values), dict(own.values)
    answered = [score for score in base if score.failure is None]
    for name, was in stored.values.items():
        way, now = ways.get(name, "higher"), own.values.get(name)
        moved = _moved(way, was, now)
        later = [value for score in again if (value := score.values.get(name)) is not None]
        if was is None or not later or _stands(way, moved, now, later):
            continue
        known = [value for score in answered if (value := score.values.get(name)) is not None]
        mean = sum(known) / len(known) if known else was
        worst = min(later, key=lambda value: oriented(way, value))
        # what was lost can be no gain, and what was gained no loss
        settled = (min if moved < 0 else max)(worst, mean, key=lambda value: oriented(way, value))
        before[name], after[name] = mean, settled
    ranks = [score.rank for score in again]
    complete = [score.rank_all for score in again]
    return replace(stored, values=before), replace(
        own,
        values=after,
        rank=None if None in ranks else max(filter(None, ranks)),
        rank_all=None if None in complete else max(filter(None, complete)),
        failure=next((score.failure for score in again if score.failure is not None), None),
        answers=(),
    )


def _stands(way: Direction, moved: float, now: float | None, later: Sequence[float]) -> bool:
    """Return whether a metric is as it was measured: it did not move, or it is lost and was never better since."""
    return abs(moved) <= EPSILON or (moved < 0 and all(_moved(way, now, value) <= EPSILON for value in later))


def _still_lost(
    key: Key,
    before: Mapping[Key, CaseScore],
    after: Mapping[Key, CaseScore],
    first: Verdict,
    ways: Mapping[str, Direction],
    gate: Gate,
) -> bool:
    """Whether a question is lost after all: in any of the metrics it counts by, or as it must pass and does not."""
    if key in first.missed and lacking(after[key], gate.flip_at) is not None:
        return True
    sides = ((name, before[key].values.get(name), after[key].values.get(name)) for name in first.fell.get(key, ()))
    return any(_moved(ways.get(name, "higher"), was, now) < -EPSILON for name, was, now in sides)


def _compared(comparison: Comparison) -> dict[Key, tuple[CaseScore, CaseScore]]:
    """Return the scores in the baseline and in the run of the questions that are the same on both sides."""
    modes = dict.fromkeys(case.mode for case in comparison.scorecard.cases)
    return {(mode, own.case_id): (was, own) for mode in modes for was, own in same_questions(comparison, mode)}


def _by_question(rounds: Iterable[Sequence[CaseScore]]) -> dict[Key, list[CaseScore]]:
    scores: dict[Key, list[CaseScore]] = {}
    for asked in rounds:
        for score in asked:
            scores.setdefault((score.mode, score.case_id), []).append(score)
    return scores


def _moved(direction: Direction, before: float | None, after: float | None) -> float:
    return 0.0 if before is None or after is None else improvement(direction, before, after)


def _with_cases(scorecard: Scorecard, scores: Mapping[Key, CaseScore]) -> Scorecard:
    return replace(scorecard, cases=tuple(scores.get((case.mode, case.case_id), case) for case in scorecard.cases))
