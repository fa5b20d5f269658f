"""The ratchet: small accepted drops are added up, and seen once they are a large one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_chunk,
    make_comparison,
    make_delta,
    make_golden,
    make_labelled,
    make_metric,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.base.errors import UsageError
from raggate.config.gate_settings import Gate, Rule
from raggate.config.schema import Config
from raggate.gate import baseline, promote
from raggate.gate.completeness import obstacles
from raggate.gate.evaluation import evaluate_run
from raggate.gate.policies import classify_row
from raggate.gate.ratchet import Promotion, advance, creeping, sinks
from raggate.gate.verdict import decide
from raggate.models.baseline import AcceptedDrop, Baseline, RatchetEntry
from raggate.models.comparison import Comparison, GoldenChanges, Uncompared
from raggate.models.promotion import BaselineCandidate, MetricChange
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL, Scorecard
from raggate.models.verdict import Review
from raggate.scoring import score
from tables import each_row

GATE = Gate(metrics={"wrong_rate": 0.05})
ON = Promotion(on="2026-03-01", reason="smaller model", by="ada")
ENTRY = RatchetEntry(best=0.80, drops=0.02, since="2026-01-01")


def lowered(before: float, after: float) -> RatchetEntry:
    record = AcceptedDrop(on="2026-03-01", before=before, after=after, reason="smaller model", by="ada")
    return RatchetEntry(best=after, drops=0.0, since="2026-03-01", lowered=record)


def advanced(
    entry: RatchetEntry | None,
    before: float,
    now: float,
    metric: str = "hit_at_5",
    others: tuple[float, float] | None = None,
    **golden: Any,
) -> RatchetEntry:
    """Advance a metric from one value to another of a shared question, beside another one of each side, if told."""
    old, new = ([make_case_score("q", {metric: value})] for value in (before, now))
    if others is not None:
        old.append(make_case_score("old", {metric: others[0]}))
        new.append(make_case_score("new", {metric: others[1]}))
    scorecard = make_scorecard(*new)
    direction = scorecard.slices["hybrid"][OVERALL][metric].direction
    kept = {"hybrid": {metric: entry}} if entry else {}
    comparison = Comparison(
        baseline=make_baseline(make_scorecard(*old), provenance={"measured": "2026-02-03T04:05:06Z"}, accepted=kept),
        scorecard=scorecard,
        deltas=(make_delta(before, now, direction=direction, metric=metric),),
        golden=GoldenChanges(**golden),
        compared=1,
    )
    return accepted(comparison)["hybrid"][metric]


def accepted(comparison: Comparison, gate: Gate = GATE) -> dict[str, dict[str, RatchetEntry]]:
    return advance(tuple(promote.of(comparison, gate)), comparison, gate, ON)


def test_other_questions_lower_the_best_only_with_a_record() -> None:
    """A best value that is worse because the questions are others is recorded as that, and nothing is given up."""
    entry = RatchetEntry(best=0.75, drops=0.0, since="2026-01-01")
    moved = AcceptedDrop(
        on="2026-03-01", before=0.75, after=0.5, reason="other questions: 10 added, 2 changed", by="ada"
    )
    after = advanced(entry, 0.75, 0.75, others=(0.75, 0.25), added=("new",) * 10, relabelled=("q", "r"))
    assert after == RatchetEntry(best=0.5, drops=0.0, since="2026-03-01", lowered=moved)
    assert advanced(after, 0.75, 0.75, others=(0.25, 0.25)) == after
    assert advanced(after, 0.75, 0.75, others=(0.25, 0.5)) == replace(after, best=0.625)
    less = advanced(replace(entry, best=0.1), 0.1, 0.1, "wrong_rate", (0.1, 0.3)).lowered
    assert less is not None
    assert (less.before, less.after, less.reason) == (0.1, pytest.approx(0.2), "other questions")


@each_row(
    ("behind", "drops", "lost", "sunk"),
    [
        (0.050, 0.0, 0.0, False),
        (0.051, 0.0, 0.0, True),
        (0.010, 0.050, 0.0, False),
        (0.010, 0.051, 0.0, True),
        (0.010, 0.041, 0.010, True),
        (0.010, 0.040, 0.010, False),
    ],
)
def test_a_mean_sinks_below_the_best_value(behind: float, drops: float, lost: float, *, sunk: bool) -> None:
    """A mean that falls sinks if it is more than the tolerance behind the best, or if drops add up to more."""
    for metric, direction, sign in (("hit_at_5", "higher", 1), ("wrong_rate", "lower", -1)):
        now, before = (make_metric(value, 20, direction=direction) for value in (0.5, 0.5 + sign * 0.01))
        shared = make_delta(0.5 + sign * lost, 0.5, direction=direction, metric=metric)
        entry = RatchetEntry(best=0.5 + sign * behind, drops=drops, since="2026-01-01")
        comparison = make_comparison(baseline=make_baseline(accepted={"hybrid": {metric: entry}}))
        row = MetricChange(before=before, after=now, change=shared, shared=True)
        assert sinks(row, comparison, GATE) == sunk
        assert not sinks(replace(row, before=now, change=make_delta(0.5, 0.5, metric=metric)), comparison, GATE)


@each_row(
    ("before", "now", "expected"),
    [
        pytest.param(0.78, 0.76, replace(ENTRY, drops=0.04), id="small-drop-is-added"),
        pytest.param(0.78, 0.73, replace(ENTRY, drops=0.07), id="exactly-the-tolerance-is-small"),
        pytest.param(0.78, 0.79, replace(ENTRY, drops=0.01), id="gain-is-taken-off"),
        pytest.param(0.78, 0.90, RatchetEntry(best=0.90, drops=0.0, since="2026-03-01"), id="a-new-best"),
        pytest.param(0.78, 0.78 + 1e-10, ENTRY, id="noise-of-floats"),
        pytest.param(0.78, 0.70, lowered(0.78, 0.70), id="a-person-accepted-a-large-drop"),
    ],
)
def test_advance(before: float, now: float, expected: RatchetEntry) -> None:
    """What is accepted follows from the change over the same cases: added, taken off, or begun anew."""
    after = advanced(ENTRY, before, now)
    assert after.drops == pytest.approx(expected.drops, abs=1e-9)
    assert replace(after, drops=expected.drops) == expected


def test_a_loss_that_other_questions_prove_is_recorded_by_the_means() -> None:
    """What is lost beyond the shared questions is recorded over all questions of each side."""
    others = Uncompared(n=10, relabelled=10, value=0.4, expected=0.8, drop=0.1, proven=0.1)
    change = replace(make_delta(0.78, 0.77), uncompared=others)
    row = MetricChange(before=make_metric(0.8, 20), after=make_metric(0.6, 20), change=change, shared=True)
    held = make_comparison(baseline=make_baseline(accepted={"hybrid": {"hit_at_5": ENTRY}}))
    low = advance((row,), held, GATE, ON)["hybrid"]["hit_at_5"].lowered
    assert low is not None
    assert (low.before, low.after, low.reason) == (0.8, 0.6, "smaller model")


def test_baseline_that_keeps_nothing_yet() -> None:
    """A baseline from before the ratchet starts with its own value, on the day it was measured."""
    after = advanced(None, 0.80, 0.78)
    assert (after.best, after.since) == (0.80, "2026-02-03")
    assert after.drops == pytest.approx(0.02)


def test_everything_starts() -> None:
    """Without a baseline every gated metric starts, and no other."""
    scorecard = make_scorecard(make_case_score(values={"hit_at_5": 0.5, "ndcg_at_7": 0.4, "mrr_at_10": None}))
    entries = accepted(Comparison(baseline=None, scorecard=scorecard), Gate())["hybrid"]
    assert entries == {"hit_at_5": RatchetEntry(best=0.5, drops=0.0, since="2026-03-01")}


@each_row(
    ("before", "now", "expected"),
    [
        pytest.param(0.7, 0.8, RatchetEntry(best=0.8, drops=0.0, since="2026-03-01"), id="as-good-as-the-best"),
        pytest.param(0.7, 0.75, ENTRY, id="not-won-back"),
        pytest.param(0.7, 0.69, lowered(0.7, 0.69), id="however-little-lower"),
    ],
)
def test_baseline_that_must_not_be_compared(before: float | None, now: float, expected: RatchetEntry) -> None:
    """Where only means can be set side by side, a lower one is recorded, and nothing else is forgotten."""
    stored = make_scorecard(make_case_score(values={"hit_at_5": before}))
    comparison = Comparison(
        baseline=make_baseline(stored, accepted={"hybrid": {"hit_at_5": ENTRY}}),
        scorecard=make_scorecard(make_case_score(values={"hit_at_5": now})),
        incomparable=("other adapter",),
    )
    assert accepted(comparison) == {"hybrid": {"hit_at_5": expected}}


FLOOR = Gate(metrics={"hit_at_5": Rule(floor=0.78)})


@each_row(
    ("gate", "drops", "now", "total"),
    [
        pytest.param(Gate(), 0.03, 0.78, None, id="exactly-the-tolerance"),
        pytest.param(Gate(), 0.03, 0.7799, 0.0501, id="a-little-more"),
        pytest.param(Gate(), 0.06, 0.80, 0.06, id="accepted-before"),
        pytest.param(Gate(), 0.06, 0.81, 0.06, id="a-gain-is-not-taken-off-before-it-is-promoted"),
        pytest.param(Gate(), 0.06, 0.70, None, id="worse-by-itself"),
        pytest.param(Gate(), 0.0, 0.75, None, id="one-drop-of-the-tolerance"),
        pytest.param(FLOOR, 0.03, 0.66, None, id="fell-beyond-its-floor-at-once"),
        pytest.param(FLOOR, 0.03, 0.76, 0.07, id="crept-beyond-its-floor"),
    ],
)
def test_creeping(gate: Gate, drops: float, now: float, total: float | None) -> None:
    """A metric creeps when accepted drops and this change's own add up to more than its tolerance."""
    rows = [classify_row(make_delta(0.8, now), gate)]
    found = list(creeping(rows, {"hybrid": {"hit_at_5": replace(ENTRY, drops=drops)}}, GATE))
    assert [creep.total for creep in found] == ([] if total is None else [pytest.approx(total)])


