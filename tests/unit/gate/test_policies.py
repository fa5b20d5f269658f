"""The policies: when a loss is red, when it is a warning, and that no change can choose between the two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_chunk,
    make_chunks,
    make_delta,
    make_labelled,
    make_metric,
    make_ranked_run,
    make_response,
    make_result,
    make_run,
    make_support,
)
from gate_rows import CEILING, FLOOR, PLAIN, SAME, WORSE, emptied, rate, slice_delta
from raggate.config.gate_settings import DEFAULT_GATED, Gate, Rule, Waiver
from raggate.gate import policies
from raggate.gate.compare import compare
from raggate.gate.policies import classify_row, composites
from raggate.gate.verdict import Circumstances, decide
from raggate.gate.waivers import excused, waiver_statuses
from raggate.models.baseline import Baseline
from raggate.models.comparison import Comparison, Delta, Uncompared
from raggate.models.run import LabelledResult, Run
from raggate.models.verdict import Verdict
from raggate.scoring.score import score
from tables import each_row
from tries import tried

Policy = Literal["evidence", "threshold"]
POLICIES: tuple[Policy, ...] = ("evidence", "threshold")
Ranks = Sequence[int | None]
CUTOFFS = (1, 5, 10)


def baseline_of(run: Run) -> Baseline:
    return make_baseline(score(run, CUTOFFS))


def judged(old: Run, new: Run, gate: Gate, *, waivers: Sequence[Waiver] = (), **fields: Any) -> Verdict:
    scorecard = score(new, CUTOFFS)
    waived = waiver_statuses(waivers, new.started)
    before = replace(baseline_of(old), **fields)
    comparison = compare(new, scorecard, before, waived=excused(waived, scorecard))
    return decide(comparison, (), gate, Circumstances(waived=waived, started=new.started))


def verdict(before: Ranks, after: Ranks, policy: Policy = "evidence", **gate: Any) -> Verdict:
    return decide(compared(tuple(before), tuple(after)), (), Gate(policy=policy, **gate))


@lru_cache(maxsize=64)
def compared(before: Ranks, after: Ranks) -> Comparison:
    old, new = (make_ranked_run(*ranks) for ranks in (before, after))
    return compare(new, score(new, CUTOFFS), baseline_of(old))


def codes(verdict: Verdict) -> tuple[list[str], list[str]]:
    return ([*dict.fromkeys(r.code for r in verdict.reasons)], [*dict.fromkeys(w.code for w in verdict.warnings)])


SMALL_LOSS = ([1] * 100, [None] * 4 + [1] * 96)
"""4 points, p = 0.024: within the tolerance."""
CHANCE = ([1] * 37 + [None] * 3, [None] * 6 + [1] * 34)
"""7.5 points, 6 lost and 3 gained: p = 0.18."""
TWO, THREE = ([1] * 20, [None] * 2 + [1] * 18), ([1] * 20, [None] * 3 + [1] * 17)
"""10 points, p = 0.11; and 15 points, p = 0.051."""
FOUR = ([1] * 20, [None] * 4 + [1] * 16)
"""20 points, p = 0.025."""


@each_row(
    ("policy", "before", "after", "outcome", "reasons", "warnings"),
    [
        pytest.param("evidence", *SMALL_LOSS, "regression", ["composite-worse"], [], id="evidence-shown"),
        pytest.param("threshold", *SMALL_LOSS, "pass", [], ["perhaps-worse"], id="threshold-within-tolerance"),
        pytest.param("evidence", *CHANCE, "pass", [], ["no-evidence"], id="evidence-by-chance"),
        pytest.param("threshold", *CHANCE, "regression", ["worse"], [], id="threshold-beyond-tolerance"),
        pytest.param("evidence", *FOUR, "regression", ["worse", "composite-worse"], [], id="evidence-enough"),
        pytest.param("evidence", *THREE, "pass", [], ["no-evidence"], id="evidence-too-little-for-a-tolerance"),
        pytest.param("evidence", [1] * 40, [None] + [1] * 39, "pass", [], [], id="one-of-40"),
        pytest.param("evidence", [1] * 50, [None] * 2 + [1] * 48, "pass", [], ["perhaps-worse"], id="two-of-50"),
        pytest.param("evidence", [1] * 400, [2] * 9 + [1] * 391, "pass", [], ["perhaps-worse"], id="below-2-points"),
    ],
)
def test_policy(
    policy: Policy, before: Ranks, after: Ranks, outcome: str, reasons: list[str], warnings: list[str]
) -> None:
    """What is red under which policy, and what is a warning."""
    decided = verdict(before, after, policy)
    assert (decided.outcome, *codes(decided)) == (outcome, reasons, warnings)


def test_a_loss_without_evidence_is_said_at_once() -> None:
    """A pass does not say that nothing is worse than allowed where something is, and warns of that first."""
    decided = verdict(*CHANCE, "evidence")
    worse = [row for row in decided.rows if row.unproven == "no evidence" and row.delta.slice == "overall"]
    (sentence,) = decided.sentences
    told = f"No regression, but {len(worse)} gated metrics are worse than allowed, perhaps by chance."
    assert sentence == f"{told} 1 of 4 harmless changes looks as bad."
    assert decided.warnings[0].code == "no-evidence"
    assert decided.fell == {}


@each_row("policy", POLICIES)
def test_floors_and_must_pass_stand_beside_every_policy(policy: Policy) -> None:
    """A floor and a question that must pass need no evidence."""
    one_lost = ([1] * 100, [None] + [1] * 99)
    assert verdict(*one_lost, policy).outcome == "pass"
    assert codes(verdict(*one_lost, policy, metrics={"hit_at_5": {"floor": 0.995}}))[0] == ["below-floor"]
    case = make_case("q", must_pass=True)
    chunks = (make_chunk(), make_chunk(rel_path="b.md"))
    sides = [make_run(make_labelled(case, make_result("q", chunk))) for chunk in chunks]
    assert codes(judged(*sides, Gate(policy=policy)))[0][0] == "must-pass"


def test_a_suite_that_can_show_nothing_is_judged_by_tolerances() -> None:
    """Fewer than ten questions show too little: `evidence` must not become a gate that is always open."""
    for cases, outcome in ((3, "regression"), (9, "regression"), (10, "pass")):
        assert verdict([1] * cases, [None] + [1] * (cases - 1)).outcome == outcome


def test_means_without_cases_are_judged_by_tolerances() -> None:
    """Where only means can be compared there is no evidence to ask for."""
    old, new = make_ranked_run(*[1] * 40), make_ranked_run(*[None] * 3, *[1] * 37)
    means = replace(score(old, CUTOFFS), cases=())
    assert judged(old, new, Gate(policy="evidence"), scorecard=means).outcome == "regression"


def answered(found: Ranks, abstained: Sequence[bool], **fields: Any) -> Run:
    """Build a run of questions with an answer, and of some without, of which the API abstained from some."""
    items = [
        make_labelled(
            make_case(f"trick{n}", answerable=False),
            make_result(f"trick{n}", response=make_response(*make_chunks("b.md"), abstained=right)),
        )
        for n, right in enumerate(abstained)
    ]
    return make_run(*make_ranked_run(*found).results, *items, **fields)


SURE, LAPSED = answered([1] * 40, [True] * 9), answered([1] * 40, [True] * 8 + [False])


def test_metric_of_few_questions_warns() -> None:
    """One of nine questions is 11 points of their metric; alone it is told as a count, and names the question."""
    decided = judged(SURE, LAPSED, Gate())
    assert (decided.outcome, *codes(decided)) == ("pass", [], ["few-cases"])
    assert decided.warnings[0].message == (
        "abstention accuracy (hybrid) got worse in 1 of 9 questions (trick8), too few questions to be red "
        "(gate.min_cases is 10)"
    )
    assert decided.sentences == ("No regression, but 1 gated metric is worse than allowed, on too few questions.",)
    ten = (answered([1] * 40, [True] * 9 + [right]) for right in (True, False))
    assert codes(judged(*ten, Gate()))[1] == ["no-evidence"]


@each_row("policy", POLICIES)
def test_a_metric_beside_the_composite_cannot_collapse(policy: Policy) -> None:
    """An API that refuses what it used to answer is red under every policy, though its lists are as before."""
    cases = [make_case(f"q{n:02}") for n in range(40)]
    sides = []
    for abstained in (False, True):
        response = make_response(make_chunk(), abstained=abstained)
        sides.append(make_run(*(make_labelled(case, make_result(case.id, response=response)) for case in cases)))
    assert codes(judged(*sides, Gate(policy=policy)))[0] == ["worse"]


@each_row(
    ("answerable", "before", "after", "reasons"),
    [
        (500, 9, 7, []),
        (500, 9, 0, ["worse"]),
        (8, 2, 0, ["worse"]),
        (20, 2, 0, ["worse"]),
        (100, 2, 0, ["worse"]),
        (100, 2, 1, []),
        (100, 1, 0, []),
    ],
)
def test_a_small_metric_cannot_be_lost_whole(answerable: int, before: int, after: int, reasons: list[str]) -> None:
    """A metric of few questions warns, but two or more abstentions of which none is left are red in any suite."""
    total = max(4, before)
    sides = [answered([1] * answerable, [True] * right + [False] * (total - right)) for right in (before, after)]
    assert codes(judged(*sides, Gate()))[0] == reasons


@each_row("gate", [Gate(min_cases=50), Gate(policy="threshold")])
def test_metric_that_is_judged(gate: Gate) -> None:
    """A metric of nine questions is judged if the whole suite counts as small, and `threshold` asks for none."""
    assert codes(judged(SURE, LAPSED, gate))[0] == ["worse"]


@each_row(
    ("answerable", "unanswerable", "after"),
    [
        (2, 8, [None]),
        (8, 0, [None] * 2),
        (8, 2, [None] * 2),
        (9, 0, [None]),
        (9, 1, [None]),
        (9, 3, [2] * 3),
        (9, 40, [None]),
    ],
)
def test_small_suites_have_a_gate(answerable: int, unanswerable: int, after: Sequence[int | None]) -> None:
    """Up to nine questions with an answer are judged as they are, however many without one stand beside them."""
    ranks = ([1] * answerable, [*after, *[1] * (answerable - len(after))])
    decided = judged(*(answered(found, [True] * unanswerable) for found in ranks), Gate())
    assert (decided.outcome, codes(decided)[0]) == ("regression", ["worse"])


NEAR_ALPHA = (0.039, 0.040, 0.041, 0.079)


@each_row(("p", "warns"), [*zip(NEAR_ALPHA, (False, True, True, True), strict=True)])
def test_what_the_own_test_of_a_metric_must_reach(p: float, *, warns: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A metric of few questions, or without evidence, is red if its own test gives p below 0.04."""
    monkeypatch.setattr(
        policies, "metric_chances", lambda _, names, __: {(mode, name): p for mode in names for name in names[mode]}
    )
    for decided in (judged(SURE, LAPSED, Gate()), verdict(*CHANCE)):
        assert decided.outcome == ("pass" if warns else "regression")


