"""The sentences of a verdict: how changes, counts and the headline are put into words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.base.numbers import chance, counted, rounded, setting, written
from raggate.base.quote import cut, enumerated
from raggate.models.answer import VerdictKind
from raggate.models.comparison import Comparison, Delta, Uncompared
from raggate.models.golden import Selection
from raggate.models.metric_names import counted_metrics
from raggate.models.scorecard import OVERALL, Operations, oriented
from raggate.models.verdict import CompositeTest, GatedMetric, Reason
from raggate.models.waiver import WaiverStatus
from raggate.scoring import figures

_PLAIN_QUOTES = str.maketrans("“”", '""')

_AT_THE_TOP = frozenset(("large-loss", "context-changed", "foreign-text", "repeated-text"))
"""Warnings that the first sentence of a pass holds."""

SOON = 14
"""Days before its last one from which on a waiver is said to expire soon."""


def change(row: GatedMetric) -> str:
    """Return how a metric went from one value to another, and what was allowed."""
    before, after = row.delta.baseline.value or 0.0, row.delta.current.value or 0.0
    if row.by_others and row.delta.uncompared is not None:
        return f"{shortfall(row.delta, row.delta.uncompared)}, allowed {_allowed(row)}"
    test = "; a test of this metric by itself shows a loss beyond chance"
    proven = f"{test}: {chance(row.own_p)}" if row.own_p is not None else ""
    metric, fell, allowed = row.delta.metric, row.delta.delta or 0.0, row.allowed or 0.0
    beyond = figures.difference(metric, fell, beside=allowed if fell > 0 else -allowed)
    values = [figures.amount(metric, before, beside=after), figures.amount(metric, after, beside=before)]
    return f"{name(row.delta)} went from {' to '.join(values)} ({beyond}, allowed {_allowed(row)}){proven}"


def _allowed(row: GatedMetric) -> str:
    return figures.tolerated(row.delta.metric, row.allowed or 0.0)


def shortfall(delta: Delta, others: Uncompared) -> str:
    """Return how a metric stands over the cases that could not be compared, and what that makes of the whole."""
    worse = figures.difference(delta.metric, oriented(delta.current.direction, -others.drop))
    return f"{name(delta)} is {beside(delta.metric, others)}; together with the compared questions that is {worse}"


def beside(metric: str, others: Uncompared) -> str:
    """Set the mean of the cases that could not be compared beside that of their stand-ins."""
    new = others.n - others.relabelled
    kinds = [f"{counted(others.relabelled, 'question')} relabelled"] if others.relabelled else []
    kinds += [f"{new if kinds else counted(new, 'question')} added"] if new else []
    over = f"{figures.amount(metric, others.value)} over the {' and '.join(kinds)} since the baseline"
    return f"{over} (expected: {figures.amount(metric, others.expected)})"


def beyond(row: GatedMetric) -> str:
    """Return that a metric is beyond its floor or ceiling."""
    whole = row.delta.full_run
    over = "" if whole is None else f" over all {counted(whole.n, 'question')}, compared or not"
    return beyond_limit(row.delta, row.delta.run_value.value, row.floor or 0.0, over)


def beyond_limit(delta: Delta, value: float | None, limit: float, over: str = "") -> str:
    """Return that a value of a metric is beyond a limit, and over what it is."""
    kind = "floor" if delta.current.direction == "higher" else "ceiling"
    bound = f"{kind} {figures.limit_of(delta.metric, limit, unit='%')}"
    return f"{name(delta)} is {figures.amount(delta.metric, value, beside=limit)}{over}, beyond its {bound}"


def few_cases(row: GatedMetric, least: int) -> str:
    """Return that a metric of few questions is worse than allowed, in counts."""
    delta = row.delta
    fell = f" in {delta.regressed} of {counted(delta.current.n, 'question')}" if delta.regressed else ""
    named = f" ({some(delta.fell)})" if delta.fell else ""
    return f"{name(delta)} got worse{fell}{named}, too few questions to be red (gate.min_cases is {least})"


def odds(p: float) -> str:
    """Return how often a change that does no harm looks as bad as this one."""
    if p > 0.5:
        return "most harmless changes look as bad"
    return f"1 of {round(1 / max(p, 0.001))} harmless changes looks as bad"


def composite(test: CompositeTest) -> str:
    """Return how the questions of a mode moved together, and what the test of that gives."""
    units = "" if test.units == test.cases else f" in {counted(test.units, 'group')}"
    mean = f"the mean of {enumerated([*map(figures.title, test.parts)])} ({test.mode})"
    return f"{mean} went from {_means(test)}, {test.moves}{units}; {chance(test.adjusted)} ({test.test})"


def _means(test: CompositeTest) -> str:
    return f"{written(test.before, beside=test.after)} to {written(test.after, beside=test.before)}"


def large_loss(test: CompositeTest) -> str:
    """Return that a loss is large and that no test shows it, and why, where that is known."""
    fell = f"all questions together ({test.mode}) went from {_means(test)}, but the test does not confirm it"
    if test.lost_units == test.lost:
        return f"{fell}: {chance(test.adjusted)}"
    units = "1 group, and a group counts" if test.lost_units == 1 else f"{test.lost_units} groups, and each counts"
    return f"{fell}: the {test.lost} that got worse are in {units} as one question ({chance(test.adjusted)})"


def failures(operations: Operations, allowed: float) -> str:
    """Return how many calls failed, by kind, and how many were not made; `allowed` is a share of all."""
    failures = {kind: number for kind, number in operations.failures.items() if kind != "aborted"}
    # of a single kind the number is that of the calls
    kinds = ", ".join(failures if len(failures) == 1 else (f"{number} {kind}" for kind, number in failures.items()))
    error, share = failing(operations.most_common_error), setting(rounded(100 * allowed, 10))
    return f"{failed_calls(operations, f' ({kinds})')}, and gate.max_error_rate allows {share}%{error}"


def failed_calls(operations: Operations, kinds: str = "") -> str:
    """Return how many calls failed of those that were made, and how many were not; `kinds` comes behind the first."""
    left = operations.failures.get("aborted", 0)
    failed, made = operations.failed - left, operations.calls - left
    parts = [f"{failed} of {counted(made, 'call')} failed{kinds}"] if failed else []
    parts += [f"{counted(left, 'call')} {'was' if left == 1 else 'were'} not made"] if left else []
    return " and ".join(parts)


def failing(message: str) -> str:
    """Quote what most of the failed calls said, to be appended; nothing where that is not known."""
    # the words are the API's, or a run's that nobody has to believe: none of them may look like raggate's own
    return f"; most often: “{cut(message, limit=160).translate(_PLAIN_QUOTES)}”" if message else ""


def crept(row: GatedMetric, total: float, since: str) -> str:
    """Return by how much a metric got worse in steps that were each small enough to be accepted."""
    way = "down" if row.delta.current.direction == "higher" else "up"
    allowed, begun = _allowed(row), f" since {since}" if since else ""
    lost = figures.distance(row.delta.metric, total, beside=row.allowed or 0.0)
    steps = f"small accepted steps of at most {allowed} each"
    return f"{name(row.delta)} has crept {way} {lost}{begun} in {steps}; in all only {allowed} is allowed"


def waived(waiver: WaiverStatus) -> str:
    """Return who waives something, until when, and why."""
    return f"waived by {_owner(waiver)} until {waiver.expires}{_soon(waiver)}: {cut(waiver.reason)}"


def unused(waiver: WaiverStatus) -> str:
    """Return that a waiver excuses nothing."""
    until = f"until {waiver.expires}{_soon(waiver)}"
    return f"the waiver of {target(waiver)} by {_owner(waiver)} {until} excuses nothing: remove it"


def expired(waiver: WaiverStatus, *, resolved: bool) -> str:
    """Return that a waiver has expired, and whether the change settles it."""
    advice = "; this change removes or renews it" if resolved else ": remove or renew it"
    return f"the waiver of {target(waiver)} by {_owner(waiver)} expired on {waiver.expires}{advice}"


def target(waiver: WaiverStatus) -> str:
    """Return what a waiver is for."""
    subject = f"question {cut(waiver.case)}" if waiver.case is not None else figures.title(cut(waiver.metric or ""))
    return subject if waiver.mode is None else f"{subject} ({waiver.mode})"


def _owner(waiver: WaiverStatus) -> str:
    return cut(waiver.owner, limit=100)


def _soon(waiver: WaiverStatus) -> str:
    if waiver.days_left is None or not 0 <= waiver.days_left <= SOON:
        return ""
    return " (today)" if waiver.days_left == 0 else f" (in {counted(waiver.days_left, 'day')})"


def clause(sentence: str) -> str:
    """Return a sentence without its full stop, to be part of another."""
    return sentence.rstrip(".")


def name(delta: Delta) -> str:
    """Return the name of a row: metric, mode and slice."""
    where = "" if delta.slice == OVERALL else f" for {delta.slice}"
    return f"{figures.title(delta.metric)} ({delta.mode}){where}"


def removed(names: Sequence[str]) -> str:
    """Return which cases of the baseline are gone."""
    return f"{counted(len(names), 'question')} of the baseline {are(len(names))} gone: {some(names)}"


def instead(comparison: Comparison) -> str:
    """Return what to do about a baseline that must not be compared with."""
    baseline = comparison.baseline
    if baseline is not None and baseline.scorecard.suite not in {"", comparison.scorecard.suite}:
        return "name this suite's own baseline"
    return "undo that change, or promote a run with the new setting"


def not_asked(missing: Sequence[tuple[str, str]]) -> str:
    """Return which questions, by mode and case id, a run lacks results of; one that lacks them in two modes is one."""
    number = len({case for _, case in missing})
    names = some([f"{cut(case)} ({cut(mode)})" for mode, case in missing])
    return f"{counted(number, 'question')} of the golden set {'lacks' if number == 1 else 'lack'} results: {names}"


def no_baseline(comparison: Comparison, *, promotable: bool, broken: bool = False) -> str:
    """Return that there is no baseline, and what to do."""
    none = "there is no baseline to compare with"
    # what was not measured well cannot be promoted either
    if comparison.no_baseline or not promotable:
        return comparison.no_baseline or none
    return (
        f"{none}, and this run cannot become one: it breaks an invariant"
        if broken
        else f"{none}; review this run and promote it"
    )


def are(number: int) -> str:
    """Choose the verb for a number."""
    return "is" if number == 1 else "are"


def some(names: Sequence[str]) -> str:
    """List the first five names."""
    shown = ", ".join(names[:5])
    return f"{shown}, …" if len(names) > 5 else shown


def headline(
    outcome: VerdictKind,
    reasons: Sequence[Reason],
    comparison: Comparison,
    warnings: Sequence[Reason],
    tests: Sequence[CompositeTest] = (),
) -> tuple[str, ...]:
    """Return the verdict in one sentence or a few, for a reader in a hurry; and which metrics had no say in it."""
    if outcome == "pass":
        sentences = _passed(comparison, warnings, tests)
    elif outcome == "regression":
        sentences = _regression(reasons, [flip.case_id for flip in comparison.broke])
    else:
        sentences = (impossible(outcome, reasons[0]),)
    unfit = [warning for warning in warnings if warning.code == "judge-unfit"]
    if not unfit:
        return sentences
    # others of their metrics may decide
    metrics = enumerated([figures.title(warning.metric or "") for warning in unfit])
    return (*sentences, f"Judges do not decide about {metrics}: {clause(unfit[0].message)}.")


def _passed(comparison: Comparison, warnings: Sequence[Reason], tests: Sequence[CompositeTest]) -> tuple[str, ...]:
    if losses := list(tolerated(warnings)):
        modes = {warning.mode for warning in warnings if warning.code == "no-evidence"}
        chances = [test.adjusted for test in tests if test.mode in modes]
        told = f" {odds(min(chances)).capitalize()}." if chances else ""
        return (f"No regression, but {'; '.join(losses)}.{told}",)
    compared = comparison.compared or comparison.scorecard.questions
    note = f", {counted(len(warnings), 'warning')}" if warnings else ""
    return (f"No gated metric is worse than allowed ({counted(compared, 'question')}{note}).",)


def impossible(outcome: VerdictKind, reason: Reason) -> str:
    """Return why a run is neither good nor bad."""
    before = "The API's answers cannot be right" if outcome == "invariant broken" else "No verdict is possible"
    return f"{before}: {clause(reason.message)}."


def of_part(
    outcome: VerdictKind,
    reasons: Sequence[Reason],
    comparison: Comparison,
    selection: Selection,
    let_pass: Sequence[Reason],
) -> tuple[str, ...]:
    """Return first that only a part was asked, then what became of it."""
    first = f"P{selection.sentence[1:]}."
    if outcome == "failed in part":
        return (first, *_failed(reasons, comparison))
    if outcome != "partial":
        return (first, impossible(outcome, reasons[0]))
    left = len(selection.asked) - comparison.compared
    new = f" ({left} of them are new or changed since the baseline)" if left > 0 else ""
    excused = [*dict.fromkeys(reason.case_id or "" for reason in let_pass)]
    but = f" except the waived {some(excused)}" if excused else ""
    return (first, f"None of these questions got worse{but}{new}. This is no verdict on the whole suite.")


def _failed(reasons: Sequence[Reason], comparison: Comparison) -> Iterator[str]:
    broken = {flip.case_id for flip in comparison.broke if not flip.waived}
    worse = [*dict.fromkeys(reason.case_id or "" for reason in reasons if reason.code == "worse")]
    marked = [*dict.fromkeys(reason.case_id or "" for reason in reasons if reason.code == "must-pass")]
    for cases, noun, verb in (
        ([case for case in worse if case in broken], "question", "broke"),
        ([case for case in worse if case not in broken], "question", "got worse"),
        (marked, "must-pass question", "not passed"),
    ):
        if cases:
            yield f"{counted(len(cases), noun)} {verb}: {some(cases)}."


def tolerated(warnings: Sequence[Reason]) -> Iterator[str]:
    """Return what a pass let through although it is worse than allowed, by its warnings; nothing where nothing is."""
    kinds = {"waived": "waived", "no-evidence": "perhaps by chance", "few-cases": "on too few questions"}
    about = [warning for warning in warnings if warning.code in kinds and warning.case_id is None]
    rows = [warning for warning in about if warning.metric is not None]
    # a metric may be waived for its fall, and once more for its creep
    if rows:
        why = " or ".join(words for code, words in kinds.items() if any(row.code == code for row in rows))
        yield f"{counted_metrics(_places(rows))} {are(len({row.metric for row in rows}))} worse than allowed, {why}"
    if len(about) > len(rows):
        yield "all questions together got worse (waived)"
    # a question that is waived in several modes is one question
    cases = len({item.case_id for item in warnings if item.code == "waived" and item.case_id is not None})
    if cases:
        yield f"{counted(cases, 'question')} that got worse or failed {are(cases)} waived"
    yield from (warning.message for warning in warnings if warning.code in _AT_THE_TOP)


def _places(reasons: Sequence[Reason]) -> list[tuple[str, str, str]]:
    return [(reason.metric or "", reason.mode or "", reason.slice or "") for reason in reasons]


def _regression(reasons: Sequence[Reason], broke: Sequence[str]) -> tuple[str, ...]:
    codes = [reason.code for reason in reasons]
    worse = _places([reason for reason in reasons if reason.code in {"worse", "below-floor"}])
    # a question that is lost in several modes is one question
    lost = len({reason.case_id for reason in reasons if reason.code == "must-pass"})
    questions = len(set(broke))
    parts = [counted_metrics(worse)] if worse else []
    parts += [counted(lost, "must-pass question")] if lost else []
    sentences = [f"Worse than allowed: {' and '.join(parts)}."] if parts else []
    if "composite-worse" in codes:
        sentences.append("All questions together got worse, by more than chance.")
    if crept := _places([reason for reason in reasons if reason.code == "creep"]):
        sentences.append(f"Crept beyond the tolerance in small steps: {counted_metrics(crept)}.")
    if left := codes.count("waiver-expired"):
        sentences.append(f"{counted(left, 'waiver')} expired.")
    times = f", {len(broke)} times in all modes together" if len(broke) > questions else ""
    return (*sentences, *([f"{counted(questions, 'question')} broke{times}."] if broke else []))
