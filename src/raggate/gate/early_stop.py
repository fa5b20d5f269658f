"""Answers as they come, in a drawn order -> whether asking the rest can still change that the run is red. Pure.

Two things are looked at, because no other question can undo them: questions that must pass, and metrics whose mean may
not fall by more than a tolerance. The test of all questions, floors and slices have no say: a run that they alone
make red asks everything. No answer and no order ends a run as anything but red.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum, isfinite

from msgspec import Struct

from raggate.config.gate_settings import Gate
from raggate.config.schema import Config
from raggate.gate import waivers
from raggate.gate.by_question import by_question
from raggate.gate.drawn_order import Drawn, seed_of
from raggate.gate.judged_metrics import is_judged
from raggate.gate.must_pass import lacking
from raggate.gate.statistics.betting import Total
from raggate.models.baseline import Baseline
from raggate.models.early_stop import EarlyStop
from raggate.models.fingerprint import modes_of
from raggate.models.questions import Question
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, Scorecard, improvement
from raggate.models.waiver import WaiverStatus
from raggate.scoring import figures, repeats
from raggate.text.numbers import rounded, setting

Metric = tuple[str, str]
"""A metric by its mode and name."""


class _Rule(Struct, frozen=True):
    """How a gated metric is looked at: how far its mean may fall, and what was added up of it so far."""

    allowed: float
    direction: Direction
    total: Total

    def most(self, before: float) -> float:
        """Give the most that a question can add: its largest gain, and its share of what is allowed."""
        best = 1.0 if self.direction == "higher" else 0.0
        return max(0.0, improvement(self.direction, before, best)) + self.allowed + EPSILON

    def value(self, before: float, now: float | None) -> float:
        """Give what a question adds; one without a value has no part in the mean."""
        if now is None:
            return 0.0
        change = improvement(self.direction, before, now)
        return change + self.allowed + EPSILON if isfinite(change) else self.most(before)


class Watch:
    """The answers so far, and what they show. They count in the order drawn, however they come in.

    Args:
        questions: all questions, in that order.
        baseline: what the run is held against, with its cases.
        gate: the policy.
        waived: the waivers as they stand.
    """

    def __init__(self, questions: Drawn, baseline: Baseline, gate: Gate, waived: Sequence[WaiverStatus]) -> None:
        self._questions, self._baseline, self._gate, self._waived = questions, baseline, gate, waived
        self._before = by_question(baseline.scorecard.cases)
        self._waiting: dict[Metric, CaseScore] = {}
        self._missed: list[str] = []
        self._next = self._failed = 0
        self.stop: EarlyStop | None = None
        self._rules = dict(self._by_tolerance()) if gate.policy != "evidence" else {}
        for question in questions if self._rules else ():
            for rule, _, before in self._held_to(question):
                rule.total.expect(rule.most(before))
        # what is judged by a few questions is no more than a warning
        self._rules = {key: rule for key, rule in self._rules.items() if rule.total.count >= gate.min_cases}

    def _by_tolerance(self) -> Iterator[tuple[Metric, _Rule]]:
        """Give the metrics that a tolerance makes red by itself."""
        for mode, slices in self._baseline.scorecard.slices.items():
            for name, stored in slices.get(OVERALL, {}).items():
                rule = self._gate.rule(name)
                if rule is not None and not is_judged(name) and waivers.for_metric(self._waived, name, mode) is None:
                    yield (mode, name), _Rule(rule.tolerance or 0.0, stored.direction, Total())

    def _held_to(self, question: Question) -> Iterator[tuple[_Rule, str, float]]:
        """Give the rules that a question counts for, each with its metric, and what the baseline has of it there."""
        case, mode = question
        old = self._before.get((mode, case.id))
        if old is None or not self._baseline.same(old.hash, case.hash) or self._is_waived(question):
            return
        for name, value in old.values.items():
            rule = self._rules.get((mode, name))
            if rule is not None and value is not None:
                yield rule, name, value

    def _is_waived(self, question: Question) -> bool:
        return waivers.for_case(self._waived, question[0].id, question[1]) is not None

    def hear(self, score: CaseScore) -> None:
        """Take the score of an answer, or of a failure; each question once."""
        self._waiting[score.mode, score.case_id] = score
        while self.stop is None and self._next < len(self._questions):
            question = self._questions[self._next]
            score_of_next = self._waiting.pop((question[1], question[0].id), None)
            if score_of_next is None:
                return
            self._take(question, score_of_next)
            self._next += 1
            # between the modes of a case what is drawn next is known
            if self._questions.ends_a_case(self._next - 1):
                self.stop = self._reason_to_stop()

    def _take(self, question: Question, score: CaseScore) -> None:
        case, mode = question
        failed = score.failure is not None
        self._failed += failed
        if case.must_pass and not failed and not self._is_waived(question):
            lack = lacking(score, self._gate.flip_at)
            self._missed += [] if lack is None else [f"question {case.id} ({mode}) must pass, and {lack[0]}"]
        drawn = self._next >= self._questions.first
        for rule, name, before in self._held_to(question):
            # a call that failed shows nothing of the ranking: it counts as the best answer there is
            most = rule.most(before)
            value = most if failed else rule.value(before, score.values.get(name))
            (rule.total.draw if drawn else rule.total.know)(value, most)

    def _reason_to_stop(self) -> EarlyStop | None:
        # what has no answer yet: those that wait for an earlier one are in
        left = len(self._questions) - self._next - len(self._waiting)
        if self._next < self._questions.first or not left:
            return None
        if self._failed > self._gate.max_error_rate * self._next + EPSILON:
            # the run may come to count as not measured
            return None
        return next(filter(None, (look() for look in (self._must_pass, self._certain, self._as_good_as))), None)

    def _must_pass(self) -> EarlyStop | None:
        if not self._missed:
            return None
        more = f", and {len(self._missed) - 1} more" if len(self._missed) > 1 else ""
        return self._stopped(f"{self._missed[0]}{more}", certain=True)

    def _certain(self) -> EarlyStop | None:
        for key, rule in self._rules.items():
            if rule.total.certain:
                fall = rule.allowed - rule.total.highest / rule.total.count
                lost = figures.distance(key[1], fall, beside=rule.allowed)
                allowed = figures.tolerated(key[1], rule.allowed)
                cause = f"{_name(key)} falls by at least {lost} in the end, allowed {allowed}"
                return self._stopped(cause, certain=True, key=key)
        return None

    def _as_good_as(self) -> EarlyStop | None:
        share = self._gate.early_stop
        if not isinstance(share, float) or not self._rules:
            return None
        evidence = fsum(rule.total.evidence for rule in self._rules.values()) / len(self._rules)
        if evidence < 1 / share:
            return None
        key = max(self._rules, key=lambda name: self._rules[name].total.evidence)
        cause = (
            f"{_name(key)} falls by more than the {setting(self._rules[key].allowed)} that is allowed; a run that "
            f"asking all would not make red is stopped like this in at most {setting(rounded(100 * share, 6))}% of the "
            "orders to ask in"
        )
        return self._stopped(cause, key=key, evidence=evidence)

    def _stopped(
        self, cause: str, *, certain: bool = False, key: Metric | None = None, evidence: float = 0.0
    ) -> EarlyStop:
        share = self._gate.early_stop
        return EarlyStop(
            cause=cause,
            certain=certain,
            after=self._next,
            of=len(self._questions),
            evidence=evidence,
            false_alarms=share if isinstance(share, float) else 0.0,
            metric=key and key[1],
            mode=key and key[0],
        )


def no_say(settings: Config, baseline: Baseline | None) -> str:
    """Say why an early stop would not be sure of a run held against this baseline; empty where it would."""
    if baseline is None:
        return "there is no baseline"
    if not baseline.paired or baseline.unfit:
        return "the baseline has no single questions to compare with"
    if settings.confirmations and repeats.noisy(baseline.scorecard.fingerprint):
        return "the API is known to be noisy, and what flips is asked again at the end (recheck.confirm)"
    return ""


def _name(key: Metric) -> str:
    return f"{key[1]} ({key[0]})"


def shown_by(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, gate: Gate, waived: Sequence[WaiverStatus]
) -> EarlyStop | None:
    """Say why a run stopped early, by its answers and the policy alone; None where these do not show it.

    Args:
        run: the run, with the whole golden set.
        scorecard: its scores.
        baseline: what it is held against; without its cases they show nothing.
        gate: the policy.
        waived: the waivers as they stand.
    """
    if baseline is None or not baseline.paired:
        return None
    seed = seed_of(run.golden.hash, baseline, run.provenance.against)
    watch = Watch(Drawn(run.golden.cases, modes_of(run.fingerprint), seed), baseline, gate, waived)
    for score in scorecard.cases:
        watch.hear(score)
    return watch.stop
