"""Requests to GitHub: what is sent, what is tried again, what is waited for, and what never leaves."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate.base.escape import plain
from raggate.base.http_client import httpx
from raggate.github.rest.client import GitHub, GitHubError, permission, wait_after
from tables import each_row

API = "https://api.example.org"
TOKEN = "ghs_0123456789abcdefSECRET"  # noqa: S105
COMMENTS = "/repos/o/r/issues/1/comments"
Answer = Callable[[httpx.Request], httpx.Response]


class Fake:
    """A GitHub of prepared answers, one for each request, and a clock that only sleeping moves."""

    def __init__(self, *answers: httpx.Response | Exception | Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.sleeps: list[float] = []
        self.said: list[str] = []
        self.time = 1000.0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Return the next answer; the last one again and again."""
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, httpx.Response) else answer(request)

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.sleeps.append(seconds)
        self.time += seconds

    def client(self, **options: Any) -> GitHub:
        """Make a client of this GitHub."""
        given = {"api_url": API, "token": TOKEN, "budget_s": 1000, "say": self.said.append, **options}
        return GitHub(
            transport=httpx.MockTransport(self),
            sleep=self.sleep,
            clock=lambda: self.time,
            now=lambda: self.time,
            **given,
        )

    @property
    def paths(self) -> list[str]:
        """Return what was asked for, in order."""
        return [f"{request.method} {request.url.raw_path.decode()}" for request in self.requests]


def ok(value: object = None, status: int = 200, **headers: str) -> httpx.Response:
    """Make an answer in JSON."""
    return httpx.Response(status, json={} if value is None else value, headers=headers)


def refused(status: int, message: str = "", **headers: str) -> httpx.Response:
    """Make GitHub's answer to what it does not do."""
    return httpx.Response(status, json={"message": message}, headers=headers)


def test_what_is_sent() -> None:
    """A read carries token, media type, version and name of the client, and leaves out what is None."""
    fake = Fake(ok({"a": 1}))
    with fake.client(api_url="https://git.example.org/api/v3/") as github:
        assert github.get("/repos/o/r/contents/a%20b", ref="main", x=None, draft=True) == {"a": 1}
        assert TOKEN not in repr(github)
    request = fake.requests[0]
    assert str(request.url) == "https://git.example.org/api/v3/repos/o/r/contents/a%20b?ref=main&draft=true"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["accept"] == "application/vnd.github+json"
    assert request.headers["x-github-api-version"] == "2022-11-28"
    assert request.headers["user-agent"].startswith("raggate/")


def test_a_list_is_read_to_its_end() -> None:
    """Pages are followed by their links; a wrapped list is unwrapped."""
    second = ok({"artifacts": [3]})
    first = ok(
        {"artifacts": [1, 2]}, link=f'<{API}/repositories/1/artifacts?page=2>; rel="next", <{API}/x>; rel="last"'
    )
    fake = Fake(first, second)
    with fake.client() as github:
        assert list(github.pages("/repos/o/r/actions/artifacts", key="artifacts", name="x")) == [1, 2, 3]
    assert fake.paths == [
        "GET /repos/o/r/actions/artifacts?per_page=100&name=x",
        "GET /repositories/1/artifacts?page=2",
    ]


@each_row(
    ("link", "problem"),
    [
        ("<https://evil.example.org/>", "does not follow"),
        ("<http://api.example.org/>", "without https"),
        ("<https://a:b@api.example.org/x>", "does not follow"),
        ("<https://api.example.org:444/>", "does not follow"),
        ("<https://api.example.org/a?per_page=100>", "do not end"),
        ("<file:///etc/passwd>", "does not follow"),
        ("<https://x:port/>", "no URL"),
    ],
)
def test_a_next_page_elsewhere(link: str, problem: str) -> None:
    """A link that leads away, or in a circle, ends the list with an error and takes no token along."""
    fake = Fake(ok([1], link=f'{link}; rel="next"'))
    with fake.client() as github, pytest.raises(GitHubError, match=problem):
        list(github.pages("/a"))
    assert len(fake.requests) == 1


