"""What raggate's judges rest on, with llama.cpp's own server: schemas, counts, names, time, budget, cassette."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import time
from pathlib import Path
from typing import Any, get_args

import pytest

from judges.real_server import BUILD, NAME, RealServer, serving
from project import Project, make_project
from raggate.config.judge_settings import JudgedScore, Judges
from raggate.judges import cassette, client, session
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
from raggate.models.judging import JudgeRequest, Message, NotJudged, Parameters, Prompt, Reply, Spending
from stored_rows import plain_rows

pytestmark = [pytest.mark.judges, pytest.mark.timeout(600)]

FORMATS = tuple(
    reply for family in (*families(get_args(JudgedScore), each_claim=False), EACH) for reply in family.rubrics.values()
)
ENOUGH = 500
"""Tokens for reasons and grades, also where each is a letter."""

WATER = "Is water wet? Answer in plain words, not in JSON."
COUNT = "Count from 1 to 2000: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,"


def settings(url: str, **more: Any) -> Judges:
    """Build a section `judges` with the small model."""
    known = {"model": NAME, "build": BUILD, "base_url": url}
    model = known | {key: more.pop(key) for key in ("json_schema", "answers_as") if key in more}
    return Judges.model_validate({"models": [model], "concurrency": 1, **more})


def request(judges: Judges, reply: type[ReplyFormat], text: str = WATER, **parameters: int) -> JudgeRequest:
    """Build a request that says this, with the schema of a reply; `parameters` are `seed` and `max_tokens`."""
    (model,) = session.judge_models(judges)
    schema = bounded(schema_of(reply), passages=3)
    prompt = Prompt(name="grade", template="t", messages=(Message(role="user", text=text),), schema=schema)
    return JudgeRequest(model=model, prompt=prompt, parameters=Parameters(**{"max_tokens": ENOUGH, **parameters}))


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
    (reply,), _ = sent(judges, request(judges, AbstentionReply, max_tokens=40))
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


def test_the_budget_counts_what_the_server_does(small_model: RealServer) -> None:
    """With room for the most that a call can take and little more, a second one follows the first, which took less."""
    judges = settings(small_model.url)
    asked = [request(judges, ClaimReply, seed=seed) for seed in (1, 2, 3)]
    (first,), one = sent(judges, asked[0])
    assert isinstance(first, Reply)
    room = {"tokens": upper_bound(asked[1]).tokens + one.tokens}
    replies, spending = sent(settings(small_model.url, max_calls=room), *asked)
    assert [getattr(reply, "reason", "") for reply in replies] == ["", "", "budget"]
    assert (spending.calls, spending.refused, spending.untold) == (2, 1, 0)


def test_a_slow_answer_is_cut_off_and_the_server_let_go(small_model: RealServer) -> None:
    """At its deadline a call is given up and counts as the most it can take; the server stops and is free."""
    judges = settings(small_model.url, json_schema=False)
    long = request(judges, AbstentionReply, COUNT, max_tokens=6000)
    (reply,), spending = sent(judges, long)
    assert isinstance(reply, NotJudged)
    assert (reply.reason, reply.detail) == ("timeout", "no reply within 0.3 s")
    assert (spending.calls, spending.untold, spending.tokens) == (1, 1, upper_bound(long).tokens)
    end = time.monotonic() + 60
    while small_model.metric("requests_processing") and time.monotonic() < end:
        time.sleep(0.02)
    # a model that went on would write for a minute
    assert small_model.metric("requests_processing") == 0


def test_the_time_of_a_run_ends_a_call_and_all_that_wait(
    small_model: RealServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the time of the whole run is over, the call under way is given up, and what waits is not asked."""
    monkeypatch.setattr(client, "SECONDS", 0.3)
    judges = settings(small_model.url, json_schema=False)
    long = (request(judges, AbstentionReply, COUNT, max_tokens=6000, seed=seed) for seed in (1, 2))
    replies, spending = sent(judges, *long)
    assert [getattr(reply, "reason", "") for reply in replies] == ["timeout", "deadline"]
    assert spending.calls == 1


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


SECTION = """
judges:
  models: [{{model: {name}, build: "{build}", base_url: "{url}"}}]
  scores: [abstention]
  concurrency: 1
  max_tokens: 300
"""
ANSWERS = 6


def judged_by(project: Project, server: RealServer, more: str = "") -> None:
    """Put a section with this server into the configuration."""
    text = project.config.read_text().partition("\njudges:")[0]
    project.config.write_text(text + SECTION.format(name=NAME, build=BUILD, url=server.url) + more)


def judging(project: Project) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the judgements of the newest run, and what they took."""
    rows = plain_rows(project.last_run()).read_text().splitlines()
    judgements = [judgement for row in rows for judgement in json.loads(row).get("judgements", [])]
    return judgements, json.loads((project.last_run() / "config.json").read_text())["judging"]["spending"]


def recorded(project: Project) -> int:
    """Return how many replies the cassette holds."""
    file = project.root / "golden" / "judge_cassette.jsonl"
    return len(cassette.read(file.read_bytes(), file.name)) if file.exists() else 0


def test_nothing_is_asked_twice_and_a_replay_asks_nothing(small_model: RealServer, tmp_path: Path) -> None:
    """A run that its budget ends, one that is killed and one to the end ask for each answer once; a replay for none."""
    project = make_project(tmp_path)
    project.edit("ask: {timeout: 20, concurrency: 4}", "ask: {retrieval_only: false, repeat_sample: 0}")
    project.write_cases(project.cases()[:ANSWERS])
    judged_by(project, small_model, "  max_calls: 2\n")
    assert project.raggate("run", seconds=300).code == 0
    judgements, spending = judging(project)
    assert sorted(str(item["reason"]) for item in judgements) == ["None"] * 2 + ["budget"] * 4
    assert (spending["calls"], spending["refused"], recorded(project)) == (2, 4, 2)
    judged_by(project, small_model)
    process = project.start("run")
    while recorded(project) < 3:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=20)
    left = ANSWERS - recorded(project)
    assert 0 < left <= 3
    assert project.raggate("run", seconds=300).code == 0
    judgements, spending = judging(project)
    assert [item["reason"] for item in judgements] == [None] * ANSWERS
    assert (spending["calls"], recorded(project)) == (left, ANSWERS)
    read, wrote = (small_model.metric(f"{name}_total") for name in ("prompt_tokens", "tokens_predicted"))
    judged_by(project, small_model, "  mode: replay\n")
    assert project.raggate("run").code == 0
    again, spending = judging(project)
    assert again == judgements
    assert spending["calls"] == 0
    assert [small_model.metric(f"{name}_total") for name in ("prompt_tokens", "tokens_predicted")] == [read, wrote]