@each_row(("p", "certain"), [*zip(NEAR_ALPHA, (True, False, False, False), strict=True)])
def test_what_the_test_of_all_questions_must_reach(p: float, *, certain: bool) -> None:
    """Below p = 0.04 a drop of 10 points is red by itself, and one of two points at most is told at all."""
    (test,) = composites(compared(*map(tuple, TWO)), Gate(), ())
    shown, slight = replace(test, adjusted=p), replace(test, adjusted=p, drop=0.02)
    assert (policies.red(shown, Gate()), policies.red(slight, Gate())) == (certain, False)
    told = [[reason.code for reason in policies.suspicions([each], frozenset())] for each in (shown, slight)]
    assert told == [["perhaps-worse"], ["perhaps-worse"] * certain]


@each_row(("p", "warns"), [*zip(NEAR_ALPHA, (False, True, True, True), strict=True)])
def test_what_supports_a_tolerance_that_is_exceeded(p: float, *, warns: bool) -> None:
    """Under `evidence` a tolerance that is exceeded is red if the test of all questions gives p below 0.04."""
    comparison = compared(*map(tuple, TWO))
    (test,) = composites(comparison, Gate(policy="evidence"), ())
    rows = [classify_row(delta, Gate(policy="evidence")) for delta in comparison.deltas]
    decided = policies.with_evidence(rows, comparison, Gate(policy="evidence"), [replace(test, adjusted=p)])
    assert {row.unproven for row in decided if row.gated and row.status == "worse"} == {"no evidence" if warns else ""}


