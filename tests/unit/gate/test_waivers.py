"""Waivers: what they excuse and until when, and that one that is left over is never overlooked."""

from __future__ import annotations

from typing import Any

from builders import (
    make_baseline,
    make_case,
    make_chunk,
    make_comparison,
    make_delta,
    make_golden,
    make_labelled,
    make_result,
    make_run,
)
from raggate.config.gate_settings import Gate, Rule, Waiver
from raggate.config.schema import Config
from raggate.gate import waivers
from raggate.gate.evaluation import evaluate_run
from raggate.gate.verdict import Circumstances, decide
from raggate.models.baseline import RatchetEntry
from raggate.models.comparison import Comparison, Delta
from raggate.models.scorecard import OVERALL
from raggate.models.verdict import Verdict
from raggate.models.waiver import WaiverStatus
from raggate.scoring import score
from tables import each_row

DAY = "2026-06-10T12:00:00Z"
WORSE = make_delta(0.8, 0.7)
SAME = make_delta(0.8, 0.8, metric="mrr_at_10")
BASE: dict[str, Any] = {"vault": {"v": "v"}, "api": {"url": "http://127.0.0.1:1"}}


def waiver(expires: str = "2026-12-31", **fields: Any) -> Waiver:
    """Build a waiver, by default of the metric `hit_at_5`."""
    target = {} if "case" in fields or "metric" in fields else {"metric": "hit_at_5"}
    return Waiver(**{**target, "owner": "ada", "reason": "reindexing", "expires": expires, **fields})


def standing(*given: Waiver, started: str = DAY) -> tuple[WaiverStatus, ...]:
    return waivers.waiver_statuses(given, started)


def decided(comparison: Comparison, *given: Waiver, gate: Gate | None = None, **rest: Any) -> Verdict:
    return decide(
        comparison, (), gate or Gate(policy="threshold"), Circumstances(started=DAY, waived=standing(*given), **rest)
    )


def codes(verdict: Verdict) -> tuple[str, list[str], list[str]]:
    return (
        verdict.outcome,
        [reason.code for reason in verdict.reasons],
        [warning.code for warning in verdict.warnings],
    )


def slice_row(now: float = 0.7) -> Delta:
    return make_delta(0.8, now, slice="difficulty=hard")


FLOOR = Gate(metrics={"hit_at_5": Rule(tolerance=0.5, floor=0.75)})


@each_row(
    ("rows", "given", "gate", "expected"),
    [
        ([WORSE], [waiver()], Gate(), ("pass", [], ["waived"])),
        ([WORSE], [waiver(mode="hybrid")], Gate(), ("pass", [], ["waived"])),
        ([SAME, slice_row()], [waiver()], Gate(slices="fail"), ("pass", [], ["waived"])),
        ([SAME, slice_row()], [waiver()], Gate(slices="warn"), ("pass", [], ["slice-worse", "waiver-unused"])),
        (
            [WORSE, make_delta(0.8, 0.6, mode="bm25")],
            [waiver(mode="bm25")],
            Gate(),
            ("regression", ["worse"], ["waived"]),
        ),
        ([WORSE], [waiver("2026-06-09")], Gate(), ("regression", ["worse", "waiver-expired"], [])),
        ([SAME], [waiver("2026-06-09")], Gate(), ("regression", ["waiver-expired"], [])),
    ],
)
def test_metric(rows: list[Delta], given: list[Waiver], gate: Gate, expected: tuple[str, list[str], list[str]]) -> None:
    """A waiver makes what its metric does wrong a warning, and nothing else."""
    assert codes(decided(make_comparison(*rows), *given, gate=gate)) == expected


def test_creep_can_be_waived() -> None:
    """A waiver of a metric excuses that it crept, too."""
    kept = {"hybrid": {"hit_at_5": RatchetEntry(best=0.9, drops=0.05, since="2026-01-01")}}
    comparison = make_comparison(make_delta(0.8, 0.78), baseline=make_baseline(accepted=kept))
    assert codes(decided(comparison, waiver(), gate=Gate(ratchet="fail"))) == ("pass", [], ["waived"])


def test_settled() -> None:
    """An expired waiver that the change itself removes or renews is a warning; the metric is judged without it."""
    for row, outcome, reasons in ((SAME, "pass", []), (WORSE, "regression", ["worse"])):
        verdict = decided(make_comparison(row), waiver("2026-06-09"), waivers_resolved=True)
        assert codes(verdict) == (outcome, reasons, ["waiver-expired"])


