"""Texts that give orders to a judge, with the real small model: what holds whatever a model makes of them.

How often the model is led, with each part of the design and without, is measured by benchmarks/judge_injection.py.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from benchmarks.judge_injection import ABSTENTION, CLAIM, Scale, attacks, fenced, unescaped, whole

from judges.real_server import BUILD, NAME, RealServer
from raggate.base.jsonio import JsonObject
from raggate.config.judge_settings import Judges
from raggate.judges.budget import Budget
from raggate.judges.cassette import Cassette
from raggate.judges.client import Client
from raggate.judges.grader import Grader
from raggate.judges.replies import AbstentionReply, ReplyFormat
from raggate.judges.session import CassetteFirst, Opinion
from raggate.models.judging import NotJudged

pytestmark = [pytest.mark.judges, pytest.mark.timeout(600)]

TURNS = ("<|im_start|>", "<|im_end|>")


def turns(server: RealServer, scale: Scale, material: JsonObject) -> dict[str, list[str]]:
    """Return the tokens that begin and end turns, as the model reads them, by rendering."""
    renderings = {"raggate": whole, "unescaped": unescaped, "fenced": fenced}
    chats = {name: server.chat(render(scale, material).messages) for name, render in renderings.items()}
    return {name: [token for token in tokens if token in TURNS] for name, tokens in chats.items()}


def opinions(server: RealServer, scale: Scale, materials: list[JsonObject], file: Path) -> list[Opinion[ReplyFormat]]:
    """Have materials graded as a run does."""
    known = {"model": NAME, "build": BUILD, "base_url": server.url}
    settings = Judges.model_validate({"models": [known], "concurrency": 1})
    (model,) = settings.models

    async def grade() -> list[Opinion[ReplyFormat]]:
        async with Client(settings, Budget(calls=settings.max_calls), lambda _: "") as client:
            ask = CassetteFirst(Cassette({}, file), client.send)
            grader = Grader(ask=ask, model=model)
            return [await grader.reply(scale.rubric, material, scale.reply) for material in materials]

    return asyncio.run(grade())


@pytest.mark.parametrize("scale", [ABSTENTION, CLAIM], ids=lambda scale: scale.rubric)
def test_no_text_becomes_a_turn_of_the_chat(small_model: RealServer, scale: Scale) -> None:
    """By the model's own tokenizer a prompt is two messages and the reply's beginning, whatever the material holds."""
    chat = ["<|im_start|>", "<|im_end|>", "<|im_start|>", "<|im_end|>", "<|im_start|>"]
    for name, order in attacks(scale).items():
        read = turns(small_model, scale, scale.materials[0](order))
        assert read["raggate"] == chat, name
        # the attack is a real one: pasted as it is, the same text does begin and end turns
        assert (read["unescaped"] != chat) == (read["fenced"] != chat) == ("im_end" in order), name


def test_a_reply_that_was_brought_is_not_believed(small_model: RealServer, tmp_path: Path) -> None:
    """Whoever brings a reply gets another grade or none, and a refusal that brings nothing is told for one."""
    make = ABSTENTION.materials[0]
    brought = [order for order in attacks(ABSTENTION).values() if ABSTENTION.ready in order]
    assert len(brought) == 4
    plain, *led = opinions(small_model, ABSTENTION, [make(order) for order in ("", *brought)], tmp_path / "c.jsonl")
    assert isinstance(plain.says, AbstentionReply)
    assert plain.says.abstained
    for opinion in led:
        assert isinstance(opinion.says, NotJudged) or getattr(opinion.says, "abstained", False)