def test_waits_follow_the_table() -> None:
    """A read that fails three times is tried again after 1, 4 and 9 seconds, each announced."""
    fake = Fake(httpx.ReadTimeout("slow"), refused(502), httpx.ConnectError("no"), ok([1]))
    with fake.client() as github:
        assert github.get("/a") == [1]
    assert fake.sleeps == [1, 4, 9]
    assert fake.said[1] == "GitHub: GET /a again in 4 s because of status 502 (retry 2 of 3)"


def test_the_budget_of_waiting() -> None:
    """A wait that does not fit is not begun, and the error says how long GitHub asked to wait."""
    fake = Fake(refused(403, "You have exceeded a secondary rate limit", **{"retry-after": "90"}))
    with fake.client(budget_s=100) as github:
        with pytest.raises(GitHubError, match="asks to wait 90 s because of a rate limit") as caught:
            github.get("/repos/o/r/pulls")
        assert caught.value.hint == ""
    assert fake.sleeps == [90]
    assert len(fake.requests) == 2


@each_row("failure", [httpx.ReadTimeout("x"), httpx.RemoteProtocolError("x"), refused(502)])
def test_an_uncertain_post_is_looked_for(failure: httpx.Response | Exception) -> None:
    """A POST that may have been done is not repeated when the caller finds it."""
    fake = Fake(failure)
    with fake.client() as github:
        assert github.send("POST", COMMENTS, {"body": "x"}, find_existing=lambda: {"id": 7}) == {"id": 7}
    assert len(fake.requests) == 1


def test_an_uncertain_post_that_was_not_done_is_repeated() -> None:
    """A POST that is not found is sent again, and looked for before giving up."""
    looks: list[int] = []
    fake = Fake(refused(502))
    with fake.client() as github, pytest.raises(GitHubError, match="may have been done"):
        github.send("POST", COMMENTS, {}, find_existing=lambda: looks.append(1))
    assert (len(fake.requests), len(looks)) == (4, 4)


def test_a_look_that_fails_forbids_another_try() -> None:
    """Where nobody knows whether it was done, the error of the POST is raised and it is not repeated."""
    fake = Fake(refused(502, "bad gateway"), refused(401))
    with fake.client() as github, pytest.raises(GitHubError, match=r"bad gateway.*may have been done"):
        github.send("POST", COMMENTS, {}, find_existing=lambda: github.get(COMMENTS))
    assert fake.paths == [f"POST {COMMENTS}", f"GET {COMMENTS}"]


@each_row("failure", [httpx.ReadTimeout("x"), refused(503)])
def test_a_post_that_cannot_be_looked_for_is_not_repeated(failure: httpx.Response | Exception) -> None:
    """Without a way to look, an uncertain POST is an error at once."""
    fake = Fake(failure)
    with fake.client() as github, pytest.raises(GitHubError, match="may have been done"):
        github.send("POST", "/repos/o/r/git/blobs", {})
    assert len(fake.requests) == 1


@each_row("failure", [httpx.ConnectError("x"), refused(409), refused(429)])
def test_a_post_that_was_not_done_is_repeated(failure: httpx.Response | Exception) -> None:
    """A POST that never left, or was refused for now, is sent again without looking."""
    fake = Fake(failure, ok({"id": 1}, 201))
    with fake.client() as github:
        assert github.send("POST", COMMENTS, {}) == {"id": 1}


@each_row("method", ["PUT", "PATCH", "DELETE"])
def test_other_writes_are_repeated(method: str) -> None:
    """A write that does the same again is sent again."""
    fake = Fake(httpx.ReadTimeout("x"), httpx.Response(204))
    with fake.client() as github:
        assert github.send(method, "/a", {"x": 1}) is None
    assert [json.loads(request.content) for request in fake.requests] == [{"x": 1}] * 2


def test_writes_are_paced() -> None:
    """Between writes passes a second; reads do not wait."""
    fake = Fake(ok())
    with fake.client(budget_s=0) as github:
        github.send("POST", COMMENTS, {})
        github.get("/a")
        github.send("PATCH", "/a", {})
    assert fake.sleeps == [1]


