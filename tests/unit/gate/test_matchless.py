"""Modes and slices in which nothing matches: which these are, what is said of them, and who may promote them."""

from __future__ import annotations

import pytest

from builders import make_baseline, make_case_score, make_comparison, make_scorecard
from raggate.errors import UsageError
from raggate.gate.matchless import modes_without_match, on_a_command_line, reasons, refuse_matchless, slice_reasons
from raggate.models.reach import Reach
from raggate.models.scorecard import OVERALL, CaseScore, Scorecard
from tables import each_row


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
