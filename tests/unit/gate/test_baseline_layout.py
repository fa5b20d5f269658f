"""How a baseline file stands: what is written piece by piece is what would be written as a whole."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from builders import make_case_score
from raggate.gate import baseline_integrity, baseline_layout

NAMES = st.sampled_from(("a", "accepted", "cases2", "counts", "digits", "zone"))
VALUES = st.recursive(
    st.none() | st.floats(-2, 2) | st.integers(0, 5) | st.sampled_from(("", "é", "\u202e]")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=4))
def test_the_file_holds_everything_and_its_digest(stored: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    """Whatever stands in a file, its JSON is that, with the digest of all of it, keys sorted and a case a line."""
    data = b"".join(baseline_layout.pieces(stored, cases))
    content = json.loads(data)
    assert content == {**stored, "cases": cases, "digest": baseline_integrity.digest({**stored, "cases": cases})}
    assert list(content) == sorted(content)
    lines = data.decode().split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith('  "cases": ['))
    assert [json.loads(line.removesuffix(",")) for line in lines[first + 1 : first + 1 + len(cases)]] == cases


@given(st.lists(st.tuples(st.sampled_from(("bm25", "hybrid")), st.sampled_from(("q1", "q10", "q2", "é"))), max_size=12))
def test_cases_stand_by_mode_and_id(names: list[tuple[str, str]]) -> None:
    """Cases are written by mode and id; those of one name stay in their order."""
    cases = [make_case_score(name, rank=place + 1, mode=mode) for place, (mode, name) in enumerate(names)]
    written = [(case.mode, case.case_id, case.rank) for case in baseline_layout.in_order(cases)]
    assert written == sorted((mode, name, place) for place, (mode, name) in enumerate(names, 1))