def held(drops: float, now: float, **fields: Any) -> Comparison:
    kept = {"hybrid": {"hit_at_5": replace(ENTRY, drops=drops)}}
    return make_comparison(make_delta(0.8, now, **fields), baseline=make_baseline(accepted=kept))


@each_row(
    ("ratchet", "now", "outcome", "reasons", "warnings"),
    [
        pytest.param("warn", 0.78, "pass", [], ["creep"], id="warn"),
        pytest.param("fail", 0.78, "regression", ["creep"], [], id="fail"),
        pytest.param("off", 0.78, "pass", [], [], id="off"),
        pytest.param("fail", 0.82, "pass", [], ["creep"], id="an-improvement-is-never-red"),
        pytest.param("fail", 0.70, "regression", ["worse"], [], id="worse-is-told-once"),
    ],
)
def test_verdict(ratchet: Any, now: float, outcome: str, reasons: list[str], warnings: list[str]) -> None:
    """Creep is a warning, or red where that is configured and the change drops the metric too."""
    verdict = decide(held(0.06, now), (), Gate(ratchet=ratchet))
    assert verdict.outcome == outcome
    assert [reason.code for reason in verdict.reasons] == reasons
    assert [warning.code for warning in verdict.warnings] == warnings


CONFIG = {
    "vault": {"v": "v"},
    "api": {"url": "http://127.0.0.1:1"},
    "score": {"k": [5]},
    "invariants": {"notes_exist": "off"},
}
FOUND, LOST = make_chunk(), make_chunk("c2", rel_path="b.md")


