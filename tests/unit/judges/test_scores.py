"""Scores of one answer, by judges that reply as scripted: values, and the reasons why there is none."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import given, strategies as st
from msgspec.structs import replace

from judging import ScriptedAsker, graded, grounded, make_grader, make_material, make_panel, material_in
from raggate.judges.prompts import Passage
from raggate.judges.replies import (
    AbstentionReply,
    Claim,
    ClaimReply,
    ClaimsReply,
    ClaimVerdict,
    ContextRelevancyReply,
    CorrectnessReply,
    GenerationLabelsReply,
    GroundingLabelsReply,
    RecencyConflictReply,
    RetrievalLabelsReply,
)
from raggate.judges.scores import MOST_CLAIMS, combined, groundedness_of
from raggate.models.judging import Judgement, JudgeRequest, NotJudged, disagree
from tables import each_row

ALL = (
    *("groundedness", "faithfulness", "correctness", "abstention", "recency_conflict", "context_relevancy"),
    *("retrieval_labels", "grounding_labels", "generation_labels"),
)


def correct(score: int = 5, **fields: Any) -> CorrectnessReply:
    """Build a judge's reply about correctness."""
    return CorrectnessReply(**{"reasoning": "It is.", "missing_facts": [], "score": score, **fields})


def score_of(name: str, reply: Any, **material: Any) -> Judgement:
    """Grade one answer for one score, by a judge with this reply to every rubric."""
    rubric = {"faithfulness": "groundedness"}.get(name, name)
    ask = ScriptedAsker(**{rubric: reply})
    judgements = graded(make_panel(make_grader(ask), scores=(name,)), make_material(**material))
    return judgements[name]


PASSAGE = make_material().passages[0]
TWO = {"passages": (PASSAGE, PASSAGE), "answer": ""}


def helpful(*numbers: int) -> ContextRelevancyReply:
    """Build a judge's reply about which passages help."""
    return ContextRelevancyReply(reasoning="Because.", helpful_passages=[*numbers])


@each_row(
    ("score", "reply", "material", "value"),
    [
        *(("correctness", correct(points), {}, points) for points in range(6)),
        ("groundedness", grounded(0, supported_claims=[], unsupported_claims=["b"]), {}, 0),
        ("groundedness", grounded(4, unsupported_claims=["b"]), {}, 4),
        ("groundedness", grounded(5), {}, 5),
        # a 5 needs all claims supported and all major ones cited, a 0 none supported
        ("groundedness", grounded(5, unsupported_claims=["b"]), {}, None),
        ("groundedness", grounded(5, uncited_major_claims=["a"]), {}, None),
        ("groundedness", grounded(5), {"cites": False}, None),
        ("groundedness", grounded(0, supported_claims=["a"]), {}, None),
        ("groundedness", grounded(3, supported_claims=["It is  hot."], unsupported_claims=["it is hot."]), {}, None),
        ("correctness", correct(5, missing_facts=["x"]), {}, None),
        ("correctness", correct(4, missing_facts=["x"]), {}, 4),
        # the share of the passages that help
        ("context_relevancy", helpful(1), TWO, 0.5),
        ("context_relevancy", helpful(), TWO, 0.0),
        ("context_relevancy", helpful(2, 1), TWO, 1.0),
        ("context_relevancy", helpful(3), TWO, None),
        ("context_relevancy", helpful(1, 1), TWO, None),
        ("abstention", AbstentionReply(reasoning="Because.", abstained=True), {}, 1.0),
        ("abstention", AbstentionReply(reasoning="Because.", abstained=False), {}, 0.0),
        ("recency_conflict", RecencyConflictReply(reasoning="Because.", follows_rule=True), {"rule": "both"}, 1.0),
        ("recency_conflict", RecencyConflictReply(reasoning="Because.", follows_rule=False), {"rule": "both"}, 0.0),
    ],
)
def test_what_a_reply_comes_to(score: str, reply: Any, material: dict[str, Any], value: float | None) -> None:
    """Points are taken as given, yes is 1, and a reply that contradicts itself or the answer is paid and no score."""
    judgement = score_of(score, reply, **material)
    assert (judgement.value, judgement.reason) == (value, "unusable_score" if value is None else None)
    assert judgement.usage.replies == 1
    assert value is None or judgement.reasoning == reply.reasoning


def test_a_blank_answer_is_a_refusal_without_a_judge() -> None:
    """Nobody is asked whether nothing is an answer."""
    judgement = score_of("abstention", NotJudged(reason="budget"), answer=" \n")
    assert (judgement.value, judgement.usage.replies) == (1.0, 0)


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    """Three claims of four are supported: 0.75. It follows from the reply about groundedness, which is paid once."""
    ask = ScriptedAsker(groundedness=grounded(3, supported_claims=["a", "b", "c"], unsupported_claims=["d"]))
    scores = graded(make_panel(make_grader(ask), scores=("groundedness", "faithfulness")))
    assert (scores["groundedness"].value, scores["faithfulness"].value) == (3, 0.75)
    assert len(ask.requests) == 1
    assert [scores[name].usage.replies for name in ("groundedness", "faithfulness")] == [1, 0]
    alone = graded(make_panel(make_grader(ask), scores=("faithfulness",)))
    assert (alone["faithfulness"].value, alone["faithfulness"].usage.replies) == (0.75, 1)