@each_row(
    ("cases", "lost", "won", "tolerance", "red"),
    [
        pytest.param(60, 12, 0, 0.05, True, id="a-fifth"),
        pytest.param(60, 10, 0, 0.05, True, id="above-three-times"),
        pytest.param(60, 9, 0, 0.05, False, id="three-times"),
        pytest.param(60, 12, 3, 0.05, False, id="three-times-on-balance"),
        pytest.param(40, 8, 0, 0.05, True, id="eight-questions"),
        pytest.param(40, 7, 0, 0.05, False, id="seven-questions"),
        pytest.param(40, 8, 1, 0.05, False, id="seven-on-balance"),
        pytest.param(60, 12, 0, 0.07, False, id="a-wider-tolerance"),
        pytest.param(60, 12, 0, 0.01, True, id="a-finer-tolerance"),
        pytest.param(60, 9, 0, 0.01, False, id="a-finer-tolerance-three-times-the-default"),
    ],
)
def test_a_loss_nobody_would_wave_through(cases: int, lost: int, won: int, tolerance: float, *, red: bool) -> None:
    """A group is one unit, so no test sees its loss: it is red beyond three times the tolerance and eight questions."""
    before = [1] * (cases - won) + [None] * won
    groups = ["note"] * lost + [None] * (cases - lost)
    sides = [make_ranked_run(*ranks, groups=groups) for ranks in (before, [None] * lost + [1] * (cases - lost))]
    metrics = dict.fromkeys(DEFAULT_GATED, "off") | {"hit_at_5": tolerance}
    decided = judged(*sides, Gate.model_validate({"metrics": metrics}))
    assert (decided.outcome == "regression") == red
    assert ("no-evidence" in codes(decided)[1]) != red


