"""The baseline file: byte-stable, readable in a diff, and read as something anybody may have edited."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st
from syrupy.assertion import SnapshotAssertion

from builders import make_case_score, make_metric, make_scorecard
from raggate.base.errors import ExitCode, UsageError
from raggate.base.jsonio import dumps
from raggate.gate import baseline
from raggate.gate.baseline import digest
from raggate.models.baseline import AcceptedDrop, Baseline, RatchetEntry
from raggate.models.scorecard import OVERALL, Direction, Scorecard
from tables import each_row

DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "mrr_at_5": "higher", "wrong_rate": "lower"}
PROVENANCE = {"run_id": "run-1", "measured": "2026-01-02T03:04:05Z", "checkout": {"commit": "abc", "branch": "main"}}
SCORECARD = make_scorecard(
    make_case_score(
        "q2",
        {"hit_at_5": 0.0, "wrong_rate": None},
        rank=None,
        failure="timeout",
        slices=(OVERALL, "tag=x"),
        must_pass=True,
    ),
    make_case_score("q1", {"hit_at_5": 1.0, "wrong_rate": 1 / 3}, rank=2, rank_all=4),
    make_case_score("q1", {"hit_at_5": 1.0, "wrong_rate": 0.1 + 0.2}, mode="bm25"),
    fingerprint={"k": 5, "adapter": "ask", "notes": {"work/b.md": "2", "work/a.md": "1"}},
)


def read(value: object) -> Baseline:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return baseline.read(data, "baselines/default.json", DIRECTIONS)


def written(scorecard: Scorecard = SCORECARD) -> bytes:
    return baseline.write(scorecard, PROVENANCE)


def stored() -> Any:
    return json.loads(written())


class TestStored:
    """What raggate writes itself."""

    def test_layout(self, snapshot: SnapshotAssertion) -> None:
        """Keys are sorted, values have at most 12 decimals, and every case, slice and note has a line of its own."""
        assert written().decode() == snapshot

    def test_what_is_read(self) -> None:
        """A question is read with the slice of all, and a mean with its direction and how many lack the metric."""
        held = read(written())
        assert held.scorecard.cases[2].slices == (OVERALL, "tag=x")
        assert held.scorecard.slices["hybrid"][OVERALL] == {
            "hit_at_5": make_metric(0.5, 2),
            "wrong_rate": make_metric(0.333333333333, 1, unscored=1, direction="lower"),
        }

    def test_whole_numbers_may_be_written_without_decimals(self) -> None:
        """A file that went through another JSON tool, which writes 1.0 as 1, is read as the same baseline."""
        assert read(written().replace(b"1.0", b"1").replace(b"0.0", b"0")) == read(written())


ACCEPTED = {
    "hybrid": {
        "hit_at_5": RatchetEntry(best=0.5, drops=0.1 + 0.2, since="2026-01-02"),
        "wrong_rate": RatchetEntry(
            best=1 / 3,
            drops=0.0,
            since="",
            lowered=AcceptedDrop(on="2026-01-02", before=0.1, after=1 / 3, reason="smaller model", by=""),
        ),
    }
}


class TestAccepted:
    """What was accepted of each gated metric."""

    def test_layout(self, snapshot: SnapshotAssertion) -> None:
        """It stands before all else, a metric a line."""
        whole = baseline.write(SCORECARD, PROVENANCE, ACCEPTED).decode()
        assert whole.partition('  "aggregates"')[0] == snapshot

    def test_write_read_write(self) -> None:
        """Writing what was read gives the same bytes."""
        data = baseline.write(SCORECARD, PROVENANCE, ACCEPTED)
        once = read(data)
        assert baseline.write(once.scorecard, once.provenance, once.accepted) == data
        assert once.accepted["hybrid"]["wrong_rate"].lowered == AcceptedDrop(
            on="2026-01-02", before=0.1, after=0.333333333333, reason="smaller model", by=""
        )

    @each_row(
        ("key", "value"),
        [("drops", -0.1), ("drops", "0.1"), ("best", None), ("since", "yesterday"), ("lowered", {}), ("extra", 1)],
    )
    def test_damaged(self, key: str, value: object) -> None:
        """A damaged entry is refused with its place."""
        whole = json.loads(baseline.write(SCORECARD, PROVENANCE, ACCEPTED))
        whole["accepted"]["hybrid"]["hit_at_5"][key] = value
        with pytest.raises(UsageError, match=rf"damaged at accepted.*{key}"):
            read(whole)


def damaged(*path: str | int, value: object) -> Any:
    whole = inner = stored()
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    return whole


TWICE_CASE = damaged("cases", 0, value=stored()["cases"][1])
SIGNED_TWICE = {**TWICE_CASE, "digest": digest(TWICE_CASE, map(dumps, TWICE_CASE["cases"]))}
NEITHER = "not a baseline: expected schema 'raggate/baseline/1' or a metrics file with 'by_retriever'"


@each_row(
    ("value", "message"),
    [
        (b"", "not valid JSON: "),
        (b"\xff\xfe", "not valid JSON: "),
        ({}, NEITHER),
        ({"schema": "raggate/baseline/2"}, "schema is 'raggate/baseline/2', but this raggate reads"),
        ({"schema": baseline.SCHEMA}, "damaged at the top: Object missing required field `suite`"),
        (damaged("extra", value=1), "damaged at the top: Object contains unknown field `extra`"),
        (damaged("cases", 1, "rank", value=0), "damaged at cases.1.rank: "),
        (damaged("cases", 0, "values", "hit_at_5", value=1e300), "damaged at cases.0.values[...]: "),
        (
            damaged("aggregates", "bm25", "overall", "hit_at_5", value=[0.5]),
            "damaged at aggregates[...][...][...]: Expected `array` of length 2",
        ),
        pytest.param(
            SIGNED_TWICE,
            "damaged at cases: 'q1' (hybrid) occurs twice",
            id="case-twice-after-a-merge",
        ),
    ],
)
def test_damaged(value: object, message: str) -> None:
    """A damaged file is refused with the place of the damage and with how to repair it."""
    with pytest.raises(UsageError) as caught:
        read(value)
    assert caught.value.message.startswith(f"baselines/default.json: {message}")
    assert caught.value.hint.startswith("Restore the file from git, or promote a run with `raggate promote`.")


@each_row("marker", [b"<<<<<<< HEAD", b"||||||| 1234567", b"=======", b">>>>>>> change"])
def test_an_unresolved_merge(marker: bytes) -> None:
    """A file that git could not merge is refused with the line of the first marker, and with how to repair it."""
    first, *others = bytes(json.dumps(stored(), indent=1), "utf-8").split(b"\n")
    with pytest.raises(UsageError) as caught:
        read(b"\n".join([first, marker, *others]))
    assert caught.value.message == "baselines/default.json:2: unresolved merge conflict"
    assert caught.value.hint.endswith("After a merge conflict take the whole file of one side, then promote.")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=10,
)
PATHS = st.sampled_from(
    [
        ("suite",),
        ("provenance",),
        ("fingerprint",),
        ("counts", "bm25"),
        ("counts", "hybrid", "tag=x"),
        ("aggregates",),
        ("aggregates", "hybrid"),
        ("aggregates", "hybrid", "overall", "hit_at_5"),
        ("cases",),
        ("cases", 0),
        ("cases", 0, "values"),
        ("cases", 0, "rank"),
        ("cases", 0, "slices"),
        ("cases", 0, "must_pass"),
        ("accepted",),
    ]
)


@given(PATHS, JSON)
def test_any_json_in_any_place(path: tuple[str | int, ...], value: object) -> None:
    """Whatever stands in one place of a baseline, it is read and can be written again, or is refused: no crash."""
    with suppress(UsageError):
        held = read(damaged(*path, value=value))
        baseline.write(held.scorecard, held.provenance, held.accepted)


def test_larger_than_any_baseline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than any baseline can be is not even parsed."""
    monkeypatch.setattr(baseline, "MOST_BYTES", 10)
    with pytest.raises(UsageError, match="larger than 10 bytes"):
        read(b"[" * 11)


DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "wrong_rate": "lower"}
SIX = [
    make_case_score(f"q{n}", {"hit_at_5": float(n > 1), "wrong_rate": rate}, slices=(OVERALL, f"tag={n % 2}"))
    for n, rate in enumerate([None, 1 / 7, 2 / 7, 3 / 7, 4 / 7, 5 / 7])
]


def six() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(baseline.write(make_scorecard(*SIX), {"measured": "2026-01-02T03:04:05Z"}))
    return value


def digest_of(value: dict[str, Any]) -> str:
    return digest(value, map(dumps, value["cases"]))


def refusal(value: object) -> UsageError:
    with pytest.raises(UsageError) as caught:
        baseline.read(json.dumps(value).encode(), "b.json", DIRECTIONS)
    return caught.value


EDITS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no-cases": (lambda value: value["cases"].clear(), "counts.hybrid.overall: says 6, but there are 0 such questions"),
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
    "a-hit-of-minus-nine": (
        lambda value: value["cases"][5]["values"].update(hit_at_5=-9.0),
        "cases: hit_at_5 (hybrid): expected values from 0 to 1, found -9.0000",
    ),
    "a-lower-mean": (
        lambda value: value["aggregates"]["hybrid"][OVERALL].update(hit_at_5=[0.1, 6]),
        "aggregates.hybrid.overall.hit_at_5: says 0.1000 of 6, but its questions make 0.6667 of 6",
    ),
    "a-mean-of-more-questions": (
        lambda value: value["aggregates"]["hybrid"][OVERALL].update(hit_at_5=[2 / 3, 60]),
        "aggregates.hybrid.overall.hit_at_5: says 0.6667 of 60, but its questions make 0.6667 of 6",
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
    value = six()
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
        lambda value: value["cases"][0].update(must_pass=True),
        lambda value: value["provenance"].update(measured="2027-01-02T03:04:05Z"),
    ],
)
def test_edited_by_hand(edit: Callable[[dict[str, Any]], object]) -> None:
    """Whatever is edited by hand is refused, also what no other part of the file contradicts."""
    value = six()
    edit(value)
    assert refusal(value).message == "b.json: changed by hand: its digest is not that of its content"