@cache
def answered(number: int, *, lost: bool) -> LabelledResult:
    case = make_case(f"q{number:02}")
    return make_labelled(case, make_result(case.id, LOST if lost else FOUND))


def run_of(step: int, gate: dict[str, Any]) -> Run:
    """Measure 50 questions of which the first `step` are not found any more: hit_at_5 is 1 - step / 50."""
    items = [answered(number, lost=number < step) for number in range(50)]
    config = Config.model_validate({**CONFIG, "gate": gate})
    return make_run(
        *items,
        run_id=f"run-{step}",
        started=f"2026-01-{step + 1:02}T00:00:00Z",
        golden=make_golden(*(item.case for item in items)),
        config=config,
        fingerprint={"modes": ["hybrid"]},
    )


@cache
def scored(step: int) -> Scorecard:
    return score.score(run_of(step, {}), (5,))


def checked(step: int, gate: dict[str, Any], baseline: Baseline | None) -> Review:
    """Judge such a run as `raggate check` does."""
    return evaluate_run(run_of(step, gate), scored(step), baseline)


def proposed(step: int, gate: dict[str, Any], present: Baseline | None, terms: promote.Terms) -> BaselineCandidate:
    """Propose such a run as `raggate promote` does."""
    run = run_of(step, gate)
    assert not obstacles(scored(step), present)
    return promote.propose(run, scored(step), present, run.config.gate, terms)


