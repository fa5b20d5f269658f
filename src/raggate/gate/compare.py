"""A scorecard held against a baseline: deltas over the same cases, the questions that flipped, what else changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set as AbstractSet

from msgspec.structs import replace

from raggate.base.quote import cut
from raggate.config.question_settings import asked_in
from raggate.gate import judge_advice
from raggate.gate.causes.cause_evidence import Overview, cause_evidence, overview_of
from raggate.gate.completeness import never_asked, not_asked, other_questions
from raggate.gate.deltas import Sides, all_rows
from raggate.gate.flips import find_flips
from raggate.gate.other_systems import restate
from raggate.gate.reach import modes_without_match, modes_without_past, reaches
from raggate.models.baseline import Baseline, Restated
from raggate.models.comparison import Comparison, Delta, GoldenChanges, NoteChange
from raggate.models.golden import Case, by_id
from raggate.models.provenance import RunCommand
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, Scorecard, by_question

# told elsewhere, or different in every run
_NOT_CONFIGURATION = frozenset(
    (
        *("chunk_tokens", "chunks", "documents", "empty_documents", "fields", "folders", "golden"),
        *("judges", "judging", "noise", "notes", "passages", "probes", "repeat", "repeated", "vault", "versions"),
    )
)

_KEEP_NO_BASELINE: tuple[RunCommand, ...] = ("run", "calibrate")
"""Commands that hold what they measure against nothing."""


def compare(
    run: Run,
    scorecard: Scorecard,
    baseline: Baseline | None,
    *,
    min_slice: int = 10,
    incomparable: tuple[str, ...] = (),
    waived: AbstractSet[tuple[str, str]] = frozenset(),
) -> Comparison:
    """Compare a scored run with a baseline over the cases that are the same on both sides; others have stand-ins."""
    theirs = None
    baseline = judge_advice.by_these_judges(scorecard, baseline)
    if baseline is not None:
        theirs = None if baseline.paired else restate(run, scorecard, baseline)
        incomparable = (*baseline.unfit, *incomparable, *(theirs.problems if theirs else ()))
    before = by_question(baseline.scorecard.cases if baseline is not None and not incomparable else ())
    overview = overview_of(run, before)
    bare = _bare(run, scorecard, baseline, incomparable, overview)
    if baseline is None or incomparable:
        return bare
    notes = [side.fingerprint.get("notes") for side in (baseline.scorecard, scorecard)]
    changes = note_changes(notes[0], notes[1]) if isinstance(notes[0], dict) and isinstance(notes[1], dict) else ()
    evidence = cause_evidence(run, scorecard, baseline.scorecard, changes, overview)
    sides = Sides(scorecard, baseline, before, waived)
    flips = find_flips(run, sides.same, evidence)
    deltas = _unpaired(scorecard, theirs) if theirs else sides.deltas(min_slice)
    return replace(
        bare,
        baseline=theirs.baseline if theirs else baseline,
        deltas=tuple(deltas),
        flips=tuple(replace(flip, waived=(flip.mode, flip.case_id) in waived) for flip in flips),
        golden=golden_changes(run, scorecard, baseline, refiled=sides.refiled, released=sides.released),
        vault_changes=changes,
        config_changes=_config_changes(scorecard, baseline),
        evidence=evidence,
        compared=sides.compared,
    )


def _bare(
    run: Run, scorecard: Scorecard, baseline: Baseline | None, incomparable: tuple[str, ...], overview: Overview
) -> Comparison:
    bare = Comparison(
        baseline=baseline,
        scorecard=scorecard,
        incomparable=incomparable,
        not_asked=not_asked(run),
        never_asked=tuple(never_asked(run)),
        no_baseline=_why_no_baseline(run) if baseline is None else "",
        untold_headings=tuple(
            (mode, overview.by_heading[mode], overview.labelled[mode])
            for mode, told in overview.has_heading.items()
            if not told and overview.by_heading[mode]
        ),
    )
    shown = dict.fromkeys((*modes_without_past(bare), *modes_without_match(scorecard)))
    return replace(bare, reach=reaches(run, shown))


def _why_no_baseline(run: Run) -> str:
    """Return why there is none although the project may have one; empty if there is simply none yet."""
    file, command = run.config.baseline_path, run.provenance.command
    if file in run.provenance.ignored:
        return f"the base commit has no baseline: commit {cut(file)} there, or check without --against"
    kind = "an interrupted run" if run.interrupted else f"a run of `raggate {command}`"
    keeps_none = run.interrupted or command in _KEEP_NO_BASELINE
    return f"{kind} keeps no baseline: name one with --baseline" if keeps_none else ""


def _unpaired(scorecard: Scorecard, theirs: Restated) -> Iterable[Delta]:
    for mode, name, metric, stored in all_rows(scorecard, theirs.baseline):
        own = scorecard.slices.get(mode, {}).get(name, {}).get(metric) or stored.without_cases()
        restated = theirs.current.get(mode, {}).get(name, {}).get(metric)
        # what raggate does not measure in this run, such as answers that were not asked for, is no loss by other terms
        row = Delta.between((mode, name, metric), stored, restated if restated and own.n else own)
        if restated and own.n and name == OVERALL:
            row = replace(row, full_run=own)
        # means over other numbers of questions say nothing of each other
        yield replace(row, delta=None) if other_questions(row) else row


def note_changes(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[NoteChange, ...]:
    """Return the notes that were added, removed and changed; both map `vault/rel_path` to a hash of the text."""
    changes = [NoteChange("added", note) for note in now if note not in before]
    changes += [NoteChange("removed", note) for note in before if note not in now]
    changes += [NoteChange("changed", note) for note in now if note in before and before[note] != now[note]]
    return tuple(sorted(changes))


def _config_changes(scorecard: Scorecard, baseline: Baseline) -> tuple[tuple[str, str, str], ...]:
    before, now = baseline.scorecard.fingerprint, scorecard.fingerprint
    if not before:
        return ()
    # what the baseline did not record yet has not changed
    return tuple(
        (key, _in_words(before[key]), _in_words(now.get(key, "not known")))
        for key in sorted(set(before) - _NOT_CONFIGURATION)
        if before[key] is not None and before[key] != now.get(key)
    )


def _in_words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) and value else str(value)


def golden_changes(
    run: Run, scorecard: Scorecard, baseline: Baseline, *, refiled: Iterable[str], released: Iterable[str]
) -> GoldenChanges:
    """Compare the golden sets, not what was asked of them: a run may have been cut short."""
    if not baseline.paired:
        return GoldenChanges()
    modes = [mode for mode in baseline.scorecard.slices if mode in scorecard.slices]
    # if modes have several hashes of a case, the last one counts
    hashes = {case.case_id: case.hash for case in baseline.scorecard.cases}
    asked = {(case.mode, case.case_id) for case in baseline.scorecard.cases}
    added, relabelled = set[str](), set[str]()
    for case in run.golden.cases:
        if case.id not in hashes:
            added.add(case.id)
            continue
        if hashes[case.id] != case.hash:
            relabelled.add(case.id)
        new = (mode for mode in modes if asked_in(case.modes, mode) and (mode, case.id) not in asked)
        added.update(f"{case.id} ({mode})" for mode in new)
    return GoldenChanges(
        added=tuple(sorted(added)),
        removed=tuple(sorted(removed_cases(run.golden.cases, baseline, modes))),
        relabelled=tuple(sorted(relabelled)),
        refiled=tuple(sorted(refiled)),
        released=tuple(sorted(released)),
    )


def removed_cases(cases: Sequence[Case], baseline: Baseline, modes: Collection[str]) -> set[str]:
    """Return the cases of a baseline that a golden set does not have, at all or in one of these modes."""
    now, removed = by_id(cases), set[str]()
    for old in baseline.scorecard.cases:
        known = now.get(old.case_id)
        if known is None:
            removed.add(old.case_id)
        elif old.mode in modes and not asked_in(known.modes, old.mode):
            removed.add(f"{old.case_id} ({old.mode})")
    return removed