@each_row(("after", "expected"), [(4.0, False), (2.5, False), (2.4, True)])
def test_a_loss_of_points_nobody_would_wave_through(after: float, *, expected: bool) -> None:
    """Grades from 1 to 5 have a tolerance in points, three times of which a gross loss exceeds."""
    delta = make_delta(4.0, after, metric="groundedness", regressed=8, improved=0)
    row = classify_row(delta, Gate.model_validate({"metrics": {"groundedness": 0.1}}))
    assert policies.gross(row) == expected


@each_row(
    ("proven", "delta", "status"),
    [
        (0.05, SAME, "same"),
        (0.06, SAME, "worse"),
        (0.06, slice_delta(0.8, 0.8, n=8), "worse"),
        (0.06, emptied(), "vanished"),
        (0.06, WORSE, "worse"),
    ],
)
def test_what_questions_that_cannot_be_compared_prove(proven: float, delta: Delta, status: str) -> None:
    """A loss that they prove is red beyond the tolerance, and no test of those that can be compared excuses it."""
    others = Uncompared(n=10, relabelled=2, value=0.1, expected=0.9, drop=proven, proven=proven)
    row = classify_row(replace(delta, uncompared=others), Gate(slices="fail", min_cases=10, metrics={"hit_at_5": 0.05}))
    assert row.status == status
    assert row.by_others == (status == "worse" and delta.delta != WORSE.delta)


