"""The judges of a configuration, asked: who judges, with which key, and what it took."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakes.judge_server import Answer, FakeJudge
from judging import Grade, make_request
from raggate.config.judge_settings import Judges
from raggate.judges import cassette, session
from raggate.judges.ask import Asker
from raggate.judges.cassette import Cassette
from raggate.judges.session import Bench, Work, judge_models
from raggate.models.judging import Judgement, JudgeModel, NotJudged, Spending, TokenPrice

Graded = tuple[tuple[Judgement, ...], Spending]
UNSET: dict[str, str] = {}


def settings_for(url: str, **keys: Any) -> Judges:
    """Read a section with one judge at an address."""
    return Judges.model_validate({"models": [{"model": "small", "base_url": url, "build": "b1"}], **keys})


def grade(model: JudgeModel, on_reply: Callable[[], None] = lambda: None) -> Work[tuple[Judgement, ...]]:
    """Have each of three texts graded."""

    async def one(name: str, ask: Asker) -> Judgement:
        opinion = await ask(make_request(name, judge=model, about={"question": name}), Grade)
        on_reply()
        if isinstance(opinion.says, NotJudged):
            return Judgement(score="grade", value=None, reason=opinion.says.reason, detail=opinion.says.detail)
        return Judgement(score="grade", value=opinion.says.score, usage=opinion.usage)

    async def work(bench: Bench) -> tuple[Judgement, ...]:
        return tuple(await asyncio.gather(*(one(name, bench.first) for name in ("q1", "q2", "q3"))))

    return work


def judge(settings: Judges, path: Path, environment: dict[str, str] = UNSET) -> Graded:
    """Have the texts graded by the first judge, and put the cassette in order."""
    known = cassette.read(path.read_bytes(), path.name) if path.exists() else {}
    tape = Cassette(known, path, fresh=settings.mode == "refresh")
    graded = session.run(grade(judge_models(settings)[0]), settings, environment, tape)
    tape.put_in_order()
    return graded


def values(graded: Graded) -> list[float | None]:
    """Return the values."""
    return [judgement.value for judgement in graded[0]]


def test_answers_are_judged_in_their_order_and_replayed_without_a_call(tmp_path: Path) -> None:
    """A second run, and one that may not call, gives the same judgements byte for byte without any call."""
    path = tmp_path / "c.jsonl"
    with FakeJudge(lambda request: Answer(text={"score": int(request.text[-1])})) as server:
        first = judge(settings_for(server.url), path)
        assert server.calls == 3
        content = path.read_bytes()
        second = judge(settings_for(server.url), path)
        assert server.calls == 3
    third = judge(settings_for(server.url, mode="replay"), path)
    assert values(first) == [1, 2, 3]
    assert first[0] == second[0] == third[0]
    assert (first[1].calls, second[1], third[1]) == (3, Spending(), Spending())
    assert path.read_bytes() == content


def test_refreshing_asks_all_again(tmp_path: Path) -> None:
    """In the mode `refresh` every reply is asked for again, and replaced."""
    path = tmp_path / "c.jsonl"
    with FakeJudge(lambda _: Answer(text={"score": 1})) as server:
        judge(settings_for(server.url), path)
        server.script = lambda _: Answer(text={"score": 2})
        again = judge(settings_for(server.url, mode="refresh"), path)
        assert server.calls == 6
    assert values(again) == [2, 2, 2]
    assert len(path.read_bytes().splitlines()) == 3


def test_what_is_asked_anew_is_asked_once_in_a_run(tmp_path: Path) -> None:
    """The second way to ask calls for what the cassette holds from before, and only once in a run."""
    path = tmp_path / "c.jsonl"

    async def work(bench: Bench) -> tuple[bool, bool]:
        before = bench.called()
        for _ in range(2):
            await bench.fresh(make_request("q1", judge=model), Grade)
        await bench.first(make_request("q1", judge=model), Grade)
        return before, bench.called()

    with FakeJudge() as server:
        settings = settings_for(server.url)
        (model,) = judge_models(settings)
        judge(settings, path)
        tape = Cassette(cassette.read(path.read_bytes(), "c.jsonl"), path)
        called, spending = session.run(work, settings, {}, tape)
        assert server.calls == 4
    assert called == (False, True)
    assert spending.calls == 1


def test_replay_makes_no_call_for_what_is_missing(tmp_path: Path) -> None:
    """In the mode `replay` a server that would answer is not asked, and what is missing is not judged."""
    with FakeJudge() as server:
        judged = judge(settings_for(server.url, mode="replay"), tmp_path / "c.jsonl")
        assert server.calls == 0
    assert [judgement.reason for judgement in judged[0]] == ["replay_miss"] * 3


def test_an_error_is_never_a_score(tmp_path: Path) -> None:
    """Where the server fails, there is no value at all, and a reason for each answer."""
    with FakeJudge(lambda _: Answer(status=400, text="score: 5")) as server:
        judged = judge(settings_for(server.url), tmp_path / "c.jsonl")
    assert values(judged) == [None] * 3
    assert {judgement.reason for judgement in judged[0]} == {"status"}


@pytest.mark.parametrize("key", ["", "  ", "two words", "schlüssel", "line\nbreak"])
def test_without_a_key_nobody_is_asked(tmp_path: Path, key: str) -> None:
    """A judge that needs a key and has none, or one that no header can hold, is not asked."""
    with FakeJudge() as server:
        settings = Judges.model_validate(
            {"models": [{"model": "openai:gpt-4o-2024-08-06", "base_url": server.url}], "retries": 0}
        )
        judged = judge(settings, tmp_path / "c.jsonl", {"OPENAI_API_KEY": key})
        assert server.calls == 0
    assert {judgement.reason for judgement in judged[0]} == {"no_key"}


def test_a_key_comes_from_the_variable_that_is_named(tmp_path: Path) -> None:
    """The key of a judge is read from its own variable, and no other."""
    with FakeJudge() as server:
        model = {"model": "small", "base_url": server.url, "build": "b1", "api_key_env": "MY_KEY"}
        judge(
            Judges.model_validate({"models": [model]}), tmp_path / "c.jsonl", {"MY_KEY": "k1", "OPENAI_API_KEY": "k2"}
        )
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer k1"}


def test_a_run_that_is_ended_leaves_what_it_has(tmp_path: Path) -> None:
    """A run that somebody ends stops at once, drops what is under way, and keeps the replies it has."""
    path = tmp_path / "c.jsonl"
    with FakeJudge(lambda request: Answer(text={"score": 1}, delay=0 if request.text == "q1" else 30)) as server:
        settings = settings_for(server.url)
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            session.run(
                grade(judge_models(settings)[0]),
                settings,
                {},
                Cassette({}, path),
                ended=lambda: path.exists() and server.calls == 3,
            )
    assert time.monotonic() - begin < 10
    assert len(cassette.read(path.read_bytes(), "c.jsonl")) == 1


def test_a_mistake_of_raggates_own_is_not_hidden(tmp_path: Path) -> None:
    """What is raised beside what servers do is raised, and not taken for something that was not judged."""

    async def broken(_: Bench) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        session.run(broken, settings_for("http://127.0.0.1:1"), {}, Cassette({}, tmp_path / "c.jsonl"))


def test_judges_have_their_providers_defaults() -> None:
    """Addresses and variables of keys are the providers' own where the section names none."""
    settings = Judges.model_validate(
        {
            "models": [
                {"model": "openai:gpt-4o-2024-08-06", "price": {"input": 2.5, "output": 10}},
                {"model": "anthropic:claude-3-5-sonnet-20241022"},
                {"model": "github:openai/gpt-4o-2024-11-20"},
                {"model": "qwen2.5:14b", "build": "sha256:9f2c", "base_url": "http://127.0.0.1:8081"},
            ]
        }
    )
    own = {"base_url": "http://127.0.0.1:8081", "key_variable": ""}
    assert judge_models(settings) == (
        JudgeModel(
            name="openai:gpt-4o-2024-08-06",
            provider="openai",
            model="gpt-4o-2024-08-06",
            build="",
            endpoint="openai",
            base_url="https://api.openai.com/v1",
            key_variable="OPENAI_API_KEY",
            price=TokenPrice(input=2.5, output=10),
        ),
        JudgeModel(
            name="anthropic:claude-3-5-sonnet-20241022",
            provider="anthropic",
            model="claude-3-5-sonnet-20241022",
            build="",
            endpoint="anthropic",
            base_url="https://api.anthropic.com/v1",
            key_variable="ANTHROPIC_API_KEY",
        ),
        JudgeModel(
            name="github:openai/gpt-4o-2024-11-20",
            provider="github",
            model="openai/gpt-4o-2024-11-20",
            build="",
            endpoint="github",
            base_url="https://models.github.ai/inference",
            key_variable="GITHUB_TOKEN",
        ),
        JudgeModel(
            name="qwen2.5:14b", provider="openai", model="qwen2.5:14b", build="sha256:9f2c", endpoint="local", **own
        ),
    )


def test_replay_needs_no_library_for_calls() -> None:
    """What replays a cassette does not even load what would make calls."""
    script = "import sys, raggate.judges.session; print('httpx' in sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded == "False\n"
