"""What must agree between a run and a baseline before they are compared."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_baseline, make_case_score, make_scorecard
from raggate.gate.comparability import obstacles
from tables import each_row

FINGERPRINT = {"metrics_version": 1, "adapter": "ask", "k": 5, "retrieval_only": True, "cutoffs": [1, 3]}
NOW = make_scorecard(make_case_score(), fingerprint=FINGERPRINT)


@each_row(
    ("before", "reason"),
    [
        pytest.param({}, None, id="same"),
        pytest.param({"fingerprint": {**FINGERPRINT, "cutoffs": [1], "index_version": "9"}}, None, id="other-settings"),
        pytest.param({"fingerprint": {}, "cases": ()}, None, id="nothing-known-of-a-bare-metrics-file"),
        pytest.param({"suite": ""}, None, id="suite-not-known"),
        pytest.param({"suite": "other"}, "the baseline is of suite 'other', this run of 'default'", id="suite"),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "k": 10}},
            "the number of chunks asked for (ask.k) changed: 10 in the baseline, 5 now",
            id="k",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "adapter": "other"}},
            "the adapter changed: other in the baseline, ask now",
            id="adapter",
        ),
        pytest.param(
            {"fingerprint": {key: value for key, value in FINGERPRINT.items() if key != "k"}},
            "the number of chunks asked for (ask.k) changed: None in the baseline, 5 now",
            id="k-not-told",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "cutoffs": [1, 3, 5, 10]}},
            "the baseline is scored at cut-offs that are not scored any more (score.k): 5, 10",
            id="cut-offs-lost",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "retrieval_only": False}},
            "whether answers are generated (ask.retrieval_only) changed: False in the baseline, True now",
            id="retrieval-only",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "metrics_version": 0}},
            "the definitions of the metrics changed: 0 in the baseline, 1 now",
            id="metrics-version",
        ),
        pytest.param({"slices": {"bm25": {}}}, "no mode in common: bm25 in the baseline, hybrid now", id="modes"),
        pytest.param({"slices": {}}, "no mode in common: none in the baseline, hybrid now", id="no-mode-at-all"),
    ],
)
def test_obstacles(before: dict[str, Any], reason: str | None) -> None:
    """A run is compared with a baseline unless what the scores depend on differs, or is told on one side only."""
    assert obstacles(NOW, make_baseline(replace(NOW, **before))) == ((reason,) if reason else ())


def test_every_cause_is_named() -> None:
    """Several causes why two runs cannot be compared are all told."""
    before = replace(NOW, suite="other", fingerprint={**FINGERPRINT, "k": 1}, slices={})
    assert len(obstacles(NOW, make_baseline(before))) == 3
