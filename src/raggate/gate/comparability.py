"""Whether a run may be held against a baseline at all: what both must have been measured and scored by. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.gate import wording
from raggate.models.baseline import Baseline
from raggate.models.fingerprint import Fingerprint, cutoffs_of
from raggate.models.scorecard import Scorecard
from raggate.scoring.heading_reading import read_otherwise
from raggate.text.numbers import counted

# what a score depends on: a difference here makes means of different things
_MUST_AGREE = {
    "metrics_version": "the definitions of the metrics",
    "adapter": "the adapter",
    "k": "the number of chunks asked for (ask.k)",
    "retrieval_only": "whether answers are generated (ask.retrieval_only)",
}


def obstacles(scorecard: Scorecard, baseline: Baseline | None) -> tuple[str, ...]:
    """Return why a run must not be compared with a baseline; empty when it may be, or there is none."""
    if baseline is None:
        return ()
    before, now = baseline.scorecard.fingerprint, scorecard.fingerprint
    reasons = [*setting_obstacles(baseline, scorecard.suite, now, tuple(scorecard.slices))]
    otherwise = read_otherwise(before, now) if baseline.paired else 0
    if otherwise:
        answers = f"{counted(otherwise, 'answer')} {wording.are(otherwise)}"
        reasons.append(
            "the baseline was scored by headings letter by letter; now they are compared as people read them, by which "
            f"alone {answers} right"
        )
    return tuple(reasons)


def setting_obstacles(baseline: Baseline, suite: str, now: Fingerprint, modes: Sequence[str]) -> Iterator[str]:
    """Yield why a run by some settings must not be compared with a baseline, as far as those tell it.

    Args:
        now: what the run is known by, see `Inputs.fingerprint`; with the cut-offs and the version of the metrics.
    """
    before = baseline.scorecard.fingerprint
    if baseline.scorecard.suite and baseline.scorecard.suite != suite:
        yield f"the baseline is of suite {baseline.scorecard.suite!r}, this run of {suite!r}"
    # a bare metrics file has no fingerprint: nothing is known to differ
    if baseline.paired:
        yield from (text for _, text in changed_settings(before, now))
    lost = lost_cutoffs(before, cutoffs_of(now))
    if lost:
        yield f"the baseline is scored at cut-offs that are not scored any more (score.k): {lost}"
    if not set(baseline.scorecard.slices) & set(modes):
        measured, stored = ", ".join(modes), ", ".join(baseline.scorecard.slices)
        yield f"no mode in common: {stored or 'none'} in the baseline, {measured or 'none'} now"


def changed_settings(before: Fingerprint, now: Fingerprint) -> Iterator[tuple[str, str]]:
    """Yield what must agree between two fingerprints and does not: the key, and a clause with both values."""
    for key, meaning in _MUST_AGREE.items():
        if before.get(key) != now.get(key):
            yield key, f"{meaning} changed: {before.get(key)} in the baseline, {now.get(key)} now"


def lost_cutoffs(before: Fingerprint, now: Sequence[int]) -> str:
    """Name the cut-offs of a fingerprint that are not scored any more; empty for none."""
    return ", ".join(str(k) for k in cutoffs_of(before) if k not in now)