def test_graphql() -> None:
    """Data comes back; errors in an answer of status 200 are errors."""
    fake = Fake(ok({"data": {"a": 1}}), ok({"data": None, "errors": [{"type": "FORBIDDEN", "message": "no\x1b[1m"}]}))
    with fake.client(api_url="https://git.example.org/api/v3") as github:
        assert github.graphql("query { a }", {"x": 1}) == {"a": 1}
        with pytest.raises(GitHubError, match=r"no\x1b\[1m"):
            github.graphql("query { a }", {})
    assert str(fake.requests[0].url) == "https://git.example.org/api/graphql"
    assert json.loads(fake.requests[0].content) == {"query": "query { a }", "variables": {"x": 1}}


def test_the_token_goes_to_no_other_graphql() -> None:
    """A GraphQL URL at another origin is refused before anything is sent."""
    with pytest.raises(UsageError, match="GITHUB_GRAPHQL_URL: expected a URL at"):
        Fake(ok()).client(graphql_url="https://evil.example.org/graphql")


def moved(to: str, status: int = 302) -> httpx.Response:
    """Make a redirect."""
    return httpx.Response(status, headers={"location": to})


def test_a_download_leaves_without_the_token() -> None:
    """The storage that GitHub redirects to gets no token, and neither does what it redirects to."""
    fake = Fake(moved("https://blob.example.org/x?sig=1"), moved(f"{API}/back"), httpx.Response(200, content=b"zip"))
    with fake.client() as github:
        assert github.download("/repos/o/r/actions/artifacts/1/zip", limit=3) == b"zip"
    assert ["authorization" in request.headers for request in fake.requests] == [True, False, False]


@each_row(
    ("answers", "problem"),
    [
        ([moved("http://blob.example.org/x")], "without https"),
        ([moved("ftp://blob.example.org/x")], "does not follow"),
        ([moved("/a")], "more than 3 times"),
        ([httpx.Response(200, content=b"abcd")], "larger than 3 bytes"),
        ([moved("https://blob.example.org/x?sig=1"), refused(403, "expired")], "403: expired$"),
    ],
)
def test_downloads_that_are_refused(answers: list[httpx.Response], problem: str) -> None:
    """Plain HTTP, circles and bodies that are too large are errors, and a storage's refusal names no permission."""
    fake = Fake(*answers)
    with fake.client() as github, pytest.raises(GitHubError, match=problem) as caught:
        github.download("/repos/o/r/actions/artifacts/1/zip", limit=3)
    assert caught.value.hint == ""
    assert len(fake.requests) <= 4


def test_json_and_writes_do_not_leave() -> None:
    """A read of JSON and a write follow redirects at the API's own origin only."""
    for status in (302, 307):
        fake = Fake(moved("https://evil.example.org/", status))
        with fake.client() as github, pytest.raises(GitHubError):
            github.send("POST", "/a", {}) if status == 307 else github.get("/a")
        assert len(fake.requests) == 1
    fake = Fake(moved("/repositories/1", 307), ok({"id": 1}))
    with fake.client() as github:
        assert github.send("POST", "/repos/old/r/labels", {"x": 1}) == {"id": 1}
    assert fake.requests[1].content == b'{"x":1}'


def test_bodies_are_bounded() -> None:
    """An answer is not read beyond its limit, and of an error only the beginning."""

    def endless() -> Iterator[bytes]:
        while True:
            yield b"x" * (1 << 20)

    # a body without end would never come to an error if it were read whole
    for status in (200, 404):
        with Fake(httpx.Response(status, content=endless())).client() as github, pytest.raises(GitHubError):
            github.send("PUT", "/a")


def test_a_packed_answer_is_never_unpacked() -> None:
    """A server that packs an answer nobody asked to be packed is refused: a few bytes could become gigabytes."""
    packed = httpx.Response(200, content=iter([gzip.compress(b"0" * (1 << 24))]), headers={"Content-Encoding": "gzip"})
    with Fake(packed).client() as github, pytest.raises(GitHubError, match="is packed"):
        github.get("/a")


