"""The nouns of one call: what came in, what goes out, and the refusal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from msgspec import Struct, field

if TYPE_CHECKING:
    from fakes.github.contract import Contract
    from fakes.github.nouns import Token
    from fakes.github.world import Repository, World

DOCUMENTATION = "https://docs.github.com/rest"


class Request(Struct):
    """One request as it came in.

    Attributes:
        method: in capitals.
        path: without the query, below the base path of the API.
        query: one value each.
        headers: names in lower case; Authorization is kept.
        body: parsed JSON, or None.
        raw: the bytes of the body.
        time: seconds of the monotonic clock.
        operation: the id of the operation in GitHub's description, `graphql`, `storage`, or empty.
        status: what was answered; None when the connection was closed without an answer.
    """

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    raw: bytes
    pairs: list[tuple[str, str]] = field(default_factory=list)
    time: float = field(default_factory=time.monotonic)
    operation: str = ""
    status: int | None = None


class Response(Struct):
    """One answer; a body that is no bytes is sent as JSON."""

    status: int
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json; charset=utf-8"


class Refusal(Exception):
    """GitHub says no, with a status, a message and sometimes a list of errors."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: list[dict[str, str]] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        body: dict[str, Any] = {"message": message, "documentation_url": DOCUMENTATION, "status": str(status)}
        if errors:
            body["errors"] = errors
        self.response = Response(status, body, dict(headers or {}))


def invalid(resource: str, field_name: str, message: str, *, code: str = "custom") -> Refusal:
    error = {"resource": resource, "field": field_name, "code": code, "message": message}
    return Refusal(422, "Validation Failed", errors=[error])


class Call(Struct):
    """A request on its way through one operation."""

    world: World
    contract: Contract
    request: Request
    parameters: Mapping[str, str]
    token: Token | None
    api_url: str
    server_url: str
    storage_url: str
    found: Repository | None = None

    @property
    def repository(self) -> Repository:
        if self.found is None:
            raise Refusal(404, "Not Found")
        return self.found

    @property
    def body(self) -> Any:
        """Return the parsed body; nothing was sent means no fields."""
        return self.request.body if self.request.body is not None else {}

    @property
    def login(self) -> str:
        return self.token.login if self.token else "ghost"

    def number(self, name: str) -> int:
        """Return a number of the path; one that is none does not exist."""
        text = self.parameters[name]
        return int(text) if text.isdecimal() else -1

    def filled(self, schema: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Complete an object so that it has everything GitHub promises."""
        return self.contract.fill(schema, values)

    def page(self, items: list[Any]) -> tuple[list[Any], dict[str, str]]:
        """Cut out the page that was asked for, 30 items unless the query says otherwise, with its Link header."""
        size = min(max(int(self.request.query.get("per_page", "30")), 1), 100)
        number = max(int(self.request.query.get("page", "1")), 1)
        last = max(1, -(-len(items) // size))
        links = {}
        if number > 1:
            links |= {"prev": min(number - 1, last), "first": 1}
        if number < last:
            links |= {"next": number + 1, "last": last}
        text = ", ".join(f'<{self._page_url(page)}>; rel="{name}"' for name, page in links.items())
        return items[(number - 1) * size : number * size], {"Link": text} if text else {}

    def _page_url(self, page: int) -> str:
        return f"{self.api_url}{self.request.path}?{urlencode({**self.request.query, 'page': page})}"
