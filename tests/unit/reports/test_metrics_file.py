"""metrics.json: the means of a run in a shape other tools read, the same for the same answers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from builders import make_case_score, make_run, make_scorecard
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, Scorecard
from raggate.reports import metrics_file
from raggate.scoring.score import score
from reviews import CUTOFFS, good, run_of, worse


def rendered(run: Run, scorecard: Scorecard | None = None) -> Any:
    """Return the file as a JSON value, read strictly."""
    return json.loads(metrics_file.render(run, scorecard or score(run, CUTOFFS)), parse_constant=pytest.fail)


def test_file(snapshot: SnapshotAssertion) -> None:
    """The file of a run with failed calls is the one that is stored."""
    assert rendered(run_of(worse())) == snapshot.use_extension(JSONSnapshotExtension)


def test_shape_of_substrate() -> None:
    """Means stand under by_retriever, mode, overall or by_<dimension> and key, beside the count of cases."""
    scorecard = make_scorecard(
        make_case_score("q1", slices=(OVERALL, "tag=a=b")), make_case_score("q2", {"hit_at_5": 0.0})
    )
    by_retriever = rendered(make_run(), scorecard)["by_retriever"]
    assert by_retriever == {
        "hybrid": {
            "overall": {"hit_at_5": 0.5, "count": 2, "n": {"hit_at_5": 2}, "unscored": {}},
            "by_tag": {"a=b": {"hit_at_5": 1.0, "count": 1, "n": {"hit_at_5": 1}, "unscored": {}}},
        }
    }


def test_metric_that_applies_to_no_case() -> None:
    """A metric without a value is null, never 0, with n and what was not scored beside it."""
    bucket = rendered(make_run(), make_scorecard(make_case_score("q1", {"mrr_at_5": None})))["by_retriever"]["hybrid"]
    assert bucket["overall"] == {"mrr_at_5": None, "count": 1, "n": {"mrr_at_5": 0}, "unscored": {"mrr_at_5": 1}}


def test_only_times_and_names_differ_between_two_runs() -> None:
    """Two runs with the same answers differ in run id, time stamp and latency, and in nothing else."""
    one = rendered(run_of(good()))
    slower = [replace(item, result=replace(item.result, elapsed_ms=99.0)) for item in good()]
    other = rendered(run_of(slower, run_id="run-2", started="2027-01-01T00:00:00Z", duration_s=9.0))
    assert {key for key in one if one[key] != other[key]} == {"run_id", "timestamp", "latency"}


def test_without_operations() -> None:
    """A scorecard that does not know how the calls went leaves those parts out rather than making them up."""
    assert {"operational_metrics", "latency", "indexing_coverage", "coverage_by_document_type", "cost"}.isdisjoint(
        rendered(make_run(), make_scorecard(make_case_score()))
    )