@each_row("body", [b"<html>login</html>", b'{"a": NaN}', b"\xff", b"{"])
def test_answers_that_are_no_json(body: bytes) -> None:
    """An answer that is no JSON is an error, with its beginning and a hint at the URL."""
    with Fake(httpx.Response(200, content=body)).client() as github, pytest.raises(GitHubError, match="JSON") as caught:
        github.get("/a")
    assert "GITHUB_API_URL" in caught.value.hint


def test_errors_are_harmless() -> None:
    """GitHub's words are shown in one printable line, and an echo of the token is not."""
    body = {"message": f"bad\n::error::{TOKEN}\x1b[2J", "errors": [{"field": "base", "code": "invalid"}, "text"]}
    with Fake(httpx.Response(422, json=body)).client() as github, pytest.raises(GitHubError) as caught:
        github.send("POST", "/repos/o/r/pulls", {})
    assert len(caught.value.lines) == 1
    text = plain(caught.value.message)
    assert text == "GitHub answers POST /repos/o/r/pulls with 422: bad ::error::*** [2J; base invalid; text"
    assert caught.value.status == 422


@each_row("failure", [httpx.ProxyError(f"407 {TOKEN}\r\n"), httpx.ConnectError(TOKEN)])
def test_no_error_shows_the_token(failure: Exception) -> None:
    """What goes wrong on the way is told without the token."""
    with Fake(failure).client(budget_s=0) as github, pytest.raises(GitHubError) as caught:
        github.get("/a")
    assert TOKEN not in caught.value.message
    assert "\n" not in caught.value.message


PERMISSIONS = [
    ("GET", COMMENTS, "pull-requests: write"),
    ("POST", COMMENTS, "pull-requests: write"),
    ("PATCH", "/repos/o/r/issues/comments/5", "pull-requests: write"),
    ("DELETE", "/repos/o/r/issues/comments/5", "pull-requests: write"),
    ("POST", "/repos/o/r/issues/1/labels", "issues: write"),
    ("GET", "/repos/o/r/pulls", "pull-requests: write"),
    ("POST", "/repos/o/r/pulls", "pull-requests: write"),
    ("PATCH", "/repos/o/r/pulls/4", "pull-requests: write"),
    ("GET", "/repos/o/r/commits/abc/pulls", "pull-requests: write"),
    ("GET", "/repos/o/r/contents/a/b.json", "contents: read"),
    ("POST", "/repos/o/r/git/refs", "contents: write"),
    ("PATCH", "/repos/o/r/git/refs/heads/x", "contents: write"),
    ("GET", "/repos/o/r/git/ref/heads/x", "contents: read"),
    ("GET", "/repos/o/r/compare/a...b", "contents: read"),
    ("GET", "/repos/o/r", "contents: read"),
    ("GET", "/repos/o/r/actions/runs/1/artifacts", "actions: read"),
    ("GET", "/repos/o/r/actions/artifacts/1/zip", "actions: read"),
    ("GET", "/user", ""),
    ("GET", "/repos/o/r/unknown", ""),
]


@each_row(("method", "path", "line"), PERMISSIONS)
@each_row("status", [403, 404])
def test_a_refusal_names_the_missing_permission(method: str, path: str, line: str, status: int) -> None:
    """The hint of 403 and of 404 holds the very line that the workflow lacks."""
    assert permission(method, path) == line
    fake = Fake(refused(status, "Resource not accessible by integration"))
    with fake.client() as github, pytest.raises(GitHubError) as caught:
        github.get(path) if method == "GET" else github.send(method, path, {})
    assert (f"`{line}`" in caught.value.hint) is bool(line)
    assert ("approve pull requests" in caught.value.hint) is ((method, path) == ("POST", "/repos/o/r/pulls"))
    assert ("fork" in caught.value.hint) is (method != "GET")


