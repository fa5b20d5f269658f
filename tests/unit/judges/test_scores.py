"""Scores of one answer, by judges that reply as scripted: values, and the reasons why there is none."""

from __future__ import annotations

from typing import Any

from judging import ScriptedAsker, graded, grounded, make_grader, make_material, make_panel, material_in
from raggate.judges.material import Passage
from raggate.judges.replies import (
    AbstentionReply,
    ContextRelevancyReply,
    CorrectnessReply,
    GenerationLabelsReply,
    GroundingLabelsReply,
    RecencyConflictReply,
    RetrievalLabelsReply,
)
from raggate.models.judging import Judgement, NotJudged
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


@each_row("points", range(6))
def test_points_are_taken_as_given(points: int) -> None:
    """Groundedness and correctness are the judge's points, 0 to 5, with its reasons and lists of claims."""
    lists = {"supported_claims": [] if points == 0 else ["a"], "unsupported_claims": [] if points == 5 else ["b"]}
    judgement = score_of("groundedness", grounded(points, **lists))
    assert (judgement.value, judgement.reason) == (points, None)
    assert judgement.supported == tuple(lists["supported_claims"])
    assert judgement.unsupported == tuple(lists["unsupported_claims"])
    assert judgement.reasoning == "It says so."
    assert score_of("correctness", correct(points)).value == points


@each_row(
    ("reply", "material"),
    [
        (grounded(5, unsupported_claims=["b"]), {}),
        (grounded(5, uncited_major_claims=["a"]), {}),
        (grounded(5), {"cites": False}),
        (grounded(0, supported_claims=["a"]), {}),
        (grounded(3, supported_claims=["It is  hot."], unsupported_claims=["it is hot."]), {}),
    ],
)
def test_a_score_that_its_own_reply_denies_is_none(reply: Any, material: dict[str, Any]) -> None:
    """A 5 needs all claims supported and all major ones cited, a 0 none supported: else the answer is not judged."""
    judgement = score_of("groundedness", reply, **material)
    assert (judgement.value, judgement.reason) == (None, "unusable_score")
    assert judgement.usage.replies == 1


def test_a_full_score_with_missing_facts_is_none() -> None:
    """Correctness of 5 beside facts that are missing is no score."""
    assert score_of("correctness", correct(5, missing_facts=["x"])).reason == "unusable_score"
    assert score_of("correctness", correct(4, missing_facts=["x"])).value == 4


def test_key_facts_reach_the_judge() -> None:
    """What people expect of an answer is part of what correctness is judged by, and of nothing else."""
    ask = ScriptedAsker(correctness=correct(), groundedness=grounded())
    panel = make_panel(make_grader(ask), scores=("correctness", "groundedness"))
    graded(panel, make_material(key_facts=("220 degrees",)))
    about = {request.prompt.name: material_in(request) for request in ask.requests}
    assert about["correctness"]["expected_key_facts"] == ["220 degrees"]
    assert "expected_key_facts" not in about["groundedness"]


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
    assert (judgement.value, judgement.supported) == (0.5, ("So.",))
    assert score_of("faithfulness", grounded(3, supported_claims=[""])).reason == "nothing_to_judge"


def test_faithfulness_without_claims_is_none() -> None:
    """A share of no claims is no number."""
    judgement = score_of("faithfulness", grounded(3, supported_claims=[], unsupported_claims=[]))
    assert (judgement.value, judgement.reason) == (None, "nothing_to_judge")


@each_row(
    ("helpful", "value", "reason"),
    [
        ([1], 0.5, None),
        ([], 0.0, None),
        ([2, 1], 1.0, None),
        ([3], None, "unusable_score"),
        ([1, 1], None, "unusable_score"),
    ],
)
def test_context_relevancy(helpful: list[int], value: float | None, reason: str | None) -> None:
    """Context relevancy is the share of the passages that help; a number that is no passage is no score."""
    passage = make_material().passages[0]
    reply = ContextRelevancyReply(reasoning="Because.", helpful_passages=helpful)
    judgement = score_of("context_relevancy", reply, passages=(passage, passage), answer="")
    assert (judgement.value, judgement.reason) == (value, reason)


def test_context_relevancy_does_not_see_the_answer() -> None:
    """The answer has no say in whether passages help with the question."""
    ask = ScriptedAsker(context_relevancy=ContextRelevancyReply(reasoning="Because.", helpful_passages=[]))
    graded(make_panel(make_grader(ask), scores=("context_relevancy",)))
    assert {*material_in(ask.requests[0])} == {"question", "passages"}


@each_row("yes", [True, False])
def test_yes_and_no_are_one_and_nought(yes: bool) -> None:
    """Abstention and the rule of a recency case are 1 for yes and 0 for no."""
    assert score_of("abstention", AbstentionReply(reasoning="Because.", abstained=yes)).value == float(yes)
    reply = RecencyConflictReply(reasoning="Because.", follows_rule=yes)
    assert score_of("recency_conflict", reply, rule="cite_newer").value == float(yes)


def test_a_blank_answer_is_a_refusal_without_a_judge() -> None:
    """Nobody is asked whether nothing is an answer."""
    judgement = score_of("abstention", NotJudged(reason="budget"), answer=" \n")
    assert (judgement.value, judgement.usage.replies) == (1.0, 0)


def test_labels_are_a_judgement_each() -> None:
    """A reply about grounding or generation comes to one value for each label of the taxonomy, paid once."""
    grounding = GroundingLabelsReply(
        reasoning="Because.",
        support_present=True,
        unsupported_claim_present=False,
        contradicted_claim_present=False,
        source_cited=True,
        fabricated_source=False,
    )
    generation = GenerationLabelsReply(
        reasoning="Because.",
        proper_action=True,
        response_on_topic=True,
        helpful=False,
        incomplete=True,
        unsafe_content=False,
    )
    ask = ScriptedAsker(grounding_labels=grounding, generation_labels=generation)
    labels = graded(make_panel(make_grader(ask), scores=("grounding_labels", "generation_labels")))
    assert {name: judgement.value for name, judgement in labels.items()} == {
        "support_present": 1,
        "unsupported_claim_present": 0,
        "contradicted_claim_present": 0,
        "source_cited": 1,
        "fabricated_source": 0,
        "proper_action": 1,
        "response_on_topic": 1,
        "helpful": 0,
        "incomplete": 1,
        "unsafe_content": 0,
    }
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
    reply = GroundingLabelsReply(
        reasoning="Because.",
        support_present=True,
        unsupported_claim_present=False,
        contradicted_claim_present=False,
        source_cited=False,
        fabricated_source=True,
    )
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
