"""A scorecard held against a baseline: deltas over the same cases, the questions that flipped, what else changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import replace
from typing import Any

from raggate.config.retrieval_modes import asked_in
from raggate.gate import judged_metrics
from raggate.gate.cause_evidence import cause_evidence
from raggate.gate.completeness import idle, modes_without_past, not_asked, other_questions
from raggate.gate.flips import find_flips
from raggate.gate.matchless import modes_without_match
from raggate.gate.other_systems import restate
from raggate.gate.overview import Overview, by_question
from raggate.gate.paired_rows import PairedCases, mean_of
from raggate.gate.reach import reaches
from raggate.gate.stand_ins import uncompared
from raggate.gate.untold_headings import untold_headings
from raggate.models.baseline import Baseline, Restated
from raggate.models.comparison import Comparison, Delta, GoldenChanges, NoteChange
from raggate.models.provenance import RunCommand
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, CaseScore, MetricValue, Scorecard

# told elsewhere, or different in every run
_NOT_CONFIGURATION = frozenset(
    (
        *("chunk_tokens", "chunks", "documents", "fields", "folders", "golden", "headings_as_read"),
        *("judges", "judging", "noise", "notes", "probes", "repeat", "repeated", "vault"),
    )
)

_KEEP_NO_BASELINE: tuple[RunCommand, ...] = ("run", "calibrate")
"""Commands that hold what they measure against nothing."""


def compare(
    run: Run,
    scorecard: Scorecard,
    baseline: Baseline | None,
    *,
    flip_at: int,
    min_slice: int = 10,
    incomparable: tuple[str, ...] = (),
    waived: AbstractSet[tuple[str, str]] = frozenset(),
) -> Comparison:
    """Compare a scored run with a baseline over the cases that are the same on both sides; others have stand-ins.

    Args:
        run: the run the scorecard was made of, for the reasons behind flips.
        scorecard: its scores.
        baseline: what to hold it against, None when there is none.
        flip_at: rank within which a question counts as found.
        min_slice: values from which a slice of the baseline has a mean that an added case can be held to.
        incomparable: why the two must not be compared, beside a baseline that is unfit; then nothing is.
        waived: mode and case id of the cases that are left out of the means on both sides, where cases can be paired.
    """
    theirs = None
    baseline = judged_metrics.by_these_judges(scorecard, baseline)
    if baseline is not None:
        theirs = None if baseline.paired else restate(run, scorecard, baseline)
        incomparable = (*baseline.unfit, *incomparable, *(theirs.problems if theirs else ()))
    before = by_question(baseline.scorecard) if baseline is not None and not incomparable else {}
    overview = Overview.of(run, before)
    bare = _bare(run, scorecard, baseline, incomparable, overview)
    if baseline is None or incomparable:
        return bare
    sides = [(before.get((new.mode, new.case_id)), new) for new in scorecard.cases]
    pairs = [(old, new) for old, new in sides if old is not None and baseline.same(old.hash, new.hash)]
    counted = [(old, new) for old, new in sides if (new.mode, new.case_id) not in waived]
    changes = _vault_changes(scorecard, baseline)
    evidence = cause_evidence(run, scorecard, baseline.scorecard, changes, overview)
    flips = find_flips(run, pairs, flip_at, evidence, scorecard.cases)
    deltas = _unpaired(scorecard, theirs) if theirs else _paired(counted, scorecard, baseline, min_slice)
    return replace(
        bare,
        baseline=theirs.baseline if theirs else baseline,
        deltas=tuple(deltas),
        flips=tuple(replace(flip, waived=(flip.mode, flip.case_id) in waived) for flip in flips),
        golden=_golden_changes(run, scorecard, baseline, pairs),
        vault_changes=changes,
        config_changes=_config_changes(scorecard, baseline),
        evidence=evidence,
        compared=len({new.case_id for _, new in pairs}),
    )


def _bare(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, incomparable: tuple[str, ...], overview: Overview
) -> Comparison:
    """Say what was not asked of a run, and how far its answers come where nothing is compared or nothing matches."""
    questions, modes = idle(run)
    file = run.config.baseline_path
    bare = Comparison(
        baseline=baseline,
        scorecard=scorecard,
        incomparable=incomparable,
        not_asked=not_asked(run, overview.counts),
        idle=questions,
        idle_modes=modes,
        uncommitted=file if file in run.provenance.ignored else "",
        asked_again=run.provenance.asked_again,
        keeps_none=next((name for name in _KEEP_NO_BASELINE if name == run.provenance.command), ""),
    )
    shown = dict.fromkeys((*modes_without_past(bare), *modes_without_match(scorecard)))
    return replace(bare, reach=reaches(run, shown), untold_headings=tuple(untold_headings(overview)))


def _paired(
    sides: Sequence[tuple[CaseScore | None, CaseScore]], scorecard: Scorecard, baseline: Baseline, min_slice: int
) -> Iterable[Delta]:
    pairs: dict[str, list[tuple[CaseScore, CaseScore]]] = {}
    cases: dict[str, list[CaseScore]] = {}
    others: dict[tuple[str, str], list[tuple[CaseScore | None, CaseScore]]] = {}
    for old, new in sides:
        cases.setdefault(new.mode, []).append(new)
        if old is not None and baseline.same(old.hash, new.hash):
            pairs.setdefault(new.mode, []).append((old, new))
        else:
            for name in new.slices:
                others.setdefault((new.mode, name), []).append((old, new))
    rows = list(_all_rows(scorecard, baseline))
    metrics = [*dict.fromkeys(metric for _, _, metric, _ in rows)]
    paired = {mode: PairedCases(pairs.get(mode, ()), metrics) for mode in dict.fromkeys(row[0] for row in rows)}
    for mode, name, metric, stored in rows:
        row = paired[mode].row((mode, name, metric), stored)
        changes: dict[str, Any] = {}
        if name not in scorecard.slices.get(mode, {}):
            # a slice or mode that is gone leaves no pair: the stored mean then shows what vanished
            changes["baseline"] = stored
        if name == OVERALL:
            changes |= _whole_run(row, cases.get(mode, ()), stored, past=mode in baseline.scorecard.slices)
        if left := others.get((mode, name)):
            stand, fell = uncompared(row, left, baseline.scorecard.slices.get(mode, {}), min_slice)
            changes |= {"uncompared": stand, "fell": tuple(sorted({*row.fell, *fell}))}
        yield replace(row, **changes) if changes else row


def _whole_run(row: Delta, cases: Sequence[CaseScore], stored: MetricValue, *, past: bool) -> dict[str, MetricValue]:
    """Give what a row shows of the run itself, beside the cases that are compared.

    Args:
        row: the metric over the cases that are compared.
        cases: all of the mode but those waived.
        stored: the baseline's mean.
        past: whether the baseline has the mode; nothing of one without a past can be compared, and all of it is shown.
    """
    values = [case.values.get(row.metric) for case in cases]
    known = [value for value in values if value is not None]
    whole = mean_of(known, len(values) - len(known), stored)
    if not past:
        return {"current": whole}
    return {} if whole.n == row.current.n else {"full_run": whole}


def _unpaired(scorecard: Scorecard, theirs: Restated) -> Iterable[Delta]:
    for mode, name, metric, stored in _all_rows(scorecard, theirs.baseline):
        own = scorecard.slices.get(mode, {}).get(name, {}).get(metric) or stored.without_cases()
        restated = theirs.current.get(mode, {}).get(name, {}).get(metric)
        # what raggate does not measure in this run, such as answers that were not asked for, is no loss by other terms
        row = Delta.between((mode, name, metric), stored, restated if restated and own.n else own)
        if restated and own.n and name == OVERALL:
            row = replace(row, full_run=own)
        # means over other numbers of questions say nothing of each other
        yield replace(row, delta=None) if other_questions(row) else row


def _all_rows(scorecard: Scorecard, baseline: Baseline) -> Iterable[tuple[str, str, str, MetricValue]]:
    """Give every mode, slice and metric of the baseline, and those of the run that it does not have."""
    for mode, slices in baseline.scorecard.slices.items():
        for name, metrics in slices.items():
            for metric, stored in metrics.items():
                yield mode, name, metric, stored
    for mode, slices in scorecard.slices.items():
        for name, metrics in slices.items():
            known = baseline.scorecard.slices.get(mode, {}).get(name, {})
            for metric, current in metrics.items():
                if metric not in known:
                    yield mode, name, metric, current.without_cases()


def _golden_changes(
    run: Run, scorecard: Scorecard, baseline: Baseline, pairs: Sequence[tuple[CaseScore, CaseScore]]
) -> GoldenChanges:
    """Compare the golden sets, not what was asked of them: a run may have been cut short."""
    if not baseline.paired:
        return GoldenChanges()
    before = {case.case_id: case.hash for case in baseline.scorecard.cases}
    now = {case.id: case.hash for case in run.golden.cases}
    both = set(before) & set(now)
    modes = set(baseline.scorecard.slices) & set(scorecard.slices)
    refiled = {new.case_id for old, new in pairs if set(old.slices) != set(new.slices)}
    pairs_before = {(case.mode, case.case_id) for case in baseline.scorecard.cases}
    pairs_now = {(mode, case.id) for case in run.golden.cases for mode in modes if asked_in(case.modes, mode)}

    def limited(pairs: set[tuple[str, str]]) -> set[str]:
        return {f"{case} ({mode})" for mode, case in pairs if mode in modes and case in both}

    return GoldenChanges(
        added=tuple(sorted((set(now) - set(before)) | limited(pairs_now - pairs_before))),
        removed=tuple(sorted((set(before) - set(now)) | limited(pairs_before - pairs_now))),
        relabelled=tuple(sorted(case for case in both if not baseline.same(before[case], now[case]))),
        refiled=tuple(sorted(refiled)),
        released=tuple(sorted({new.case_id for old, new in pairs if old.must_pass and not new.must_pass})),
    )


def _vault_changes(scorecard: Scorecard, baseline: Baseline) -> tuple[NoteChange, ...]:
    before = baseline.scorecard.fingerprint.get("notes")
    now = scorecard.fingerprint.get("notes")
    if not isinstance(before, dict) or not isinstance(now, dict):
        return ()
    return note_changes(before, now)


def note_changes(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[NoteChange, ...]:
    """Name the notes that were added, removed and changed; both map `vault/rel_path` to a hash of the text."""
    changes = [NoteChange("added", note) for note in now if note not in before]
    changes += [NoteChange("removed", note) for note in before if note not in now]
    changes += [NoteChange("changed", note) for note in now if note in before and before[note] != now[note]]
    return tuple(sorted(changes))


def _config_changes(scorecard: Scorecard, baseline: Baseline) -> tuple[tuple[str, str, str], ...]:
    before, now = baseline.scorecard.fingerprint, scorecard.fingerprint
    if not before:
        return ()
    return tuple(
        (key, _in_words(before.get(key, "not known")), _in_words(now.get(key, "not known")))
        for key in sorted((set(before) | set(now)) - _NOT_CONFIGURATION)
        if before.get(key) != now.get(key)
    )


def _in_words(value: object) -> str:
    """Write what a fingerprint holds: of a list, such as that of the modes, what is in it."""
    return ", ".join(map(str, value)) if isinstance(value, list) and value else str(value)
