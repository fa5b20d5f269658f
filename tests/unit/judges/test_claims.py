"""Groundedness claim by claim: the scale of the rubric as arithmetic, and what stands in its way."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, strategies as st

from judging import ScriptedAsker, graded, make_grader, make_material, make_panel, material_in
from raggate.judges.claims import MOST_CLAIMS, groundedness_of, merged
from raggate.judges.replies import Claim, ClaimReply, ClaimsReply, ClaimVerdict
from raggate.models.judging import JudgeRequest, NotJudged
from tables import each_row

S, P, U, C, N = "supported", "partly_supported", "unsupported", "contradicted", "unrelated"


def claim(text: str, *, major: bool = True, cited: bool = True) -> Claim:
    """Build a claim."""
    return Claim(claim=text, major=major, cited=cited)


@each_row(
    ("judged", "value"),
    [
        # verdict, major, cited
        ([(S, True, True), (S, False, True)], 5),
        ([(S, True, True), (S, False, False)], 5),
        ([(S, True, False), (S, True, True)], 3),
        ([(S, True, True), (U, False, True)], 4),
        ([(S, True, True), (N, False, True)], 4),
        ([(S, True, False), (U, False, True)], 3),
        ([(S, True, True), (U, True, True)], 3),
        ([(P, True, True)], 3),
        ([(U, True, True), (S, False, True)], 2),
        ([(U, True, True), (N, True, True)], 2),
        ([(S, True, True), (C, False, True)], 1),
        ([(N, True, True), (N, False, True)], 0),
        # without a major claim, all count as major
        ([(S, False, True), (S, False, True)], 5),
        ([(S, False, True), (U, False, True)], 3),
    ],
)
def test_the_scale_by_claims(judged: list[tuple[Any, bool, bool]], value: int) -> None:
    """The points are those of the scale: 5 all supported and cited, 4 minor ones not, 3 some, 2 no major one, 1, 0."""
    claims = [(claim("c", major=major, cited=cited), verdict) for verdict, major, cited in judged]
    assert groundedness_of(claims, cites=True) == value


VERDICTS = st.lists(
    st.tuples(st.sampled_from(get_args(ClaimVerdict)), st.booleans(), st.booleans()), min_size=1, max_size=6
)


@given(VERDICTS)
def test_only_citations_of_all_major_claims_make_a_five(judged: list[tuple[Any, bool, bool]]) -> None:
    """An answer that cites nothing never gets 5 or 4; one with a contradicted claim always gets 1."""
    claims = [(claim("c", major=major, cited=cited), verdict) for verdict, major, cited in judged]
    assert groundedness_of(claims, cites=False) <= 3
    if any(verdict == C for verdict, _, _ in judged):
        assert groundedness_of(claims, cites=True) == 1


def by_claim(verdicts: dict[str, Any], **listed: Any) -> ScriptedAsker:
    """Script a judge that finds these claims, and gives each its verdict or the reason why not."""

    def verdict(request: JudgeRequest) -> ClaimReply | NotJudged:
        given = verdicts[material_in(request)["claim"]]
        return given if isinstance(given, NotJudged) else ClaimReply(reasoning="Because.", verdict=given)

    claims = ClaimsReply(claims=[claim(text, **listed) for text in verdicts])
    return ScriptedAsker(claims=claims, claim=verdict)


def both(ask: ScriptedAsker, **material: Any) -> dict[str, Any]:
    """Grade one answer claim by claim."""
    panel = make_panel(make_grader(ask), scores=("groundedness", "faithfulness"), each_claim=True)
    return graded(panel, make_material(**material))


def test_each_claim_is_judged_alone() -> None:
    """A request for the list, and one for each claim, which sees that claim and the passages but not the answer."""
    ask = by_claim({"a": S, "b": U, "c": S})
    scores = both(ask)
    assert (scores["groundedness"].value, scores["faithfulness"].value) == (3, 2 / 3)
    assert (scores["groundedness"].supported, scores["groundedness"].unsupported) == (("a", "c"), ("b",))
    assert [request.prompt.name for request in ask.requests] == ["claims", "claim", "claim", "claim"]
    assert {*material_in(ask.requests[1])} == {"claim", "passages"}
    assert "passages" not in material_in(ask.requests[0])
    assert [scores[name].usage.replies for name in ("groundedness", "faithfulness")] == [4, 0]


def test_a_claim_that_is_listed_twice_is_one() -> None:
    """Major as soon as it is so anywhere, cited only where it is so everywhere; and a blank text is no claim."""
    listed = [claim("So.", major=False, cited=True), claim("so. ", major=True, cited=False), claim(" ")]
    assert merged(listed) == [claim("So.", major=True, cited=False)]


def test_one_claim_that_is_not_judged_leaves_no_score() -> None:
    """Without the verdict on one claim there is neither groundedness nor faithfulness, whatever the others say."""
    scores = both(by_claim({"a": S, "b": NotJudged(reason="budget")}))
    assert {(item.value, item.reason) for item in scores.values()} == {(None, "budget")}
    assert scores["groundedness"].usage.replies == 3


@each_row(
    ("ask", "reason"),
    [
        (ScriptedAsker(claims=NotJudged(reason="timeout")), "timeout"),
        (ScriptedAsker(claims=ClaimsReply(claims=[])), "nothing_to_judge"),
        (ScriptedAsker(claims=ClaimsReply(claims=[claim(str(n)) for n in range(MOST_CLAIMS + 1)])), "unusable_score"),
    ],
)
def test_without_a_list_of_claims_there_is_no_score(ask: ScriptedAsker, reason: str) -> None:
    """A list that fails, is empty or is too long is no score, and no claim is asked about."""
    assert {item.reason for item in both(ask).values()} == {reason}
    assert len(ask.requests) == 1


def test_a_refusal_is_not_taken_apart() -> None:
    """A refusal makes no claims, and nobody is asked for them."""
    ask = ScriptedAsker()
    assert {item.reason for item in both(ask, abstained=True).values()} == {"nothing_to_judge"}
    assert ask.requests == []
