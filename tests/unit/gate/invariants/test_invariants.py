"""Findings: their levels and order, and what must agree between a run and a baseline before they are compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import (
    make_baseline,
    make_case_score,
    make_chunk,
    make_labelled,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.config.invariant_settings import Invariants
from raggate.config.schema import Gate
from raggate.gate.invariants.invariants import check_answers, comparable
from raggate.models.comparison import Finding
from tables import each_row

OFF = Invariants(**dict.fromkeys(Invariants.model_fields, "off"))
BADLY_RANKED = make_labelled(result=make_result("q1", make_chunk("a", rank=2), make_chunk("b", rank=1)))


def findings(level: str) -> tuple[Finding, ...]:
    """Check ranks that are not contiguous at a level."""
    return check_answers(make_run(BADLY_RANKED), OFF.model_copy(update={"ranks_contiguous": level}), Gate())


@pytest.mark.parametrize("level", ["error", "warn"])
def test_level(level: str) -> None:
    """A finding carries the level the configuration gives it."""
    (finding,) = findings(level)
    assert finding.level == level


def test_off() -> None:
    """An invariant that is off is not checked."""
    assert findings("off") == ()


def test_errors_come_first() -> None:
    """Findings that break the gate stand before those that warn."""
    levels = OFF.model_copy(update={"ranks_contiguous": "warn", "scores_ordered": "error"})
    chunks = make_chunk("a", rank=2, score_final=1.0), make_chunk("b", rank=1, score_final=2.0)
    both = check_answers(make_run(make_labelled(result=make_result("q1", *chunks))), levels, Gate())
    assert [finding.invariant for finding in both] == ["scores_ordered", "ranks_contiguous"]


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
def test_comparable(before: dict[str, Any], reason: str | None) -> None:
    """A run is compared with a baseline unless what the scores depend on differs, or is told on one side only."""
    assert comparable(NOW, make_baseline(replace(NOW, **before))) == ((reason,) if reason else ())


def test_every_cause_is_named() -> None:
    """Several causes why two runs cannot be compared are all told."""
    before = replace(NOW, suite="other", fingerprint={**FINGERPRINT, "k": 1}, slices={})
    assert len(comparable(NOW, make_baseline(before))) == 3
