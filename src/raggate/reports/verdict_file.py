"""verdict.json: the decision for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from raggate.models.verdict import Judged, Reason, Review
from raggate.scoring.repeats import Repeated
from raggate.text.escape import plain
from raggate.text.jsonio import dumps, rounded

SCHEMA = "raggate/verdict/1"


def render(review: Review) -> str:
    """Serialise the verdict, its reasons, the judged rows and the flipped questions."""
    verdict, comparison = review.verdict, review.comparison
    baseline = comparison.baseline
    repeated = Repeated.of(review.scorecard.fingerprint)
    value = {
        "schema": SCHEMA,
        "suite": review.run.suite,
        "run_id": review.run.run_id,
        "verdict": verdict.outcome,
        "exit_code": verdict.exit_code,
        "headline": verdict.headline,
        "reasons": [_clause(reason) for reason in verdict.reasons],
        "warnings": [_clause(reason) for reason in verdict.warnings],
        "baseline": None if baseline is None else {"source": baseline.source, "run_id": baseline.scorecard.run_id},
        "against": review.against,
        "compared": comparison.compared,
        "metrics": [_row(row) for row in verdict.rows if row.gated or row.status == "no baseline"],
        "flips": [asdict(flip) for flip in comparison.flips],
        "fallen": [asdict(flip) for flip in review.fallen],
        "promotion_needs_permission": list(review.lowers),
        "golden_changes": asdict(comparison.golden),
        "vault_changes": list(comparison.vault_changes),
        "config_changes": [list(entry) for entry in comparison.config_changes],
        "repeated": None if repeated is None else repeated.stored(),
        "invariants": [asdict(finding) for finding in review.findings],
        "waivers": [asdict(waiver) for waiver in review.waivers],
        "first_run": review.first_run,
        "preview": None if review.preview is None else asdict(review.preview),
        "not_used": list(review.run.config.get("ignored") or []),
        "hint": "",
        "log": [plain(line) for line in review.run.log],
    }
    return dumps(value, pretty=True).decode()


def _clause(reason: Reason) -> dict[str, str]:
    return {"code": reason.code, "message": reason.message}


def _row(row: Judged) -> dict[str, Any]:
    delta = row.delta
    return {
        "mode": delta.mode,
        "slice": delta.slice,
        "metric": delta.metric,
        "direction": delta.current.direction,
        "baseline": _shown(delta.baseline.value),
        "baseline_n": delta.baseline.n,
        "current": _shown(delta.current.value),
        "current_n": delta.current.n,
        "delta": _shown(delta.delta),
        "lost": delta.lost,
        "gained": delta.gained,
        "allowed": row.allowed,
        "limit": row.floor,
        "whole": _shown(delta.own.value),
        "whole_n": delta.own.n,
        "status": row.status,
    }


def _shown(value: float | None) -> float | None:
    return None if value is None else rounded(value)
