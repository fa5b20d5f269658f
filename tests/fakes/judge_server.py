"""A scriptable server of judges in a thread, which speaks as OpenAI's and as Anthropic's does, faults included."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fakes.served import Handler, Served


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a request gets.

    Attributes:
        text: of the reply; a mapping is sent as JSON.
        status: HTTP status; what is not 200 has the text as its body.
        headers: further headers.
        delay: seconds before the answer.
        model: who is said to have answered; empty for the model that was asked for.
        usage: tokens read and written; None for an answer that does not tell.
        finish: why the reply ended, in the words of OpenAI.
        raw: sent as the body in place of all that.
        drop: closes the connection in the middle of the body.
    """

    text: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    model: str = ""
    usage: tuple[int, int] | None = (100, 10)
    finish: str = "stop"
    raw: bytes | None = None
    drop: bool = False


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it came in: path, headers in lower case, JSON body; and the text of its last message."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """The last message."""
        return str(self.body["messages"][-1]["content"])


Script = Callable[[Request], Answer]


class FakeJudge(Served):
    """A context manager around the server.

    Args:
        script: what each request gets; called from many threads.
    """

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or (lambda _: Answer(text={"score": 4}))
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.peak = 0
        self._now = 0
        self._lock = threading.Lock()
        self.handler = _Handler
        self.listen()
        self.url = self.base_url

    @property
    def calls(self) -> int:
        """How many requests came in."""
        return len(self.requests)

    def answer(self, request: Request) -> Answer:
        """Take a request down and let the script answer it."""
        with self._lock:
            self.requests.append(request)
            self.times.append(time.monotonic())
            self._now += 1
            self.peak = max(self.peak, self._now)
        try:
            answer = self.script(request)
            time.sleep(answer.delay)
            return answer
        finally:
            with self._lock:
                self._now -= 1


class _Handler(Handler):
    # head and body in one packet: the second of two would wait 40 ms for an acknowledgement
    wbufsize = -1

    def post(self) -> None:
        """Answer a request."""
        body = self.body()
        answer = self.fake.answer(Request(path=self.path, headers=self.lower_headers(), body=body))
        data = answer.raw if answer.raw is not None else _body(answer, self.path, body["model"])
        try:
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2] if answer.drop else data)
            self.close_connection = self.close_connection or answer.drop
        except OSError:
            # whoever asked has gone away
            self.close_connection = True


def _body(answer: Answer, path: str, asked: str) -> bytes:
    text = answer.text if isinstance(answer.text, str) else json.dumps(answer.text)
    if answer.status != 200:
        return text.encode()
    model = answer.model or asked
    if path.endswith("/messages"):
        content = (
            {"type": "text", "text": text}
            if isinstance(answer.text, str)
            else {"type": "tool_use", "id": "t1", "name": "grade", "input": answer.text}
        )
        body: dict[str, Any] = {"model": model, "content": [content], "stop_reason": "end_turn"}
        names = ("input_tokens", "output_tokens")
    else:
        choice = {"index": 0, "finish_reason": answer.finish, "message": {"role": "assistant", "content": text}}
        body = {"object": "chat.completion", "model": model, "choices": [choice]}
        names = ("prompt_tokens", "completion_tokens")
    if answer.usage is not None:
        body["usage"] = dict(zip(names, answer.usage, strict=True))
    return json.dumps(body).encode()