def selecting(folders: tuple[str, ...] | None) -> list[LabelledResult]:
    response = make_response(make_chunk(rel_path="Work/a.md"), selected_folders=folders, available_folders=("Work",))
    cases = [make_case(f"q{n}", gold_supports=(make_support("Work/a.md"),)) for n in range(40)]
    return [make_labelled(case, make_result(case.id, response=response)) for case in cases]


class TestAttacks:
    """Ways in which a change may try to be judged by less."""

    def test_fewer_questions_that_can_be_compared(self) -> None:
        """A metric that ten questions had is judged, however few of them can still be compared."""
        old, kept = answered([1] * 40, [True] * 12), answered([1] * 40, [True] * 7 + [False] * 2)
        warned = codes(judged(old, kept, Gate()))[1]
        assert (warned[0], "few-cases" in warned) == ("no-evidence", False)

    def test_values_that_are_not_told(self) -> None:
        """A metric of the composite that the API does not let be measured any more counts as lost."""
        gate = Gate(composite=["hit_at_5", "scope_miss_rate"], metrics={"scope_miss_rate": "off"})
        old, new = (make_run(*selecting(folders)) for folders in (("Work",), None))
        assert codes(judged(old, old, gate)) == ([], [])
        assert "composite-worse" in codes(judged(old, new, gate))[0]

    @each_row("policy", POLICIES)
    def test_questions_under_other_names(self, policy: Policy) -> None:
        """Questions that are not there any more under their names make no verdict green, whatever replaces them."""
        old, new = make_ranked_run(*[1] * 40), make_ranked_run(*[1] * 40)
        items = [replace(item, case=replace(item.case, id=f"new-{item.case.id}")) for item in new.results[:10]]
        renamed = make_run(*items, *new.results[10:])
        assert judged(old, renamed, Gate(policy=policy)).outcome == "cannot tell"


WAIVED = {"owner": "ada", "reason": "reindexing", "expires": "2026-12-31"}


class TestWaivers:
    """What a waiver takes out of the composite."""

    def test_waived_cases_are_left_out(self) -> None:
        """A waived question counts neither as lost nor as a question."""
        old, new = make_ranked_run(*SMALL_LOSS[0]), make_ranked_run(*SMALL_LOSS[1])
        cases = [Waiver(case=f"q{n:03}", **WAIVED) for n in range(2)]
        decided = judged(old, new, Gate(), waivers=cases)
        assert decided.outcome == "pass"
        assert decided.evidence is not None
        (test,) = decided.evidence.tests
        assert (test.cases, test.lost) == (98, 2)

    def test_waived_metrics_are_left_out(self) -> None:
        """A waiver excuses a test that its metric alone makes red, and no other."""
        old, new = make_ranked_run(*[5] * 100), make_ranked_run(*[6] * 4, *[5] * 96)
        gate, waivers = Gate(composite=["hit_at_5"]), [Waiver(metric="hit_at_5", **WAIVED)]
        assert codes(judged(old, new, gate))[0] == ["composite-worse"]
        decided = judged(old, new, gate, waivers=waivers)
        assert (decided.outcome, codes(decided)[1]) == ("pass", ["waived"])
        assert [waiver.state for waiver in decided.waivers] == ["active"]
        others = [make_ranked_run(*ranks) for ranks in SMALL_LOSS]
        assert judged(*others, Gate(), waivers=waivers).outcome == "regression"


RANK = st.sampled_from([None, 1, 2, 4, 6, 11])
PAIRS = st.lists(st.tuples(RANK, RANK), min_size=10, max_size=20)


