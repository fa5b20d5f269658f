"""A run becomes the baseline: what refuses it, what it changes, and where it came from. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.dates import day
from raggate.base.errors import CannotTell, UsageError
from raggate.base.escape import log_line, plain
from raggate.base.jsonio import as_dict
from raggate.base.numbers import counted, rounded
from raggate.base.quote import cut, listed, quoted
from raggate.config.gate_settings import MIN_OVERLAP, Gate
from raggate.gate import baseline, caveats, compare, completeness, judge_advice, noise, policies, ratchet, wording
from raggate.gate.evidence import harmless_red
from raggate.gate.reach import refuse_matchless
from raggate.gate.statistics.paired import count_units
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Delta, Finding
from raggate.models.promotion import NOTES, BaselineCandidate, MetricChange
from raggate.models.provenance import RunCommand
from raggate.models.run import Run
from raggate.models.scorecard import EPSILON, OVERALL, Scorecard, improvement
from raggate.models.verdict import Reason
from raggate.scoring import figures, score

ALLOW = '--allow-regression --reason "..."'
"""What accepts a lower value, on a command line."""

MEND_FIRST = (
    "Correct the API, or how `ask` in raggate.yml reads it. Then measure again. If it is meant to be so, set "
    "`invariants.NAME: warn`. docs/configuration.md lists the invariants."
)
"""What to do where an invariant does not hold."""


OF_THE_SUITE: frozenset[RunCommand] = frozenset({"check", "run"})
"""Commands that ask the whole suite once, of the build that is gated."""
_MADE = {"diff": "one of two builds in a comparison", "prove": "a run with injected faults"}


class Terms(Struct, frozen=True, kw_only=True):
    """The terms of a promotion."""

    reason: str = ""
    by: str = ""
    allow_regression: bool = False
    permission: str = ALLOW
    allow_no_match: tuple[str, ...] = ()

    @classmethod
    def of(cls, reason: str, by: str, *, allow_regression: bool, allow_no_match: Sequence[str] = ()) -> Terms:
        """Make the terms of what a person typed: text of one printable line each."""
        return cls(
            reason=plain(reason, limit=500),
            by=plain(by, limit=100),
            allow_regression=allow_regression,
            allow_no_match=tuple(allow_no_match),
        )


def refuse_unmeasured(
    run: Run, scorecard: Scorecard, findings: Sequence[Finding], gate: Gate, use: str = "become a baseline"
) -> None:
    """Refuse a run that must not become a baseline, or must not be used otherwise, which `use` says."""
    reasons = [] if run.selection is None else [f"it is {run.selection.sentence}"]
    missing = completeness.not_asked(run) if run.selection is None else ()
    reasons += [item.message for item in completeness.unmeasured(scorecard, missing, gate, run.stopped)]
    broken = [
        f"invariant {item.invariant} {item.state}: {item.examples[0]}" for item in findings if item.level == "error"
    ]
    if reasons or broken:
        raise CannotTell(
            f"run {run.run_id} cannot {use}: {'; '.join([*reasons, *broken])}",
            hint=MEND_FIRST if broken else "Measure again, then promote.",
        )


def provenance(run: Run, scorecard: Scorecard) -> dict[str, Any]:
    """Return where a run came from. Only facts of the run itself, so that promoting it twice gives the same bytes."""
    known, median = run.provenance, caveats.median_ms(scorecard)
    return {
        **({"image": known.api_image} if known.api_image else {}),
        **({"build": known.build} if known.build else {}),
        "run_id": run.run_id,
        "measured": known.measured or run.started,
        **({} if median is None else {"median_ms": rounded(median, 1)}),
        "raggate_version": known.raggate_version,
        "checkout": {key: value for key, value in as_dict(known.checkout).items() if value is not None},
        "against": known.against,
    }


def propose(
    run: Run,
    scorecard: Scorecard,
    present: Baseline | None,
    gate: Gate,
    terms: Terms,
    *,
    incomparable: tuple[str, ...] = (),
    unreadable: str = "",
) -> BaselineCandidate:
    """Return what the baseline will be once a run that was measured well enough is promoted, and what that changes.

    A run that is worse by any amount is refused, unless a regression is allowed and has a reason.
    """
    if present is not None and present.scorecard.suite not in {"", run.suite}:
        suites = f"suite {quoted(present.scorecard.suite)}, the run is of {quoted(run.suite)}"
        raise UsageError(f"{present.source} is the baseline of {suites}")
    # waivers excuse a change before the gate; they never make what is promoted look better
    comparison = compare.compare(run, scorecard, present, min_slice=gate.min_cases, incomparable=incomparable)
    changes = tuple(of(comparison, gate))
    rows = tuple(row for row in changes if row.before.n or row.after.n)
    down = [*worse(run, rows, comparison, gate), *unknown(comparison, gate)]
    reasons = (*down, *_notes(comparison, gate, unreadable), *_beyond_limits(rows, gate))
    if down and not (terms.allow_regression and terms.reason.strip()):
        raise _worse(run, down, reasons, terms)
    empty = refuse_matchless(scorecard, gate.min_cases, terms.allow_no_match)
    known = _provenance(run, scorecard, present, terms)
    promotion = ratchet.Promotion(on=day(run.started) or "", reason=terms.reason, by=terms.by)
    data = baseline.write(scorecard, known, ratchet.advance(changes, comparison, gate, promotion))
    noted = (*empty, *reasons, *_noted(comparison, gate))
    return BaselineCandidate(data=data, provenance=known, comparison=comparison, rows=rows, reasons=noted)


def _worse(run: Run, down: Sequence[Reason], reasons: Sequence[Reason], terms: Terms) -> UsageError:
    # where nothing but grades of other judges is to be said of it, it may be none the worse
    how = "may be" if {reason.code for reason in down} == {"other-judges"} else "is"
    # a blank reason is none
    advice = "Only --reason is missing" if terms.allow_regression else "If that is accepted"
    return UsageError(
        f"run {run.run_id} {how} worse than the present baseline: {'; '.join(reason.message for reason in reasons)}",
        hint=f"{advice}: {terms.permission}.",
    )


def table(proposed: BaselineCandidate) -> list[str]:
    """Set the values before and after side by side, one line per metric, for a terminal."""
    names = [log_line(wording.name(row.change)) for row in proposed.rows]
    width = max((len(name) for name in names), default=0)
    lines = []
    for name, row in zip(names, proposed.rows, strict=True):
        where = over(row, proposed.comparison)
        change = "" if row.change.delta is None else f"  {figures.change(row.change)}{where}"
        before, after = (figures.value(row.change.metric, side) for side in (row.before, row.after))
        lines.append(f"{name:{width}}  {before:>7} → {after:>7}{change}".rstrip())
    for flips, verb in ((proposed.comparison.broke, "lost"), (proposed.comparison.fixed, "gained")):
        if flips:
            # one in several modes is one question
            questions = counted(len({flip.case_id for flip in flips}), "question")
            names = [f"{flip.case_id} ({flip.mode})" for flip in flips]
            lines.append(f"{questions} {verb}: {log_line(wording.some(names), limit=300)}")
    notes = (f"{'note' if item.code in NOTES else 'accepted'}: {item.message}" for item in proposed.reasons)
    return [*lines, *(log_line(line, limit=500) for line in notes)]


def _provenance(run: Run, scorecard: Scorecard, present: Baseline | None, terms: Terms) -> dict[str, Any]:
    stated: dict[str, Any] = {"reason": terms.reason or None, "promoted_by": terms.by or None}
    previous: Any = None if present is None else present.scorecard.run_id
    if present is not None and previous == run.run_id:
        # promoted once more: what was said the first time stays, unless something else is said now
        stated = {key: value or present.provenance.get(key) for key, value in stated.items()}
        previous = present.provenance.get("previous")
    return {**provenance(run, scorecard), **stated, "previous": previous}


def _notes(comparison: Comparison, gate: Gate, unreadable: str) -> Iterator[Reason]:
    if few := completeness.little_overlap(comparison):
        yield Reason("little-overlap", few)
    for cause in comparison.incomparable:
        yield Reason("little-overlap", f"the present baseline cannot be compared: {cause}")
    if unreadable:
        yield Reason("little-overlap", f"the present baseline cannot be read: {unreadable}")
    yield from noise.kept(comparison.scorecard)
    yield from _often_red(comparison.scorecard, gate)


def _often_red(scorecard: Scorecard, gate: Gate) -> Iterator[Reason]:
    groups: dict[str, list[str | None]] = {}
    for case in scorecard.cases:
        groups.setdefault(case.mode, []).append(case.group)
    for mode, of in groups.items():
        if odds := harmless_red(count_units(of), gate.policy):
            suite = counted(len(of), "question") + (f" in mode {cut(mode, limit=60)}" if len(groups) > 1 else "")
            often = f"with {suite} a harmless change is red in 1 of {round(1 / odds)} runs under gate.policy threshold"
            yield Reason("often-red", f"{often}: gate.policy evidence is seldom red by chance")


def _beyond_limits(rows: Sequence[MetricChange], gate: Gate) -> Iterator[Reason]:
    for row in rows:
        rule, value = gate.rule(row.change.metric), row.after.value
        direction = row.after.direction
        limit = None if rule is None else rule.limit(direction)
        if limit is not None and value is not None and not improvement(direction, limit, value) >= -EPSILON:
            beyond = wording.beyond_limit(row.change, value, limit)
            yield Reason("below-floor", f"{beyond}, so the next check will fail")


def _noted(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    now = comparison.scorecard.slices
    before = comparison.baseline.scorecard.slices if comparison.baseline is not None else {}
    gone = [f"mode {cut(mode, limit=60)}" for mode in sorted(before.keys() - now.keys())]
    for mode in sorted(before.keys() & now.keys()):
        names = sorted(before[mode].keys() - now[mode].keys())
        gone += [f"slice {cut(name, limit=80)} ({cut(mode, limit=60)})" for name in names]
    if gone:
        message = f"the present baseline has these, but the new one has no question for them: {listed(gone)}"
        yield Reason("vanished", message)
    found = score.found_headings(comparison.scorecard.fingerprint.get("found_headings")).values()
    if matches := sum(matches for _, matches in found):
        rest = f"{counted(matches, 'match rests', 'matches rest')} on headings that raggate found by the passage's text"
        yield Reason("found-headings", f"{rest}: the API does not return them")
    if gate.slices == "warn":
        yield from _slices(comparison, gate)


def _slices(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    # without the excuses that a check has for want of evidence
    return caveats.slices([policies.classify_row(delta, gate) for delta in comparison.deltas])


def of(comparison: Comparison, gate: Gate) -> Iterator[MetricChange]:
    """Set what is gated or tested, over all cases of the present baseline, beside that of the run, in every mode."""
    stored = comparison.baseline.scorecard.slices if comparison.baseline is not None else {}
    paired = {(row.mode, row.metric): row for row in comparison.deltas if row.slice == OVERALL}
    now = comparison.scorecard.slices
    for mode in dict.fromkeys((*stored, *now)):
        old, new = (side.get(mode, {}).get(OVERALL, {}) for side in (stored, now))
        for metric in dict.fromkeys((*old, *new)):
            if ratchet.rule_of(metric, gate) is not None:
                before = old.get(metric) or new[metric].without_cases()
                means = Delta.between((mode, OVERALL, metric), before, new.get(metric) or before.without_cases())
                row = _replacement(means, paired.get((mode, metric)), comparison)
                yield replace(row, sunk=ratchet.sinks(row, comparison, gate))


def _replacement(means: Delta, paired: Delta | None, comparison: Comparison) -> MetricChange:
    """Choose what decides: the shared cases, or the means where too few are shared to speak for the metric."""
    before, after = means.baseline, means.current
    whole = MetricChange(before=before, after=after, change=means, shared=False)
    present_baseline = comparison.baseline
    if paired is None or present_baseline is None:
        return whole
    if not present_baseline.paired:
        # means of another system are held against those of the run by its definitions
        return whole if paired.delta is None else replace(whole, change=paired)
    part = replace(whole, change=paired, shared=True)
    if paired.delta is None:
        return part if part.vanished and paired.baseline.n else whole
    few = completeness.little_overlap(comparison) or paired.current.n < MIN_OVERLAP * before.n - EPSILON
    # a loss over the few that are shared is one all the same
    return whole if few and (whole.down or not part.down) else part


def needs_permission(run: Run, comparison: Comparison, gate: Gate) -> tuple[Reason, ...]:
    """Return what of a run would replace something better in the baseline, which promoting it needs permission for."""
    if comparison.baseline is None:
        return ()
    rows = [row for row in of(comparison, gate) if row.before.n or row.after.n]
    return tuple(worse(run, rows, comparison, gate))


def worse(run: Run, rows: Sequence[MetricChange], comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Yield what of a run is worse than in the baseline, or gone: metrics, slices, cases, what was told."""
    yield from _down(rows, comparison)
    if gate.slices == "fail":
        # a mean that stays hides what one slice lost and another one won
        yield from (replace(reason, code="metric-down") for reason in _slices(comparison, gate))
    yield from _gone(run, comparison, gate)


