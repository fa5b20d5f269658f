"""A small search API in a thread that is shaped differently: POST /v2/{collection}/search, GET /live and GET /stats."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from fakes.served import Handler, Served


@dataclass(frozen=True)
class Heard:
    """One request as it came in: method, path, query (one value each), headers in lower case, and JSON body."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


Script = Callable[[str], "tuple[int, bytes]"]
"""Maps a question to status and body; called from many threads."""


@dataclass
class OtherApi(Served):
    """A context manager around the server.

    Attributes:
        notes: what it searches: file, headings and text of each section. A section is found when it shares a word with
            the question, and is better the more it shares.
        script: answers searches in place of the notes.
        pages: status and body of GET paths, in place of its own.
        heard: the requests so far.
    """

    notes: list[tuple[str, list[str], str]] = field(default_factory=list)
    script: Script | None = None
    pages: dict[str, tuple[int, Any]] = field(default_factory=dict)
    heard: list[Heard] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.handler = _Handler
        self.listen()

    def answer(self, heard: Heard) -> tuple[int, bytes]:
        """Return status and body of a request."""
        self.heard.append(heard)
        if heard.method == "GET":
            own = {"/live": (200, {"state": "up"}), "/stats": (200, {"index": {"files": 2, "busy": "no"}})}
            status, page = {**own, **self.pages}.get(heard.path, (404, {"error": "no such page"}))
            return status, json.dumps(page).encode()
        if self.script is not None:
            return self.script(heard.body["q"])
        return 200, json.dumps(self.search(heard.body["q"], heard.body["top"])).encode()

    def search(self, question: str, top: int) -> dict[str, Any]:
        words = {word.strip("?.,").lower() for word in question.split()}
        found = [(len(words & set(text.lower().split())), number) for number, (_, _, text) in enumerate(self.notes)]
        best = sorted(((-score, number) for score, number in found if score), key=lambda pair: pair)[:top]
        hits = [
            {
                "_id": 1000 + number,
                "meta": {"file": f"/data/{self.notes[number][0]}", "section": self.notes[number][1]},
                "body": self.notes[number][2],
                "score": -score,
            }
            for score, number in best
        ]
        reply = {"text": hits[0]["body"], "outcome": "ok"} if hits else {"text": None, "outcome": "nothing_found"}
        cited = [{"source": hit["meta"]["file"]} for hit in hits[:1]]
        return {"data": {"hits": hits, "reply": {**reply, "cites": cited}}, "took": 1500, "extra": [1, {"a": None}]}


class _Handler(Handler):
    def get(self) -> None:
        self._reply(None)

    def post(self) -> None:
        self._reply(self.body())

    def _reply(self, body: Any) -> None:
        path = unquote(urlsplit(self.path).path)
        self.reply(*self.fake.answer(Heard(self.command, path, self.query(), self.lower_headers(), body)))