@tried(15)
@given(PAIRS, st.sampled_from(POLICIES), st.data())
def test_one_more_loss_makes_nothing_green(
    pairs: list[tuple[int | None, int | None]], policy: Policy, data: st.DataObject
) -> None:
    """A red run stays red when one more question is lost whole; where p decides it may become a warning, never less."""
    before, after = zip(*pairs, strict=True)
    index = data.draw(st.integers(0, len(pairs) - 1))
    worse = verdict(before, [*after[:index], None, *after[index + 1 :]], policy)
    if verdict(before, after, policy).outcome == "regression" and worse.outcome != "regression":
        assert policy != "threshold"
        assert {"no-evidence", "perhaps-worse"} & {*codes(worse)[1]}


VANISHED = replace(SAME, current=make_metric(None, 0, unscored=9))


@each_row(
    ("delta", "gate", "status"),
    [
        # the tolerance, to 1e-9
        (make_delta(0.8, 0.8 - 1e-12), PLAIN, "same"),
        (make_delta(0.80, 0.75), PLAIN, "within"),
        (make_delta(0.80, 0.75 - 2e-9), PLAIN, "worse"),
        (make_delta(0.8, 0.7999), Gate(tolerance=0), "worse"),
        (rate(0.1, 0.2), PLAIN, "worse"),
        (rate(0.2, 0.1), PLAIN, "better"),
        # floors and ceilings, to 1e-9, over all cases of the run
        (make_delta(0.8, 0.75 - 9e-10), FLOOR, "within"),
        (make_delta(0.8, 0.75 - 1.1e-9), FLOOR, "below floor"),
        (make_delta(None, 0.74), FLOOR, "below floor"),
        (slice_delta(0.8, 0.74), FLOOR, "within"),
        (rate(0.1, 0.26), CEILING, "below floor"),
        (rate(0.1, 0.25), CEILING, "within"),
        (make_delta(0.8, 0.8, full_run=make_metric(0.74, 20)), FLOOR, "below floor"),
        (make_delta(0.8, 0.74, full_run=make_metric(0.75, 20)), FLOOR, "within"),
        (make_delta(0.8, None, full_run=make_metric(0.74, 20)), FLOOR, "vanished"),
        # NaN is never green
        (make_delta(0.8, float("nan")), PLAIN, "worse"),
        (make_delta(0.8, float("nan")), FLOOR, "below floor"),
        # what is not gated, is new, or is gone
        (make_delta(0.8, 0.2, metric="ndcg_at_7"), PLAIN, "not gated"),
        (make_delta(0.8, 0.7), Gate(metrics={"hit_at_5": False}), "not gated"),
        (make_delta(None, 0.9), PLAIN, "no baseline"),
        (VANISHED, PLAIN, "vanished"),
        (emptied(metric="ndcg_at_7"), PLAIN, "vanished"),
        # slices of enough cases
        (slice_delta(n=10), PLAIN, "worse"),
        (slice_delta(n=9), PLAIN, "not gated"),
        (slice_delta(n=5, unpaired=5), PLAIN, "worse"),
        (slice_delta(n=99), Gate(slices="off"), "not gated"),
    ],
)
def test_status_of_a_row(delta: Delta, gate: Gate, status: str) -> None:
    """A row's status follows from its values, its direction and the rule, whatever else was measured."""
    assert classify_row(delta, gate).status == status


@each_row(
    ("metrics", "metric", "allowed"),
    [
        ({}, "hit_at_5", 0.07),
        ({}, "scope_miss_rate", 0.07),
        ({"hit_at_5": 0.01}, "hit_at_5", 0.01),
        ({"hit_at_5": Rule(floor=0.5)}, "hit_at_5", 0.07),
        ({"hit_at_5": False}, "hit_at_5", None),
    ],
)
def test_allowed_change(metrics: dict[str, Any], metric: str, allowed: float | None) -> None:
    """A row tells the tolerance it was judged by: its own, else the gate's, and none when it is not gated."""
    assert classify_row(make_delta(metric=metric), Gate(tolerance=0.07, metrics=metrics)).allowed == allowed