def test_states_after_all() -> None:
    """The verdict tells of every waiver: in use, left over, or over."""
    verdict = decided(
        make_comparison(WORSE), waiver(), waiver(metric="mrr_at_10"), waiver("2026-06-09", metric="ndcg_at_10")
    )
    assert [one.state for one in verdict.waivers] == ["active", "unused", "expired"]
    # a run that was cut short does not show what has nothing to excuse
    cut_short = decided(make_comparison(SAME), waiver(), stopped="gave up")
    assert [one.state for one in cut_short.waivers] == ["active"]


@each_row(
    ("rows", "given", "message"),
    [
        (
            [WORSE],
            waiver(),
            "hit@5 (hybrid) went from 80.0% to 70.0% (−10.0 pt, allowed 5 pt); waived by ada until 2026-12-31: "
            "reindexing",
        ),
        (
            [SAME],
            waiver("2026-06-24", mode="hybrid"),
            "the waiver of hit@5 (hybrid) by ada until 2026-06-24 (in 14 days) excuses nothing: remove it",
        ),
    ],
)
def test_lines(rows: list[Delta], given: Waiver, message: str) -> None:
    """A waiver's line names what, who, until when and why, as it was written, and says when it is over soon."""
    assert [warning.message for warning in decided(make_comparison(*rows), given).warnings] == [message]


FOUND, LOST = make_chunk(), make_chunk("c2", rel_path="b.md")


def judged(
    lost: set[str], *given: Waiver, must_pass: bool = False, lost_before: frozenset[str] = frozenset(), **fields: Any
) -> Any:
    """Judge ten questions, all found in the baseline but for those said, of which some are lost now."""
    cases = [make_case(f"q{number}", must_pass=must_pass and number == 0) for number in range(10)]
    config = Config(
        **BASE,
        score={"k": [5]},
        invariants={"notes_exist": "off", "list_deep_enough": "off"},
        waivers=list(given),
        **{"gate": {"policy": "threshold"}, **fields},
    )

    def run(missing: set[str]) -> Any:
        items = [
            make_labelled(case, make_result(case.id, LOST if case.id in missing else FOUND, mode="hybrid"))
            for case in cases
        ]
        fingerprint = {"modes": ["hybrid"]}
        return make_run(*items, golden=make_golden(*cases), started=DAY, config=config, fingerprint=fingerprint)

    now = run(lost)
    return evaluate_run(now, score.score(now, (5,)), make_baseline(score.score(run(set(lost_before)), (5,))))


def test_waived_case() -> None:
    """A waived case is left out of the means on both sides; its flip stays listed, marked; a warning tells of it."""
    assert judged({"q0"}).verdict.outcome == "regression"
    review = judged({"q0"}, waiver(case="q0"))
    assert codes(review.verdict) == ("pass", [], ["waived"])
    assert review.verdict.warnings[0].message == (
        "question q0 (hybrid) got worse and is left out of the means; waived by ada until 2026-12-31: reindexing"
    )
    row = next(row.delta for row in review.verdict.rows if (row.delta.metric, row.delta.slice) == ("hit_at_5", OVERALL))
    assert (row.baseline.value, row.current.value, row.baseline.n, row.current.n) == (1.0, 1.0, 9, 9)
    assert [(flip.case_id, flip.kind, flip.waived) for flip in review.comparison.flips] == [("q0", "broke", True)]
    assert [one.state for one in review.verdict.waivers] == ["active"]


def test_waived_case_does_not_count_against_a_floor() -> None:
    """A case that missed before and misses still is left out of what a floor is held against, and that is a use."""
    policy = {"gate": {"metrics": {"hit_at_5": {"floor": 0.95}}}}
    missed = {"lost_before": frozenset({"q0"}), **policy}
    assert codes(judged({"q0"}, **missed).verdict) == ("regression", ["below-floor"], [])
    review = judged({"q0"}, waiver(case="q0"), **missed)
    assert codes(review.verdict) == ("pass", [], ["waived"])
    assert review.verdict.warnings[0].message.startswith(
        "question q0 (hybrid) is beyond its floor or ceiling and is left"
    )
    assert [one.state for one in review.verdict.waivers] == ["active"]


def test_waived_must_pass_case() -> None:
    """A waived case that must pass and does not is one warning."""
    assert "must-pass" in codes(judged({"q0"}, must_pass=True).verdict)[1]
    verdict = judged({"q0"}, waiver(case="q0"), must_pass=True).verdict
    assert codes(verdict) == ("pass", [], ["waived"])
    assert verdict.warnings[0].message.startswith("must-pass question q0 (hybrid): nothing expected is within")
