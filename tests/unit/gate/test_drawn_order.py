"""The order in which questions are drawn: what must pass first, case by case, by names of the trusted side alone."""

from __future__ import annotations

from collections import Counter

import pytest

from builders import make_baseline, make_case, make_scorecard
from raggate.gate.drawn_order import Drawn, seed_of
from raggate.models.golden import Case

CASES = tuple(make_case(f"q{number}", must_pass=number in {4, 7}) for number in range(12))


def names(cases: tuple[Case, ...] = CASES, seed: str = "s", modes: tuple[str, ...] = ("hybrid",)) -> list[str]:
    """Give the ids of the questions in their order."""
    return [case.id for case, _ in Drawn(cases, modes, seed)]


def test_what_must_pass_comes_first() -> None:
    """Questions that must pass come before all others, and every question comes once."""
    order = names()
    assert set(order[:2]) == {"q4", "q7"}
    assert sorted(order) == sorted(case.id for case in CASES)
    assert Drawn(CASES, ["hybrid"], "s").first == 2
    assert Drawn(CASES[:2], ["hybrid"], "s").first == 0


def test_the_order_of_the_golden_set_has_no_say() -> None:
    """Whoever writes a question at the end of the file, or at its beginning, moves it nowhere in the order."""
    assert names(CASES[::-1]) == names()
    without = tuple(case for case in CASES if case.id != "q5")
    assert names(without) == [name for name in names() if name != "q5"]


def test_each_seed_has_its_own_order() -> None:
    """Another baseline, golden set or base commit is another order, in which every question is as likely first."""
    first = Counter(names(seed=str(seed))[2] for seed in range(400))
    assert len(first) == 10
    assert max(first.values()) < 80
    baseline = make_baseline(make_scorecard(run_id="r1"), provenance={"measured": "2026-01-01"})
    later = make_baseline(make_scorecard(run_id="r2"), provenance={"measured": "2026-01-02"})
    seeds = {seed_of("g", baseline, None), seed_of("h", baseline, None), seed_of("g", later, None)}
    assert len(seeds | {seed_of("g", baseline, "abc")}) == 4


def test_the_modes_of_a_case_follow_each_other() -> None:
    """A case is asked in all of its modes before the next one, and in none that it is not for."""
    cases = (make_case("a"), make_case("b", modes=("vector",)), make_case("c", modes=("none",)), make_case("d"))
    drawn = Drawn(cases, ["hybrid", "vector"], "s")
    order = [(case.id, mode) for case, mode in drawn]
    assert len(drawn) == len(order) == 5
    assert [drawn[place] for place in range(5)] == list(drawn)
    assert drawn[1:3] == list(drawn)[1:3]
    at = order.index(("a", "hybrid"))
    assert order[at + 1] == ("a", "vector")
    assert [drawn.ends_a_case(place) for place in range(5)].count(True) == 3
    assert not drawn.ends_a_case(at)
    with pytest.raises(IndexError):
        drawn[5]


def test_nothing_to_ask() -> None:
    """No cases, and cases of other modes, are no questions."""
    assert len(Drawn((), ["hybrid"], "s")) == 0
    assert list(Drawn((make_case("c", modes=("none",)),), ["hybrid"], "s")) == []
