"""What can go wrong between a client and GitHub: faults for requests to come, and hooks before them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from fakes.github.calls import DOCUMENTATION, Request, Response

Match = str | Callable[[Request], bool]
"""An operation id such as `issues/create-comment`, `graphql` or `storage`; `METHOD path` with wildcards; or `*`."""


@dataclass(frozen=True)
class Fault:
    """What happens to one request.

    Attributes:
        answer: sent instead of the true answer; None means the true one.
        commit: the request is carried out before the fault shows.
        drop: whether the connection closes without an answer.
    """

    answer: Response | None = None
    commit: bool = False
    drop: bool = False


DROP = Fault(drop=True)
COMMIT_THEN_DROP = Fault(drop=True, commit=True)


def status(code: int, body: Any = None, headers: Mapping[str, str] | None = None) -> Fault:
    """Answer with a status and do nothing; without a body, an HTML page such as proxies send."""
    return Fault(answer=_answer(code, body, headers))


def commit_then_status(code: int, body: Any = None, headers: Mapping[str, str] | None = None) -> Fault:
    """Carry the request out, then answer with a status."""
    return Fault(answer=_answer(code, body, headers), commit=True)


def primary_limit(reset: int) -> Fault:
    """Refuse because the requests of this hour are used up; `reset` in seconds since 1970."""
    headers = {"x-ratelimit-limit": "1000", "x-ratelimit-remaining": "0", "x-ratelimit-reset": str(reset)}
    message = "API rate limit exceeded for installation ID 1."
    return status(403, {"message": message, "documentation_url": DOCUMENTATION}, headers)


def _answer(code: int, body: Any, headers: Mapping[str, str] | None) -> Response:
    if body is None:
        page = b"<html><body><h1>Server Error</h1></body></html>"
        return Response(code, page, dict(headers or {}), content_type="text/html; charset=utf-8")
    return Response(code, body, dict(headers or {}))


def matches(match: Match, request: Request) -> bool:
    if callable(match):
        return match(request)
    return match in {"*", request.operation} or fnmatchcase(f"{request.method} {request.path}", match)


@dataclass
class Script:
    """What was announced for requests to come: faults, used once each, and hooks."""

    faults: list[tuple[Match, Fault]] = field(default_factory=list)
    hooks: list[tuple[Match, Callable[[Request], object]]] = field(default_factory=list)

    def take_fault(self, request: Request) -> Fault | None:
        return self._take(self.faults, request)

    def take_hook(self, request: Request) -> Callable[[Request], object] | None:
        return self._take(self.hooks, request)

    @staticmethod
    def _take(announced: list[tuple[Match, Any]], request: Request) -> Any:
        for index, (match, what) in enumerate(announced):
            if matches(match, request):
                del announced[index]
                return what
        return None
