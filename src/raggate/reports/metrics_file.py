"""metrics.json: the means of a run in the `by_retriever` shape of substrate, with the rest beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raggate.base.jsonio import dumps
from raggate.base.numbers import STORED_DECIMALS, rounded, rounded_or_none
from raggate.models.judging import JudgingSummary
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, MetricValue, Scorecard
from raggate.scoring.noise import Noise
from raggate.scoring.repeats import Repeated

SCHEMA = "raggate/metrics/1"


def render(run: Run, scorecard: Scorecard, compat: Mapping[str, Any] | None = None) -> str:
    """Serialise a scorecard and, as `compat`, what other systems' code says; the same but for names and times."""
    operations, part = scorecard.operations, run.selection
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "suite": scorecard.suite,
        "run_id": run.run_id,
        "timestamp": run.started,
        "complete": not run.shortfall,
        **({"build": run.provenance.build} if run.provenance.build else {}),
        **({"partial": {"asked": len(part.asked), "of": part.of}} if part is not None else {}),
        "golden_hash": run.golden.hash,
        "by_retriever": {
            mode: _mode(slices, scorecard.counts.get(mode, {})) for mode, slices in scorecard.slices.items()
        },
    }
    if operations is not None:
        counts = {name: getattr(operations, name) for name in ("calls", "failed", "retries", "failures")}
        rates = {name: rounded_or_none(rate.value) for name, rate in operations.rates.items()}
        value["operational_metrics"] = counts | rates
        value["repeated"] = None
        if (repeated := Repeated.of(scorecard.fingerprint)) is not None:
            share = rounded(repeated.differ / repeated.compared) if repeated.compared else None
            value["repeated"] = {**repeated.stored(), "share": share}
        if (noise := Noise.of(scorecard.fingerprint)) is not None:
            value["noise"] = noise.stored()
        times = operations.latency.items()
        steps = {step: {name: rounded(value, 1) for name, value in parts.items()} for step, parts in times}
        value["latency"] = {"total_s": rounded(run.duration_s, 3), **steps}
        value["indexing_coverage"] = operations.coverage
        value["coverage_by_document_type"] = operations.document_types
        cost = operations.cost.items()
        value["cost"] = {kind: {name: rounded(amount, 6) for name, amount in own.items()} for kind, own in cost}
    summary = JudgingSummary.of(scorecard.fingerprint)
    if summary is not None and (check := summary.spot_check) is not None:
        rate = rounded_or_none(check.disagreement_rate)
        value["judge_reliability"] = {"disagreement_rate": rate, "spot_check_n": check.spot_check_n}
    if compat:
        value["compat"] = dict(compat)
    return dumps(value, pretty=True).decode()


def _mode(slices: dict[str, dict[str, MetricValue]], counts: dict[str, int]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, values in slices.items():
        bucket = _bucket(values, counts.get(name, 0))
        if name == OVERALL:
            content[OVERALL] = bucket
        else:
            dimension, _, key = name.partition("=")
            content.setdefault(f"by_{dimension}", {})[key] = bucket
    return content


def _bucket(values: dict[str, MetricValue], count: int) -> dict[str, Any]:
    return {
        # a trend is read from here, and shown beside the values of baselines
        **{metric: rounded_or_none(value.value, STORED_DECIMALS) for metric, value in values.items()},
        "count": count,
        "n": {metric: value.n for metric, value in values.items()},
        "unscored": {metric: value.unscored for metric, value in values.items() if value.unscored},
    }
