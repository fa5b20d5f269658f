"""A regression and what both builds answer when they are asked again -> the verdict that is left of it. Pure.

The base build stands for the change's past: of the questions that count against the change, those that it fails as well
are no fault of the change. What is left of the loss decides once more, by the same policy. That can make a red verdict
a *cannot tell*, never a pass: the base answered other questions than these by nothing but the past.

What flipped is asked again of the change too, started anew, as two starts of one build may rank otherwise. Of a noisy
API what came back as good as before each time was no loss, as far as the noise of the baseline's own run explains it.
If as much of a loss came back as noise brings back, it is neither red nor green, unless it is larger than that noise.
So is a question that must pass and comes and goes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set as AbstractSet
from functools import partial
from math import prod
from sys import maxsize

from msgspec.structs import replace

from raggate.base.numbers import counted, often
from raggate.config.gate_settings import Gate
from raggate.gate import noise, wording
from raggate.gate.evidence import compared_pairs
from raggate.gate.flips import lacking
from raggate.gate.judge_advice import JUDGED, ungraded
from raggate.gate.statistics.distributions import binomial_tail
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.metric_names import FALSE_ABSTENTION_RATE
from raggate.models.scorecard import (
    EPSILON,
    CaseScore,
    Direction,
    Key,
    Scorecard,
    by_question,
    improvement,
    mostly,
    oriented,
)
from raggate.models.verdict import GatedMetric, Reason, Recheck, RecheckOutcome, Verdict
from raggate.scoring import repeats
from raggate.scoring.repeats import EACH_MODE

SURPRISE = 0.05
"""What noise alone makes of the questions in fewer runs than this share is a loss."""

Decide = Callable[[Scorecard, Baseline, Gate], Verdict]
"""Compares a scorecard with a baseline and decides by a policy."""


def against(verdict: Verdict) -> AbstractSet[Key]:
    """Return the questions that count against a change: worse in a metric that is red, or must pass and do not."""
    return frozenset((*verdict.fell, *verdict.missed))


def graded(verdict: Verdict) -> frozenset[Key]:
    """Return the questions that count against a change by grades of judges alone.

    Nobody grades what is asked again, so neither the base build nor a second answer says anything of these.
    """
    by_grades = {key for key, metrics in verdict.fell.items() if JUDGED.keys() >= {*metrics}}
    return frozenset(by_grades - verdict.missed.keys())


def gained(verdict: Verdict, comparison: Comparison) -> frozenset[Key]:
    """Return the questions that got better in a gated metric, and do not count against the change."""
    metrics = {row.delta.metric for row in verdict.rows if row.gated}
    ways = _directions(comparison)
    better = {
        key
        for key, (stored, own) in _compared(comparison).items()
        for name in metrics
        if _moved(ways[name], stored.values.get(name), own.values.get(name)) > EPSILON
    }
    return frozenset(better - against(verdict))


def decided_again(first: Verdict, asked: Recheck, comparison: Comparison, gate: Gate, decide: Decide) -> Verdict:
    """Check a regression on the base build, and what is left of it by asking both builds again."""
    if comparison.baseline is None:
        return first
    check = Check(first, asked, comparison, comparison.baseline, gate, decide)
    checked = check.on_base()
    return check.confirmed(checked) if checked.outcome == "regression" else checked


class Check:
    """A regression and what both builds answered to the questions that count against the change."""

    def __init__(
        self, first: Verdict, asked: Recheck, comparison: Comparison, baseline: Baseline, gate: Gate, decide: Decide
    ) -> None:
        self._first, self._comparison, self._baseline = first, comparison, baseline
        self._gate, self._decide = gate, decide
        keys = against(first) - graded(first)
        self._asked = replace(asked, asked=tuple(key for key in asked.asked if key in keys))
        self._ways = _directions(comparison)
        self._runs = repeats.times_asked(baseline.scorecard.fingerprint)
        self._averages = self._runs > 1 and repeats.noisy(baseline.scorecard.fingerprint)
        self._measured = by_question(comparison.scorecard.cases)

    def on_base(self) -> Verdict:
        """Decide again with the base's own answers of today in place of those in the baseline."""
        asked, first = self._asked, self._first
        if asked.problem:
            outcome = RecheckOutcome(asked=len(asked.asked), problem=asked.problem)
            reason = Reason("rechecked", f"the base build could not be checked: {asked.problem}")
            return replace(first, reasons=(*first.reasons, reason), recheck=outcome)
        if not asked.base:
            return first
        answers, fails = self._answers(), self._failing()
        outcome = RecheckOutcome(
            build=asked.build, asked=len(asked.asked), failing=len(fails), unanswered=len(asked.asked) - len(answers)
        )
        message = self._on_base_in_words(outcome)
        today = self._today(self._baseline, answers, self._measured)
        scorecard = _without_must_pass(self._comparison.scorecard, fails & first.missed.keys())
        if not fails or self._still_red(scorecard, today):
            return replace(
                first,
                reasons=(*first.reasons, Reason("rechecked", message)),
                sentences=(*first.sentences, *_shared(fails, asked.asked)),
                cleared=fails,
                recheck=outcome,
            )
        left = "" if fails >= set(asked.asked) else ", and without those nothing would be red"
        or_noise = ", or it is the API's noise" if noise.noisy(self._comparison) else ""
        cause = f"{message}{left}: the baseline is stale or the environment changed{or_noise}"
        reasons = (Reason("base-fails-too", cause), *first.reasons)
        sentences = wording.headline("cannot tell", reasons, self._comparison, first.warnings)
        return replace(
            first, outcome="cannot tell", reasons=reasons, sentences=sentences, fell={}, missed={}, recheck=outcome
        )

    def confirmed(self, checked: Verdict) -> Verdict:
        """Decide once more by what the flipped questions were answered when they were asked again.

        What is not confirmed is a pass as far as the noise of the baseline's own run explains it, metric by metric;
        else nothing can be told. Questions that the base build fails too confirm nothing, and dismiss nothing.
        """
        asked = self._asked
        if not asked.again:
            return checked
        fails = self._failing()
        before, after = self._settled()
        left = {key for key in asked.asked if key not in after or self._still_lost(key, before, after)}
        stayed = {key for key in left if key not in after or self._never_back(key)}
        outcome = replace(
            checked.recheck or RecheckOutcome(asked=len(asked.asked)), times=len(asked.again), lost_again=len(left)
        )
        message = self._again_in_words(outcome, len(fails & left))
        now = _with_cases(self._comparison.scorecard, after)
        today = replace(self._baseline, scorecard=_with_cases(self._baseline.scorecard, before))
        again = self._decide(now, today, self._gate)
        # a loss that all came back is not confirmed by questions that nobody asked again
        if len(left) == len(asked.asked) or (left and again.outcome == "regression"):
            doubt = self._doubt(left, stayed, now, today)
            if doubt:
                return _undecided(checked, outcome, f"{message}{doubt}")
            back = set(asked.asked) - left
            came = len({case for _, case in back} - {case for _, case in left})
            less = f", except {counted(came, 'question')} that recovered" if came else ""
            measured = noise.is_measured(self._baseline) or not noise.noisy(self._comparison)
            word = "Confirmed by asking again" if measured else "Still worse when asked again"
            # that a steady API answers alike is no news
            news = came or asked.base or noise.noisy(self._comparison)
            return replace(
                checked,
                reasons=(*checked.reasons, Reason("rechecked", message)) if news else checked.reasons,
                sentences=(*checked.sentences, f"{word}{less}."),
                cleared=checked.cleared | back,
                recheck=outcome,
            )
        doubt = noise.doubt(self._taken_back(before, after, left), self._baseline)
        if doubt or again.outcome != "pass":
            why = f": {doubt}" if doubt else ""
            way_out = noise.steadier(self._baseline.scorecard)
            return _undecided(checked, outcome, f"{message}. This is no pass{why}{way_out}")
        return _passed(checked, outcome, message)

    def _never_back(self, key: Key) -> bool:
        """Return whether a question was never better than at first, in whatever metric it is lost by."""
        own, names = self._measured[key], {*self._first.fell.get(key, ()), self._first.missed.get(key, "")} - {""}
        later = [score for score in _by_question(self._asked.again).get(key, ()) if score.failure is None]
        return not any(
            _moved(self._ways[name], own.values.get(name), score.values.get(name)) > EPSILON
            for name in names
            for score in later
        )

    def _doubt(self, left: AbstractSet[Key], stayed: AbstractSet[Key], scorecard: Scorecard, today: Baseline) -> str:
        """Return why a loss that was met again shows nothing, behind what was seen; empty if it is confirmed."""
        steadier = noise.steadier(self._baseline.scorecard)
        if not left & self._first.missed.keys() and self._like_noise(stayed):
            return f". {len(stayed)} of them stayed lost each time, which noise alone often does to so many{steadier}"
        # those that must pass and came back at least once; a steady API has none
        noisy = repeats.noisy(self._baseline.scorecard.fingerprint)
        coming = (left - stayed) & self._first.missed.keys() if noisy else frozenset()
        if coming and not self._red_without(coming, scorecard, today):
            must, them = counted(len(coming), "question"), "it" if len(coming) == 1 else "these"
            return f". {must} that must pass came back at least once, and without {them} nothing would be red{steadier}"
        shared = self._failing() & left if len(left) < len(self._asked.asked) else frozenset()
        if shared and not self._red_without(shared, scorecard, today):
            return ", and without these nothing would be red"
        return ""

    def _like_noise(self, stayed: AbstractSet[Key]) -> bool:
        """Return whether so many questions may have stayed lost by nothing but noise.

        A question that is a hit with a chance of its own, drawn evenly from 0 to 1, was a hit in each of r runs and is
        lost now. The chance that it is lost in t further answers is the product of (2 + j) / (r + 3 + j), j below t.
        Nothing is noise if no question came back, or if the change made a steady API noisy, or a noisy one noisier.
        """
        asked = self._asked.asked
        own_noise = noise.noisy(self._comparison) and not repeats.noisy(self._baseline.scorecard.fingerprint)
        if own_noise or len(stayed) == len(asked) or noise.exceeded(self._lost(), self._baseline):
            return False
        chance = prod((2 + j) / (self._runs + 3 + j) for j in range(len(self._asked.again)))
        return binomial_tail(len(stayed), len(asked), chance) > SURPRISE

    def _lost(self) -> dict[tuple[str, str], float]:
        """Return by mode and metric how much the questions lost, all together, whatever others gained."""
        lost = dict.fromkeys(sorted(_watched(self._first, self._gate)), 0.0)
        for (mode, _), (stored, own) in _compared(self._comparison).items():
            for name in (name for where, name in lost if where == mode):
                lost[mode, name] += max(_moved(self._ways[name], own.values.get(name), stored.values.get(name)), 0.0)
        return lost

    def _failing(self) -> frozenset[Key]:
        return frozenset(key for key, base in self._answers().items() if self._fails(key, base))

    def _fails(self, key: Key, base: CaseScore) -> bool:
        if key in self._first.missed:
            return lacking(base) is not None
        own = self._measured[key]
        sides = ((name, base.values.get(name), own.values.get(name)) for name in self._first.fell[key])
        return all(
            before is not None and after is not None and improvement(self._ways[name], before, after) >= -EPSILON
            for name, before, after in sides
        )

    def _answers(self) -> dict[Key, CaseScore]:
        """Return what tells something of the base: a call that failed there alone may be anybody's fault.

        Of several answers to a question each metric has the best: what the base fails, it fails every time.
        """
        answers: dict[Key, CaseScore] = {}
        for score in (score for asked in self._asked.base for score in asked):
            key = (score.mode, score.case_id)
            own = self._measured.get(key)
            same = own is not None and own.hash == score.hash and key in self._asked.asked
            if own is not None and same and (score.failure is None or own.failure is not None):
                answers[key] = self._best(answers[key], score) if key in answers else score
        return answers

    def _best(self, first: CaseScore, second: CaseScore) -> CaseScore:
        values = {}
        for name, value in first.values.items():
            known = [item for item in (value, second.values.get(name)) if item is not None]
            values[name] = max(known, key=partial(oriented, self._ways[name])) if known else None
        better = min((first, second), key=lambda score: (score.failure is not None, score.rank or maxsize))
        return replace(better, values=values)

    def _today(
        self, baseline: Baseline, answers: Mapping[Key, CaseScore], measured: Mapping[Key, CaseScore]
    ) -> Baseline:
        cases = by_question(baseline.scorecard.cases)
        for key, base in answers.items():
            own, stored = measured[key], cases.get(key)
            if stored is None or stored.hash != own.hash:
                # one that was added or relabelled since has no value of its own there
                stored = base
            values = {
                name: _held_to(self._ways[name], value, base.values.get(name), own.values.get(name))
                for name, value in stored.values.items()
            }
            cases[key] = replace(stored, values=values)
        return replace(baseline, scorecard=replace(baseline.scorecard, cases=tuple(cases.values())))

    def _red_without(self, fails: AbstractSet[Key], scorecard: Scorecard, baseline: Baseline) -> bool:
        measured = by_question(scorecard.cases)
        # compare these with the change's own answers, so they cancel out, except grades: the base has none
        plain = {key: replace(measured[key], values=ungraded(measured[key].values)) for key in fails}
        today = self._today(baseline, plain, measured)
        return self._still_red(_without_must_pass(scorecard, fails & self._first.missed.keys()), today)

    def _still_red(self, scorecard: Scorecard, today: Baseline) -> bool:
        again = self._decide(scorecard, today, self._gate)
        limits = {row.delta.metric for row in again.rows if _base_is_beyond(row)}
        if again.outcome == "regression" and limits:
            again = self._decide(scorecard, today, _without_limits(self._gate, limits))
        return again.outcome == "regression"

    def _settled(self) -> tuple[dict[Key, CaseScore], dict[Key, CaseScore]]:
        asked = self._asked
        # a call that failed is no noise of rankings: it stays lost
        pairs = {key: pair for key, pair in _compared(self._comparison).items() if pair[1].failure is None}
        base, again = _by_question(asked.base), _by_question(asked.again)
        before, after = {}, {}
        for key in (*asked.asked, *asked.gained):
            later = again.get(key, [])
            if key not in pairs or len(later) != len(asked.again):
                continue
            was, *refusals = (mostly(score.values.get(FALSE_ABSTENTION_RATE)) for score in (pairs[key][0], *later))
            # a question that is refused when it is asked again did not come back
            if was or key in asked.gained or not any(refusals):
                before[key], after[key] = self._settled_one(pairs[key], base.get(key, ()), later)
        return before, after

    def _settled_one(
        self, pair: tuple[CaseScore, CaseScore], base: Sequence[CaseScore], again: Sequence[CaseScore]
    ) -> tuple[CaseScore, CaseScore]:
        """Settle one question: the base's mean against the change's worst (or mean), in each metric that moved."""
        stored, own = pair
        before, after = dict(stored.values), dict(own.values)
        answered = [score for score in base if score.failure is None]
        for name, was in stored.values.items():
            way, now = self._ways[name], own.values.get(name)
            moved = _moved(way, was, now)
            later = [value for score in again if (value := score.values.get(name)) is not None]
            # it did not move, or it is lost and was never better since
            stands = abs(moved) <= EPSILON or (moved < 0 and all(_moved(way, now, value) <= EPSILON for value in later))
            if was is None or not later or stands:
                continue
            known = [value for score in answered if (value := score.values.get(name)) is not None]
            mean = sum(known) / len(known) if known else was
            # the mean of a noisy API's runs is met on average, and what one run had each time
            again_had = sum(later) / len(later) if self._averages else min(later, key=partial(oriented, way))
            # what was lost can be no gain, and what was gained no loss
            settled = (min if moved < 0 else max)(again_had, mean, key=partial(oriented, way))
            before[name], after[name] = mean, settled
        return replace(stored, values=before), replace(
            own,
            values=after,
            rank=_deepest([score.rank for score in again]),
            rank_all=_deepest([score.rank_all for score in again]),
            failure=next((score.failure for score in again if score.failure is not None), None),
            answers=(),
        )

    def _still_lost(self, key: Key, before: Mapping[Key, CaseScore], after: Mapping[Key, CaseScore]) -> bool:
        if key in self._first.missed and lacking(after[key]) is not None:
            return True
        old, new = before[key].values, after[key].values
        names = self._first.fell.get(key, ())
        return any(_moved(self._ways[name], old.get(name), new.get(name)) < -EPSILON for name in names)

    def _taken_back(
        self, before: Mapping[Key, CaseScore], after: Mapping[Key, CaseScore], left: Collection[Key]
    ) -> dict[tuple[str, str], float]:
        """Return by mode and metric how much less the questions lost, all together, than when they were first asked."""
        missed = self._first.missed
        taken = dict.fromkeys(sorted(_watched(self._first, self._gate)), 0.0)
        for key, (stored, own) in _compared(self._comparison).items():
            for name in (name for mode, name in taken if mode == key[0] and key in after):
                way = self._ways[name]
                lost = _moved(way, own.values.get(name), stored.values.get(name))
                rest = _moved(way, after[key].values.get(name), before[key].values.get(name))
                # one that must pass and passes now counts as a whole, whatever it had in the baseline
                whole = 1.0 if key not in left and missed.get(key) == name else 0.0
                taken[key[0], name] += max(max(lost, 0.0) - max(rest, 0.0), whole)
        return taken

    def _on_base_in_words(self, outcome: RecheckOutcome) -> str:
        asked = counted(outcome.asked, "question")
        silent = f" ({outcome.unanswered} got no answer there)" if outcome.unanswered else ""
        every = f"all {asked}" if outcome.asked > 1 else f"the {asked}"
        failing = every if outcome.failing == outcome.asked else f"{outcome.failing or 'none'} of the {asked}"
        against = f"that {_count(outcome.asked)} against the change{_each_mode(self._asked.asked)}"
        where = f"the base build ({outcome.build}), asked in the same job,"
        return f"{where} fails {failing} {against}{silent}{self._standing()}"

    def _again_in_words(self, outcome: RecheckOutcome, too: int) -> str:
        sides = "on both builds" if self._asked.base else "on the change's build only"
        fails_too = f"; the base build fails {too} of them too" if too else ""
        known = "this API is noisy: " if noise.noisy(self._comparison) else ""
        asked = f"{known}after a restart the lost questions were asked again {often(outcome.times)}, {sides}"
        left = f"{outcome.lost_again} of {counted(outcome.asked, 'question')} that {_count(outcome.asked)}"
        against = f"against the change{_each_mode(self._asked.asked)}"
        return f"{asked}: {left} {against} did not recover every time{fails_too}{self._standing()}"

    def _standing(self) -> str:
        keys = graded(self._first)
        number = counted(len(keys), "more question") + _each_mode(keys)
        alone = f"; {number} {_count(len(keys))} by judges' grades alone, and a repeated answer is not graded"
        return alone if keys else ""


