"""What is left of a run without a verdict: why, what to do, and the API's last words."""

from __future__ import annotations

import json

import pytest
from syrupy.assertion import SnapshotAssertion

from raggate.base.errors import CannotTell, Interrupted, RaggateError, UsageError
from raggate.models.publication import Publication, RunFailure
from raggate.models.waiver import WaiverStatus
from raggate.reports import comment, verdict_file
from rendered import visible
from reviews import passing
from tables import each_row

ERRORS = {
    "never-ready": CannotTell(
        "the API was not ready after 60 s: GET /api/health: connection refused",
        hint="Is it listening on the port that {port} stands for?",
        log=("listening on :8080", "", "warning: no vault"),
    ),
    "interrupted": Interrupted("interrupted after 3 of 24 calls", hint="Partial results are in runs/1."),
    "several-problems": UsageError(["golden.jsonl:1: key 'id' is missing", "golden.jsonl:2: not valid JSON"]),
}


def of(error: RaggateError, run_id: str = "run-1") -> RunFailure:
    """Return the failure of a run of the suite."""
    return RunFailure.of(error, "notes", run_id=run_id)


@pytest.mark.parametrize("name", ERRORS)
def test_page(name: str, snapshot: SnapshotAssertion) -> None:
    """Each way to end without a verdict is rendered as the page that is stored."""
    assert comment.render_whole(of(ERRORS[name], "20260102_030405")) == snapshot


@pytest.mark.parametrize("name", ERRORS)
def test_file(name: str, snapshot: SnapshotAssertion) -> None:
    """Each way to end without a verdict is serialised as the file that is stored."""
    assert "".join(verdict_file.render(of(ERRORS[name], "20260102_030405"))) == snapshot


@each_row("kind", [CannotTell, Interrupted, UsageError])
def test_file_has_the_outcome_of_the_error(kind: type[RaggateError]) -> None:
    """A program reads outcome, exit code, reason and hint under the keys that a verdict has."""
    value = json.loads("".join(verdict_file.render(of(kind("it broke", hint="Mend it."), "run-1"))))
    assert (value["verdict"], value["exit_code"]) == (kind.label, int(kind.exit_code))
    assert value["reasons"] == [{"code": kind.label.replace(" ", "-"), "message": "it broke"}]
    assert value["hint"] == "Mend it."
    verdict = json.loads("".join(verdict_file.render(passing())))
    assert set(value) == set(verdict)
    assert set(value["golden_changes"]) == set(verdict["golden_changes"])


def test_waivers_that_stand() -> None:
    """The waivers of the configuration are listed in page, file and comment, as they are beside a verdict."""
    waivers = (
        WaiverStatus(
            metric="hit_at_5",
            case=None,
            mode=None,
            owner="ada",
            reason="reindexing",
            expires="2030-01-01",
            state="active",
            days_left=20,
        ),
        WaiverStatus(
            metric=None,
            case="q1",
            mode="hybrid",
            owner="ben",
            reason="known",
            expires="2020-01-01",
            state="expired",
            days_left=-9,
        ),
    )
    broken = RunFailure.of(CannotTell("it broke"), "notes", waivers, run_id="run-1")
    page = visible(comment.render_whole(broken))
    assert "Waivers (2)⛔ expired: question q1 (hybrid): known (ben, until 2020-01-01)" in page
    assert "active: hit_at_5: reindexing (ada, until 2030-01-01)" in page
    assert [one["owner"] for one in json.loads("".join(verdict_file.render(broken)))["waivers"]] == [
        "ada",
        "ben",
    ]
    assert "reindexing" in comment.render(broken, Publication())
