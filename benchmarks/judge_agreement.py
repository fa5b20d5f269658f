"""How far judges agree with people: a small model, and one that grades as people did, alone and in a panel.

People's are the citation-support judgements of TREC RAG 2024. `make judge-figures` prints a table, after `make judges`
has installed what it needs.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.real_judge import asking, settings

from judges.real_server import serving, weights
from judges.trec_rag import ARCHIVE, canary_lines, relevancy_lines
from judging import ScriptedAsker, grounded, make_grader, material_in
from raggate.judges import canary
from raggate.judges.grader import Grader
from raggate.judges.replies import ContextRelevancyReply, GroundednessReply
from raggate.judges.scores import Panel
from raggate.judges.session import CassetteFirst
from raggate.models.judging import CanaryAgreement, JudgeRequest

LONGEST = 900
SAMPLES = {"context_relevancy": 40, "groundedness": 8}
"""Judgements of each degree of support that are drawn, of those whose passage has at most so many characters."""


def lines_of(score: str) -> list[dict[str, Any]]:
    """Return the canary set of a score."""
    draw = relevancy_lines if score == "context_relevancy" else canary_lines
    return draw(ARCHIVE, SAMPLES[score], LONGEST)


def as_people(lines: list[dict[str, Any]], name: str) -> Grader:
    """Return a judge that says what people said."""
    grades: Mapping[str, float] = {_subject(line, line["passages"]): line["value"] for line in lines}

    def grade(request: JudgeRequest) -> float:
        material = material_in(request)
        return grades[_subject(material, material["passages"])]

    def points(request: JudgeRequest) -> GroundednessReply:
        value = round(grade(request))
        lists = {"supported_claims": ["a"] if value else [], "unsupported_claims": [] if value == 5 else ["b"]}
        return grounded(value, **lists)

    def passages(request: JudgeRequest) -> ContextRelevancyReply:
        return ContextRelevancyReply(reasoning="As people said.", helpful_passages=[1] if grade(request) else [])

    return make_grader(ScriptedAsker(groundedness=points, context_relevancy=passages), name)


def _subject(material: Mapping[str, Any], passages: list[dict[str, Any]]) -> str:
    return json.dumps([material["question"], material.get("answer", ""), passages[0]["text"]])


async def rows(url: str) -> list[str]:
    """Return a line for every score and panel."""
    result = []
    async with asking(settings(url)) as (model, kept, send):
        small = Grader(ask=CassetteFirst(kept, send), model=model)
        for score in SAMPLES:
            lines = lines_of(score)
            data = "".join(json.dumps(line) + "\n" for line in lines).encode()
            cases = canary.read(data, score).cases
            good, other = (as_people(lines, name) for name in ("good", "other"))
            judges = {"SmolLM2-135M": (small,), "as people": (good,), "two of these and SmolLM2": (good, other, small)}
            for name, graders in judges.items():
                panel = Panel(graders=graders, scores=(score,))
                agreement = (await canary.agreement(cases, panel))[score]
                result.append(f"| {score} | {name} | {agreement.cases} | {agreement.judged} | {kappa(agreement)} |")
    return result


def kappa(agreement: CanaryAgreement) -> str:
    """Write kappa with its interval."""
    if agreement.kappa is None or agreement.low is None or agreement.high is None:
        return "none"
    return f"{agreement.kappa:.2f} ({agreement.low:.2f} to {agreement.high:.2f})"


def main() -> None:
    """Print the table."""
    file = weights()
    if file is None or not ARCHIVE.exists():
        sys.exit("no weights or no labels: run make judges")
    with serving(file) as server:
        lines = asyncio.run(rows(server.url))
    print("| score | judge | cases | judged | kappa |\n|---|---|---|---|---|", *lines, sep="\n")


if __name__ == "__main__":
    main()
