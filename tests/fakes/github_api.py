"""A GitHub in this process, held to GitHub's own API description: real requests in, described answers out.

What it knows is set up through `add_repository` and the repository it gives; faults and hooks make it misbehave:

    with FakeGitHub() as github:
        repository = github.add_repository("octo/notes", files={"raggate.yml": "..."})
        token = github.token({"contents": "read", "pull-requests": "write"})
        repository.add_pull(7, head_sha=repository.head)
        github.fail_next("issues/create-comment", COMMIT_THEN_DROP)
        ...
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from fakes.github import contract, conversation, git_operations, graphql, issues, runs
from fakes.github.calls import Call, Refusal, Request, Response
from fakes.github.contract import Contract, Route
from fakes.github.faults import COMMIT_THEN_DROP, DROP, Fault, Match, Script, commit_then_status, primary_limit, status
from fakes.github.nouns import Artifact, Comment, Pull, Submodule, Symlink, Token
from fakes.github.permissions import authorise
from fakes.github.transport import Listener, encoded
from fakes.github.world import BOT, Repository, World
from raggate.github.rest.client import GitHub

__all__ = [
    "BOT",
    "COMMIT_THEN_DROP",
    "DROP",
    "Artifact",
    "Comment",
    "FakeGitHub",
    "Fault",
    "Pull",
    "Repository",
    "Request",
    "Submodule",
    "Symlink",
    "Violation",
    "commit_then_status",
    "primary_limit",
    "status",
]

OPERATIONS: dict[str, Callable[[Call], Response]] = {
    **git_operations.OPERATIONS,
    **conversation.OPERATIONS,
    **issues.OPERATIONS,
    **runs.OPERATIONS,
}
VERSIONS = {"2022-11-28", "2026-03-10"}
MEDIA_TYPES = ("application/vnd.github", "application/json", "*/*")


@dataclass(frozen=True)
class Violation:
    """Something that does not fit GitHub's description: what a client sent, or what the fake itself answered."""

    operation: str
    side: str
    problem: str