def _directions(comparison: Comparison) -> Mapping[str, Direction]:
    return defaultdict(lambda: "higher", {delta.metric: delta.current.direction for delta in comparison.deltas})


def _shared(fails: Collection[Key], asked: Collection[Key]) -> tuple[str, ...]:
    number = len({case for _, case in fails} - {case for _, case in set(asked) - set(fails)})
    verb = "fails" if number == 1 else "fail"
    return (f"{number} of the questions that count against the change {verb} on the base build too.",) if number else ()


def _count(number: int) -> str:
    return "counts" if number == 1 else "count"


def _each_mode(keys: Collection[Key]) -> str:
    return EACH_MODE if len({case for _, case in keys}) < len(keys) else ""


def _without_must_pass(scorecard: Scorecard, released: AbstractSet[Key]) -> Scorecard:
    known = by_question(scorecard.cases)
    return _with_cases(scorecard, {key: replace(known[key], must_pass=False) for key in released})


def _held_to(direction: Direction, stored: float | None, base: float | None, own: float | None) -> float | None:
    """Return the value that a question is held to: the base's, but never so low that its loss becomes a gain."""
    if stored is None or base is None or own is None or improvement(direction, stored, own) >= -EPSILON:
        return stored
    return base if improvement(direction, own, base) > 0 else own