def _down(rows: Sequence[MetricChange], comparison: Comparison) -> Iterator[Reason]:
    for row in rows:
        if row.down:
            values = figures.both(row.change.metric, row.change.baseline.value, row.change.current.value)
            yield Reason("metric-down", f"{wording.name(row.change)} {values}{over(row, comparison)}")
        elif row.sunk:
            others, means = row.change.uncompared, figures.both(row.change.metric, row.before.value, row.after.value)
            why = f"; {wording.beside(row.change.metric, others)}" if others is not None and others.n else ""
            yield Reason("metric-down", f"{wording.name(row.change)} {means} over all questions of each side{why}")
    retired = {case for row in rows if row.change.uncompared is not None for case in row.change.uncompared.retired}
    if retired:
        names = wording.some(sorted(retired))
        yield Reason("fewer-scored", f"{counted(len(retired), 'relabelled question')} left a gated metric: {names}")


def over(row: MetricChange, comparison: Comparison) -> str:
    """Return what a change is over where that is not simply the cases of both sides."""
    present_baseline = comparison.baseline
    if row.same_cases or present_baseline is None or row.after.n == 0 or row.before.n == 0:
        return ""
    if row.shared:
        shared = row.change.current.n or row.change.baseline.n
        return f" over {counted(shared, 'shared question')}"
    # of a baseline that cannot be compared with, or has no cases, that is said once and for all
    return ", means over different questions" if present_baseline.paired and not comparison.incomparable else ""


