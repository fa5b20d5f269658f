"""A run becomes the baseline: what refuses it, and where it came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from raggate.config import Gate
from raggate.errors import CannotTell
from raggate.models import Run
from raggate.outcomes import EPSILON, Finding, Scorecard


def refuse_unmeasured(run: Run, scorecard: Scorecard, findings: Sequence[Finding], gate: Gate) -> None:
    """Refuse a run that must not become a baseline.

    Raises:
        CannotTell: when it was cut short, asked nothing, lacks cases, had too many failed calls or broke an invariant.
    """
    operations = scorecard.operations
    reasons = []
    if run.stopped is not None:
        reasons.append(f"it did not finish: {run.stopped}")
    modes = set(run.fingerprint.get("modes", ()))
    expected = {case.id for case in run.golden.cases if case.modes is None or modes & set(case.modes)}
    missing = expected - {case.case_id for case in scorecard.cases}
    if missing:
        reasons.append(f"{len(missing)} of {len(expected)} cases not asked")
    if operations is None or not operations.calls:
        reasons.append("no question was asked")
    elif operations.failed > gate.max_error_rate * operations.calls + EPSILON:
        reasons.append(f"{operations.failed} of {operations.calls} calls failed")
    reasons += [
        f"invariant {item.invariant} does not hold: {item.examples[0]}" for item in findings if item.level == "error"
    ]
    if reasons:
        raise CannotTell(
            f"run {run.run_id} cannot become a baseline: {'; '.join(reasons)}", hint="Measure again, then promote."
        )


def provenance(run: Run) -> dict[str, Any]:
    """Say where a run came from. Only facts of the run itself, so that promoting it twice gives the same bytes."""
    return {
        "run_id": run.run_id,
        "measured": run.started,
        "raggate_version": run.config.get("raggate_version"),
        "checkout": run.config.get("checkout") or {},
        "against": run.config.get("against"),
    }