def _base_is_beyond(row: GatedMetric) -> bool:
    before = row.delta.baseline
    if row.status != "below floor" or row.floor is None or before.value is None:
        return False
    return improvement(before.direction, row.floor, before.value) < -EPSILON


def _without_limits(gate: Gate, metrics: AbstractSet[str]) -> Gate:
    known = {name: rule for name in metrics if (rule := gate.rule(name)) is not None}
    rules = {name: rule.model_copy(update={"floor": None, "ceiling": None}) for name, rule in known.items()}
    return gate.model_copy(update={"metrics": {**gate.metrics, **rules}})


def _undecided(first: Verdict, outcome: RecheckOutcome, cause: str) -> Verdict:
    return replace(
        first,
        outcome="cannot tell",
        reasons=(Reason("not-confirmed", cause), *first.reasons),
        sentences=(f"No verdict is possible: {cause}.",),
        recheck=outcome,
    )


def _passed(first: Verdict, outcome: RecheckOutcome, message: str) -> Verdict:
    unconfirmed = (Reason("not-confirmed", f"not confirmed: {reason.message}") for reason in first.reasons)
    warnings = (Reason("not-confirmed", message), *unconfirmed, *first.warnings)
    at_first = "Worse than allowed at first, but asking again did not confirm it."
    sentences = (at_first, f"{message[0].upper()}{message[1:]}.")
    return replace(
        first, outcome="pass", reasons=(), warnings=warnings, sentences=sentences, fell={}, missed={}, recheck=outcome
    )


