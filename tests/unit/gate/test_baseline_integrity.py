"""Edited baselines: means that are not those of the cases, and content that is not that of the digest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case_score, make_scorecard
from raggate.errors import ExitCode, UsageError
from raggate.gate import baseline
from raggate.models.scorecard import OVERALL, Direction
from tables import each_row

DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "wrong_rate": "lower"}
CASES = [
    make_case_score(f"q{n}", {"hit_at_5": float(n > 1), "wrong_rate": rate}, slices=(OVERALL, f"tag={n % 2}"))
    for n, rate in enumerate([None, 1 / 7, 2 / 7, 3 / 7, 4 / 7, 5 / 7])
]


def stored(*, early: bool = False) -> dict[str, Any]:
    """Give a baseline as a JSON value; an early one has no digest."""
    value: dict[str, Any] = json.loads(
        baseline.write(make_scorecard(*CASES), {"measured": "2026-01-02T03:04:05Z"}).whole()
    )
    if early:
        del value["digest"]
    return value


def refusal(value: object) -> UsageError:
    """Give what reading an edited baseline says."""
    with pytest.raises(UsageError) as caught:
        baseline.read(json.dumps(value).encode(), "b.json", DIRECTIONS)
    return caught.value


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no-cases": (lambda value: value["cases"].clear(), "counts.hybrid.overall: says 6, but there are 0 such cases"),
    "a-case-less": (lambda value: value["cases"].pop(0), "counts.hybrid.overall: says 6, but there are 5 such cases"),
    "a-case-and-its-count-less": (
        lambda value: (
            value["cases"].pop(0),
            value["counts"]["hybrid"].update({OVERALL: 5, "tag=0": 2}),
        ),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 6, but the cases make 0.8000 of 5",
    ),
    "a-value-zeroed": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=0.0),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 6, but the cases make 0.5000 of 6",
    ),
    "a-value-null": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=None),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 6, but the cases make 0.6000 of 5",
    ),
    "a-hit-of-minus-nine": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=-9.0),
        "cases: hit_at_5 (hybrid): expected values from 0 to 1, found -9.0000",
    ),
    "a-lower-mean": (
        lambda value: value["aggregates"]["hybrid"][OVERALL].update(hit_at_5=[0.1, 6]),
        "aggregates.hybrid.overall.hit_at_5: says 0.1000 of 6, but the cases make 0.6667 of 6",
    ),
    "a-mean-that-is-gone": (
        lambda value: value["aggregates"]["hybrid"][OVERALL].pop("hit_at_5"),
        "aggregates.hybrid.overall.hit_at_5: says – of 0, but the cases make 0.6667 of 6",
    ),
    "a-slice-that-is-gone": (
        lambda value: (value["aggregates"]["hybrid"].pop("tag=0"), value["counts"]["hybrid"].pop("tag=0")),
        "counts.hybrid.tag=0: says 0, but there are 3 such cases",
    ),
}


@each_row("name", EDITS)
def test_means_are_those_of_the_cases(name: str) -> None:
    """An edit that makes means and cases disagree is refused with the place, also in a file without a digest."""
    edit, said = EDITS[name]
    value = stored(early=True)
    edit(value)
    error = refusal(value)
    assert error.message == f"b.json: damaged at {said}"
    assert error.exit_code == ExitCode.USAGE
    assert "take the whole file of one side, then promote" in error.hint


@each_row(
    "edit",
    [
        *(edit for edit, _ in EDITS.values()),
        lambda value: value["cases"][0].update(hash="other"),
        lambda value: value["cases"][0].update(must_pass=True),
        lambda value: value["provenance"].update(measured="2027-01-02T03:04:05Z"),
        lambda value: value.update(fingerprint={"k": 3}),
        lambda value: value.update(suite="other"),
    ],
)
def test_edited_by_hand(edit: Callable[[dict[str, Any]], object]) -> None:
    """Whatever is edited by hand is refused, also what no other part of the file contradicts."""
    value = stored()
    edit(value)
    assert refusal(value).message == "b.json: changed by hand: its digest is not that of its content"


def test_file_from_before_there_was_a_digest() -> None:
    """A file without a digest, whose parts agree, is read as ever, and known to be early."""
    early = baseline.read(json.dumps(stored(early=True)).encode(), "b.json", DIRECTIONS)
    now = baseline.read(json.dumps(stored()).encode(), "b.json", DIRECTIONS)
    assert (early.undigested, now.undigested) == (True, False)
    assert early.scorecard == now.scorecard


def unfiled() -> dict[str, Any]:
    """Give a baseline from before cases were stored with their slices."""
    value = stored(early=True)
    for case in value["cases"]:
        del case["slices"], case["must_pass"]
    return value


def test_file_from_before_cases_had_slices() -> None:
    """All that it says is read, and what it does not say is known to be missing."""
    before = baseline.read(json.dumps(unfiled()).encode(), "b.json", DIRECTIONS)
    now = baseline.read(json.dumps(stored()).encode(), "b.json", DIRECTIONS)
    assert (before.unfiled, before.undigested, now.unfiled) == (True, True, False)
    assert before.scorecard.slices == now.scorecard.slices
    assert [case.values for case in before.scorecard.cases] == [case.values for case in now.scorecard.cases]
    assert {case.slices for case in before.scorecard.cases} == {(OVERALL,)}


@each_row("name", sorted(EDITS.keys() - {"no-cases", "a-slice-that-is-gone"}))
def test_means_of_such_a_file_are_those_of_its_cases(name: str) -> None:
    """What can be told of it is still held against itself: the slice of all cases."""
    edit, said = EDITS[name]
    value = unfiled()
    edit(value)
    assert refusal(value).message == f"b.json: damaged at {said}"


@each_row(
    "edit",
    [
        lambda value: value["cases"][3].update(slices=[], must_pass=False),
        lambda value: value.update(digest=stored()["digest"]),
        lambda value: value["cases"].append("q9"),
    ],
)
def test_half_of_such_a_file(edit: Callable[[dict[str, Any]], object]) -> None:
    """A file that only in part lacks what newer ones have is none from then."""
    value = unfiled()
    edit(value)
    assert refusal(value).message.startswith("b.json: damaged at cases.")


def test_layout_does_not_count() -> None:
    """A file that a tool has laid out anew, with other order and white space, is the same."""
    value = stored()
    again = json.dumps(dict(reversed(value.items())), indent=3).encode()
    assert baseline.read(again, "b.json", DIRECTIONS) == baseline.read(json.dumps(value).encode(), "b.json", DIRECTIONS)


@given(
    values=st.lists(
        st.tuples(st.none() | st.floats(0, 1), st.none() | st.floats(0, 1), st.sets(st.sampled_from("abc"))), min_size=1
    )
)
def test_whatever_is_written_is_read(values: list[tuple[float | None, float | None, set[str]]]) -> None:
    """No rounding of means or values makes a file that raggate wrote contradict itself."""
    cases = [
        make_case_score(f"q{n}", {"hit_at_5": hit, "wrong_rate": rate}, slices=(OVERALL, *sorted(tags)))
        for n, (hit, rate, tags) in enumerate(values)
    ]
    data = baseline.write(make_scorecard(*cases), {}).whole()
    assert not baseline.read(data, "b.json", DIRECTIONS).undigested
