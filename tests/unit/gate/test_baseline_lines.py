"""A baseline file that is read question by question: what it gives is what the whole file gives, or nothing."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_case_score, make_scorecard
from raggate.errors import FileError
from raggate.gate import baseline, baseline_integrity, baseline_lines
from raggate.models.baseline import Baseline
from raggate.models.scorecard import OVERALL, Direction, ListEntry
from raggate.scoring.slice_means import SliceMeans
from raggate.text.long_bytes import LongBytes
from tables import each_row

DIRECTIONS: dict[str, Direction] = {"hit_at_5": "higher", "wrong_rate": "lower"}
VALUES = st.fixed_dictionaries({"hit_at_5": st.sampled_from((0.0, 1.0)), "wrong_rate": st.none() | st.floats(0, 1)})


def file_of(*values: dict[str, float | None]) -> bytes:
    """Write the baseline of some questions in two modes."""
    entry = ListEntry("13cf0af5", "a0f292d0", 1.0, None, 0.25, (0,))
    under_heading = replace(entry, chunk="a0f292d1", heading="d3d99e8b")
    cases = [
        make_case_score(
            f"q{n}",
            its,
            mode=("bm25", "hybrid")[n % 2],
            slices=(OVERALL, f"tag=v{n % 3}.0]"),
            entries=(entry, under_heading),
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
    return baseline._read_by_lines(LongBytes([data]), "b.json", DIRECTIONS)


@given(st.lists(VALUES, min_size=1, max_size=12))
def test_it_is_what_the_whole_file_gives(values: list[dict[str, float | None]]) -> None:
    """Every file that raggate writes is read so, and as the same JSON in another layout is, wherever its cases lie."""
    data = file_of(*values)
    lines, whole = by_lines(data), baseline.read(json.dumps(json.loads(data)).encode(), "b.json", DIRECTIONS)
    assert lines is not None
    assert list(lines.scorecard.cases) == list(whole.scorecard.cases)
    assert lines.scorecard.slices == whole.scorecard.slices
    assert (lines.scorecard.counts, lines.scorecard.fingerprint) == (
        whole.scorecard.counts,
        whole.scorecard.fingerprint,
    )
    assert (lines.provenance, lines.accepted) == (whole.provenance, whole.accepted)


@given(st.lists(VALUES, min_size=1, max_size=6), st.booleans())
def test_means_alone_are_those_of_the_file(values: list[dict[str, float | None]], other: bool) -> None:
    """A file that is read without its questions says all else that it says, in whatever layout."""
    data = json.dumps(json.loads(file_of(*values))).encode() if other else file_of(*values)
    whole = baseline.read(data, "b.json", DIRECTIONS)
    means = baseline.read_means(LongBytes([data]), "b.json", DIRECTIONS)
    assert means == replace(whole, scorecard=replace(whole.scorecard, cases=()))


@each_row(
    "edit",
    [
        ('{"hit_at_5":[1.0,2]', '{"hit_at_5":[0.25,2]'),
        ('{"hit_at_5":[1.0,2]', '{"hit_at_5":[1.0,1]'),
        ('{"hit_at_5":[1.0,2],', "{"),
        ('"values":{"hit_at_5":1.0', '"values":{"hit_at_5":0.0'),
    ],
)
def test_means_alone_are_held_against_the_cases(edit: tuple[str, str]) -> None:
    """A mean that does not follow from the questions is shown in no trend, whatever the digest says."""
    text = file_of(*[{"hit_at_5": 1.0, "wrong_rate": 0.5}] * 4).decode()
    edited = text.replace(*edit, 1)
    assert edited != text
    assert baseline_lines.read_rest(io.BytesIO(signed_by_lines(text))) is not None
    for data in (signed_by_lines(edited), signed(lambda _: edited)):
        assert baseline_lines.read_rest(io.BytesIO(data)) is None
        with pytest.raises(FileError, match="the cases make"):
            baseline.read_means(LongBytes([data]), "b.json", DIRECTIONS)


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


@each_row("edit", EDITS.values(), ids=EDITS)
def test_anything_else_is_left_to_the_whole(edit: Callable[[str], str]) -> None:
    """A file that stands otherwise or contradicts itself gives nothing here, even with a digest that is its own."""
    unedited = signed(lambda text: text)
    assert by_lines(unedited) is not None
    assert signed(edit) != unedited
    assert by_lines(signed(edit)) is None
    assert by_lines(edit(unedited.decode()).encode()) is None


def signed_by_lines(text: str) -> bytes:
    """Return an edited file the digest of its lines as they stand."""
    digest = baseline_integrity.RunningDigest()
    before, rest = text.split('  "cases": [\n')
    lines, after = rest.split("\n  ],\n")
    value = json.loads(f'{before}  "cases": []\n}}')
    later = json.loads("{" + after)
    for key in sorted(value.keys() - {"cases"}):
        digest.add(key, value[key])
    for _ in digest.add_cases(line.strip().removesuffix(",").encode() for line in lines.split("\n")):
        pass
    for key in sorted(later.keys() - {"digest"}):
        digest.add(key, later[key])
    return text.replace(later["digest"], digest.of_all()).encode()


TWICE = {
    "a value": ('"values":{"hit_at_5":1.0', '"values":{"hit_at_5":0.0,"hit_at_5":1.0'),
    "a value by an escape": ('"values":{"hit_at_5":1.0', '"values":{"hit_at\\u005f5":0.0,"hit_at_5":1.0'),
    "all values": ('"values":{', '"values":{"hit_at_5":0.0},"values":{'),
    "an id": ('"id":"q0"', '"id":"q7","id":"q0"'),
    "whether it must pass": ('"must_pass":false', '"must_pass":true,"must_pass":false'),
    "a mean": ('{"hit_at_5":[1.0,2]', '{"hit_at_5":[0.5,2],"hit_at_5":[1.0,2]'),
    "all means": ('  "aggregates": {', '  "aggregates": {},\n  "aggregates": {'),
    "a count": ('"overall": 2', '"overall": 9,\n      "overall": 2'),
}


@each_row("edit", TWICE.values(), ids=TWICE)
def test_a_key_that_stands_twice_is_refused(edit: tuple[str, str]) -> None:
    """Of two values people may see one in a diff and the gate count the other: neither does, whatever the digest."""
    text = file_of(*[{"hit_at_5": 1.0, "wrong_rate": 0.5}] * 4).decode()
    assert by_lines(signed_by_lines(text)) is not None
    edited = text.replace(*edit, 1)
    assert edited != text
    for data in (signed_by_lines(edited), signed(lambda _: edited)):
        assert by_lines(data) is None
        # means alone tell nothing of cases
        for read in (baseline.read, baseline.read_means)[: 1 if '"cases": [\n' in text.split(edit[0])[0] else 2]:
            with pytest.raises(FileError, match=r"changed by hand: the key .* stands twice in one place"):
                read(LongBytes([data]), "b.json", DIRECTIONS)


def test_a_case_that_is_written_otherwise_is_read_with_the_whole() -> None:
    """A line that means the same and is not as raggate writes it has no say: the digest is of what raggate writes."""
    text = file_of(*[{"hit_at_5": 1.0, "wrong_rate": 0.5}] * 4).decode()
    for other in ('"hit_at_5":1e0', '"hit_at_5": 1.0', '"hit\\u005fat_5":1.0'):
        edited = text.replace('"values":{"hit_at_5":1.0', f'"values":{{{other}', 1)
        assert by_lines(signed_by_lines(edited)) is None
        whole = signed(lambda _, edited=edited: edited)  # type: ignore[misc]
        assert list(baseline.read(whole, "b.json", DIRECTIONS).scorecard.cases) == list(
            baseline.read(text.encode(), "b.json", DIRECTIONS).scorecard.cases
        )


@each_row("depth", [300, 900, 5000])
def test_what_is_nested_too_deeply_is_refused(depth: int) -> None:
    """A baseline is refused with a message at any depth."""
    text = file_of({"hit_at_5": 1.0, "wrong_rate": 0.5}).decode()
    deep = text.replace('"provenance": {', f'"provenance": {{"x":{"[" * depth}{"]" * depth},', 1)
    with pytest.raises(FileError, match=r"nested too deeply|depth limit exceeded"):
        baseline.read(deep.encode(), "b.json", DIRECTIONS)


@given(st.binary(max_size=40), st.integers(0, 3000))
def test_no_bytes_break_it(noise: bytes, place: int) -> None:
    """Whatever stands in the middle of a file, it is read or left."""
    data = file_of({"hit_at_5": 1.0, "wrong_rate": 0.5})
    edited = data[: place % len(data)] + noise + data[place % len(data) :]
    case_of = lambda stored: baseline._case(baseline._CASE.validate_python(stored))  # noqa: E731
    if (parts := baseline_lines.read(io.BytesIO(edited), case_of)) is not None:
        assert baseline_integrity.problem(json.loads(edited), edited) is None
        assert len(parts.cases) == 1
