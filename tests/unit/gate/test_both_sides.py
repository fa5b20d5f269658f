"""Both sides in one pass: the rows of a comparison stand in the baseline's order."""

from __future__ import annotations

from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import make_baseline, make_case_score, make_metric, make_scorecard
from raggate.gate.both_sides import Sides
from raggate.models.comparison import Delta
from raggate.models.scorecard import OVERALL, CaseScore, by_question

METRICS = ("hit_at_5", "mrr_at_5")
VALUE = st.sampled_from((0.0, 0.25, 1.0, None))
CASES = st.lists(
    st.tuples(VALUE, VALUE, VALUE, VALUE, st.sampled_from("xyz"), st.sampled_from((None, "g", "h")), st.booleans()),
    min_size=1,
    max_size=14,
)


def gathered(before: list[CaseScore], now: list[CaseScore]) -> tuple[list[Delta], Sides]:
    """Hold cases against each other in both slices."""
    slices = {"hybrid": {name: {metric: make_metric() for metric in METRICS} for name in ("tag=x", OVERALL, "tag=y")}}
    card = replace(make_scorecard(slices=slices), cases=tuple(now))
    baseline = make_baseline(replace(card, cases=tuple(before)))
    sides = Sides(card, baseline, waived=frozenset({("hybrid", "q3")}))
    sides.add_all(by_question(baseline.scorecard.cases))
    return [*sides.deltas(1)], sides


@given(CASES)
def test_rows_stand_in_the_order_of_the_baseline(rows: list[tuple[object, ...]]) -> None:
    """Rows stand in the order of the baseline's slices and metrics, and the questions that are the same are counted."""
    before, now = [], []
    for number, (old_hit, old_mrr, hit, mrr, tag, group, same) in enumerate(rows):
        name, slices = f"q{number}", (OVERALL, f"tag={tag}")
        before.append(make_case_score(name, dict(zip(METRICS, (old_hit, old_mrr), strict=True)), slices=slices))  # type: ignore[arg-type]
        own = make_case_score(name, dict(zip(METRICS, (hit, mrr), strict=True)), slices=slices, group=group)  # type: ignore[arg-type]
        now.append(own if same else make_case_score(name, dict(own.values), slices=slices, hash="other"))
    deltas, sides = gathered(before, now)
    assert [delta.metric for delta in deltas] == [*METRICS] * 3
    assert [delta.slice for delta in deltas[::2]] == ["tag=x", OVERALL, "tag=y"]
    assert sides.compared == sum(bool(row[-1]) for row in rows)