@each_row("path", ["a", "//evil", "/a?b", "/a b", "/a#b", "/a/../b", "/%2E%2e/b", "https://x/", "/é"])
def test_paths_are_checked(path: str) -> None:
    """A path that holds what should have been encoded is a bug of the caller, and nothing is sent."""
    fake = Fake(ok())
    with fake.client() as github, pytest.raises(ValueError, match="percent-encoded"):
        github.get(path)
    assert not fake.requests


@each_row("token", ["", "a b", "a\nb", "ü"])
def test_tokens_that_cannot_be_sent(token: str) -> None:
    """A token that no header can carry is a usage error that does not show it."""
    with pytest.raises(UsageError, match="token cannot be used") as caught:
        Fake(ok()).client(token=token)
    assert not token or token not in caught.value.message


@each_row("url", ["", "x", "ftp://x", "https://", "https://a:b@x", "https://x?a", "https://x:port"])
def test_urls_that_are_none(url: str) -> None:
    """A URL that is not an API's is a usage error that names the variable."""
    with pytest.raises(UsageError, match="GITHUB_API_URL"):
        Fake(ok()).client(api_url=url)


def test_certificates_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CA file that is missing or has no certificate is a usage error, and so is the environment's."""
    (tmp_path / "ca.pem").write_text("no certificate")
    for path in (tmp_path / "ca.pem", tmp_path / "nowhere.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        with pytest.raises(UsageError, match="no connection"):
            GitHub(api_url=API, token=TOKEN)


def test_a_body_that_drips_is_given_up() -> None:
    """An answer that is not complete in time counts as none."""
    fake = Fake()

    def drip() -> Iterator[bytes]:
        while True:
            fake.time += 50
            yield b" "

    fake.answers.append(lambda _: httpx.Response(200, content=drip()))
    with fake.client(budget_s=0) as github, pytest.raises(GitHubError, match="not complete"):
        github.get("/a")


NOW = 1_700_000_000.0
SECONDARY = '{"message": "You have exceeded a secondary rate limit. Please wait a few minutes"}'
RESET = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 10)}


@each_row(
    ("status", "headers", "body", "seconds"),
    [
        *((status, {}, "", None) for status in (304, 400, 401, 403, 404, 410, 422, 451)),
        *((status, {}, "", 4) for status in (408, 409, 423, 429, 500, 502, 503, 504, None)),
        (403, RESET, "", 11),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) - 10)}, "", 0),
        (429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "", 60),
        (403, {}, SECONDARY, 60),
        (403, {"retry-after": "5"}, SECONDARY, 5),
        (403, {"retry-after": "soon"}, SECONDARY, 60),
        (403, {"retry-after": "5"}, "", 5),
        (429, {"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, "", 30),
        (503, {"retry-after": "5"}, "", 5),
        (503, {"retry-after": "1"}, "", 4),
        # words and headers of a limit count beside 403 and 429 only
        (404, {**RESET, "retry-after": "5"}, SECONDARY, None),
        (500, RESET, SECONDARY, 4),
        (403, {"x-ratelimit-remaining": "1"}, '{"message": "Resource not accessible by integration"}', None),
    ],
)
def test_how_long_to_wait(status: int | None, headers: dict[str, str], body: str, seconds: float | None) -> None:
    """The second time a request fails it is final, or waited for: as long as GitHub says, else four seconds."""
    wait = wait_after(status, headers, body, number=2, now=NOW)
    assert (None if wait is None else wait.seconds) == seconds


@given(st.sampled_from([None, 403, 429, 500, 503]), st.text(), st.text(), st.text(), st.sampled_from(["0", "1", "x"]))
def test_hostile_headers(status: int | None, after: str, reset: str, message: str, remaining: str) -> None:
    """Whatever the headers and the body are, the wait is a finite number that is not negative."""
    headers = {"retry-after": after, "x-ratelimit-reset": reset, "x-ratelimit-remaining": remaining}
    wait = wait_after(status, headers, message, number=1, now=NOW)
    assert wait is None or (math.isfinite(wait.seconds) and wait.seconds >= 0)
