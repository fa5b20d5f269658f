"""Added cases are told with how they stand, and answers of another run with whose they are."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_case_score, make_comparison, make_operations, make_scorecard
from raggate.config.gate_settings import Gate
from raggate.gate import caveats
from raggate.models.comparison import GoldenChanges
from raggate.models.provenance import KeptFrom
from tables import each_row


def test_added_cases_that_miss_come_first() -> None:
    """Of added cases it is told whether their passage was found; those where it was not are named first."""
    now = make_scorecard(make_case_score("fine"), make_case_score("lost", rank=None))
    comparison = make_comparison(scorecard=now, golden=GoldenChanges(added=("fine", "lost", "never")))
    (told,) = [reason for reason in caveats.differences(comparison, Gate()) if reason.code == "added-cases"]
    assert told.message.endswith("lost (not found), fine (found at rank 1), never (not asked)")


ORIGIN = KeptFrom(run="20260102_030405", asked="2026-01-02T03:04:05Z", commit="a" * 40)


@each_row(
    ("kept", "calls", "fields", "message"),
    [
        (0, 9, {}, None),
        (
            480,
            20,
            {"kept_from": ORIGIN},
            "480 answers were not asked for now: run 20260102_030405 of 2026-01-02T03:04:05Z at commit aaaaaaaaaaa… "
            "had the same images, notes and requests, and its answers count; of 20 calls that were made, those that it "
            "had answered came out alike, and times are of these calls alone",
        ),
        (
            1,
            2,
            {},
            "the run itself says that 1 answer was not asked for in it but of an earlier one; nothing vouches "
            "for that, and times are of the 2 other calls alone",
        ),
        (0, 9, {"kept_aside": "q1 is\notherwise"}, "kept answers had no part in it: q1 is otherwise"),
    ],
)
def test_kept_answers_are_told(kept: int, calls: int, fields: dict[str, Any], message: str | None) -> None:
    """How many answers are another run's, of which, and what was asked; or why none was. A claim is told as one."""
    operations = replace(make_operations(calls), kept=kept)
    scorecard = replace(make_scorecard(make_case_score()), operations=operations)
    comparison = make_comparison(scorecard=scorecard, **fields)
    assert [reason.message for reason in caveats.kept_answers(comparison)] == ([message] if message else [])