def test_a_claim_counts_once_however_often_it_is_made() -> None:
    """An answer that repeats what is true, in other letters and blanks, does not outweigh what is not."""
    claims = {"supported_claims": ["So.", " so. ", "SO.", " "], "unsupported_claims": ["Not so."]}
    judgement = score_of("faithfulness", grounded(3, **claims))
    assert (judgement.value, judgement.supported, judgement.unsupported) == (0.5, ("So.",), ("Not so.",))
    assert score_of("faithfulness", grounded(3, supported_claims=[""])).reason == "nothing_to_judge"


YES_OR_NO = {
    "support_present": True,
    "unsupported_claim_present": False,
    "contradicted_claim_present": False,
    "source_cited": True,
    "fabricated_source": False,
    "proper_action": True,
    "response_on_topic": True,
    "helpful": False,
    "incomplete": True,
    "unsafe_content": False,
}


def labels_reply(kind: type[Any], **changes: bool) -> Any:
    """Build a judge's reply about labels."""
    keys = kind.model_fields.keys() - {"reasoning"}
    return kind(reasoning="Because.", **{key: {**YES_OR_NO, **changes}[key] for key in keys})


def test_labels_are_a_judgement_each() -> None:
    """A reply about grounding or generation comes to one value for each label of the taxonomy, paid once."""
    ask = ScriptedAsker(
        grounding_labels=labels_reply(GroundingLabelsReply), generation_labels=labels_reply(GenerationLabelsReply)
    )
    labels = graded(make_panel(make_grader(ask), scores=("grounding_labels", "generation_labels")))
    assert {name: judgement.value for name, judgement in labels.items()} == YES_OR_NO
    assert sum(judgement.usage.replies for judgement in labels.values()) == 2


def labelled(relevant: list[int], sufficient: list[int], misleading: list[int]) -> dict[str, Judgement]:
    """Have four passages labelled by these numbers."""
    reply = RetrievalLabelsReply(
        reasoning="Because.", topically_relevant=relevant, evidence_sufficient=sufficient, misleading=misleading
    )
    passages = tuple(Passage(number=number, source="a.md", text="So.") for number in range(1, 5))
    panel = make_panel(make_grader(ScriptedAsker(retrieval_labels=reply)), scores=("retrieval_labels",))
    return graded(panel, make_material(passages=passages, answer=""))


def test_labels_of_passages_are_shares_and_name_them() -> None:
    """Of four passages two are relevant, one of them enough, and another misleads; an answer takes none of it."""
    labels = labelled([3, 1], [3], [2])
    assert {name: (judgement.value, judgement.passages) for name, judgement in labels.items()} == {
        "topically_relevant": (0.5, (1, 3)),
        "evidence_sufficient": (0.25, (3,)),
        "misleading": (0.25, (2,)),
    }
    assert sum(judgement.usage.replies for judgement in labels.values()) == 1


@each_row(
    ("relevant", "sufficient", "misleading", "detail"),
    [
        ([5], [], [], "a topically_relevant passage that is not one of the 4"),
        ([1], [], [0], "a misleading passage that is not one of the 4"),
        ([1, 1], [], [], "a passage is listed twice among the topically_relevant ones"),
        ([1], [2], [], "a passage that is sufficient and not relevant"),
    ],
)
def test_labels_of_passages_that_cannot_be_are_none(
    relevant: list[int], sufficient: list[int], misleading: list[int], detail: str
) -> None:
    """Numbers that no passage has, or that contradict each other, take the whole reply with them."""
    labels = labelled(relevant, sufficient, misleading)
    assert {(judgement.reason, judgement.detail) for judgement in labels.values()} == {("unusable_score", detail)}


def test_labels_that_exclude_each_other_are_none() -> None:
    """A made-up source where nothing is cited is no label, and takes the whole reply with it."""
    reply = labels_reply(GroundingLabelsReply, source_cited=False, fabricated_source=True)
    labels = graded(make_panel(make_grader(ScriptedAsker(grounding_labels=reply)), scores=("grounding_labels",)))
    assert {judgement.reason for judgement in labels.values()} == {"unusable_score"}


