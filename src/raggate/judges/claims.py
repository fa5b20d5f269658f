"""Groundedness and faithfulness claim by claim: each claim of an answer is judged alone, and the scores follow."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from raggate.judges.ask import Opinion
from raggate.judges.grader import Grader
from raggate.judges.material import Material
from raggate.judges.parse import ReplyFormat
from raggate.judges.replies import Claim, ClaimReply, ClaimsReply, ClaimVerdict, same_claim
from raggate.models.judging import Judgement, NotJudged

MOST_CLAIMS = 60
"""Claims of one answer that are judged. An answer of more is not judged."""

SCORES = ("groundedness", "faithfulness")
RUBRICS: Mapping[str, type[ReplyFormat]] = {"claims": ClaimsReply, "claim": ClaimReply}
Judged = Sequence[tuple[Claim, ClaimVerdict]]


async def by_claim(grader: Grader, material: Material) -> tuple[Judgement, ...]:
    """Have an answer taken apart, each claim judged alone, and give groundedness and faithfulness."""
    if gap := material.gap(passages=True):
        return _none(grader, NotJudged(reason="nothing_to_judge", detail=gap))
    whole = material.of_passages()
    asked = {key: whole[key] for key in ("question", "answer", "references")}
    listed = await grader.reply("claims", asked, ClaimsReply)
    if isinstance(listed.says, NotJudged):
        return _none(grader, listed.says, (listed,))
    claims = merged(listed.says.claims)
    if not claims:
        return _none(grader, NotJudged(reason="nothing_to_judge", detail="the answer makes no claim"), (listed,))
    if len(claims) > MOST_CLAIMS:
        detail = f"the answer makes {len(claims)} claims, and at most {MOST_CLAIMS} are judged one by one"
        return _none(grader, NotJudged(reason="unusable_score", detail=detail), (listed,))
    passages = whole["passages"]
    opinions = await asyncio.gather(
        *(grader.reply("claim", {"claim": claim.claim, "passages": passages}, ClaimReply) for claim in claims)
    )
    for opinion in opinions:
        if isinstance(opinion.says, NotJudged):
            return _none(grader, opinion.says, (listed, *opinions))
    judged = [
        (claim, opinion.says.verdict)
        for claim, opinion in zip(claims, opinions, strict=True)
        if isinstance(opinion.says, ClaimReply)
    ]
    supported = tuple(claim.claim for claim, verdict in judged if verdict == "supported")
    unsupported = tuple(claim.claim for claim, verdict in judged if verdict != "supported")
    texts = {"supported": supported, "unsupported": unsupported}
    return (
        grader.value("groundedness", groundedness_of(judged, cites=material.cites), (listed, *opinions), **texts),
        grader.value("faithfulness", len(supported) / len(judged), (listed, *opinions), **texts),
    )


def merged(claims: Sequence[Claim]) -> list[Claim]:
    """Return every claim once, and no blank one: major where it is so anywhere, cited where it is so everywhere."""
    by_text: dict[str, list[Claim]] = {}
    for claim in claims:
        by_text.setdefault(same_claim(claim.claim), []).append(claim)
    return [
        Claim(claim=same[0].claim, major=any(claim.major for claim in same), cited=all(claim.cited for claim in same))
        for text, same in by_text.items()
        if text
    ]


def groundedness_of(judged: Judged, *, cites: bool) -> float:
    """Return groundedness, 0 to 5, by the scale of the rubric.

    1 as soon as a claim is contradicted; 0 where no passage is about any claim. 5 where all claims are supported and
    all major ones cited, 3 where citations are missing. Else 4 where only minor claims are not supported and all major
    ones are cited, 2 where no major claim is supported, 3 in between.

    Args:
        judged: every claim with its verdict, at least one.
        cites: whether the answer cites anything; without, no claim counts as cited.
    """
    verdicts = {verdict for _, verdict in judged}
    if "contradicted" in verdicts:
        return 1.0
    if verdicts == {"unrelated"}:
        return 0.0
    major = [(claim, verdict) for claim, verdict in judged if claim.major] or judged
    cited = cites and all(claim.cited for claim, _ in major)
    if verdicts == {"supported"}:
        return 5.0 if cited else 3.0
    held = [verdict == "supported" for _, verdict in major]
    if all(held) and cited:
        return 4.0
    return 3.0 if any(verdict in {"supported", "partly_supported"} for _, verdict in major) else 2.0


def _none(
    grader: Grader, problem: NotJudged, opinions: Sequence[Opinion[ClaimsReply] | Opinion[ClaimReply]] = ()
) -> tuple[Judgement, ...]:
    return tuple(grader.none(score, problem, opinions) for score in SCORES)
