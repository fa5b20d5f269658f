"""verdict.json: the decision for programs, complete and with foreign text as plain data."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from raggate.base.escape import plain
from raggate.models.provenance import Provenance
from raggate.models.verdict import Review
from raggate.reports import verdict_file
from reviews import HOSTILE, REVIEWS, bare, first_run, hostile, passing, review
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
    """Two renderings of the same review are the same, with sorted keys and a final newline."""
    text = "".join(verdict_file.render(REVIEWS[name]()))
    assert text == "".join(verdict_file.render(REVIEWS[name]()))
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


@each_row("name", REVIEWS)
def test_every_kind_has_the_same_keys(name: str) -> None:
    """A program finds the same keys whatever the verdict is."""
    assert set(rendered(review(name))) == set(rendered(passing()))


def test_without_a_baseline() -> None:
    """Without a baseline there is nothing to compare, and the file says so rather than leaving keys out."""
    value = rendered(first_run())
    assert (value["baseline"], value["metrics"], value["flips"], value["compared"]) == (None, [], [], 0)


def test_without_single_cases() -> None:
    """Against a bare metrics file there is no count of cases that moved."""
    assert {(row["lost"], row["gained"]) for row in rendered(bare())["metrics"]} == {(None, None)}


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
