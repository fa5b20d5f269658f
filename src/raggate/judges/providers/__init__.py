"""How to speak to one kind of judge. A provider is a module with `call` and `read`; add one line to the dict.

Its name stands in `config/judge_settings.py` too. A provider does no I/O: a request becomes an HTTP call, and the body
of an answer of status 200 becomes a reply, or the reason why there is none. What a server of that kind answers is
foreign text.
"""

from __future__ import annotations

from typing import Protocol

from raggate.judges.providers import anthropic, openai_chat
from raggate.judges.providers.http_call import HttpCall
from raggate.models.judging import JudgeRequest, NotJudged, Reply

PROVIDERS: dict[str, Provider] = {
    "": openai_chat,
    "openai": openai_chat,
    "anthropic": anthropic,
    "github": openai_chat,
}
"""By the name in `JudgeModelSettings.provider`. A server of one's own speaks as OpenAI's does."""


class Provider(Protocol):
    """Turns a request into an HTTP call and a body into a reply."""

    def call(self, request: JudgeRequest, api_key: str) -> HttpCall:
        """Return the HTTP call that makes the request; the key is empty where the server needs none."""

    def read(self, body: bytes) -> Reply | NotJudged:
        """Read the body of an answer of status 200, which may hold anything."""
