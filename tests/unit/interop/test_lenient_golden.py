"""What helloworld's scripts pass over in a golden set is left out and counted, where that is asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_chunk, make_labelled, make_response, make_result, make_run
from helloworld_files import CASES, make_chunk_row, make_row
from raggate.base.errors import UsageError
from raggate.inputs import golden
from raggate.models.golden import Golden, Support
from raggate.scoring import score
from raggate_interop import golden_rows
from raggate_interop.helloworld import metrics as helloworld_metrics
from tables import each_row

LINE = {"id": "q1", "question": "What?", "answerable": True, "gold_supports": [{"rel_path": "a.md"}]}


def lines(*rows: Any) -> bytes:
    """Write rows as JSON lines; bytes as they are."""
    return b"\n".join(row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows)


def read(*rows: Any, rules: bool = False) -> tuple[Golden, tuple[str, ...]]:
    """Read rows leniently."""
    return golden_rows.load(lines(*rows), "g.jsonl", rules=rules)


def test_a_golden_set_that_is_right_is_read_the_same() -> None:
    """Nothing is left out of a golden set that the strict reader takes, and its hash is the same."""
    data = lines(*CASES, b"", LINE)
    assert golden_rows.load(data, "g.jsonl") == (golden.load(data, "g.jsonl"), ())


@each_row(
    ("row", "reason"),
    [
        pytest.param(b'{"id": "q2",', "not valid JSON", id="broken"),
        pytest.param(b"[1]", "not a JSON object", id="no-object"),
        pytest.param({key: value for key, value in LINE.items() if key != "id"}, "key 'id' is missing", id="no-id"),
        pytest.param({**LINE, "id": "q2", "question": None}, "question: expected", id="no-question"),
        pytest.param({**LINE, "id": "q2", "gold_supports": "a.md"}, "gold_supports: expected", id="no-list"),
        pytest.param({**LINE, "id": "q2", "gold_supports": ["a.md"]}, "gold_supports[0]: expected", id="no-support"),
        pytest.param({**LINE, "id": "q2", "gold_supports": [{}]}, "rel_path' is missing", id="no-place"),
    ],
)
def test_lines_that_are_no_case(row: Any, reason: str) -> None:
    """A line of which nothing is left is left out, with number and reason; the strict reader refuses the set."""
    cases, notes = read(LINE, row)
    assert [case.id for case in cases.cases] == ["q1"]
    assert notes[0] == "g.jsonl: 1 line is left out"
    assert notes[1].startswith("g.jsonl:2: ")
    assert reason in notes[1]
    with pytest.raises(UsageError):
        golden.load(lines(LINE, row), "g.jsonl")


@each_row(
    ("changes", "fields", "key"),
    [
        pytest.param({"owner": "me"}, {}, "owner", id="unknown"),
        pytest.param({"difficulty": 3}, {"difficulty": "medium"}, "difficulty", id="other-type"),
        pytest.param({"tags": "work"}, {"tags": ()}, "tags", id="text-for-a-list"),
        pytest.param(
            {"gold_supports": [{"rel_path": "a.md", "heading_path": " ", "snippets": ["x"]}]},
            {"gold_supports": (Support(rel_path="a.md", snippets=("x",)),)},
            "gold_supports.heading_path",
            id="blank-heading",
        ),
        pytest.param(
            {"gold_supports": [{"rel_path": "a.md", "snippets": ["x", ""]}]},
            {"gold_supports": (Support(rel_path="a.md"),)},
            "gold_supports.snippets",
            id="blank-snippet",
        ),
        pytest.param(
            {"gold_supports": [{"rel_path": "a.md", "page": 3}]},
            {"gold_supports": (Support(rel_path="a.md"),)},
            "gold_supports.page",
            id="unknown-in-a-support",
        ),
    ],
)
def test_keys_that_are_not_as_they_should_be(changes: dict[str, Any], fields: dict[str, Any], key: str) -> None:
    """A key that is unknown, blank or of another type is left out of its case, and counted."""
    cases, notes = read({**LINE, **changes}, {**LINE, **changes, "id": "q2"})
    assert len(cases.cases) == 2
    assert {name: getattr(cases.cases[0], name) for name in fields} == fields
    assert notes == (f"g.jsonl: key '{key}' is left out of 2 cases",)


@each_row(
    ("changes", "rule"),
    [
        pytest.param({"category": "multi_hop"}, "so required_support_groups is needed", id="groups"),
        pytest.param({"category": "recency/conflict"}, "so recency_conflict_rule is needed", id="recency"),
        pytest.param({"gold_supports": []}, "answerable, but gold_supports is empty", id="unlabelled"),
        pytest.param({"answerable": False}, "not answerable, but gold_supports is not empty", id="unanswerable"),
        pytest.param({"required_support_groups": [[0, 7]]}, "expected an index from 0 to 0", id="index"),
    ],
)
def test_cases_that_break_a_rule(changes: dict[str, Any], rule: str) -> None:
    """A case that breaks a rule between its keys is scored as it is, or left out where it must go on."""
    cases, notes = read(LINE, {**LINE, **changes, "id": "q2"})
    assert [case.id for case in cases.cases] == ["q1", "q2"]
    assert notes == (f"g.jsonl: 1 case that the gate refuses: {notes[0].split('refuses: ')[1]}",)
    assert rule in notes[0]
    strict, notes = read(LINE, {**LINE, **changes, "id": "q2"}, rules=True)
    assert [case.id for case in strict.cases] == ["q1"]
    assert rule in notes[1]
    golden.load(b"".join(map(golden.write_case, strict.cases)), "g.jsonl")


def test_what_their_scripts_take_for_granted() -> None:
    """A case without `answerable` is answerable, of two lines of one id the last counts, and a key may stand twice."""
    twice = b'{"id": "q3", "question": "A?", "question": "B?", "gold_supports": [{"rel_path": "a.md"}]}'
    cases, notes = read(LINE, {**LINE, "question": "Why?"}, twice)
    assert [(case.id, case.question, case.answerable) for case in cases.cases] == [
        ("q1", "Why?", True),
        ("q3", "B?", True),
    ]
    assert notes == ("g.jsonl: 1 line is left out", "g.jsonl:1: line 2 has the same id, 'q1'")


def test_many_lines_that_are_left_out() -> None:
    """The first ten are named, and the rest is counted; foreign text in them is harmless."""
    _, notes = read(LINE, *[b"\x1b[31m"] * 12)
    assert notes[0] == "g.jsonl: 12 lines are left out"
    assert (len(notes), notes[-1]) == (12, "… and 2 more")
    assert "\x1b" not in "".join(notes)


def test_nothing_is_left() -> None:
    """A file without a case is an error with the reasons, not an empty golden set."""
    with pytest.raises(UsageError, match=r"no case is left\ng.jsonl: 1 line is left out\ng.jsonl:1: not valid JSON"):
        read(b"{")


def test_numbers_are_those_of_their_scripts() -> None:
    """Unlabelled questions count 0 and a blank heading meets the whole note, as their score_retrieval.py has it."""
    golden_set, _ = read(
        {**LINE, "gold_supports": [{"rel_path": "a.md", "heading_path": ""}], "category": "multi_hop"},
        {**LINE, "id": "q2", "gold_supports": []},
        {**LINE, "id": "q3", "owner": 1},
        b"{",
    )
    cases = {case.id: case for case in golden_set.cases}
    rows = [make_row(name, make_chunk_row("a.md", "# Any")) for name in ("q1", "q2", "q3", "q4")]
    means = helloworld_metrics.aggregate(rows, cases)
    assert means["recall_at_k_avg"] == pytest.approx(2 / 3)
    assert "recall_all_at_k_avg" not in means


@given(st.lists(st.one_of(st.binary(max_size=40), st.just(json.dumps(LINE).encode())), max_size=5))
def test_any_bytes(rows: list[bytes]) -> None:
    """Whatever stands in a file, there is a golden set or one clear error."""
    try:
        cases, _ = golden_rows.load(b"\n".join(rows), "g.jsonl")
    except UsageError as error:
        assert "no case is left" in error.message  # noqa: PT017
    else:
        assert cases.cases


@given(
    value=st.dictionaries(
        st.sampled_from([*LINE, "tags", "k", "required_support_groups", "category", "zzz"]),
        st.recursive(
            st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=2)
                | st.dictionaries(st.sampled_from(["rel_path", "heading_path", "snippets", "x"]), inner, max_size=3)
            ),
            max_leaves=6,
        ),
    )
)
def test_any_object(value: dict[str, Any]) -> None:
    """Whatever keys a case has, it is read as one that can be written, or left out."""
    cases, _ = read({**LINE, "id": "safe"}, {**LINE, **value})
    written = b"".join(map(golden.write_case, cases.cases))
    assert golden.load(written, "g.jsonl", rules=False).hash == cases.hash


@given(
    groups=st.none() | st.lists(st.lists(st.integers(-3, 3), max_size=2), max_size=2),
    rule=st.sampled_from([None, "cite_newer", "cite_both"]),
    category=st.sampled_from(["multi_hop", "recency/conflict", "factual"]),
    answerable=st.booleans(),
    labelled=st.booleans(),
)
def test_cases_that_break_a_rule_can_be_scored(
    groups: Any, rule: str | None, category: str, *, answerable: bool, labelled: bool
) -> None:
    """Whatever rule a case breaks, raggate's metrics and those of the scripts have a value or none for it."""
    keys = {"required_support_groups": groups, "recency_conflict_rule": rule, "category": category}
    supports = [{"rel_path": "a.md"}] if labelled else []
    cases, _ = read({**LINE, **keys, "answerable": answerable, "gold_supports": supports})
    result = make_result("q1", response=make_response(make_chunk(rank=1), answer="Yes."))
    scorecard = score.score(make_run(make_labelled(cases.cases[0], result)), [5])
    values = scorecard.cases[0].values
    assert (values["hit_at_5"] is None) == (not (answerable and labelled))
    assert set(helloworld_metrics.aggregate([make_row("q1")], {"q1": cases.cases[0]})) >= {"recall_at_k_avg", "mrr_avg"}
