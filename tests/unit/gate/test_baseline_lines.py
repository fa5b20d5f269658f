"""A baseline file that is read question by question: what it gives is what the whole file gives, or nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from builders import make_case_score, make_scorecard
from raggate.gate import baseline, baseline_integrity, baseline_lines
from raggate.models.baseline import Baseline
from raggate.models.scorecard import OVERALL, Direction, ListEntry
from raggate.scoring.slice_means import SliceMeans
from raggate.text import long_sequence
from raggate.text.long_bytes import LongBytes

DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "wrong_rate": "lower"}
VALUES = st.fixed_dictionaries({"hit_at_5": st.sampled_from((0.0, 1.0)), "wrong_rate": st.none() | st.floats(0, 1)})


def file_of(*values: dict[str, float | None]) -> bytes:
    """Write the baseline of some questions in two modes."""
    entry = ListEntry("13cf0af5", "a0f292d0", 1.0, None, 0.25, (0,))
    cases = [
        make_case_score(
            f"q{n}", its, mode=("bm25", "hybrid")[n % 2], slices=(OVERALL, f"tag=v{n % 3}.0]"), entries=(entry,)
        )
        for n, its in enumerate(values)
    ]
    slices = SliceMeans(DIRECTIONS)
    for case in cases:
        slices.add(case)
    card = make_scorecard(*cases, slices=slices.means(), counts=slices.counts(), fingerprint={"k": 5.0, "cases": []})
    return baseline.write(card, {"measured": "2026-01-02T03:04:05Z"}).whole()


def by_lines(data: bytes) -> Baseline | None:
    """Read a file question by question."""
    return baseline._read_by_lines(LongBytes([data]), "b.json", DIRECTIONS, ())


@given(st.lists(VALUES, min_size=1, max_size=12))
def test_it_is_what_the_whole_file_gives(values: list[dict[str, float | None]]) -> None:
    """Every file that raggate writes is read so, and as the same JSON in another layout is, wherever its cases lie."""
    data = file_of(*values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_sequence, "FEW", 3)
        lines, whole = by_lines(data), baseline.read(json.dumps(json.loads(data)).encode(), "b.json", DIRECTIONS)
    assert lines is not None
    assert list(lines.scorecard.cases) == list(whole.scorecard.cases)
    assert lines.scorecard.slices == whole.scorecard.slices
    assert (lines.scorecard.counts, lines.scorecard.fingerprint) == (
        whole.scorecard.counts,
        whole.scorecard.fingerprint,
    )
    assert (lines.provenance, lines.accepted, lines.early) == (whole.provenance, whole.accepted, whole.early)


@given(st.lists(VALUES, min_size=1, max_size=6), st.booleans())
def test_means_alone_are_those_of_the_file(values: list[dict[str, float | None]], other: bool) -> None:
    """A file that is read without its questions says all else that it says, in whatever layout."""
    data = json.dumps(json.loads(file_of(*values))).encode() if other else file_of(*values)
    whole = baseline.read(data, "b.json", DIRECTIONS)
    means = baseline.read_means(LongBytes([data]), "b.json", DIRECTIONS)
    assert means == replace(whole, scorecard=replace(whole.scorecard, cases=()))


def signed(edit: Callable[[str], str]) -> bytes:
    """Edit a file, and give it the digest of its new content."""
    text = edit(file_of(*[{"hit_at_5": 1.0, "wrong_rate": 0.5}] * 4).decode())
    value = json.loads(text)
    return text.replace(value["digest"], baseline_integrity.digest(value)).encode()


EDITS: dict[str, Callable[[str], str]] = {
    "a value that is not in the mean": lambda text: text.replace('"wrong_rate":0.5', '"wrong_rate":0.25', 1),
    "a value beyond its scale": lambda text: text.replace('"hit_at_5":1.0', '"hit_at_5":2.0'),
    "another count": lambda text: text.replace('"overall": 2', '"overall": 3', 1),
    "a case twice": lambda text: text.replace('"id":"q2"', '"id":"q0"'),
    "cases in another order": lambda text: text.replace('"id":"q0"', '"id":"q9"'),
    "a key that no case has": lambda text: text.replace('"must_pass":false', '"must_pass":false,"more":1', 1),
    "a case over two lines": lambda text: text.replace('"must_pass":false,', '"must_pass":false,\n', 1),
    "another indent": lambda text: text.replace('    {"entries"', '  {"entries"', 1),
    "counts that are none": lambda text: text.replace('"overall": 2', '"overall": "2"', 1),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_anything_else_is_left_to_the_whole(edit: Callable[[str], str]) -> None:
    """A file that stands otherwise or contradicts itself gives nothing here, even with a digest that is its own."""
    unedited = signed(lambda text: text)
    assert by_lines(unedited) is not None
    assert signed(edit) != unedited
    assert by_lines(signed(edit)) is None
    assert by_lines(edit(unedited.decode()).encode()) is None


@given(st.binary(max_size=40), st.integers(0, 3000))
def test_no_bytes_break_it(noise: bytes, place: int) -> None:
    """Whatever stands in the middle of a file, it is read or left."""
    data = file_of({"hit_at_5": 1.0, "wrong_rate": 0.5})
    edited = data[: place % len(data)] + noise + data[place % len(data) :]
    if (
        parts := baseline_lines.read(
            io.BytesIO(edited), lambda line: baseline._case(baseline._CASE.validate_json(line))
        )
    ) is not None:
        assert baseline_integrity.problem(json.loads(edited)) is None
        assert len(parts.cases) == 1
