"""The golden set of a run beside the one of the baseline: what was added, removed, relabelled and filed anew. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from raggate.config.retrieval_modes import asked_in
from raggate.models.baseline import Baseline
from raggate.models.comparison import GoldenChanges
from raggate.models.golden import Case, by_id
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard, by_question


def golden_changes(
    run: Run, scorecard: Scorecard, baseline: Baseline, *, refiled: Iterable[str], released: Iterable[str]
) -> GoldenChanges:
    """Compare the golden sets, not what was asked of them: a run may have been cut short.

    Args:
        refiled: names of cases that stand in other slices.
        released: names of cases that are no longer must-pass.
    """
    if not baseline.paired:
        return GoldenChanges()
    if _alike(run, scorecard, baseline):
        return GoldenChanges(refiled=tuple(sorted(refiled)), released=tuple(sorted(released)))
    modes = [mode for mode in baseline.scorecard.slices if mode in scorecard.slices]
    added, relabelled = _added_and_relabelled(run.golden.cases, baseline, modes)
    return GoldenChanges(
        added=tuple(sorted(added)),
        removed=tuple(sorted(removed_cases(run.golden.cases, baseline, modes))),
        relabelled=tuple(sorted(relabelled)),
        refiled=tuple(sorted(refiled)),
        released=tuple(sorted(released)),
    )


def _added_and_relabelled(
    cases: Iterable[Case], baseline: Baseline, modes: Collection[str]
) -> tuple[set[str], set[str]]:
    """Name the cases that the baseline does not have, at all or in one of these modes, and those it has otherwise."""
    before = by_question(baseline.scorecard.cases)
    # where modes tell several hashes of a case, the last one counts
    of_baseline = [*dict.fromkeys(case.mode for case in baseline.scorecard.cases)][::-1]
    added, relabelled = set[str](), set[str]()
    for case in cases:
        old = next((old for mode in of_baseline if (old := before.get((mode, case.id))) is not None), None)
        if old is None:
            added.add(case.id)
            continue
        if old.hash != case.hash:
            relabelled.add(case.id)
        new = (mode for mode in modes if asked_in(case.modes, mode) and (mode, case.id) not in before)
        added.update(f"{case.id} ({mode})" for mode in new)
    return added, relabelled


def removed_cases(cases: Sequence[Case], baseline: Baseline, modes: Collection[str]) -> set[str]:
    """Name the cases of a baseline that a golden set does not have, at all or in one of these modes."""
    now, removed = by_id(cases), set[str]()
    for old in baseline.scorecard.cases:
        known = now.get(old.case_id)
        if known is None:
            removed.add(old.case_id)
        elif old.mode in modes and not asked_in(known.modes, old.mode):
            removed.add(f"{old.case_id} ({old.mode})")
    return removed


def _alike(run: Run, scorecard: Scorecard, baseline: Baseline) -> bool:
    """Whether both have the same questions, in one order and one mode: then nothing else need be held of them."""
    if len(run.golden.cases) != len(baseline.scorecard.cases):
        return False
    modes = {*baseline.scorecard.slices, *scorecard.slices}
    return len(modes) == 1 and all(
        own.id == case.case_id and own.modes is None and case.mode in modes and case.hash == own.hash
        for own, case in zip(run.golden.cases, baseline.scorecard.cases, strict=True)
    )
