"""A program that answers in lines of JSON -> what raggate.yml says of it, found out by one question."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from raggate.base import dates, redact
from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.base.numbers import setting
from raggate.base.quote import cut, enumerated
from raggate.config.service_settings import Api
from raggate.models.service import Started, Workspace
from raggate.pipeline.tool_discovery import SECONDS, Wanted, chunks_of, shape_of
from raggate.service.adapters import program
from raggate.service.adapters.program import state_in
from raggate.service.misses import Missed
from raggate.service.program_pipes import ProgramPipes, hits_of

_POLL = 0.05
_K = 10


def discover_program(wanted: Wanted, how: Mapping[str, Any], workspace: Workspace) -> dict[str, Any]:
    """Start a program, ask it one question, and return the sections `api` and `ask` for it.

    `how` is `command` or `container`, as the section `api` has it.
    """
    late = CannotTell(f"the program did not answer within {setting(SECONDS)} s", hint="Is it slow to start?")
    api = {**how, "stdio": True}
    with program.start(Api.model_validate(api), workspace) as started, dates.within(SECONDS, late):
        try:
            answer = _answer(started, wanted)
        except CannotTell as error:
            error.log = started.log_tail()
            raise
    wanted = replace(wanted, fields={**_as_on_the_page(answer), **wanted.fields})
    shape = shape_of(answer, wanted)
    if shape is None:
        keys = enumerated([*answer][:20]) or "nothing"
        raise UsageError(
            f"the program's answer has no list of hits that raggate can read. It has {keys}",
            hint="Ask something that it can answer with `--question`. docs/functions.md shows an answer.",
        )
    chunks = chunks_of(shape, answer, wanted)
    several = len(workspace.vaults) > 1
    body = {"question": "{question}", "k": "{k}", **({"vaults": "{vaults}"} if several else {})}
    ask = {"adapter": "mapped", "concurrency": 1, "body": body, "response": {"chunks": chunks}}
    return {"api": api, "ask": ask}


def _as_on_the_page(answer: dict[str, Any]) -> dict[str, str]:
    """Return the parts that hits have under the names of docs/functions.md, path and text only if all hits do."""
    hits = answer.get("hits")
    if not isinstance(hits, list) or not hits or not all(isinstance(hit, dict) for hit in hits):
        return {}
    if not all(isinstance(hit.get(name), str) for hit in hits for name in ("path", "text")):
        return {}
    others = {name: name for name in ("heading_path", "score", "vault") if any(hit.get(name) for hit in hits)}
    return {"list": "hits", "rel_path": "path", "text": "text", **others}


def _answer(started: Started, wanted: Wanted) -> dict[str, Any]:
    pipes: ProgramPipes = getattr(started, "pipes")  # noqa: B009 - not of every started API
    _wait_until_ready(started, pipes)
    try:
        return hits_of(pipes.ask({"question": wanted.question, "k": _K}).result(SECONDS))
    except TimeoutError:
        reason = f"no answer within {setting(SECONDS)} s{pipes.wrote()}"
    except (Missed, httpx.HTTPError) as error:
        reason = cut(error)
    # the process itself reports its end
    time.sleep(_POLL)
    _check_alive(started)
    raise CannotTell(redact.redact_cut(f"raggate cannot ask the program: {reason}", wanted.secrets))


def _wait_until_ready(started: Started, pipes: ProgramPipes) -> None:
    end = time.monotonic() + SECONDS - 1
    while not state_in(state := pipes.state()).healthy or state.get("ready") is not True:
        _check_alive(started)
        if time.monotonic() > end:
            raise CannotTell(
                cut(state.get("detail", "the program is not ready")), hint="docs/functions.md has the protocol."
            )
        time.sleep(_POLL)


def _check_alive(started: Started) -> None:
    ended = started.died()
    if ended is not None:
        raise CannotTell(f"the program {cut(ended.message)}", hint="Read its last output.")
