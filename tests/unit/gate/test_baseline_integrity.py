"""Edited baselines: means that are not those of the cases, and content that is not that of the digest."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case_score, make_scorecard
from raggate.base.errors import ExitCode, UsageError
from raggate.base.jsonio import dumps
from raggate.gate import baseline
from raggate.gate.baseline import digest
from raggate.models.scorecard import OVERALL, Direction
from tables import each_row

DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "wrong_rate": "lower"}
CASES = [
    make_case_score(f"q{n}", {"hit_at_5": float(n > 1), "wrong_rate": rate}, slices=(OVERALL, f"tag={n % 2}"))
    for n, rate in enumerate([None, 1 / 7, 2 / 7, 3 / 7, 4 / 7, 5 / 7])
]


def stored() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(baseline.write(make_scorecard(*CASES), {"measured": "2026-01-02T03:04:05Z"}))
    return value


def digest_of(value: dict[str, Any]) -> str:
    return digest(value, map(dumps, value["cases"]))


def refusal(value: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        baseline.read(json.dumps(value).encode(), "b.json", DIRECTIONS)
    return caught.value


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no-cases": (lambda value: value["cases"].clear(), "counts.hybrid.overall: says 6, but there are 0 such questions"),
    "a-case-less": (
        lambda value: value["cases"].pop(0),
        "counts.hybrid.overall: says 6, but there are 5 such questions",
    ),
    "a-case-and-its-count-less": (
        lambda value: (
            value["cases"].pop(0),
            value["counts"]["hybrid"].update({OVERALL: 5, "tag=0": 2}),
        ),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 6, but its questions make 0.8000 of 5",
    ),
    "a-value-zeroed": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=0.0),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 6, but its questions make 0.5000 of 6",
    ),
    "a-value-null": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=None),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 6, but its questions make 0.6000 of 5",
    ),
    "a-hit-of-minus-nine": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=-9.0),
        "cases: hit_at_5 (hybrid): expected values from 0 to 1, found -9.0000",
    ),
    "a-lower-mean": (
        lambda value: value["aggregates"]["hybrid"][OVERALL].update(hit_at_5=[0.1, 6]),
        "aggregates.hybrid.overall.hit_at_5: says 0.1000 of 6, but its questions make 0.6667 of 6",
    ),
    "a-mean-that-is-gone": (
        lambda value: value["aggregates"]["hybrid"][OVERALL].pop("hit_at_5"),
        "aggregates.hybrid.overall.hit_at_5: says – of 0, but its questions make 0.6667 of 6",
    ),
    "a-slice-that-is-gone": (
        lambda value: (value["aggregates"]["hybrid"].pop("tag=0"), value["counts"]["hybrid"].pop("tag=0")),
        "counts.hybrid.tag=0: says 0, but there are 3 such questions",
    ),
}


@each_row("name", EDITS)
def test_means_are_those_of_the_cases(name: str) -> None:
    """An edit that makes means and cases disagree is refused with the place, also by somebody who mends the digest."""
    edit, said = EDITS[name]
    value = stored()
    edit(value)
    value["digest"] = digest_of(value)
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


def test_layout_does_not_count() -> None:
    """A file that a tool has laid out anew, with other order and white space, is the same."""
    value = stored()
    again = json.dumps(dict(reversed(value.items())), indent=3).encode()
    assert baseline.read(again, "b.json", DIRECTIONS) == baseline.read(json.dumps(value).encode(), "b.json", DIRECTIONS)


def signed(text: str) -> bytes:
    value = json.loads(text)
    return text.replace(value["digest"], digest_of(value)).encode()


TWICE = {
    "a value": ('"values":{"hit_at_5":1.0', '"values":{"hit_at_5":0.0,"hit_at_5":1.0'),
    "a value by an escape": ('"values":{"hit_at_5":1.0', '"values":{"hit_at\\u005f5":0.0,"hit_at_5":1.0'),
    "all values": ('"values":{', '"values":{"hit_at_5":0.0},"values":{'),
    "an id": ('"id":"q2"', '"id":"q7","id":"q2"'),
    "whether it must pass": ('"must_pass":false', '"must_pass":true,"must_pass":false'),
    "a mean": ('{"hit_at_5":[1.0,2]', '{"hit_at_5":[0.5,2],"hit_at_5":[1.0,2]'),
    "all means": ('  "aggregates": {', '  "aggregates": {},\n  "aggregates": {'),
    "a count": ('"overall": 2', '"overall": 9,\n      "overall": 2'),
}


@each_row("edit", TWICE.values(), ids=TWICE)
def test_a_key_that_stands_twice_is_refused(edit: tuple[str, str]) -> None:
    """Of two values people may see one in a diff and the gate count the other: neither does, whatever the digest."""
    text = baseline.write(make_scorecard(*CASES[2:4]), {}).decode()
    edited = text.replace(*edit, 1)
    assert edited != text
    for data in (edited, json_without_spaces(edited)):
        with pytest.raises(UsageError, match=r"changed by hand: key .* occurs twice"):
            baseline.read(signed(data), "b.json", DIRECTIONS)


def json_without_spaces(text: str) -> str:
    return text.replace("\n", "").replace("  ", "").replace(": ", ":")


@given(st.binary(max_size=40), st.integers(0, 3000))
def test_no_bytes_break_it(noise: bytes, place: int) -> None:
    """Whatever stands in the middle of a file, it is refused, or says what it said before."""
    data = baseline.write(make_scorecard(*CASES), {})
    edited = data[: place % len(data)] + noise + data[place % len(data) :]
    with suppress(UsageError):
        assert baseline.read(edited, "b.json", DIRECTIONS) == baseline.read(data, "b.json", DIRECTIONS)


@each_row("depth", [300, 900, 5000, 100_000])
@each_row("place", ['"provenance": {', '"values":{'])
def test_what_is_nested_too_deeply_is_refused(depth: int, place: str) -> None:
    """A baseline is refused with a message at any depth."""
    text = baseline.write(make_scorecard(*CASES), {"measured": "2026-01-02T03:04:05Z"}).decode()
    deep = text.replace(place, f'{place}"x":{"[" * depth}{"]" * depth},', 1)
    with pytest.raises(UsageError, match=r"nested too deeply|depth limit exceeded|not valid JSON"):
        baseline.read(deep.encode(), "b.json", DIRECTIONS)


def test_a_case_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that is longer than any can be is not even parsed."""
    monkeypatch.setattr(baseline, "MOST_CASE_BYTES", 50)
    assert refusal(stored()).message == "b.json: damaged at cases.0: more than 50 bytes"
