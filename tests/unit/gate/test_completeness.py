"""What is missing from a comparison, and what is not the same on both sides: codes of reasons, and their words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_comparison,
    make_delta,
    make_golden,
    make_labelled,
    make_metric,
    make_operations,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.config.gate_settings import Gate
from raggate.errors import UsageError
from raggate.gate import caveats, completeness
from raggate.gate.completeness import (
    modes_without_match,
    obstacles,
    on_a_command_line,
    reasons,
    refuse_matchless,
    slice_reasons,
)
from raggate.gate.row_status import classify_row
from raggate.models.comparison import Comparison, Delta, GoldenChanges, NoteChange, Reach
from raggate.models.run import Run
from raggate.models.scorecard import OVERALL, CaseScore, MetricValue, Scorecard
from tables import each_row

GATE = Gate(metrics={"hit_at_5": 0.05})
REFUSING = Gate(metrics={"hit_at_5": 0.05}, on_removed_cases="refuse", on_vault_change="refuse")
WARNING = Gate(metrics={"hit_at_5": 0.05}, on_removed_cases="warn", on_vault_change="warn")


def asked_of(*asked: tuple[str, str], modes: tuple[str, ...] = ("hybrid", "vector")) -> Run:
    """Build a run over q1, for every mode, and q2, for hybrid alone, which has results for some of them."""
    cases = {"q1": make_case("q1"), "q2": make_case("q2", modes=("hybrid",))}
    items = [make_labelled(cases[case], make_result(case, mode=mode)) for mode, case in asked]
    return make_run(*items, golden=make_golden(*cases.values()), fingerprint={"modes": modes})


def without_cases(deltas: tuple[Delta, ...] = (), before: int = 10, now: int = 10) -> Comparison:
    """Build a comparison with a baseline that has means and counts alone."""
    counts = {"hybrid": {"overall": before}}
    bare = make_scorecard(counts=counts, slices={"hybrid": {"overall": {"hit_at_5": make_metric(0.8, before)}}})
    return make_comparison(
        *deltas, baseline=make_baseline(bare), scorecard=make_scorecard(counts={"hybrid": {"overall": now}})
    )


def incomplete(comparison: Comparison, gate: Gate = GATE) -> list[str]:
    """Return the codes of what keeps a comparison from being green."""
    rows = [classify_row(delta, gate) for delta in comparison.deltas]
    return [reason.code for reason in completeness.incomplete(comparison, rows, gate)]


@each_row(("failed", "too_often"), [(0, False), (2, False), (3, True)])
def test_how_many_calls_may_fail(failed: int, *, too_often: bool) -> None:
    """Exactly the allowed share of failed calls is still a measurement, and one more is none."""
    operations = make_operations(100, failed)
    assert completeness.failed_too_often(operations, Gate(max_error_rate=0.02)) is too_often


def test_questions_without_a_result() -> None:
    """Every case is expected in the modes that it is for, and in no other."""
    assert completeness.not_asked(asked_of(("hybrid", "q1"), ("vector", "q1"))) == (("hybrid", "q2"),)
    assert completeness.not_asked(asked_of(("hybrid", "q1"), ("hybrid", "q2"), ("vector", "q1"))) == ()


@each_row("times", [2, 10**9, "3"])
def test_every_answer_of_a_question_is_expected(times: object) -> None:
    """A run that says that it asked twice lacks a question of which one answer is there; a wild number says nothing."""
    first, again = (make_labelled(result=make_result(repeat=repeat)) for repeat in (1, 2))
    once = make_run(first, fingerprint={"repeat": times, "modes": ["hybrid"]})
    assert completeness.not_asked(once) == ((("hybrid", "q1"),) if times == 2 else ())
    assert completeness.not_asked(replace(once, repeats=(again,))) == ()


def test_questions_and_modes_without_each_other() -> None:
    """Questions for none of the modes, and modes that no question is for, are named."""
    assert completeness.idle(asked_of(modes=("vector",))) == (("q2",), ())
    golden = make_golden(make_case("q1", modes=("hybrid",)))
    assert completeness.idle(make_run(golden=golden, fingerprint={"modes": ("hybrid", "rare")})) == ((), ("rare",))


@each_row(
    ("now", "codes"),
    [
        (make_metric(None, 0), ["vanished"]),
        (make_metric(0.8, 5, unscored=5), []),
        (make_metric(0.8, 4, unscored=6), ["fewer-scored"]),
        (make_metric(0.8, 10), []),
    ],
    ids=["gone", "half is enough", "less than half", "all"],
)
def test_a_metric_that_applies_to_less(now: MetricValue, codes: list[str]) -> None:
    """A gated metric must apply to at least the share of its cases that the gate wants."""
    delta = replace(make_delta(0.8, 0.8), current=now, delta=None if now.value is None else 0.0)
    assert incomplete(make_comparison(delta)) == codes


def test_nothing_that_decides() -> None:
    """Where no gated metric has a value in the baseline nothing is decided, and that is never green."""
    assert incomplete(make_comparison(make_delta(None, 0.8))) == ["nothing-gated"]


@each_row(("gate", "red", "warned"), [(REFUSING, True, False), (WARNING, False, True)])
def test_the_policy_decides_on_removed_cases_and_changed_notes(gate: Gate, *, red: bool, warned: bool) -> None:
    """Cases that are gone and notes that changed keep from green, or are warnings, never both."""
    changed = make_comparison(
        make_delta(0.8, 0.8), golden=GoldenChanges(removed=("q9",)), vault_changes=(NoteChange("changed", "work/a.md"),)
    )
    codes = {"removed-cases", "vault-changed"}
    assert codes.issubset(incomplete(changed, gate)) is red
    assert codes.issubset(reason.code for reason in caveats.differences(changed, gate)) is warned


@each_row(
    ("before", "now", "said"),
    [
        ((98, 98), (0, 98), "in 98 of 98 answers of the baseline's run and in 0 of 98 now"),
        ((1, 1), (0, 2), "in 1 of 1 answer of the baseline's run and in 0 of 2 now"),
        ((98, 98), (120, 150), "in 98 of 98 answers of the baseline's run and in 120 of 150 now"),
    ],
    ids=["gone", "one answer", "in more answers than before"],
)
def test_a_field_that_answers_lack(before: tuple[int, int], now: tuple[int, int], said: str) -> None:
    """What answers no longer tell is said with how many did and do, as more may than before and more still lack it."""
    old, new = (make_scorecard(fingerprint={"fields": {"hybrid": {"rank": [*side]}}}) for side in (before, now))
    (told,) = completeness.lost_fields(make_comparison(scorecard=new, baseline=make_baseline(old)), GATE)
    lacking = now[1] - now[0]
    assert told.message == f"the API returned rank (hybrid) {said}, so what depends on it is not checked in {lacking}"


def test_a_baseline_without_cases_counts() -> None:
    """Of a baseline that tells no cases, only their number can shrink, and it is named by mode."""
    assert [reason.message for reason in completeness.fewer_cases(without_cases(before=10, now=9))] == [
        "mode hybrid was asked 9 cases, in the baseline 10"
    ]
    assert not [*completeness.fewer_cases(without_cases(before=10, now=10))]


def test_means_over_other_numbers_of_questions() -> None:
    """A mean over another number of questions than that of a baseline without cases is told as one."""
    other = replace(make_delta(0.8, 0.8), current=make_metric(0.8, 9))
    told = [*completeness.other_denominators(without_cases((other, make_delta(0.8, 0.8))), GATE)]
    assert [reason.code for reason in told] == ["other-denominator"]
    assert told[0].message == "hit_at_5 (hybrid) is a mean over 9 questions, in the baseline over 10"


def test_a_mode_without_a_past() -> None:
    """A mode that the baseline does not know is named, and what is new only in it is not named once more."""
    now = make_scorecard(make_case_score(), make_case_score(mode="vector"))
    comparison = make_comparison(scorecard=now)
    assert completeness.new_modes(comparison) == ("vector",)
    assert [reason.code for reason in caveats.unwatched(comparison)] == ["new-mode"]


def scores(hits: str, mode: str = "hybrid", name: str = "tag=a") -> list[CaseScore]:
    """Build questions of a slice: `1` matches, `0` does not, `-` has no gold support."""
    return [
        make_case_score(
            f"{name}{place}",
            {"hit_at_5": None if hit == "-" else float(hit)},
            mode=mode,
            rank=1 if hit == "1" else None,
            slices=(OVERALL, name),
        )
        for place, hit in enumerate(hits)
    ]


def card(*groups: list[CaseScore]) -> Scorecard:
    """Build the scorecard of some questions."""
    return make_scorecard(*(case for group in groups for case in group))


@each_row(
    ("scorecard", "modes"),
    [
        pytest.param(card(scores("000")), ("hybrid",), id="nothing"),
        pytest.param(card(scores("001")), (), id="one of three"),
        pytest.param(card(scores("---")), (), id="no question has a gold support"),
        pytest.param(card(scores("-0-")), ("hybrid",), id="the one that has"),
        pytest.param(card(scores("11"), scores("00", "vector")), ("vector",), id="one of two modes"),
    ],
)
def test_modes(scorecard: Scorecard, modes: tuple[str, ...]) -> None:
    """A mode has no match where questions of it have gold supports and none was met, at any rank."""
    assert modes_without_match(scorecard) == modes


def test_a_match_further_down_or_in_a_later_answer_is_one() -> None:
    """What stands below the cut-offs matches too, and so does what a second answer to the question has."""
    low = make_case_score("low", {"hit_at_5": 0.0}, rank=12)
    later = make_case_score("later", {"hit_at_5": 0.5}, rank=None)
    assert modes_without_match(make_scorecard(low)) == modes_without_match(make_scorecard(later)) == ()


SLICES = card(scores("1111"), scores("000", name="tag=b"), scores("00", name="tag=c"), scores("--", name="tag=d"))


@each_row(
    ("scorecard", "allowed", "message"),
    [
        pytest.param(card(scores("00")), (), "nothing of mode 'hybrid': no question has a match", id="a mode"),
        pytest.param(
            SLICES, (), "nothing of slice 'tag=b' (hybrid): no question has a match", id="a slice that is large enough"
        ),
        pytest.param(
            card(scores("000"), scores("111", "vector"), scores("000", "vector", "tag=b")),
            ("hybrid",),
            "nothing of slice 'tag=b' (vector)",
            id="another one than is allowed",
        ),
        pytest.param(card(scores("11")), ("hybird",), "--allow-no-match hybird: run run-1 has no such", id="a typo"),
    ],
)
def test_what_is_refused(scorecard: Scorecard, allowed: tuple[str, ...], message: str) -> None:
    """A run that measures nothing of a mode, or of a slice of so many questions, is refused, and says what it is."""
    with pytest.raises(UsageError) as refused:
        refuse_matchless(scorecard, 3, allowed, on_a_command_line)
    assert message in refused.value.message


def test_a_refusal_says_what_would_allow_it() -> None:
    """The hint names every mode and slice in the words of whoever promotes."""
    with pytest.raises(UsageError) as refused:
        refuse_matchless(card(scores("000"), scores("111", "v"), scores("000", "v", "tag=b")), 3, (), on_a_command_line)
    assert refused.value.hint is not None
    assert refused.value.hint.endswith("If it is meant to be so: --allow-no-match hybrid --allow-no-match tag=b.")


@each_row(
    ("scorecard", "allowed", "accepted"),
    [
        pytest.param(card(scores("011")), (), [], id="some match"),
        pytest.param(card(scores("00")), ("hybrid",), ["no question has a match in mode 'hybrid'"], id="a mode"),
        pytest.param(SLICES, ("tag=b",), ["no question has a match in slice 'tag=b' (hybrid)"], id="a slice"),
        pytest.param(SLICES, ("tag=b", "tag=c"), ["no question has a match in slice 'tag=b' (hybrid)"], id="too many"),
        pytest.param(
            SLICES,
            ("hybrid",),
            ["no question has a match in slice 'tag=b' (hybrid), accepted by the name of its mode"],
            id="a slice by the name of its mode",
        ),
        pytest.param(
            card(scores("000", name="tag=b"), scores("0000", name="tag=c"), scores("00", name="tag=d")),
            ("hybrid",),
            ["no question has a match in mode 'hybrid', so in none of its slices: 'tag=b', 'tag=c'"],
            id="a mode with slices",
        ),
    ],
)
def test_what_is_accepted_is_recorded(scorecard: Scorecard, allowed: tuple[str, ...], accepted: list[str]) -> None:
    """What is allowed by name and has no match is told beside the promotion."""
    assert [reason.message for reason in refuse_matchless(scorecard, 3, allowed, on_a_command_line)] == accepted


def test_a_slice_without_a_match_is_a_warning() -> None:
    """Of modes without a baseline, each slice that promoting would refuse is named before anybody promotes."""
    both = card(scores("1"), scores("000", name="tag=b"), scores("1", "vector"), scores("000", "vector", "tag=b"))
    assert [reason.message for reason in slice_reasons(both, 3, ["vector"])] == [
        "no question has a match in slice 'tag=b' (vector); promoting this run takes its name"
    ]
    assert [*slice_reasons(both, 4, ["vector", "hybrid"])] == []


def test_the_reason_names_the_mode_where_there_are_several() -> None:
    """What is said of a mode is how far its answers come."""
    reach = Reach(mode="vector", questions=3, notes=2, sections=0, matches=0, why="the API tells no heading_path")
    comparison = make_comparison(
        scorecard=card(scores("1"), scores("0", "vector")), reach=(reach,), baseline=make_baseline()
    )
    assert [reason.message for reason in reasons(comparison)] == [
        "no question has a match in mode vector; the right note came back for 2 of 3 questions, its section for 0; "
        "the API tells no heading_path"
    ]


FINGERPRINT = {"metrics_version": 1, "adapter": "ask", "k": 5, "retrieval_only": True, "cutoffs": [1, 3]}
NOW = make_scorecard(make_case_score(), fingerprint=FINGERPRINT)


@each_row(
    ("before", "reason"),
    [
        pytest.param({}, None, id="same"),
        pytest.param({"fingerprint": {**FINGERPRINT, "cutoffs": [1], "index_version": "9"}}, None, id="other-settings"),
        pytest.param({"fingerprint": {}, "cases": ()}, None, id="nothing-known-of-a-bare-metrics-file"),
        pytest.param({"suite": ""}, None, id="suite-not-known"),
        pytest.param({"suite": "other"}, "the baseline is of suite 'other', this run of 'default'", id="suite"),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "k": 10}},
            "the number of chunks asked for (ask.k) changed: 10 in the baseline, 5 now",
            id="k",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "adapter": "other"}},
            "the adapter changed: other in the baseline, ask now",
            id="adapter",
        ),
        pytest.param(
            {"fingerprint": {key: value for key, value in FINGERPRINT.items() if key != "k"}},
            "the number of chunks asked for (ask.k) changed: None in the baseline, 5 now",
            id="k-not-told",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "cutoffs": [1, 3, 5, 10]}},
            "the baseline is scored at cut-offs that are not scored any more (score.k): 5, 10",
            id="cut-offs-lost",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "retrieval_only": False}},
            "whether answers are generated (ask.retrieval_only) changed: False in the baseline, True now",
            id="retrieval-only",
        ),
        pytest.param(
            {"fingerprint": {**FINGERPRINT, "metrics_version": 0}},
            "the definitions of the metrics changed: 0 in the baseline, 1 now",
            id="metrics-version",
        ),
        pytest.param({"slices": {"bm25": {}}}, "no mode in common: bm25 in the baseline, hybrid now", id="modes"),
        pytest.param({"slices": {}}, "no mode in common: none in the baseline, hybrid now", id="no-mode-at-all"),
    ],
)
def test_obstacles(before: dict[str, Any], reason: str | None) -> None:
    """A run is compared with a baseline unless what the scores depend on differs, or is told on one side only."""
    assert obstacles(NOW, make_baseline(replace(NOW, **before))) == ((reason,) if reason else ())


def test_every_cause_is_named() -> None:
    """Several causes why two runs cannot be compared are all told."""
    before = replace(NOW, suite="other", fingerprint={**FINGERPRINT, "k": 1}, slices={})
    assert len(obstacles(NOW, make_baseline(before))) == 3
