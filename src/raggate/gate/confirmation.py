"""A regression of an API that is known to be noisy, and its flips asked again -> what of it is confirmed. Pure.

A question that got worse counts as lost unless the change answers it as well as before every time it is asked again;
one that got better counts as gained only if it does so every time. Questions that did not move keep their values. So
what is always answered alike stays lost, and an API that answers well only the second time gains nothing by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import noise_allowance, recheck
from raggate.gate.composite import same_questions
from raggate.gate.must_pass import lacking
from raggate.gate.recheck import Decide, Key, against, directions
from raggate.models.comparison import Comparison
from raggate.models.metric_names import FALSE_ABSTENTION_RATE
from raggate.models.recheck import Recheck, RecheckOutcome
from raggate.models.scorecard import EPSILON, CaseScore, Direction, Scorecard, improvement, mostly, oriented
from raggate.models.verdict import Reason, Verdict
from raggate.text.numbers import counted, often


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
    checked = recheck.held_against_base(first, asked, comparison, gate, decide)
    if checked.outcome != "regression":
        return checked
    return by_second_answers(checked, asked, comparison, gate, decide, recheck.failing(first, asked, comparison, gate))


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
    asked = recheck.checked(asked, first)
    before, after = _settled(asked, comparison)
    ways = directions(comparison)
    left = [key for key in asked.asked if key not in after or _still_lost(key, before, after, first, ways, gate)]
    outcome = replace(
        first.recheck or RecheckOutcome(asked=len(asked.asked)), times=len(asked.again), lost_again=len(left)
    )
    modes, too = recheck.each_mode(asked.asked), len(failing & set(left))
    message = _counts(outcome, both=bool(asked.base), too=too, modes=modes) + recheck.standing(first)
    now, then = _with_cases(comparison.scorecard, after), _with_cases(baseline.scorecard, before)
    again = decide(now, replace(baseline, scorecard=then), gate)
    if again.outcome == "regression" or len(left) == len(asked.asked):
        shared = failing & set(left) if len(left) < len(asked.asked) else frozenset()
        today = replace(baseline, scorecard=then)
        if shared and not recheck.red_without(shared, now, today, first, ways, gate, decide):
            return _undecided(first, outcome, f"{message}, and what is left without these would not be red")
        told = replace(first, reasons=(*first.reasons, Reason("confirmed", message)), recheck=outcome)
        return _confirmed(told, set(asked.asked) - set(left), left)
    doubt = noise_allowance.doubt(_taken_back(first, comparison, gate, before, after, left), baseline)
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


def _counts(outcome: RecheckOutcome, *, both: bool, too: int, modes: str) -> str:
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
