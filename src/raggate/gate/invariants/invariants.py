"""What must hold: of the API's answers, and between two runs before they may be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from raggate.config.invariant_settings import Invariants, sentences
from raggate.config.schema import Gate
from raggate.gate import wording
from raggate.gate.invariants import answer_rules, probe_coverage
from raggate.gate.invariants.answer_invariants import CHECKS
from raggate.models.baseline import Baseline
from raggate.models.comparison import Finding
from raggate.models.fingerprint import cutoffs_of
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.scoring.heading_reading import read_otherwise
from raggate.text.numbers import counted

# what a score depends on: a difference here makes means of different things
MUST_AGREE = {
    "metrics_version": "the definitions of the metrics",
    "adapter": "the adapter",
    "k": "the number of chunks asked for (ask.k)",
    "retrieval_only": "whether answers are generated (ask.retrieval_only)",
}


def check_answers(run: Run, levels: Invariants, gate: Gate) -> tuple[Finding, ...]:
    """Check every invariant that is not off; findings that break the gate come first.

    Of a question that is asked again, `gate` says how many calls may fail.
    """
    checks = {name: check for name, check in CHECKS.items() if getattr(levels, name) != "off"}
    suite, broken = answer_rules.broken(run, checks)
    findings = [_finding(name, getattr(levels, name), its.count, its.shortest) for name, its in broken.items()]
    gaps = probe_coverage.gaps(suite, levels, gate)
    findings += [_finding(name, level, 1, (why,), unseen=True) for name, level, why in gaps]
    return tuple(sorted(findings, key=lambda finding: finding.level))


def _finding(
    name: str, level: Literal["error", "warn"], count: int, examples: Sequence[str], *, unseen: bool = False
) -> Finding:
    return Finding(
        invariant=name,
        level=level,
        message=sentences()[name],
        count=count,
        examples=tuple(examples),
        unseen=unseen,
    )


def comparable(scorecard: Scorecard, baseline: Baseline) -> tuple[str, ...]:
    """Say why a run must not be compared with a baseline; empty when it may be."""
    reasons = []
    if baseline.scorecard.suite and baseline.scorecard.suite != scorecard.suite:
        reasons.append(f"the baseline is of suite {baseline.scorecard.suite!r}, this run of {scorecard.suite!r}")
    for key, meaning in MUST_AGREE.items():
        before, now = baseline.scorecard.fingerprint.get(key), scorecard.fingerprint.get(key)
        # a bare metrics file has no fingerprint: nothing is known to differ
        if baseline.paired and before != now:
            reasons.append(f"{meaning} changed: {before} in the baseline, {now} now")
    otherwise = read_otherwise(baseline.scorecard.fingerprint, scorecard.fingerprint) if baseline.paired else 0
    if otherwise:
        answers = f"{counted(otherwise, 'answer')} {wording.are(otherwise)}"
        reasons.append(
            "the baseline was scored by headings letter by letter; now they are compared as people read them, by which "
            f"alone {answers} right"
        )
    cutoffs = cutoffs_of(scorecard.fingerprint)
    lost = [str(k) for k in cutoffs_of(baseline.scorecard.fingerprint) if k not in cutoffs]
    if lost:
        reasons.append(f"the baseline is scored at cut-offs that are not scored any more (score.k): {', '.join(lost)}")
    if not set(baseline.scorecard.slices) & set(scorecard.slices):
        measured, stored = ", ".join(scorecard.slices), ", ".join(baseline.scorecard.slices)
        reasons.append(f"no mode in common: {stored or 'none'} in the baseline, {measured or 'none'} now")
    return tuple(reasons)
