"""What several judges say together."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from judging import ScriptedAsker, graded, grounded, make_grader, make_panel
from raggate.judges.panel import combined, templates_of
from raggate.judges.scores import EACH
from raggate.models.judging import Judgement, NotJudged
from raggate.models.judging_quality import disagree
from tables import each_row


def vote(value: float | None, score: str = "groundedness") -> Judgement:
    """Build what one judge says; None for one that did not judge."""
    return Judgement(score=score, value=value, reason="timeout" if value is None else None, reasoning=f"say {value}")


@each_row(
    ("values", "how", "expected"),
    [
        ((1, 4, 5), "median", 4),
        ((1, 4), "median", 2.5),
        ((5, None, 2), "median", 3.5),
        ((4, 4, 1), "majority", 4),
        ((4, 4, None), "majority", 4),
        # half of the judges is not more than half
        ((5, None), "median", None),
        ((5, None, None), "majority", None),
        ((None, None), "median", None),
        ((1, 4, 5), "majority", None),
    ],
)
def test_points_of_a_panel(values: tuple[float | None, ...], how: Any, expected: float | None) -> None:
    """Points are the median, or the grade that more than half gave, where more than half of the judges judged."""
    together = combined([vote(value) for value in values], how)
    assert together.value == expected
    assert (together.reason is None) == (expected is not None)
    assert [item.value for item in together.votes] == [*values]


@each_row(("values", "expected"), [((1, 1, 0), 1), ((1, 0, 0), 0), ((1, 0), None)])
def test_yes_and_no_take_a_majority(values: tuple[float, ...], expected: float | None) -> None:
    """A label is what more than half say, also where points take the median; half of them is no answer."""
    together = combined([vote(value, "helpful") for value in values], "median")
    assert together.value == expected
    assert together.reason == (None if expected is not None else "disagreement")


def test_the_reasons_are_of_the_judge_next_to_the_value() -> None:
    """A panel's reasoning is that of a judge who said what came out, or came nearest."""
    assert combined([vote(1), vote(4), vote(5)], "median").reasoning == "say 4"


def test_why_a_panel_did_not_judge() -> None:
    """The reason is the one that most judges have, with how many did not judge."""
    together = combined([vote(5), vote(None), vote(None)], "median")
    assert (together.reason, together.detail) == ("timeout", "2 of 3 judges: ")


def test_a_judge_without_a_key_excuses_no_answer() -> None:
    """Where a judge was not to be asked and another could not grade the answer, the answer is why it has no grade."""
    absent = [replace(vote(None), reason=reason) for reason in ("no_key", "replay_miss")]
    refused = replace(vote(None), reason="refused")
    for votes in ([absent[0], refused, vote(5), vote(5)], [*absent, absent[0], refused]):
        assert combined(votes, "median").reason == "refused"
    assert combined([absent[0], vote(5)], "median").reason == "no_key"


def test_every_judge_is_asked_and_paid() -> None:
    """A panel asks each of its models the same, and what all of them took is the panel's."""
    asked = [ScriptedAsker(groundedness=grounded(points, unsupported_claims=["b"])) for points in (2, 3, 4)]
    panel = make_panel(*(make_grader(ask, name) for ask, name in zip(asked, "abc", strict=True)))
    judgement = graded(panel)["groundedness"]
    assert (judgement.value, judgement.usage.replies, len(judgement.keys)) == (3, 3, 3)
    assert [item.judge for item in judgement.votes] == [*"abc"]
    assert [ask.requests[0].prompt for ask in asked] == [asked[0].requests[0].prompt] * 3


def test_a_judge_that_fails_leaves_the_others() -> None:
    """Two of three are more than half."""
    replies = (
        grounded(4, unsupported_claims=["b"]),
        NotJudged(reason="timeout"),
        grounded(4, unsupported_claims=["b"]),
    )
    panel = make_panel(*(make_grader(ScriptedAsker(groundedness=reply)) for reply in replies))
    assert graded(panel)["groundedness"].value == 4


def test_templates_name_what_is_asked() -> None:
    """The prompts that make two runs comparable are those of the scores; claim by claim they are others."""
    assert {*templates_of(("groundedness", "correctness"), each_claim=False)} == {"groundedness", "correctness"}
    assert {*templates_of(("groundedness",), each_claim=True)} == {*EACH.rubrics}


@each_row(
    ("score", "first", "second", "expected"),
    [
        ("groundedness", 3, 4, False),
        ("groundedness", 3, 4.5, True),
        ("correctness", 5, 3, True),
        ("abstention", 0, 1, True),
        ("helpful", 1, 1, False),
        ("faithfulness", 0.5, 0.7, False),
        ("faithfulness", 0.5, 0.75, True),
    ],
)
def test_disagreement(score: str, first: float, second: float, expected: bool) -> None:
    """More than a point apart, or another answer to yes or no, is disagreement; of shares it is more than a fifth."""
    assert disagree(score, first, second) is expected
