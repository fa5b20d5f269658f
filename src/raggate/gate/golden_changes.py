"""The golden set of a run beside the one of the baseline: what was added, removed, relabelled and filed anew. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from raggate.config.retrieval_modes import asked_in
from raggate.models.baseline import Baseline
from raggate.models.comparison import GoldenChanges
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard


def golden_changes(
    run: Run, scorecard: Scorecard, baseline: Baseline, *, refiled: Iterable[str], released: Iterable[str]
) -> GoldenChanges:
    """Compare the golden sets, not what was asked of them: a run may have been cut short.

    Args:
        run: the run.
        scorecard: its scores.
        baseline: what it is compared with.
        refiled: names of cases that stand in other slices.
        released: names of cases that are no longer must-pass.
    """
    if not baseline.paired:
        return GoldenChanges()
    if _alike(run, scorecard, baseline):
        return GoldenChanges(refiled=tuple(sorted(refiled)), released=tuple(sorted(released)))
    before = {case.case_id: case.hash for case in baseline.scorecard.cases}
    now = {case.id: case.hash for case in run.golden.cases}
    both = set(before) & set(now)
    modes = set(baseline.scorecard.slices) & set(scorecard.slices)
    pairs_before = {(case.mode, case.case_id) for case in baseline.scorecard.cases}
    pairs_now = {(mode, case.id) for case in run.golden.cases for mode in modes if asked_in(case.modes, mode)}

    def limited(pairs: set[tuple[str, str]]) -> set[str]:
        return {f"{case} ({mode})" for mode, case in pairs if mode in modes and case in both}

    return GoldenChanges(
        added=tuple(sorted((set(now) - set(before)) | limited(pairs_now - pairs_before))),
        removed=tuple(sorted((set(before) - set(now)) | limited(pairs_before - pairs_now))),
        relabelled=tuple(sorted(case for case in both if not baseline.same(before[case], now[case]))),
        refiled=tuple(sorted(refiled)),
        released=tuple(sorted(released)),
    )


def _alike(run: Run, scorecard: Scorecard, baseline: Baseline) -> bool:
    """Say whether both have the same questions, in one order and one mode: then nothing else need be held of them."""
    if len(run.golden.cases) != len(baseline.scorecard.cases):
        return False
    modes = {*baseline.scorecard.slices, *scorecard.slices}
    return len(modes) == 1 and all(
        own.id == case.case_id and own.modes is None and case.mode in modes and baseline.same(case.hash, own.hash)
        for own, case in zip(run.golden.cases, baseline.scorecard.cases, strict=True)
    )