def promoted(step: int, gate: dict[str, Any], present: Baseline | None) -> Baseline:
    terms = promote.Terms(reason="a small step", by="ada", allow_regression=True)
    data = proposed(step, gate, present, terms).data
    return baseline.read(data, "baselines/default.json", score.directions((5,)))


ONLY = {f"{name}_at_{k}": False for name in ("hit", "mrr", "ndcg", "recall_all") for k in (1, 3, 10)}


def test_ten_small_steps() -> None:
    """Of ten changes, each 0.02 worse than the last and each promoted, the third and all later ones are caught."""
    gate = {"ratchet": "fail", "metrics": {**ONLY, "hit_at_5": 0.05}}
    present, outcomes = promoted(0, gate, None), []
    for step in range(1, 11):
        outcomes.append(checked(step, gate, present).verdict.outcome)
        present = promoted(step, gate, present)
    assert outcomes == ["pass"] * 2 + ["regression"] * 8
    kept = present.accepted["hybrid"]["hit_at_5"]
    assert (kept.best, kept.since, kept.lowered) == (1.0, "2026-01-01", None)
    assert kept.drops == pytest.approx(0.2)


TESTED = {"composite": ["hit_at_5"], "metrics": {**ONLY, "hit_at_5": "off", "duplicate_doc_rate_at_5": 0.05}}


def test_ten_small_steps_of_a_metric_that_is_only_tested() -> None:
    """A metric that only the composite has cannot sink unseen: each step needs permission, the third warns."""
    present, told = promoted(0, TESTED, None), []
    for step in range(1, 11):
        with pytest.raises(UsageError, match="worse than the present baseline: hit@5"):
            proposed(step, TESTED, present, promote.Terms())
        told += [step for item in checked(step, TESTED, present).verdict.warnings if item.code == "creep"]
        present = promoted(step, TESTED, present)
    assert told == [*range(3, 11)]
    assert present.accepted["hybrid"]["hit_at_5"].drops == pytest.approx(0.2)


def test_metric_that_is_not_gated_for_a_while() -> None:
    """What was accepted outlasts a time without a rule, whatever is lost in it."""
    kept = {"hybrid": {"hit_at_5": ENTRY}}
    rest = Gate(metrics={"hit_at_5": "off"}, composite=["mrr_at_10"])
    stored, worse = (make_scorecard(make_case_score(values={"hit_at_5": value})) for value in (0.8, 0.1))
    comparison = Comparison(
        baseline=make_baseline(stored, accepted=kept),
        scorecard=worse,
        deltas=(make_delta(0.8, 0.1, metric="hit_at_5"),),
        compared=1,
    )
    assert accepted(comparison, rest) == kept