def _watched(first: Verdict, gate: Gate) -> set[tuple[str, str]]:
    gated = {(row.delta.mode, row.delta.metric) for row in first.rows if row.gated}
    missed = {(mode, metric) for (mode, _), metric in first.missed.items()}
    tests = first.evidence.tests if first.evidence is not None and gate.policy != "threshold" else ()
    return gated | missed | {(test.mode, name) for test in tests for name in test.metrics}


def _deepest(ranks: Sequence[int | None]) -> int | None:
    return None if None in ranks else max(filter(None, ranks))


def _compared(comparison: Comparison) -> dict[Key, tuple[CaseScore, CaseScore]]:
    return {(own.mode, own.case_id): (was, own) for was, own in compared_pairs(comparison)}


def _by_question(rounds: Iterable[Sequence[CaseScore]]) -> dict[Key, list[CaseScore]]:
    scores: dict[Key, list[CaseScore]] = {}
    for score in (score for asked in rounds for score in asked):
        scores.setdefault((score.mode, score.case_id), []).append(score)
    return scores


def _moved(direction: Direction, before: float | None, after: float | None) -> float:
    return 0.0 if before is None or after is None else improvement(direction, before, after)


def _with_cases(scorecard: Scorecard, scores: Mapping[Key, CaseScore]) -> Scorecard:
    return replace(scorecard, cases=tuple(scores.get((case.mode, case.case_id), case) for case in scorecard.cases))
