"""The questions that a run without a baseline does not answer, each with why: what a first run has to show. Pure."""

from __future__ import annotations

from raggate.gate.completeness import modes_without_past
from raggate.gate.flips import absent
from raggate.models.comparison import Comparison, Flip
from raggate.models.run import Run


def find_misses(run: Run, comparison: Comparison, flip_at: int) -> tuple[Flip, ...]:
    """Describe the questions of modes without a past whose passage is not within a rank.

    Those that must pass come first. A run that broke off has none: what it did not come to says nothing.

    Args:
        run: the run.
        comparison: it held against the baseline, if there is one.
        flip_at: rank within which a question counts as found.
    """
    modes = modes_without_past(comparison)
    if run.stopped is not None or not modes:
        return ()
    flips = absent(run, comparison.scorecard, modes, flip_at)
    return tuple(sorted(flips, key=lambda flip: (not flip.must_pass, flip.mode, flip.after is not None, flip.case_id)))
