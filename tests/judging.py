"""Judges, what they are asked and what they reply, built with defaults."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any, TypeVar

from raggate.config.judge_settings import JudgeModelSettings
from raggate.judges.canary import CanarySet, read
from raggate.judges.grader import Grader
from raggate.judges.prompts import Material, Passage
from raggate.judges.replies import GroundednessReply, ReplyFormat, schema_of
from raggate.judges.scores import Panel
from raggate.judges.session import Opinion
from raggate.models.judging import Judgement, JudgeRequest, Message, NotJudged, Prompt, Usage

F = TypeVar("F", bound=ReplyFormat)


class Grade(ReplyFormat):
    """The smallest reply that a score can be taken from."""

    score: int


def make_judge(name: str = "small", **fields: Any) -> JudgeModelSettings:
    """Build a judge: by default one on a server of one's own."""
    known = {"model": name, "build": "b1", "base_url": "http://127.0.0.1:1"}
    return JudgeModelSettings.model_validate({**known, **fields})


def make_request(text: str = "Grade this.", *, judge: JudgeModelSettings | None = None, **fields: Any) -> JudgeRequest:
    """Build a request with a system message and this text of a user."""
    messages = (Message(role="system", text="You grade."), Message(role="user", text=text))
    prompt = {"name": "grade", "template": "t1", "messages": messages, "schema": schema_of(Grade)}
    return JudgeRequest(model=judge or make_judge(), prompt=Prompt(**{**prompt, **fields}))


Scripted = ReplyFormat | NotJudged | Callable[[JudgeRequest], ReplyFormat | NotJudged]


class ScriptedAsker:
    """Answers by the rubric that is asked for, and keeps what was asked."""

    def __init__(self, **replies: Scripted) -> None:
        """Take the reply to each rubric, or what gives it."""
        self.replies = replies
        self.requests: list[JudgeRequest] = []

    async def __call__(self, request: JudgeRequest, expected: type[F]) -> Opinion[F]:
        """Return the scripted reply; each took 10 tokens to read and 1 to write."""
        self.requests.append(request)
        reply = self.replies[request.prompt.name]
        says = reply(request) if callable(reply) else reply
        assert isinstance(says, NotJudged | expected)
        return Opinion(says=says, keys=(request.key,), usage=Usage(replies=1, input_tokens=10, output_tokens=1))


def material_in(request: JudgeRequest) -> dict[str, Any]:
    data = request.prompt.messages[1].text
    return dict(json.loads(data[data.index("\n{") : data.rindex("\n}") + 2]))


def make_grader(ask: ScriptedAsker, name: str = "small", **fields: Any) -> Grader:
    return Grader(ask=ask, model=make_judge(name), **fields)


def make_panel(*graders: Grader, scores: tuple[str, ...] = ("groundedness",), **fields: Any) -> Panel:
    return Panel(graders=graders, scores=scores, **fields)


def make_material(**fields: Any) -> Material:
    """Build an answer with one passage and a citation of it."""
    known: dict[str, Any] = {
        "question": "How hot is the oven?",
        "answer": "The oven is at 220 degrees [1].",
        "passages": (Passage(number=1, source="Home/Oven.md, # Heat", text="Bake at 220 degrees."),),
        "references": ("Home/Oven.md, # Heat",),
        "cites": True,
    }
    return Material(**{**known, **fields})


def grounded(score: int = 5, **lists: list[str]) -> GroundednessReply:
    """Build a judge's reply about groundedness, with one supported claim unless told otherwise."""
    known: dict[str, Any] = {"supported_claims": ["220 degrees"], "unsupported_claims": [], "uncited_major_claims": []}
    return GroundednessReply(reasoning="It says so.", score=score, **{**known, **lists})


def graded(panel: Panel, material: Material | None = None) -> dict[str, Judgement]:
    judgements = asyncio.run(panel.grade(material or make_material()))
    return {judgement.score: judgement for judgement in judgements}


def canary_line(number: int = 1, value: float = 5, **fields: Any) -> dict[str, Any]:
    """Build a line: an answer with a passage, and its grade as the answer."""
    known = {
        "id": f"c{number}",
        "score": "groundedness",
        "question": f"{number}?",
        "answer": f"{value:g} [1]",
        "by": "a person",
    }
    return {**known, "passages": [{"text": "So."}], "references": ["a.md"], "value": value, **fields}


def make_canary(*lines: dict[str, Any]) -> CanarySet:
    return read(b"".join(json.dumps(item).encode() + b"\n" for item in lines), "canary.jsonl")


def as_written(shift: int = 0) -> ScriptedAsker:
    """Script a judge that gives the grade that the answer names, or one so much higher, at most 5."""

    def reply(request: JudgeRequest) -> GroundednessReply:
        points = min(5, int(material_in(request)["answer"][0]) + shift)
        lists = {"supported_claims": [] if points == 0 else ["a"], "unsupported_claims": [] if points == 5 else ["b"]}
        return grounded(points, **lists)

    return ScriptedAsker(groundedness=reply)