def test_layout_does_not_count() -> None:
    """A file that a tool has laid out anew, with other order and white space, is the same."""
    value = six()
    again = json.dumps(dict(reversed(value.items())), indent=3).encode()
    assert baseline.read(again, "b.json", DIRECTIONS) == baseline.read(json.dumps(value).encode(), "b.json", DIRECTIONS)


def signed(text: str) -> bytes:
    value = json.loads(text)
    return text.replace(value["digest"], digest_of(value)).encode()


TWICE = {
    "a value": ('"values":{"hit_at_5":1.0', '"values":{"hit_at_5":0.0,"hit_at_5":1.0'),
    "a value by an escape": ('"values":{"hit_at_5":1.0', '"values":{"hit_at\\u005f5":0.0,"hit_at_5":1.0'),
    "whether it must pass": ('"must_pass":false', '"must_pass":true,"must_pass":false'),
    "all means": ('  "aggregates": {', '  "aggregates": {},\n  "aggregates": {'),
    "a count": ('"overall": 2', '"overall": 9,\n      "overall": 2'),
}


@each_row("edit", TWICE.values(), ids=TWICE)
def test_a_key_that_stands_twice_is_refused(edit: tuple[str, str]) -> None:
    """Of two values people may see one in a diff and the gate count the other: neither does, whatever the digest."""
    text = baseline.write(make_scorecard(*SIX[2:4]), {}).decode()
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
    data = baseline.write(make_scorecard(*SIX), {})
    edited = data[: place % len(data)] + noise + data[place % len(data) :]
    with suppress(UsageError):
        assert baseline.read(edited, "b.json", DIRECTIONS) == baseline.read(data, "b.json", DIRECTIONS)


@each_row("depth", [300, 900, 5000, 100_000])
@each_row("place", ['"provenance": {', '"values":{'])
def test_what_is_nested_too_deeply_is_refused(depth: int, place: str) -> None:
    """A baseline is refused with a message at any depth."""
    text = baseline.write(make_scorecard(*SIX), {"measured": "2026-01-02T03:04:05Z"}).decode()
    deep = text.replace(place, f'{place}"x":{"[" * depth}{"]" * depth},', 1)
    with pytest.raises(UsageError, match=r"nested too deeply|depth limit exceeded|not valid JSON"):
        baseline.read(deep.encode(), "b.json", DIRECTIONS)


def test_a_case_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case that is longer than any can be is not even parsed."""
    monkeypatch.setattr(baseline, "MOST_CASE_BYTES", 50)
    assert refusal(six()).message == "b.json: damaged at cases.0: more than 50 bytes"
