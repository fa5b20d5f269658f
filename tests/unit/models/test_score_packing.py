"""Scores of a question as bytes: nothing is lost on the way to disk and back."""

from __future__ import annotations

from msgspec.structs import fields, replace

from raggate.models.metric_values import CompactValues, compact
from raggate.models.score_packing import PAIRS, SCORES
from raggate.models.scorecard import CaseScore, ListEntry

ENTRY = ListEntry("0a", "0b", 0.5, -1e308, 0.0, (0, 2))
SCORE = CaseScore(
    case_id="q\ud800",
    mode="hybrid",
    hash="ff-00",
    values=compact({"hit_at_1": 1.0, "mrr_at_1": None, "ndcg_at_1": 1 / 3}),
    rank=1,
    rank_all=3,
    failure="timeout",
    slices=("overall", "tag=é"),
    must_pass=True,
    group="g",
    entries=(ENTRY, ListEntry("", "")),
    answers=(CaseScore(case_id="q", mode="hybrid", hash="ff", values={"other": 1.0}),),
)


def test_comes_back_equal() -> None:
    """Scores come back equal, those of every answer too; values that were compact are, in the same order."""
    again = SCORES.unpack(SCORES.pack(SCORE))
    assert again == SCORE
    assert isinstance(again.values, CompactValues)
    assert list(again.values) == list(SCORE.values)
    assert (type(again.entries), type(again.answers[0].values)) == (tuple, dict)


def test_a_pair_comes_back_equal() -> None:
    """The scores of a question before and now come back as two."""
    now = replace(SCORE, rank=None, answers=())
    assert PAIRS.unpack(PAIRS.pack((SCORE, now))) == (SCORE, now)


def test_values_of_other_kinds_keep_their_order() -> None:
    """Values that are no floats stay what they are."""
    odd = replace(SCORE, values={"z": 1, "a": float("inf"), "m": None})
    again = SCORES.unpack(SCORES.pack(odd))
    assert list(again.values.items()) == list(odd.values.items())


def test_every_field_is_tried() -> None:
    """What is packed above has nothing left at its default, so that a further field cannot be forgotten."""
    assert {field.name for field in fields(SCORE) if getattr(SCORE, field.name) == field.default} == set()