class FakeGitHub:
    """A context manager around the server.

    Args:
        flavour: `api.github.com`, or `ghes-3.17` with its base path `/api/v3`.
        wire: whether it listens, in threads of its own. Otherwise it is there for httpx in this process alone.
        host: where to listen; `0.0.0.0` lets containers reach it.
        advertised: the host name in addresses the fake gives, if it is not `host`.

    Attributes:
        add_repository, token: see `World`.
        requests: everything that came in at the API, in order; `storage_requests` is the same for downloads.
        violations: what did not fit; leaving the context fails on them.
    """

    def __init__(
        self,
        flavour: str = "api.github.com",
        *,
        wire: bool = False,
        host: str = "127.0.0.1",
        advertised: str | None = None,
    ) -> None:
        self._contract: Contract = contract.load(flavour)
        self._enterprise = flavour.startswith("ghes")
        self._bases = ("/api/v3", "/api/graphql") if self._enterprise else ("", "/graphql")
        self._host = advertised or ("127.0.0.1" if host == "0.0.0.0" else host)
        self._lock = threading.RLock()
        self._wire = wire
        self._closing = contextlib.ExitStack()
        self._api = Listener(host, self._answer_api)
        self._storage = Listener(host, self._answer_storage)
        self._script = Script()
        self.world = World(self._lock)
        self.world.server_url = self.server_url
        self.add_repository, self.token = self.world.add_repository, self.world.token
        self.requests: list[Request] = []
        self.storage_requests: list[Request] = []
        self.violations: list[Violation] = []

    def __enter__(self) -> Self:
        for listener in (self._api, self._storage):
            self._closing.enter_context(listener.listening() if self._wire else listener.short_cut())
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self._closing.close()
        if error is None:
            self.assert_clean()

    def client(self, token: str) -> GitHub:
        """Return raggate's client of it, which does not wait."""
        return GitHub(
            api_url=self.api_url, graphql_url=self.graphql_url, token=token, sleep=lambda _: None, clock=lambda: 0.0
        )

    @property
    def server_url(self) -> str:
        """Return what GITHUB_SERVER_URL would hold."""
        return f"http://{self._host}:{self._api.port}"

    @property
    def api_url(self) -> str:
        """Return what GITHUB_API_URL would hold."""
        return self.server_url + self._bases[0]

    @property
    def graphql_url(self) -> str:
        """Return what GITHUB_GRAPHQL_URL would hold."""
        return self.server_url + self._bases[1]

    @property
    def storage_url(self) -> str:
        """The address that downloads are redirected to: another port, so another host to any client."""
        return f"http://{self._host}:{self._storage.port}"

    def fail_next(self, match: Match, *faults: Fault) -> None:
        """Let the next requests that match meet these faults, one each, in this order."""
        with self._lock:
            self._script.faults += [(match, fault) for fault in faults]

    def before(self, match: Match, callback: Callable[[Request], object], *, times: int = 1) -> None:
        """Call back before the next matching requests are looked at; the callback may use the API itself."""
        with self._lock:
            self._script.hooks += [(match, callback)] * times

    def calls(self, operation: str) -> list[Request]:
        with self._lock:
            return [request for request in self.requests if request.operation == operation]

    def assert_clean(self) -> None:
        """Check that every request and every answer fitted GitHub's description, and every fault was met."""
        with self._lock:
            problems = [f"{one.side} of {one.operation}: {one.problem}" for one in self.violations]
            problems += [f"nothing met the fault for {match}" for match, _ in self._script.faults]
        if problems:
            raise AssertionError("\n".join(problems))

    def _answer_api(self, request: Request) -> tuple[Response, bool]:
        rest, query = self._bases
        found = None
        if request.path == query and request.method == "POST":
            request.operation = "graphql"
        elif request.path.startswith(f"{rest}/"):
            request.path = request.path.removeprefix(rest)
            found = self._contract.find(request.method, request.path)
            request.operation = found[0].operation if found else ""
        with self._lock:
            self.requests.append(request)
        problems = self._problems(request, found)
        return self._answer(request, lambda: self._carried_out(request, found, problems), problems)

    def _answer_storage(self, request: Request) -> tuple[Response, bool]:
        request.operation = "storage"
        with self._lock:
            self.storage_requests.append(request)
        problems = ["Authorization was sent to the storage"] if "authorization" in request.headers else []
        return self._answer(request, lambda: self._stored(request), problems)

    def _answer(
        self, request: Request, carry_out: Callable[[], Response], problems: list[str]
    ) -> tuple[Response, bool]:
        """Let hooks and faults come first, then carry the request out, and put the usual headers on."""
        with self._lock:
            hook = self._script.take_hook(request)
        if hook:
            hook(request)
        with self._lock:
            fault = self._script.take_fault(request) or Fault(commit=True)
            name = request.operation or f"{request.method} {request.path}"
            self.violations += [Violation(name, "request", problem) for problem in problems]
        response = Response(500)
        if fault.commit:
            with self._lock:
                try:
                    response = carry_out()
                except Exception as error:  # noqa: BLE001  # a bug of the fake must not look like a broken connection
                    response = self._broken(name, error)
        response = fault.answer or response
        usual = {"x-github-request-id": f"F:{id(request):x}"}
        if self._enterprise:
            # it limits no rate unless it is told to
            usual["x-github-enterprise-version"] = "3.17.0"
        else:
            usual |= {"x-ratelimit-limit": "1000", "x-ratelimit-remaining": "999"}
            usual["x-ratelimit-reset"] = str(int(time.time()) + 3600)
        return Response(response.status, response.body, usual | response.headers, response.content_type), fault.drop

    def _broken(self, operation: str, error: Exception) -> Response:
        self.violations.append(Violation(operation, "response", f"the fake broke: {error!r}"))
        return Response(500, {"message": f"the fake broke: {error!r}"})

    def _problems(self, request: Request, found: tuple[Route, dict[str, str]] | None) -> list[str]:
        if request.raw and request.body is None and request.raw != b"null":
            return ["a body that is no JSON"]
        if request.operation == "graphql":
            return []
        if found is None:
            return ["no operation that raggate uses"]
        return self._contract.request_problems(found[0], found[1], query=request.pairs, body=request.raw or None)

    def _carried_out(
        self, request: Request, found: tuple[Route, dict[str, str]] | None, problems: list[str]
    ) -> Response:
        try:
            token = self._spoken(request)
            parameters = found[1] if found else {}
            call = Call(
                self.world,
                self._contract,
                request,
                parameters,
                token,
                api_url=self.api_url,
                server_url=self.server_url,
                storage_url=self.storage_url,
            )
            if request.operation == "graphql":
                response, unclear = graphql.answer(call)
                self.violations += [Violation("graphql", "request", problem) for problem in unclear]
                return response
            if found is None:
                raise Refusal(404, "Not Found")
            authorise(call, found[0])
            if problems:
                raise Refusal(422, f"Invalid request.\n\n{problems[0]}")
            response = OPERATIONS[request.operation](call)
        except Refusal as refusal:
            response = refusal.response
        return self._checked(found, response) if found else response

    def _spoken(self, request: Request) -> Token | None:
        """Find out who speaks, after what GitHub wants of every request."""
        headers = request.headers
        if not headers.get("user-agent"):
            raise Refusal(403, "Request forbidden by administrative rules. A User-Agent header is required.")
        if headers.get("x-github-api-version", "2022-11-28") not in VERSIONS:
            raise Refusal(400, f"{headers['x-github-api-version']} is not a supported version.")
        if not any(kind in headers.get("accept", "*/*") for kind in MEDIA_TYPES):
            raise Refusal(415, "Must accept 'application/json'")
        if "authorization" not in headers:
            return None
        kind, _, value = headers["authorization"].partition(" ")
        if kind.lower() not in {"bearer", "token"} or value not in self.world.tokens:
            raise Refusal(401, "Bad credentials")
        return self.world.tokens[value]

    def _checked(self, found: tuple[Route, dict[str, str]], response: Response) -> Response:
        """Check an own answer against the description, and return the bytes that were checked."""
        route, parameters = found
        body = encoded(response)
        problems = self._contract.response_problems(
            route, parameters, status=response.status, body=body, content_type=response.content_type
        )
        self.violations += [Violation(route.operation, f"response {response.status}", one) for one in problems]
        return Response(response.status, body, response.headers, response.content_type)

    def _stored(self, request: Request) -> Response:
        """Answer a download: anyone with the signed address gets it, and nobody who sends a token along."""
        name, _, number = request.path.strip("/").rpartition("/")
        repository = self.world.repositories.get(name)
        artifact = repository.artifacts.get(int(number)) if repository and number.isdecimal() else None
        if "authorization" in request.headers or artifact is None:
            return Response(
                400 if artifact else 404, b"<Error>InvalidAuthenticationInfo</Error>", {}, "application/xml"
            )
        if request.query.get("sig") != artifact.signature:
            return Response(403, b"<Error>AuthenticationFailed</Error>", {}, "application/xml")
        return Response(200, artifact.content, content_type="application/zip")
