"""What raggate's judges rest on, with llama.cpp's own server: schemas, counts, names, time, budget, cassette."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from judges.real_server import BUILD, NAME, RealServer, serving
from raggate.config.judge_settings import JudgedScore, Judges
from raggate.judges import cassette, client
from raggate.judges.budget import Budget, upper_bound
from raggate.judges.cassette import Cassette
from raggate.judges.client import Client
from raggate.judges.replies import (
    AbstentionReply,
    ClaimReply,
    ClaimsReply,
    CorrectnessReply,
    GroundednessReply,
    ReplyFormat,
    bounded,
    parse,
    schema_of,
)
from raggate.judges.scores import EACH, families
from raggate.judges.session import CassetteFirst, Opinion
from raggate.models.judging import JudgeRequest, Message, NotJudged, Prompt, Reply, Spending

pytestmark = [pytest.mark.judges, pytest.mark.timeout(600)]

FORMATS = tuple(
    reply for family in (*families(get_args(JudgedScore), each_claim=False), EACH) for reply in family.rubrics.values()
)
WATER = "Is water wet? Answer in plain words, not in JSON."
COUNT = "Count from 1 to 2000: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,"


def settings(url: str, **more: Any) -> Judges:
    """Build a section `judges` with the small model."""
    known = {"model": NAME, "build": BUILD, "base_url": url}
    model = known | {key: more.pop(key) for key in ("json_schema", "answers_as") if key in more}
    return Judges.model_validate({"models": [model], "concurrency": 1, **more})


def request(judges: Judges, reply: type[ReplyFormat], text: str = WATER) -> JudgeRequest:
    """Build a request that says this, with the schema of a reply."""
    (model,) = judges.models
    schema = bounded(schema_of(reply), passages=3)
    prompt = Prompt(name="grade", template="t", messages=(Message(role="user", text=text),), schema=schema)
    return JudgeRequest(model=model, prompt=prompt)


def sent(judges: Judges, *requests: JudgeRequest) -> tuple[list[Reply | NotJudged], Spending]:
    """Send requests one after the other, and give what came and what it took."""

    async def send() -> tuple[list[Reply | NotJudged], Spending]:
        budget = Budget(calls=judges.max_calls)
        async with Client(judges, budget, lambda _: "") as client:
            return [await client.send(item) for item in requests], budget.spending()

    return asyncio.run(send())


def opinion(judges: Judges, asked: JudgeRequest, reply: type[ReplyFormat], file: Path) -> Opinion[ReplyFormat]:
    """Ask for an opinion, by a cassette in this file."""

    async def ask() -> Opinion[ReplyFormat]:
        async with Client(judges, Budget(calls=judges.max_calls), lambda _: "") as client:
            return await CassetteFirst(Cassette({}, file), client.send)(asked, reply)

    return asyncio.run(ask())


def test_the_server_keeps_to_every_schema(small_model: RealServer) -> None:
    """Told to write no JSON, the model writes each reply that raggate knows, its lists as far as there is room."""
    judges = settings(small_model.url)
    replies, _ = sent(judges, *(request(judges, reply) for reply in FORMATS))
    for expected, reply in zip(FORMATS, replies, strict=True):
        assert isinstance(reply, Reply), reply
        if reply.cut_off:
            # lists of texts have room for more than is asked for; reasons and grades alone have not
            assert expected in {GroundednessReply, CorrectnessReply, ClaimsReply}
            assert re.match(r'\s*\{\s*"(reasoning|claims)"\s*:', reply.text)
        else:
            parse(reply.text, expected)


def test_without_its_schema_the_model_writes_words(small_model: RealServer) -> None:
    """It is the schema that makes the reply JSON: the same request without one is answered by something else."""
    judges = settings(small_model.url, json_schema=False)
    (reply,), _ = sent(judges, request(judges, AbstentionReply))
    assert isinstance(reply, Reply)
    with pytest.raises(ValueError, match="expected one JSON object"):
        parse(reply.text, AbstentionReply)


def test_tokens_are_those_that_the_server_counts(small_model: RealServer) -> None:
    """A reply is said to have read what the model's own tokenizer makes of the chat, and the budget has both counts."""
    judges = settings(small_model.url)
    asked = request(judges, ClaimReply)
    written = small_model.metric("tokens_predicted_total")
    (reply,), spending = sent(judges, asked)
    assert isinstance(reply, Reply)
    assert reply.input_tokens == len(small_model.chat(asked.prompt.messages))
    assert reply.output_tokens == small_model.metric("tokens_predicted_total") - written > 0
    assert spending.tokens == reply.input_tokens + reply.output_tokens < upper_bound(asked).tokens


def test_a_slow_answer_is_cut_off_and_the_server_let_go(
    small_model: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its deadline a call is given up and counts as the most it can take; the server stops and is free."""
    monkeypatch.setattr(client, "CALL_SECONDS", 0.3)
    judges = settings(small_model.url, json_schema=False)
    long = request(judges, AbstentionReply, COUNT)
    (reply,), spending = sent(judges, long)
    assert isinstance(reply, NotJudged)
    assert (reply.reason, reply.detail) == ("timeout", "no reply within 0.3 s")
    assert (spending.calls, spending.untold, spending.tokens) == (1, 1, upper_bound(long).tokens)
    end = time.monotonic() + 60
    while small_model.metric("requests_processing") and time.monotonic() < end:
        time.sleep(0.02)
    # a model that went on would write for a minute
    assert small_model.metric("requests_processing") == 0


def test_a_server_with_other_weights_has_not_judged(weights: Path, small_model: RealServer, tmp_path: Path) -> None:
    """A reply by the name that was asked for counts; one by another does not, unless `answers_as` says so."""
    file = tmp_path / "cassette.jsonl"
    judges = settings(small_model.url)
    mine = opinion(judges, request(judges, AbstentionReply), AbstentionReply, file)
    assert isinstance(mine.says, AbstentionReply)
    (line,) = cassette.read(file.read_bytes(), str(file)).values()
    assert line.reply.model == NAME
    with serving(weights, "/models/other.gguf") as other:
        judges = settings(other.url)
        theirs = opinion(judges, request(judges, AbstentionReply), AbstentionReply, tmp_path / "none.jsonl")
        known = settings(other.url, answers_as="other.gguf")
        named = opinion(known, request(known, AbstentionReply), AbstentionReply, tmp_path / "named.jsonl")
    assert isinstance(theirs.says, NotJudged)
    assert theirs.says.reason == "other_model"
    assert "'other.gguf' answered" in theirs.says.detail
    assert not (tmp_path / "none.jsonl").exists()
    assert isinstance(named.says, AbstentionReply)
