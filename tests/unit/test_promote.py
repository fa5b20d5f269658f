"""Promoting: which runs must not become a baseline, and what a baseline says of where it came from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from builders import (
    make_case,
    make_chunk,
    make_failure,
    make_finding,
    make_golden,
    make_labelled,
    make_result,
    make_run,
)
from raggate.config import Gate
from raggate.errors import CannotTell
from raggate.models import Run
from raggate.outcomes import Finding
from raggate.promote import provenance, refuse_unmeasured
from raggate.scoring import score

ASKED = [make_labelled(make_case(f"q{number}"), make_result(f"q{number}", make_chunk())) for number in range(100)]
FAILED = [
    make_labelled(make_case(f"q{number}"), make_result(f"q{number}", failure=make_failure())) for number in range(100)
]


def promote(run: Run, findings: tuple[Finding, ...] = (), gate: Gate | None = None) -> None:
    """Try to promote a run."""
    refuse_unmeasured(run, score(run, (5,)), findings, gate or Gate())


@pytest.mark.parametrize(
    ("run", "findings", "gate"),
    [
        pytest.param(make_run(*ASKED), (), Gate(), id="all-answered"),
        pytest.param(make_run(*FAILED[:2], *ASKED[2:]), (), Gate(), id="exactly-the-allowed-share-failed"),
        pytest.param(make_run(*FAILED[:29], *ASKED[29:]), (), Gate(max_error_rate=0.29), id="allowed-share-is-exact"),
        pytest.param(make_run(*ASKED), (make_finding(level="warn"),), Gate(), id="an-invariant-warns"),
        pytest.param(
            make_run(
                *ASKED,
                golden=make_golden(*(item.case for item in ASKED), make_case("other", modes=("vector",))),
                fingerprint={"modes": ["hybrid"]},
            ),
            (),
            Gate(),
            id="a-case-for-another-mode-was-not-asked",
        ),
    ],
)
def test_accepted(run: Run, findings: tuple[Finding, ...], gate: Gate) -> None:
    """A run that was measured well enough for a verdict may become a baseline."""
    promote(run, findings, gate)


@pytest.mark.parametrize(
    ("run", "findings", "reason"),
    [
        pytest.param(make_run(*ASKED, stopped="gave up"), (), "it did not finish: gave up", id="stopped"),
        pytest.param(
            make_run(*ASKED[:98], golden=make_golden(*(item.case for item in ASKED))),
            (),
            "2 of 100 cases not asked",
            id="cases-missing",
        ),
        pytest.param(make_run(golden=make_golden()), (), "no question was asked", id="nothing-asked"),
        pytest.param(make_run(*FAILED[:3], *ASKED[3:]), (), "3 of 100 calls failed", id="too-many-failed"),
        pytest.param(
            make_run(*ASKED),
            (make_finding(),),
            "invariant scores_ordered does not hold: q1 (hybrid): rank 2",
            id="invariant-broken",
        ),
        pytest.param(
            make_run(*FAILED[:3], *ASKED[3:], stopped="gave up"),
            (make_finding(),),
            "it did not finish: gave up; 3 of 100 calls failed; invariant scores_ordered does not hold: "
            "q1 (hybrid): rank 2",
            id="all-causes-are-told",
        ),
    ],
)
def test_refused(run: Run, findings: tuple[Finding, ...], reason: str) -> None:
    """A run that was not measured well enough is refused with every cause."""
    with pytest.raises(CannotTell) as caught:
        promote(run, findings)
    assert caught.value.message == f"run run-1 cannot become a baseline: {reason}"
    assert caught.value.hint == "Measure again, then promote."


CONFIG: dict[str, Any] = {"raggate_version": "0.1.0", "checkout": {"commit": "abc"}, "against": "def", "suite": "notes"}


def test_provenance() -> None:
    """A baseline says which run it is, when it was measured, by which version, and on which commits."""
    assert provenance(make_run(config=CONFIG)) == {
        "run_id": "run-1",
        "measured": "2026-01-02T03:04:05Z",
        "raggate_version": "0.1.0",
        "checkout": {"commit": "abc"},
        "against": "def",
    }


def test_provenance_of_a_bare_run() -> None:
    """What a run does not know of itself stays empty rather than being made up."""
    known = provenance(make_run())
    assert (known["raggate_version"], known["checkout"], known["against"]) == (None, {}, None)


def test_provenance_depends_on_the_run_alone() -> None:
    """Two promotions of one run give the same provenance, whatever its results took."""
    run = make_run(*ASKED, config=CONFIG)
    assert provenance(run) == provenance(replace(run, duration_s=99.0, results=ASKED[:1]))
