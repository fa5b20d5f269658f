"""The waivers of a configuration x the day of a run -> which hold, what they excuse, and which are left over. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from raggate.base.dates import days_until
from raggate.base.errors import UsageError
from raggate.base.quote import quoted
from raggate.config.gate_settings import Gate, Waiver
from raggate.config.schema import Config
from raggate.models.comparison import Comparison
from raggate.models.golden import Golden
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Scorecard, by_question, improvement
from raggate.models.waiver import WaiverStatus


def waiver_statuses(waivers: Sequence[Waiver], at: str) -> tuple[WaiverStatus, ...]:
    """Return which waivers hold on the day a run started. Where that day is not known, none does."""
    return tuple(
        WaiverStatus(
            **waiver.model_dump(), state="active" if left is not None and left >= 0 else "expired", days_left=left
        )
        for waiver in waivers
        for left in [days_until(waiver.expires, at)]
    )


def for_metric(waived: Iterable[WaiverStatus], metric: str, mode: str) -> WaiverStatus | None:
    """Return the waiver that holds for a metric in a mode."""
    return next((waiver for waiver in _active(waived) if waiver.metric == metric and waiver.mode in {None, mode}), None)


def for_case(waived: Iterable[WaiverStatus], case_id: str, mode: str) -> WaiverStatus | None:
    """Return the waiver that holds for a case in a mode."""
    return next((waiver for waiver in _active(waived) if waiver.case == case_id and waiver.mode in {None, mode}), None)


def excused(waived: Sequence[WaiverStatus], scorecard: Scorecard) -> frozenset[tuple[str, str]]:
    """Return the cases that are left out of the means, by mode and case id."""
    if not waived:
        return frozenset()
    return frozenset(
        (case.mode, case.case_id) for case in scorecard.cases if for_case(waived, case.case_id, case.mode) is not None
    )


def left_out(
    waived: Sequence[WaiverStatus], comparison: Comparison, gate: Gate
) -> Iterator[tuple[CaseScore, WaiverStatus, str]]:
    """Yield the waived cases that would count against the run, each with its waiver, and how it would."""
    baseline = comparison.baseline
    if not waived or baseline is None or comparison.incomparable or not baseline.paired:
        return
    before = by_question(baseline.scorecard.cases)
    for case in comparison.scorecard.cases:
        waiver = for_case(waived, case.case_id, case.mode)
        if waiver is not None and (how := _how(before.get((case.mode, case.case_id)), case, comparison, gate)):
            yield case, waiver, how


def _how(old: CaseScore | None, new: CaseScore, comparison: Comparison, gate: Gate) -> str:
    """Return how a case would count against the run; empty where it would not."""
    worse, beyond = False, False
    for metric, mean in comparison.scorecard.slices.get(new.mode, {}).get(OVERALL, {}).items():
        rule, now = gate.rule(metric), new.values.get(metric)
        if rule is None or now is None:
            continue
        was, limit = None if old is None else old.values.get(metric), rule.limit(mean.direction)
        worse = worse or (was is not None and improvement(mean.direction, was, now) < -EPSILON)
        beyond = beyond or (limit is not None and improvement(mean.direction, limit, now) < -EPSILON)
    return "got worse" if worse else "is beyond its floor or ceiling" if beyond else ""


def check_cases(settings: Config, golden: Golden, name: str) -> None:
    """Check the cases that waivers name."""
    known = {case.id for case in golden.cases}
    for number, waiver in enumerate(settings.waivers):
        if waiver.case is not None and waiver.case not in known:
            raise UsageError(
                f"{name}: waivers[{number}].case: no question {quoted(waiver.case)} in {golden.noun} {settings.golden}",
                hint="Remove the waiver, or name a question that the suite asks.",
            )


def _active(waived: Iterable[WaiverStatus]) -> Iterator[WaiverStatus]:
    return (waiver for waiver in waived if waiver.state == "active")
