"""The verdict: which comparison under which policy gives which outcome, exit code, reasons and warnings."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case_score,
    make_comparison,
    make_delta,
    make_finding,
    make_metric,
    make_operations,
    make_scorecard,
)
from gate_rows import DELTAS, FLOOR, GATES, PLAIN, SAME, WORSE, emptied, rate, slice_delta
from raggate.config.gate_settings import Gate
from raggate.gate.verdict import Circumstances, decide
from raggate.models.comparison import Comparison, Delta, Finding, GoldenChanges, NoteChange, Uncompared
from raggate.models.scorecard import OVERALL
from tables import each_row


def thinned(now: int) -> Delta:
    """Build a delta of a metric that applied to ten cases and now applies to `now` of them."""
    return replace(SAME, current=make_metric(0.8, now, unscored=10 - now))


def retired(count: int) -> Delta:
    names = tuple(f"r{number}" for number in range(count))
    return replace(SAME, uncompared=Uncompared(n=0, relabelled=0, value=0, expected=0, drop=0, proven=0, retired=names))


def relabelled(count: int) -> Delta:
    others = Uncompared(n=count, relabelled=count, value=0.8, expected=0.8, drop=0, proven=0)
    return replace(SAME, uncompared=others)


def unpaired(count: int) -> Delta:
    """Build a delta over ten cases of a metric that applied to so many more in the baseline."""
    return replace(SAME, unpaired=count)


def with_gated(*deltas: Delta, **fields: Any) -> Comparison:
    return make_comparison(SAME, *deltas, **fields)


def must_pass(**fields: Any) -> Comparison:
    return with_gated(scorecard=make_scorecard(make_case_score(must_pass=True, **fields)))


def codes(comparison: Comparison, gate: Gate = PLAIN, findings: tuple[Finding, ...] = (), **rest: Any) -> list[str]:
    return [reason.code for reason in decide(comparison, findings, gate, Circumstances(**rest)).reasons]


def warned(comparison: Comparison, gate: Gate = PLAIN, findings: tuple[Finding, ...] = ()) -> list[str]:
    return [warning.code for warning in decide(comparison, findings, gate).warnings]


@each_row(
    ("failures", "stopped", "expected"),
    [
        pytest.param(
            {"aborted": 12, "status": 12},
            "gave up",
            ["12 of 12 calls failed (status) and 12 calls were not made, and gate.max_error_rate allows 2%"],
            id="failed-until-it-stopped",
        ),
        pytest.param({"aborted": 23}, "the API exited", [], id="stopped-without-a-failed-call"),
        pytest.param(
            {"aborted": 1},
            None,
            ["1 call was not made, and gate.max_error_rate allows 2%"],
            id="not-asked-though-it-did-not-stop",
        ),
    ],
)
def test_questions_that_were_not_asked_did_not_fail(
    failures: dict[str, int], stopped: str | None, expected: list[str]
) -> None:
    """A question that a run did not come to is no failed call; without a word of a stop it is missed all the same."""
    operations = make_operations(24, sum(failures.values()), failures=failures)
    scorecard = make_scorecard(make_case_score(), operations=operations)
    reasons = decide(with_gated(scorecard=scorecard), (), Gate(), Circumstances(stopped=stopped)).reasons
    assert [reason.message for reason in reasons if reason.code == "too-many-errors"] == expected


OTHER_NOTES = with_gated(vault_changes=(NoteChange("changed", "a.md"),))


def called(*operations: int) -> Comparison:
    return with_gated(scorecard=make_scorecard(make_case_score(), operations=make_operations(*operations)))


def cases(count: int) -> Any:
    return make_scorecard(*(make_case_score(f"q{number}") for number in range(count)))


def test_no_baseline_and_an_invariant_is_broken() -> None:
    """A first run that breaks an invariant says so at once, and is not recommended as the baseline."""
    verdict = decide(Comparison(baseline=None, scorecard=cases(3)), (make_finding(),), PLAIN)
    assert (verdict.outcome, verdict.exit_code) == ("cannot tell", 3)
    assert "cannot become one: it breaks an invariant" in verdict.sentences[0]
    warned = decide(Comparison(baseline=None, scorecard=cases(3)), (make_finding(level="warn"),), PLAIN)
    assert "promote" in warned.reasons[0].message


@each_row(
    ("comparison", "gate", "expected"),
    [
        pytest.param(called(100, 2), PLAIN, [], id="exactly-the-allowed-share-failed"),
        (called(100, 3), PLAIN, ["too-many-errors"]),
        (with_gated(make_delta(0.1, 0.9)), PLAIN, []),
        (with_gated(make_delta(0.8, 0.7)), FLOOR, ["below-floor"]),
        (must_pass(rank=1, rank_all=5, values={"recall_all_at_5": 1.0}), PLAIN, []),
        (must_pass(rank=1, rank_all=None, values={"recall_all_at_5": None}), PLAIN, []),
        (must_pass(rank=None, values={"abstention_accuracy": 1.0}), PLAIN, []),
        (with_gated(scorecard=make_scorecard()), PLAIN, ["zero-cases"]),
        (
            make_comparison(scorecard=cases(1), baseline=make_baseline(), incomparable=("other suite",)),
            PLAIN,
            ["incomparable"],
        ),
        pytest.param(with_gated(baseline=make_baseline(cases(10)), compared=5), PLAIN, [], id="half-still-the-same"),
        (with_gated(baseline=make_baseline(cases(10)), compared=4), PLAIN, ["little-overlap"]),
        (OTHER_NOTES, PLAIN, []),
        (OTHER_NOTES, Gate(on_vault_change="refuse"), ["vault-changed"]),
        (with_gated(emptied(slice="tag=x")), Gate(min_cases=11), []),
        pytest.param(with_gated(emptied(mode="bm25")), Gate(min_cases=11), ["vanished"], id="a-mode-is-never-small"),
        (
            with_gated(replace(rate(0.1, None), current=make_metric(None, 0, unscored=10, direction="lower"))),
            PLAIN,
            ["vanished"],
        ),
        (make_comparison(thinned(5)), PLAIN, []),
        pytest.param(make_comparison(retired(10)), PLAIN, [], id="half-of-the-questions-left-a-metric"),
        (make_comparison(retired(11)), PLAIN, ["fewer-scored"]),
        pytest.param(make_comparison(relabelled(11)), PLAIN, [], id="relabelled-questions-stand-on-both-sides"),
        (make_comparison(thinned(4)), PLAIN, ["fewer-scored"]),
        (make_comparison(unpaired(10)), PLAIN, []),
        (make_comparison(unpaired(11)), PLAIN, ["fewer-scored"]),
        (with_gated(not_asked=(("hybrid", "q2"),)), PLAIN, ["not-asked"]),
        pytest.param(with_gated(slice_delta(0.8, 0.0, n=9)), Gate(slices="fail"), [], id="small-slice-never-judged"),
        (with_gated(slice_delta(n=11)), Gate(slices="fail"), ["worse"]),
        (make_comparison(slice_delta(0.8, 0.8)), PLAIN, ["nothing-gated"]),
        (make_comparison(slice_delta(0.8, 0.8)), Gate(slices="fail"), []),
    ],
)
def test_reasons(comparison: Comparison, gate: Gate, expected: list[str]) -> None:
    """Every way to be red or undecided has its own reason, and nothing else has one."""
    assert codes(comparison, gate) == expected


def test_stopped_run_lacks_what_it_did_not_come_to() -> None:
    """Cases, slices and overlap that a run lacks because it was cut short are no further reasons."""
    comparison = with_gated(
        emptied(slice="tag=x"), baseline=make_baseline(cases(10)), compared=1, not_asked=(("hybrid", "q2"),)
    )
    assert codes(comparison) == ["not-asked", "little-overlap", "vanished"]
    assert codes(comparison, stopped="gave up") == ["stopped"]


@each_row(
    ("comparison", "gate", "expected"),
    [
        (with_gated(golden=GoldenChanges(relabelled=("q2",))), PLAIN, ["golden-changed"]),
        (OTHER_NOTES, PLAIN, ["vault-changed"]),
        (OTHER_NOTES, Gate(on_vault_change="refuse"), []),
        (with_gated(slice_delta(n=11)), PLAIN, ["slice-worse"]),
        (with_gated(slice_delta(n=11)), Gate(slices="fail"), []),
        pytest.param(
            make_comparison(WORSE, slice_delta(n=10)), PLAIN, [], id="slice-of-all-cases-says-nothing-of-its-own"
        ),
        (with_gated(rate(None, 0.1)), PLAIN, ["not-gated"]),
        (make_comparison(thinned(9)), PLAIN, ["fewer-scored"]),
        (make_comparison(thinned(4)), PLAIN, []),
    ],
)
def test_warnings(comparison: Comparison, gate: Gate, expected: list[str]) -> None:
    """What a reader must know but the policy lets pass is a warning, and is never a reason as well."""
    assert warned(comparison, gate) == expected


def test_broken_invariant() -> None:
    """The headline names the breach, its count and an example."""
    verdict = decide(with_gated(), (make_finding(message="3 answers had scores that rise.", count=3),), PLAIN)
    assert verdict.headline == "The API's answers cannot be right: 3 answers had scores that rise: q1 (hybrid): rank 2."


NOT_MEASURED = {"stopped": "gave up"}
BROKEN = (make_finding(),)
REGRESSED = with_gated(WORSE)
INCOMPLETE = with_gated(golden=GoldenChanges(removed=("q2",)))
ALL = with_gated(WORSE, golden=GoldenChanges(removed=("q2",)))


@each_row(
    ("comparison", "findings", "rest", "outcome", "exit_code", "first"),
    [
        (with_gated(), (), {}, "pass", 0, None),
        (INCOMPLETE, (), {}, "cannot tell", 3, "removed-cases"),
        (ALL, (), {}, "regression", 1, "worse"),
        (ALL, BROKEN, {}, "invariant broken", 4, "invariant-lists_ordered"),
        (ALL, BROKEN, NOT_MEASURED, "cannot tell", 3, "stopped"),
        (REGRESSED, (), NOT_MEASURED, "cannot tell", 3, "stopped"),
        (INCOMPLETE, BROKEN, {}, "invariant broken", 4, "invariant-lists_ordered"),
    ],
)
def test_precedence(
    comparison: Comparison, findings: tuple[Finding, ...], rest: Any, outcome: str, exit_code: int, first: str | None
) -> None:
    """The worst cause decides the outcome, the exit code and the first reason."""
    verdict = decide(comparison, findings, PLAIN, Circumstances(**rest))
    assert (verdict.outcome, verdict.exit_code) == (outcome, exit_code)
    assert (verdict.reasons[0].code if verdict.reasons else None) == first


@each_row(
    ("comparison", "gate", "message"),
    [
        (WORSE, PLAIN, "hit@5 (hybrid) went from 80.0% to 70.0% (−10.0 pt, allowed 5 pt)"),
        (
            slice_delta(),
            Gate(slices="fail"),
            "hit@5 (hybrid) for difficulty=hard went from 80.0% to 70.0% (−10.0 pt, allowed 5 pt)",
        ),
        (make_delta(0.8, 0.7), FLOOR, "hit@5 (hybrid) is 70.0%, beyond its floor 75%"),
        (emptied(mode="bm25"), PLAIN, "mode bm25 was measured in the baseline, but not now"),
        (unpaired(15), PLAIN, "hit@5 (hybrid) now applies to 10 of its 25 questions in the baseline"),
        (
            replace(emptied(), current=make_metric(None, 0, unscored=10), unpaired=10, full_run=make_metric(0.8, 4)),
            PLAIN,
            "hit@5 (hybrid) no longer has a value for any of the baseline's questions, only for others",
        ),
        (
            make_delta(1.0, 1.0, full_run=make_metric(0.5, 48)),
            FLOOR,
            "hit@5 (hybrid) is 50.0% over all 48 questions, compared or not, beyond its floor 75%",
        ),
    ],
)
def test_message_of_a_row(comparison: Delta, gate: Gate, message: str) -> None:
    """A reason about a row names metric, mode and slice, both values, and what was allowed."""
    assert decide(with_gated(comparison), (), gate).reasons[0].message == message


@each_row(
    ("fields", "missed"),
    [
        ({"rank": 6}, "nothing expected is within rank 5"),
        ({"rank": 1, "rank_all": 6, "values": {"recall_all_at_5": 0.0}}, "not every needed passage is within rank 5"),
        ({"rank": None, "values": {"abstention_accuracy": 0.0}}, "the API answered and should have abstained"),
        ({"rank": 1, "values": {"false_abstention_rate": 1.0}}, "the API abstained"),
        (
            {"rank": None, "slices": ("overall", "answerable=false")},
            "raggate does not read from the answers whether the API abstains",
        ),
        ({"rank": None, "failure": "timeout"}, "the call failed (timeout)"),
        ({"rank": None, "failure": "aborted"}, "it was not asked"),
    ],
)
def test_message_of_a_must_pass_question(fields: dict[str, Any], missed: str) -> None:
    """A must-pass question that fails is named with what it lacks."""
    assert decide(must_pass(**fields), (), PLAIN).reasons[0].message == f"must-pass question q1 (hybrid): {missed}"


@given(
    deltas=st.lists(DELTAS, max_size=4),
    gate=GATES,
    measured=st.integers(0, 2),
    has_baseline=st.booleans(),
    removed=st.booleans(),
    stopped=st.sampled_from([None, "gave up"]),
)
def test_pass_means_measured_and_not_worse(
    deltas: list[Delta], gate: Gate, measured: int, has_baseline: bool, removed: bool, stopped: str | None
) -> None:
    """Whatever was measured, a pass has a baseline, a case, no reason, a gated row, and no row that is wrong."""
    comparison = Comparison(
        baseline=make_baseline(cases(2)) if has_baseline else None,
        scorecard=cases(measured),
        deltas=tuple(deltas),
        golden=GoldenChanges(removed=("q9",) if removed else ()),
        compared=measured,
    )
    verdict = decide(comparison, (), gate, Circumstances(stopped=stopped))
    assert (verdict.outcome == "pass") == (not verdict.reasons) == (verdict.exit_code == 0)
    if verdict.outcome == "pass":
        assert has_baseline
        assert measured
        assert stopped is None
        assert not removed
        assert any(row.gated for row in verdict.rows)
        wrong = {"worse", "below floor", "vanished"}
        judged = [row for row in verdict.rows if row.delta.slice == OVERALL or gate.slices == "fail"]
        assert not [row for row in judged if row.gated and row.status in wrong]


def test_interrupted_run_stays_interrupted() -> None:
    """A run that a signal ended is judged as interrupted, whatever was measured before; what else is wrong is told."""
    verdict = decide(
        must_pass(rank=None), (), PLAIN, Circumstances(stopped="interrupted after 3 of 9 calls", interrupted=True)
    )
    assert (verdict.outcome, verdict.exit_code) == ("interrupted", 130)
    assert [reason.code for reason in verdict.reasons] == ["stopped", "must-pass"]


def _of_indexes(before: dict[str, Any], now: dict[str, Any], *deltas: Delta) -> Comparison:
    earlier, later = (make_scorecard(make_case_score(), fingerprint=side) for side in (before, now))
    return with_gated(*deltas, baseline=make_baseline(earlier), scorecard=later)


INDEX = {"vault": "v", "chunks": 718, "chunker_version": "2"}


@each_row(
    ("now", "reasons", "warnings"),
    [
        pytest.param({}, [], [], id="the same"),
        pytest.param({"chunks": 719}, [], [], id="larger"),
        pytest.param({"chunks": 717}, ["index-smaller"], [], id="nothing else is known"),
        pytest.param({"chunks": 717, "chunker_version": "3"}, [], ["index-recut"], id="cut another way"),
        pytest.param({"chunks": 717, "chunker_version": None}, ["index-smaller"], [], id="not known how it is cut"),
        pytest.param({"chunks": 717, "documents": 9}, [], ["index-recut"], id="all documents are there"),
        pytest.param({"chunks": 717, "documents": 8}, ["index-smaller", "index-smaller"], [], id="a document is gone"),
        pytest.param({"chunks": 400, "chunk_tokens": 80.8}, [], ["index-recut"], id="as much text"),
        pytest.param({"chunks": 400, "chunk_tokens": 80.7}, ["index-smaller"], [], id="less than nine tenths of it"),
        pytest.param(
            {"chunks": 400, "chunk_tokens": 50.0, "documents": 9}, ["index-smaller"], [], id="of all documents too"
        ),
        pytest.param({"chunks": 717, "vault": "w"}, [], [], id="of other notes"),
        pytest.param({"chunks": None}, ["field-vanished"], [], id="not told"),
    ],
)
def test_an_index_of_fewer_chunks(now: dict[str, Any], reasons: list[str], warnings: list[str]) -> None:
    """If all documents or about as much text is there, or its version is another, it is judged, and the change named.

    Otherwise notes may be missing that no question finds. 718 x 50 x 0.9 / 400 = 80.8 tokens a chunk.
    """
    known = {key: {"documents": 9, "chunk_tokens": 50.0}[key] for key in now if key in ("documents", "chunk_tokens")}
    comparison = _of_indexes({**INDEX, **known}, {**INDEX, **now})
    assert codes(comparison) == reasons
    assert [code for code in warned(comparison) if code.startswith("index")] == warnings


def test_a_real_loss_outranks_an_index_that_may_lack_notes() -> None:
    """What got worse is red, and the index is told after it; a broken invariant comes before both."""
    comparison = _of_indexes(
        INDEX, {**INDEX, "chunks": 9}, make_delta(0.8, 0.2, slice="difficulty=hard"), rate(0.1, 0.9)
    )
    assert decide(comparison, (), PLAIN).outcome == "regression"
    assert codes(comparison)[-1] == "index-smaller"
    assert decide(comparison, (make_finding(),), PLAIN).outcome == "invariant broken"
