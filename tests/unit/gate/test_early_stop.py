"""Answers in a drawn order: when what is left cannot make a pass any more, and what no answer can bring about."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from msgspec import Struct
from msgspec.structs import replace

from builders import make_baseline, make_case, make_case_score, make_run, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate.both_sides import Sides
from raggate.gate.by_question import by_question
from raggate.gate.drawn_order import Drawn
from raggate.gate.early_stop import Watch, shown_by
from raggate.gate.verdict import decide
from raggate.gate.waivers import excused
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison
from raggate.models.early_stop import EarlyStop
from raggate.models.scorecard import CaseScore
from raggate.models.verdict import Verdict
from raggate.models.waiver import WaiverStatus
from tables import each_row

HIT = {"hit_at_5": 1.0}
MISS = {"hit_at_5": 0.0}
CERTAIN: dict[str, Any] = {"early_stop": "certain"}


class Side(Struct, frozen=True):
    """A suite of questions: their scores before, and the order in which they are asked."""

    before: tuple[CaseScore, ...]
    seed: str = "s"

    @property
    def order(self) -> Drawn:
        """The questions in their order."""
        modes = list(dict.fromkeys(score.mode for score in self.before))
        cases = {
            score.case_id: make_case(score.case_id, hash=score.hash, must_pass=score.must_pass) for score in self.before
        }
        return Drawn(tuple(cases.values()), modes, self.seed)

    @property
    def baseline(self) -> Baseline:
        """What they are held against."""
        return make_baseline(make_scorecard(*self.before))

    def watch(self, waived: Sequence[WaiverStatus] = (), **gate: Any) -> Watch:
        """Begin to ask."""
        return Watch(self.order, self.baseline, Gate.model_validate({**CERTAIN, **gate}), waived)

    def asked(self, after: Sequence[CaseScore], waived: Sequence[WaiverStatus] = (), **gate: Any) -> EarlyStop | None:
        """Ask all in the order drawn, until the run stops."""
        watch, scores = self.watch(waived, **gate), {(score.mode, score.case_id): score for score in after}
        for case, mode in self.order:
            watch.hear(scores[mode, case.id])
            if watch.stop is not None:
                break
        return watch.stop

    def whole(self, after: Sequence[CaseScore], waived: Sequence[WaiverStatus] = (), **gate: Any) -> Verdict:
        """Decide on all answers, as a run without an early stop is decided on."""
        policy, scorecard = Gate.model_validate(gate), make_scorecard(*after)
        sides = Sides(scorecard, self.baseline, flip_at=5, waived=excused(waived, scorecard))
        sides.add_all(by_question(self.before))
        comparison = Comparison(
            baseline=self.baseline, scorecard=scorecard, deltas=tuple(sides.deltas(10)), compared=sides.compared
        )
        return decide(comparison, (), policy, waived=waived)


def suite(number: int = 40, **fields: Any) -> Side:
    """Build a suite of which everything is found."""
    return Side(tuple(make_case_score(f"q{place}", HIT, **fields) for place in range(number)))


def losing(side: Side, lost: int, **fields: Any) -> list[CaseScore]:
    """Answer as before, but for the questions that are asked first."""
    first = [case.id for case, _ in side.order][:lost]
    worse = {"values": MISS, "rank": None, **fields}
    return [replace(score, **worse) if score.case_id in first else score for score in side.before]


def waiver(**fields: Any) -> WaiverStatus:
    """Build a waiver that holds."""
    return WaiverStatus(
        **{"metric": None, "case": None, "mode": None, **fields},
        owner="o",
        reason="r",
        expires="2099-01-01",
        state="active",
        days_left=9,
    )


def test_a_loss_that_nothing_can_bring_back() -> None:
    """Of 40 questions that all were found, the third that is lost is more than 5 points, whatever else is answered."""
    side = suite()
    stop = side.asked(losing(side, 3))
    assert stop is not None
    assert (stop.after, stop.of, stop.certain, stop.metric, stop.mode) == (3, 40, True, "hit_at_5", "hybrid")
    assert stop.message == (
        "asking the rest cannot make it a pass: hit_at_5 (hybrid) falls by at least 7.5 pt in the end, allowed 5 pt"
    )


@each_row(
    ("lost", "gate"),
    [
        pytest.param(2, {}, id="exactly what is allowed"),
        pytest.param(0, {}, id="nothing lost"),
        pytest.param(40, {"policy": "evidence"}, id="a policy by which no tolerance is red by itself"),
        pytest.param(40, {"metrics": {"hit_at_5": "off"}}, id="a metric that is not gated"),
        pytest.param(40, {"min_cases": 41}, id="a metric of few questions, which may only warn"),
        pytest.param(9, {"tolerance": 0.25}, id="a larger tolerance"),
    ],
)
def test_what_asks_everything(lost: int, gate: dict[str, Any]) -> None:
    """Where the rest could still make it a pass, or might, everything is asked."""
    side = suite()
    assert side.asked(losing(side, lost), **gate) is None


def test_what_is_left_could_still_be_gained() -> None:
    """Questions that were missed before could be found now, so losses count for less until they are asked."""
    half = Side(tuple(replace(score, values=HIT if place % 2 else MISS) for place, score in enumerate(suite().before)))
    after = [replace(score, values=MISS) for score in half.before]
    stop = half.asked(after)
    assert stop is not None
    left = {case.id for case, _ in half.order[stop.after :]}
    best = [replace(score, values=HIT) if score.case_id in left else score for score in after]
    assert half.whole(best).outcome == "regression"


def test_must_pass_questions_come_first_and_are_all_asked() -> None:
    """One that is lost ends the run once all that must pass are asked; the sentence names it and counts the rest."""
    must = {"q3", "q8", "q9"}
    side = Side(tuple(replace(score, must_pass=score.case_id in must) for score in suite().before))
    lost = [replace(score, rank=None, values=MISS) if score.case_id in {"q3", "q8"} else score for score in side.before]
    stop = side.asked(lost, policy="evidence")
    assert stop is not None
    assert (stop.after, stop.certain, stop.metric) == (3, True, None)
    name = next(case.id for case, _ in side.order if case.id in {"q3", "q8"})
    assert stop.cause == f"question {name} (hybrid) must pass, and nothing expected is within rank 5, and 1 more"
    assert side.asked(lost, [waiver(case="q3"), waiver(case="q8")], policy="evidence") is None


def test_a_call_that_fails_shows_nothing() -> None:
    """A failed call is no sign of worse ranks: it ends no run, also where it must pass."""
    side = Side(tuple(replace(score, must_pass=True) for score in suite().before))
    assert side.asked(losing(side, 30, failure="timeout"), max_error_rate=0.99) is None


def test_too_many_failed_calls_are_left_to_the_whole_run() -> None:
    """While more calls failed than may, a run that could count as not measured is not called worse."""
    side = suite()
    ids = [case.id for case, _ in side.order]
    after = {score.case_id: score for score in losing(side, 10)}
    after[ids[0]] = replace(after[ids[0]], failure="timeout")
    assert side.asked(list(after.values())) is None
    stop = side.asked(list(after.values()), max_error_rate=0.25)
    assert stop is not None
    assert stop.after == 4


def test_waivers_excuse_what_they_excuse_in_the_end() -> None:
    """A waived metric, and a waived question, end no run."""
    side = suite()
    lost = losing(side, 3)
    assert side.asked(lost, [waiver(metric="hit_at_5")]) is None
    assert side.asked(lost, [waiver(metric="hit_at_5", mode="vector")]) is not None
    first = side.order[0][0].id
    # 2 of the 39 that are left are more than 5 points, and not more than 6
    assert side.asked(lost, [waiver(case=first)]) is not None
    assert side.asked(lost, tolerance=0.06) is not None
    assert side.asked(lost, [waiver(case=first)], tolerance=0.06) is None


@each_row("strange", [{"hit_at_5": None}, {"hit_at_5": nan}, {}])
def test_a_value_that_is_gone_shows_nothing(strange: dict[str, float | None]) -> None:
    """What has no value, or none that is a number, is no loss of this metric, and leaves what others show."""
    side = suite()
    assert side.asked(losing(side, 30, values=strange)) is None
    mixed = losing(side, 4)
    mixed = [replace(score, values=strange) if score.case_id == side.order[0][0].id else score for score in mixed]
    stop = side.asked(mixed, tolerance=0.06)
    assert stop is not None
    assert stop.after == 4


def test_questions_that_are_new_or_relabelled_have_no_part() -> None:
    """A question that the baseline does not have as it is asked now is not held against it."""
    side = suite()
    known = replace(side, before=tuple(replace(score, hash="other") for score in side.before))
    watch = Watch(side.order, known.baseline, Gate.model_validate(CERTAIN), ())
    for score in losing(side, 40):
        watch.hear(score)
    assert watch.stop is None


def test_lower_is_better() -> None:
    """Of a rate that may not rise, what was at its worst can only fall, and what was at its best only rise."""
    side = Side(tuple(make_case_score(f"q{n}", {"scope_miss_rate": 0.0}) for n in range(40)))
    stop = side.asked([replace(score, values={"scope_miss_rate": 1.0}) for score in side.before])
    assert stop is not None
    assert (stop.after, stop.metric) == (3, "scope_miss_rate")
    worst = Side(tuple(make_case_score(f"q{n}", {"scope_miss_rate": 1.0}) for n in range(40)))
    assert worst.asked(list(worst.before)) is None


def test_answers_count_in_the_order_drawn() -> None:
    """Whichever answers come in first: only those before which none is missing count."""
    side = suite()
    lost = {score.case_id: score for score in losing(side, 40)}
    order = [case.id for case, _ in side.order]
    watch = side.watch()
    for name in order[1:30]:
        watch.hear(lost[name])
    assert watch.stop is None
    watch.hear(lost[order[0]])
    assert watch.stop is not None
    assert watch.stop.after == 3


def test_a_run_of_which_all_is_answered_does_not_stop() -> None:
    """Where the answer that the order waits for is the last of all, there is no rest that is not asked."""
    side = suite()
    lost = {score.case_id: score for score in losing(side, 40)}
    first, *others = (case.id for case, _ in side.order)
    watch = side.watch()
    for name in others:
        watch.hear(lost[name])
    watch.hear(lost[first])
    assert watch.stop is None


def test_a_case_counts_when_all_of_its_modes_are_answered() -> None:
    """Between two modes of a case nothing is decided: which question comes next is no draw."""
    scores = [make_case_score(f"q{n}", HIT, mode=mode) for n in range(40) for mode in ("hybrid", "vector")]
    side = Side(tuple(scores))
    stop = side.asked([replace(score, values=MISS) for score in scores])
    assert stop is not None
    assert (stop.after, stop.of) == (6, 80)


def test_as_good_as_certain() -> None:
    """With a share of false alarms a loss that is large and spread ends a run long before it is certain."""
    side = suite(1000)
    rng = Random(5)  # noqa: S311 - seeded
    half = tuple(replace(score, values=rng.choice((HIT, HIT, MISS))) for score in side.before)
    side = replace(side, before=half)
    after = [replace(score, values=MISS) if rng.random() < 0.5 else score for score in side.before]
    certain, soon = side.asked(after), side.asked(after, early_stop=0.01)
    assert certain is not None
    assert soon is not None
    assert (soon.certain, soon.false_alarms, soon.metric) == (False, 0.01, "hit_at_5")
    assert soon.evidence >= 100
    assert soon.after * 5 < certain.after
    assert soon.message == (
        "asking the rest would hardly make it a pass: hit_at_5 (hybrid) falls by more than the 0.05 that is allowed; a "
        "run that asking all would not make red is stopped like this in at most 1% of the orders to ask in"
    )


def test_false_alarms_stay_below_their_share() -> None:
    """Of a run that falls by exactly what is allowed, at most the share of all orders stops."""
    scores = [make_case_score(f"q{n}", HIT if n % 5 else MISS) for n in range(100)]
    after = [replace(score, values=MISS if n in {1, 2, 3, 4, 6} else score.values) for n, score in enumerate(scores)]
    orders = 100
    stops = [Side(tuple(scores), seed=str(seed)).asked(after, early_stop=0.1) for seed in range(orders)]
    early = [stop for stop in stops if stop is not None]
    assert not any(stop.certain for stop in early)
    assert len(early) <= 0.1 * orders + 3 * (0.09 * orders) ** 0.5


def test_metrics_share_the_false_alarms() -> None:
    """Several metrics are one bet, that none is worse than allowed: three that keep do not hide one that falls."""
    names = [f"hit_at_{k}" for k in (1, 3, 5, 10)]
    side = suite(600)
    before = tuple(replace(score, values=dict.fromkeys(names, 1.0)) for score in side.before)
    side = replace(side, before=before)
    rng = Random(2)  # noqa: S311 - seeded
    after = [replace(score, values={**score.values, "hit_at_1": float(rng.random() > 0.4)}) for score in side.before]
    one = side.asked(after, early_stop=0.01, metrics=dict.fromkeys(names[1:], "off"))
    four = side.asked(after, early_stop=0.01)
    assert one is not None
    assert four is not None
    assert four.metric == "hit_at_1"
    assert one.after <= four.after <= one.after + 20


VALUES = st.sampled_from([0.0, 1.0, 0.5, None])


@settings(deadline=None)
@given(st.data())
def test_no_completion_is_a_pass(data: st.DataObject) -> None:
    """Where a run stopped as certain, no answers whatever to the rest make the whole run a pass."""
    number = data.draw(st.integers(10, 16))
    metrics = ("hit_at_5", "false_abstention_rate")
    drawn = st.fixed_dictionaries(dict.fromkeys(metrics, VALUES))
    before = [
        make_case_score(f"q{n}", data.draw(drawn), must_pass=n == 0 and data.draw(st.booleans())) for n in range(number)
    ]
    gate = {
        "tolerance": data.draw(st.sampled_from([0.0, 0.05, 0.2])),
        "policy": data.draw(st.sampled_from(["either", "threshold"])),
    }
    side = Side(tuple(before), seed=data.draw(st.text(max_size=2)))
    after = {
        score.case_id: replace(score, values=data.draw(drawn), rank=data.draw(st.sampled_from([1, None])))
        for score in before
    }
    stop = side.asked(list(after.values()), **gate)
    if stop is None:
        return
    left = [case.id for case, _ in side.order[stop.after :]]
    best = {"hit_at_5": 1.0, "false_abstention_rate": 0.0}
    for values in (best, dict.fromkeys(metrics), data.draw(drawn)):
        done = after | {name: replace(after[name], values=values, rank=1) for name in left}
        assert side.whole(list(done.values()), **gate).outcome == "regression"


def test_it_is_shown_by_the_answers_alone() -> None:
    """A stored run is judged by its answers: more of them than were needed change nothing, other settings may."""
    side = suite()
    lost = losing(side, 12)
    asked = {case.id for case, _ in side.order[:12]}
    golden = make_run().golden
    cases = tuple(make_case(score.case_id, hash=score.hash) for score in side.before)
    run = make_run(golden=replace(golden, cases=cases), fingerprint={"modes": ["hybrid"]})
    scorecard = make_scorecard(*(score for score in lost if score.case_id in asked))
    gate = Gate.model_validate(CERTAIN)
    # by another order more of the answers may be missing, so of all of them
    shown = shown_by(run, make_scorecard(*losing(side, 40)), side.baseline, gate, ())
    assert shown is not None
    assert shown.after == 3
    assert shown_by(run, scorecard, None, gate, ()) is None
    assert shown_by(run, scorecard, make_baseline(), gate, ()) is None
    assert (
        shown_by(run, make_scorecard(*losing(side, 40)), side.baseline, Gate.model_validate({"tolerance": 1.0}), ())
        is None
    )


@each_row("seed", ["first", "second", "third"])
def test_no_order_makes_a_pass(seed: str) -> None:
    """Bad questions that come last are asked, and end no run before: what is red in the end is red in any order."""
    side = replace(suite(), seed=seed)
    last = [case.id for case, _ in side.order][-6:]
    after = [replace(score, values=MISS, rank=None) if score.case_id in last else score for score in side.before]
    stop = side.asked(after, early_stop=0.1)
    assert stop is None or stop.after > 34
    assert side.whole(after).outcome == "regression"