@each_row("reason", ["budget", "timeout", "refused", "invalid_reply", "replay_miss"])
def test_an_error_is_never_a_score(reason: Any) -> None:
    """Whatever a judge fails by, no score has a value, and each has the reason."""
    rubrics = (*ALL, "groundedness")
    ask = ScriptedAsker(**{rubric: NotJudged(reason=reason, detail="because") for rubric in rubrics})
    judgements = graded(make_panel(make_grader(ask), scores=ALL), make_material(rule="cite_newer"))
    assert len(judgements) == 6 + 3 + 5 + 5
    assert {(item.value, item.reason, item.detail) for item in judgements.values()} == {(None, reason, "because")}


@each_row(
    ("material", "unjudged"),
    [
        ({"answer": " "}, {"groundedness", "faithfulness", "correctness", "recency_conflict"}),
        ({"abstained": True}, {"groundedness", "faithfulness", "correctness", "recency_conflict"}),
        ({"passages": ()}, {"groundedness", "faithfulness", "recency_conflict", "context_relevancy"}),
        ({"rule": ""}, {"recency_conflict"}),
    ],
)
def test_where_there_is_nothing_to_judge_nobody_is_asked(material: dict[str, Any], unjudged: set[str]) -> None:
    """Without an answer, passages or a rule, what needs them is not judged, and costs nothing."""
    refused = NotJudged(reason="refused")
    names = ("groundedness", "correctness", "abstention", "recency_conflict", "context_relevancy")
    ask = ScriptedAsker(**dict.fromkeys(names, refused))
    judgements = graded(
        make_panel(make_grader(ask), scores=(*names, "faithfulness")),
        make_material(**{"rule": "cite_both", **material}),
    )
    assert {name for name, item in judgements.items() if item.reason == "nothing_to_judge"} == unjudged
    assert not {request.prompt.name for request in ask.requests} & unjudged


S, P, U, C, N = "supported", "partly_supported", "unsupported", "contradicted", "unrelated"


def claim(text: str, *, major: bool = True, cited: bool = True) -> Claim:
    """Build a claim."""
    return Claim(claim=text, major=major, cited=cited)


@each_row(
    ("judged", "value"),
    [
        # verdict, major, cited
        ([(S, True, True), (S, False, False)], 5),
        ([(S, True, False), (S, True, True)], 3),
        ([(S, True, True), (U, False, True)], 4),
        ([(S, True, False), (U, False, True)], 3),
        ([(S, True, True), (U, True, True)], 3),
        ([(P, True, True)], 3),
        ([(U, True, True), (S, False, True)], 2),
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


def vote(value: float | None, score: str = "groundedness") -> Judgement:
    """Build what one judge says; None for one that did not judge."""
    return Judgement(score=score, value=value, reason="timeout" if value is None else None, reasoning=f"say {value}")


@each_row(
    ("values", "expected"),
    [
        ((1, 4, 5), 4),
        ((1, 4), 2.5),
        ((5, None, 2), 3.5),
        # half of the judges is not more than half
        ((5, None), None),
        ((5, None, None), None),
        ((None, None), None),
    ],
)
def test_points_of_a_panel(values: tuple[float | None, ...], expected: float | None) -> None:
    """Points are the median, where more than half of the judges judged."""
    together = combined([vote(value) for value in values])
    assert together.value == expected
    assert (together.reason is None) == (expected is not None)
    assert [item.value for item in together.votes] == [*values]


@each_row(("values", "expected"), [((1, 1, 0), 1), ((1, 0, 0), 0), ((1, 0), None)])
def test_yes_and_no_take_a_majority(values: tuple[float, ...], expected: float | None) -> None:
    """A label is what more than half say, also where points take the median; half of them is no answer."""
    together = combined([vote(value, "helpful") for value in values])
    assert together.value == expected
    assert together.reason == (None if expected is not None else "disagreement")


def test_why_a_panel_did_not_judge() -> None:
    """The reason is the one that most judges have, with how many did not judge."""
    together = combined([vote(5), vote(None), vote(None)])
    assert (together.reason, together.detail) == ("timeout", "2 of 3 judges: ")


def test_a_judge_without_a_key_excuses_no_answer() -> None:
    """Where a judge was not to be asked and another could not grade the answer, the answer is why it has no grade."""
    absent = [replace(vote(None), reason=reason) for reason in ("no_key", "replay_miss")]
    refused = replace(vote(None), reason="refused")
    for votes in ([absent[0], refused, vote(5), vote(5)], [*absent, absent[0], refused]):
        assert combined(votes).reason == "refused"
    assert combined([absent[0], vote(5)]).reason == "no_key"


@each_row(
    ("score", "first", "second", "expected"),
    [
        ("groundedness", 3, 4, False),
        ("groundedness", 3, 4.5, True),
        ("abstention", 0, 1, True),
        ("helpful", 1, 1, False),
        ("faithfulness", 0.5, 0.75, True),
    ],
)
def test_disagreement(score: str, first: float, second: float, expected: bool) -> None:
    """More than a point apart, or another answer to yes or no, is disagreement; of shares it is more than a fifth."""
    assert disagree(score, first, second) is expected