def _gone(run: Run, comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    removed = comparison.golden.removed
    if comparison.incomparable and comparison.baseline is not None:
        # nothing was compared, but cases have names
        removed = tuple(sorted(compare.removed_cases(run.golden.cases, comparison.baseline, ())))
    if removed:
        yield Reason("removed-cases", wording.removed(removed))
    yield from completeness.fewer_cases(comparison)
    yield from completeness.less_told(comparison, gate)
    yield from judge_advice.reasons(comparison, gate)
    yield from judge_advice.judged_by_others(comparison, promoting=True)


def unknown(comparison: Comparison, gate: Gate) -> Iterator[Reason]:
    """Yield why means of a baseline without cases are of other questions, so that no rise of them is one."""
    if comparison.baseline is not None and not comparison.baseline.paired:
        for cause in comparison.incomparable:
            yield Reason("incomparable", cause)
        yield from completeness.other_denominators(comparison, gate)


def refuse_other_origin(run: Run) -> None:
    """Refuse a run of a command that asks another build than the configuration's, or breaks it on purpose.

    A run that does not say what made it, as of other systems, passes.
    """
    command, build = run.provenance.command, run.provenance.build
    if command in _MADE:
        what = f"{cut(build, limit=80)}, {_MADE[command]}" if build else _MADE[command]
        raise UsageError(
            f"run {quoted(run.run_id)} is one of `raggate {command}`: {what}",
            hint="Promote one of `raggate check`, `raggate run` or `raggate calibrate`.",
        )
