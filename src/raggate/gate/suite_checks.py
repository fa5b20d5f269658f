"""Configuration, golden set and baseline -> what a suite can show, and what weakens the gate. Nothing is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from raggate.base.numbers import counted
from raggate.base.quote import quoted
from raggate.config.gate_settings import Gate
from raggate.config.question_settings import asked_in
from raggate.config.schema import Config
from raggate.gate import caveats, completeness
from raggate.gate.evidence import ALPHA, Sight, harmless_red, sight
from raggate.gate.policies import small_metrics
from raggate.gate.statistics.mcnemar import fewest_losses
from raggate.gate.statistics.paired import unit_sizes
from raggate.gate.statistics.power import questions_for
from raggate.gate.waivers import for_case, waiver_statuses
from raggate.models.baseline import Baseline
from raggate.models.golden import Golden
from raggate.models.lint import LintFinding, ModeOutlook, Outlook
from raggate.models.scorecard import OVERALL, CaseScore
from raggate.scoring import score
from raggate.scoring.repeats import Repeated
from raggate.scoring.score import METRICS_VERSION

DROP_TO_SEE = 0.05
"""The drop of a metric whose number of questions people ask for."""

LONGEST_WAIVER_DAYS = 366
"""Days that a waiver may hold before it counts as one that nobody will look at again."""


def check_waivers(
    settings: Config, golden: Golden, path: str, at: str, line_of: Callable[[int], int]
) -> Iterator[LintFinding]:
    """Check which waivers are over on a day, hold for very long, or leave out most questions together."""
    statuses = waiver_statuses(settings.waivers, at)
    for number, waiver in enumerate(statuses):
        place, what = (path, line_of(number), f"waivers[{number}]"), quoted(waiver.metric or waiver.case)
        if waiver.state == "expired":
            yield LintFinding("expired-waiver", *place, f"the waiver for {what} ended on {waiver.expires}")
        elif waiver.days_left is not None and waiver.days_left > LONGEST_WAIVER_DAYS:
            yield LintFinding("broad-waiver", *place, f"the waiver for {what} holds until {waiver.expires}")
    active = [waiver for waiver in statuses if waiver.state == "active"]
    for mode in settings.ask.modes:
        asked = [case.id for case in golden.cases if asked_in(case.modes, mode)]
        waived = sum(for_case(active, case_id, mode) is not None for case_id in asked)
        if 2 * waived > len(asked):
            message = f"waivers leave {waived} of {counted(len(asked), 'question')} ({mode}) out of the means"
            yield LintFinding("broad-waiver", path, line_of(0), "waivers", message)


def check_headings(settings: Config, golden: Golden, path: str, baseline: Baseline | None) -> Iterator[LintFinding]:
    """Check for labels by headings, where none are read from answers, or none came."""
    if not settings.ask.reads_headings:
        why = "the configuration reads no heading_path from answers"
    elif baseline is not None and score.never_told(baseline.scorecard.fingerprint.get("fields"), "heading_path"):
        why = "no answer of the baseline has a heading_path"
    else:
        return
    for case in golden.cases:
        if any(support.heading_path for support in case.gold_supports):
            message = f"names a heading, but {why}, so it never matches"
            yield LintFinding("unread-heading", path, case.line, case.id, message)


def check_abstentions(settings: Config, golden: Golden, path: str) -> Iterator[LintFinding]:
    """Check for unanswerable questions, where an API that abstains cannot be told from one that does not."""
    cases = [case for case in golden.cases if not case.answerable]
    if cases and not settings.ask.reads_abstention:
        message = (
            f"{counted(len(cases), 'unanswerable question')}, and no `abstained` is read from answers, so "
            "the metrics of abstention do not apply"
        )
        yield LintFinding("unread-abstention", path, cases[0].line, cases[0].id, message)


def check_baseline(
    settings: Config, golden: Golden, baseline: Baseline | None, now: Mapping[str, object], at: str
) -> Iterator[LintFinding]:
    """Check a baseline against what a run would be."""
    path = settings.baseline_path
    if baseline is None:
        yield LintFinding("no-baseline", path, 1, "", "there is no such file")
        return
    for reason in caveats.age(baseline, at):
        yield LintFinding(reason.code, path, 1, "", reason.message)
    if baseline.paired:
        yield from _other_settings(settings, baseline, {**now, "metrics_version": METRICS_VERSION}, path)
        for name in sorted({case.case_id for case in baseline.scorecard.cases} - {case.id for case in golden.cases}):
            yield LintFinding("removed-question", path, 1, name, "is in the baseline, but not in the suite")
        yield from _answered(golden, baseline, settings.golden)


def _other_settings(
    settings: Config, baseline: Baseline, now: Mapping[str, object], path: str
) -> Iterator[LintFinding]:
    before = baseline.scorecard.fingerprint
    for key, message in completeness.changed_settings(before, now):
        yield LintFinding("other-settings", path, 1, key, message)
    if lost := completeness.lost_cutoffs(before, settings.score.k):
        yield LintFinding("other-settings", path, 1, "score.k", f"cut-offs not scored any more: {lost}")


def _answered(golden: Golden, baseline: Baseline, path: str) -> Iterator[LintFinding]:
    """Yield the questions with gold supports that are the same as then, and that no call found or failed at."""
    scores: dict[str, list[CaseScore]] = {}
    for own in baseline.scorecard.cases:
        scores.setdefault(own.case_id, []).append(own)
    for case in golden.cases:
        known = scores.get(case.id, []) if case.gold_supports else []
        if known and all(own.hash == case.hash and own.failure is None and own.rank is None for own in known):
            message = "no mode found it when the baseline was measured"
            yield LintFinding("impossible-question", path, case.line, case.id, message)


def suite_outlook(settings: Config, golden: Golden, baseline: Baseline | None) -> Outlook:
    """Return what a suite can show."""
    sizes = _gated_sizes(baseline, settings.gate) if baseline is not None else {}
    return Outlook(
        suite=settings.suite,
        policy=settings.gate.policy,
        questions=len(golden.cases),
        modes=tuple(_modes(settings, golden, baseline, sizes)),
        part_of=golden.part_of,
    )


def _gated_sizes(baseline: Baseline, gate: Gate) -> dict[tuple[str, str], int]:
    return {
        (mode, name): mean.n
        for mode, slices in baseline.scorecard.slices.items()
        for name, mean in slices.get(OVERALL, {}).items()
        if mean.n and gate.rule(name) is not None
    }


def _modes(
    settings: Config, golden: Golden, baseline: Baseline | None, sizes: dict[tuple[str, str], int]
) -> Iterator[ModeOutlook]:
    small = small_metrics(sizes, settings.gate) if settings.gate.policy != "threshold" else frozenset()
    modes, gate, moving = len(settings.ask.modes), settings.gate, _moving(baseline)

    def enough(which: int) -> int | None:
        return questions_for(DROP_TO_SEE, lambda n: sight([1] * n, moving, modes, gate.composite, gate)[which])

    number = enough(1), enough(0)
    for mode in settings.ask.modes:
        cases = [case for case in golden.cases if asked_in(case.modes, mode)]
        units = unit_sizes(case.group for case in cases)
        seen = sight(units, moving, modes, gate.composite, gate) if units else Sight(1.0, 1.0)
        yield ModeOutlook(
            mode=mode,
            questions=len(cases),
            units=len(units),
            visible_drop=seen.red,
            told_drop=seen.told,
            blind=fewest_losses(len(units), ALPHA / modes) is None,
            enough=number,
            harmless_red=harmless_red(len(units), gate.policy),
            small=tuple(sorted((name, sizes[mode, name]) for where, name in small if where == mode)),
        )


def _moving(baseline: Baseline | None) -> float:
    """Return the share of questions that came back otherwise when the baseline's run asked twice."""
    repeated = Repeated.of(baseline.scorecard.fingerprint) if baseline is not None else None
    return repeated.differ / repeated.compared if repeated is not None and repeated.compared else 0.0
