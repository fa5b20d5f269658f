"""SmolLM2-135M-Instruct as a judge: settings, and replies that are kept, so that a measurement can be gone on with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from judges.real_server import BUILD, NAME
from raggate.config.judge_settings import JudgeModelSettings, Judges
from raggate.judges import cassette
from raggate.judges.budget import Budget
from raggate.judges.cassette import Cassette
from raggate.judges.client import Client
from raggate.models.judging import JudgeRequest, NotJudged, Reply

KEPT = Path(__file__).parents[1] / ".raggate" / "judge_benchmarks.jsonl"

Send = Callable[[JudgeRequest], Awaitable[Reply | NotJudged]]


def settings(url: str, *, schema: bool = True) -> Judges:
    """Return the settings of the one judge, made to keep to the schema of a reply or not."""
    model = {"model": NAME, "build": BUILD, "base_url": url, "json_schema": schema}
    return Judges.model_validate({"models": [model], "concurrency": 1})


@asynccontextmanager
async def asking(judges: Judges) -> AsyncIterator[tuple[JudgeModelSettings, Cassette, Send]]:
    """Return the model, the replies that are kept, and what sends a request whose reply is not."""
    KEPT.parent.mkdir(exist_ok=True)
    kept = Cassette(cassette.read(KEPT.read_bytes(), str(KEPT)) if KEPT.exists() else {}, KEPT)
    (model,) = judges.models
    async with Client(judges, Budget(calls=judges.max_calls), lambda _: "") as client:
        yield model, kept, client.send
