"""A scorecard held against a baseline: deltas over the same cases, the questions that flipped, what else changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet

from msgspec.structs import replace

from raggate.gate import judged_metrics
from raggate.gate.both_sides import Sides, all_rows
from raggate.gate.causes.cause_evidence import cause_evidence
from raggate.gate.completeness import idle, modes_without_past, not_asked, other_questions
from raggate.gate.flips import find_flips
from raggate.gate.golden_changes import golden_changes
from raggate.gate.matchless import modes_without_match
from raggate.gate.other_systems import restate
from raggate.gate.overview import Overview
from raggate.gate.reach import reaches
from raggate.gate.untold_headings import untold_headings
from raggate.models.baseline import Baseline, Restated
from raggate.models.comparison import Comparison, Delta, NoteChange
from raggate.models.provenance import RunCommand
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, Scorecard, by_question

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
    before = by_question(baseline.scorecard.cases if baseline is not None and not incomparable else ())
    overview = Overview.of(run, before)
    bare = _bare(run, scorecard, baseline, incomparable, overview)
    if baseline is None or incomparable:
        return bare
    changes = _vault_changes(scorecard, baseline)
    evidence = cause_evidence(run, scorecard, baseline.scorecard, changes, overview)
    sides = Sides(scorecard, baseline, waived=waived)
    sides.add_all(before)
    flips = find_flips(run, sides.same, flip_at, evidence, scorecard.cases)
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
        keeps_none=_keeps_none(run),
    )
    shown = dict.fromkeys((*modes_without_past(bare), *modes_without_match(scorecard)))
    return replace(bare, reach=reaches(run, shown), untold_headings=tuple(untold_headings(overview)))


def _keeps_none(run: Run) -> str:
    if run.interrupted:
        return "an interrupted run"
    command = run.provenance.command
    return f"a run of `raggate {command}`" if command in _KEEP_NO_BASELINE else ""


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
