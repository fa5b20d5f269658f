"""The canary set: how far judges agree with people, and files that are none."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from judging import as_written, canary_line, make_canary, make_grader, make_panel
from raggate.base.errors import UsageError
from raggate.judges import canary
from raggate.judges.canary import agreement, read
from tables import each_row


def test_judges_that_agree_with_people() -> None:
    """Grades that are the people's own are a kappa of 1; grades apart by one of two are what the formula says."""
    cases = make_canary(*(canary_line(number, number % 6) for number in range(12))).cases
    same = asyncio.run(agreement(cases, make_panel(make_grader(as_written()))))["groundedness"]
    assert (same.cases, same.judged, same.kappa, same.low, same.high) == (12, 12, 1.0, 1.0, 1.0)
    higher = asyncio.run(agreement(cases, make_panel(make_grader(as_written(1)))))["groundedness"]
    # each of 0 to 4 is a point too high: 10 squares of 1, against the mean square of people's and judge's grades
    people, judge = [number % 6 for number in range(12)], [min(5, number % 6 + 1) for number in range(12)]
    by_chance = sum((a - b) ** 2 for a in people for b in judge) / 12
    assert higher.kappa == pytest.approx(1 - 10 / by_chance)
    assert higher.low is not None
    assert higher.low < higher.kappa < (higher.high or 0)


def test_the_same_answer_again_is_no_other_answer() -> None:
    """Cases are counted by what is graded, not by their ids: one answer that stands there many times is one."""
    lines = [canary_line(1, id=f"case-{number}") for number in range(5)]
    result = asyncio.run(agreement(make_canary(*lines, canary_line(2)).cases, make_panel(make_grader(as_written()))))
    assert (result["groundedness"].judged, result["groundedness"].answers) == (6, 2)


def test_scores_that_nobody_gives_are_not_asked_for() -> None:
    """A case of a score that the run does not judge costs nothing."""
    cases = make_canary(canary_line(1), canary_line(2, score="correctness"), canary_line(3, 1, score="helpful")).cases
    ask = as_written()
    assert {*asyncio.run(agreement(cases, make_panel(make_grader(ask))))} == {"groundedness"}
    assert len(ask.requests) == 1


@each_row(
    ("fields", "problem"),
    [
        ({"value": 6}, "value"),
        ({"score": "helpful", "value": 0.5}, "value: 0.5 is no grade of helpful, from 0 to 1"),
        ({"score": "beauty"}, "score: expected one of groundedness"),
        ({"by": ""}, "by"),
        ({"colour": "red"}, "unknown field `colour`"),
    ],
)
def test_a_line_that_is_no_case(fields: dict[str, Any], problem: str) -> None:
    """Every error names file, line and key."""
    with pytest.raises(UsageError, match=r"^canary.jsonl:2: ") as raised:
        make_canary(canary_line(1), canary_line(**{"number": 2, **fields}))
    assert problem in raised.value.message


def test_larger_than_any_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than any canary set can be is not even parsed."""
    monkeypatch.setattr(canary, "MOST_BYTES", 10)
    with pytest.raises(UsageError, match=r"canary\.jsonl: larger than 10 bytes"):
        read(b"<" * 11, "canary.jsonl")


def test_a_set_without_cases_or_with_one_twice() -> None:
    """A canary set has cases, and each once for a score."""
    with pytest.raises(UsageError, match="no questions"):
        read(b"\n", "canary.jsonl")
    with pytest.raises(UsageError, match=r":2: 'c1' of groundedness occurs twice"):
        make_canary(canary_line(1), canary_line(1))


@each_row("again", ['"value": 5', '"v\\u0061lue": 1', '"passages": [{"text": "a", "text": "b"}]'])
def test_a_key_that_stands_twice(again: str) -> None:
    """Of two grades one would be lost, and a reader may have seen the other: the line is named."""
    line = json.dumps(canary_line(2))
    with pytest.raises(UsageError, match=r"^canary\.jsonl:2: key .* occurs twice"):
        read(f"{json.dumps(canary_line(1))}\n{line[:-1]}, {again}}}\n".encode(), "canary.jsonl")
