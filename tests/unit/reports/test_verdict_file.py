"""verdict.json: the decision for programs, complete and with foreign text as plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from raggate.base.errors import CannotTell, Interrupted, RaggateError, UsageError
from raggate.base.escape import plain
from raggate.models.provenance import Provenance
from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports import comment, verdict_file
from rendered import visible
from reviews import HOSTILE, REVIEWS, hostile, passing, review, waiver
from tables import each_row


def rendered(review: Review) -> Any:
    """Return the file as a JSON value, read strictly."""
    return json.loads("".join(verdict_file.render(review)), parse_constant=pytest.fail)


@pytest.mark.parametrize("name", ["pass", "regression"])
def test_file(name: str, snapshot: SnapshotAssertion) -> None:
    """The file of a pass and of a regression is the one that is stored."""
    assert rendered(review(name)) == snapshot.use_extension(JSONSnapshotExtension)


@each_row("name", REVIEWS)
def test_same_review_same_bytes(name: str) -> None:
    """Two renderings of the same review are the same, with sorted keys, which are those of every verdict."""
    text = "".join(verdict_file.render(REVIEWS[name]()))
    assert text == "".join(verdict_file.render(REVIEWS[name]()))
    assert set(json.loads(text)) == set(rendered(passing()))
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def test_hostile_text_is_data() -> None:
    """Foreign text is in the file unchanged, as the value of a string and nothing else."""
    value = rendered(hostile())
    assert {flip["question"] for flip in value["flips"]} == {HOSTILE}
    assert value["suite"] == HOSTILE
    assert "\x1b" not in "".join(verdict_file.render(hostile()))


def test_log_and_files_not_used() -> None:
    """The API's last lines and the files of the working tree that had no say are there for programs."""
    held = passing()
    run = replace(
        held.run, log=("panic: x", "\x1b[31mred"), provenance=Provenance(ignored=("golden.jsonl", "vault/a.md"))
    )
    value = rendered(replace(held, run=run))
    assert (value["log"], value["not_used"], value["hint"]) == (
        [plain(line) for line in run.log],
        ["golden.jsonl", "vault/a.md"],
        "",
    )


@each_row("kind", [CannotTell, Interrupted, UsageError])
def test_file_has_the_outcome_of_the_error(kind: type[RaggateError]) -> None:
    """A program reads outcome, exit code, reason and hint under the keys that a verdict has."""
    value = json.loads(
        "".join(verdict_file.render(RunFailure.of(kind("it broke", hint="Mend it."), "notes", run_id="run-1")))
    )
    assert (value["verdict"], value["exit_code"]) == (kind.label, int(kind.exit_code))
    assert value["reasons"] == [{"code": kind.label.replace(" ", "-"), "message": "it broke"}]
    assert value["hint"] == "Mend it."
    verdict = json.loads("".join(verdict_file.render(passing())))
    assert set(value) == set(verdict)
    assert set(value["golden_changes"]) == set(verdict["golden_changes"])


def test_waivers_that_stand() -> None:
    """The waivers of the configuration are listed in page and file, as they are beside a verdict."""
    waivers = (waiver(), waiver(case="q1", mode="hybrid", state="expired", expires="2020-01-01"))
    broken = RunFailure.of(CannotTell("it broke"), "notes", waivers, run_id="run-1")
    page = visible(comment.render_whole(broken))
    assert "Waivers (2)⛔ expired: question q1 (hybrid): the new chunker is on its way" in page
    assert "active: hit_at_5: the new chunker is on its way (search team, until 2026-12-01)" in page
    assert [one["state"] for one in json.loads("".join(verdict_file.render(broken)))["waivers"]] == [
        "active",
        "expired",
    ]
