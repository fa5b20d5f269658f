"""Who may talk to the page's server: the page itself, by its token, on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from labelling_project import make_label_project
from raggate.labelling import label_page
from raggate.labelling.decisions import Where
from raggate.labelling.server import MAX_BODY, Guard
from raggate.labelling.session import Session
from tables import each_row

TOKEN = "a-token-of-a-test"  # noqa: S105 - it opens nothing
PORT = 4711
OWN = {"host": f"127.0.0.1:{PORT}"}
POST = {
    **OWN,
    "origin": f"http://127.0.0.1:{PORT}",
    "content-type": "application/json",
    "sec-fetch-site": "same-origin",
}
POST["content-length"] = "100"
DECIDE = f"/{TOKEN}/decide"
OVEN = Where(rel_path="bread.md", heading_path="# Bread > ## Oven")
ACT = f'{{"do":"grade","case":"q1","passage":"{OVEN.id}","grade":3}}'.encode()
BODY = b'{"by":"ann","acts":[' + ACT + b"]}"


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a sitting."""
    return make_label_project(tmp_path).open()


def asked(
    session: Session, method: str, path: str, headers: Mapping[str, str], body: bytes = b"", query: str = ""
) -> tuple[int, dict[str, str], bytes]:
    """Send one request past the guard; give status, headers and body."""
    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "server": ("127.0.0.1", PORT),
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(Guard(label_page.app(session, "ann"), TOKEN, PORT)(scope, receive, send))  # type: ignore[arg-type]
    given = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], given, b"".join(message.get("body", b"") for message in sent[1:])


def without(name: str) -> dict[str, str]:
    """Return the headers of a good request without one of them."""
    return {key: value for key, value in POST.items() if key != name}


REFUSED: list[tuple[int, str, str, dict[str, str]]] = [
    (403, "GET", "/", OWN),
    (403, "GET", "/another-token/overview", OWN),
    (403, "GET", f"/{TOKEN}", OWN),
    (403, "GET", f"/{TOKEN[:-1]}/overview", OWN),
    (403, "GET", f"/x/../{TOKEN}/overview", OWN),
    (421, "GET", f"/{TOKEN}/overview", {"host": f"raggate.attacker.example:{PORT}"}),
    (421, "GET", f"/{TOKEN}/overview", {"host": "127.0.0.1:1"}),
    (421, "GET", f"/{TOKEN}/overview", {"host": "127.0.0.1"}),
    (421, "GET", f"/{TOKEN}/overview", {}),
    (403, "GET", f"/{TOKEN}/overview", {**OWN, "sec-fetch-site": "cross-site"}),
    (403, "GET", f"/{TOKEN}/overview", {**OWN, "sec-fetch-site": "same-site"}),
    (403, "POST", DECIDE, without("origin")),
    (403, "POST", DECIDE, {**POST, "origin": "null"}),
    (403, "POST", DECIDE, {**POST, "origin": "http://127.0.0.1:1"}),
    (403, "POST", DECIDE, {**POST, "origin": "https://attacker.example"}),
    (403, "POST", DECIDE, {**POST, "sec-fetch-site": "cross-site"}),
    (415, "POST", DECIDE, {**POST, "content-type": "text/plain"}),
    (415, "POST", DECIDE, {**POST, "content-type": "application/x-www-form-urlencoded"}),
    (415, "POST", DECIDE, without("content-type")),
    (413, "POST", DECIDE, {**POST, "content-length": str(MAX_BODY + 1)}),
    (413, "POST", DECIDE, {**POST, "content-length": "-1"}),
    (413, "POST", DECIDE, {**POST, "transfer-encoding": "chunked"}),
    (405, "GET", DECIDE, OWN),
    (404, "GET", f"/{TOKEN}/../golden.jsonl", OWN),
    (404, "GET", f"/{TOKEN}/%2e%2e/golden.jsonl", OWN),
    (404, "GET", f"/{TOKEN}/assets/label.js", OWN),
]


@each_row(("status", "method", "path", "headers"), REFUSED)
def test_everybody_else_is_refused(
    status: int, method: str, path: str, headers: dict[str, str], session: Session
) -> None:
    """A wrong token, name, origin, kind of content or path changes nothing and shows nothing of the notes."""
    got, given, body = asked(session, method, path, headers, BODY)
    assert got == status
    assert session.journal.decisions == []
    assert b"dough" not in body
    assert given["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in given["content-security-policy"]


def test_the_page_itself_may(session: Session) -> None:
    """With token, name and origin a decision is kept, and no answer may be stored, framed or sniffed."""
    status, given, body = asked(session, "POST", DECIDE, POST, BODY)
    assert (status, body) == (200, b'{"kept":1}')
    assert session.plan().sentences == ("q1: bread.md # Bread > ## Oven: not judged → grade 3",)
    assert given["cache-control"] == "no-store"
    assert given["x-frame-options"] == "DENY"
    assert given["referrer-policy"] == "no-referrer"
    assert asked(session, "GET", f"/{TOKEN}/overview", {"host": f"localhost:{PORT}"})[0] == 200


def test_the_policy_of_the_page(session: Session) -> None:
    """The page runs its own script by its hash, talks to its server, and nothing else; no frame may hold it."""
    _, given, body = asked(session, "GET", f"/{TOKEN}/", OWN)
    policy = given["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect-src 'self'" in policy
    assert policy.endswith("frame-ancestors 'none'")
    assert TOKEN.encode() not in body


WRONG_BODIES = [
    b"",
    b"[]",
    b"{",
    b'{"by":"ann","acts":[]}',
    b'{"by":"","acts":[' + ACT + b"]}",
    b'{"by":"a\\nb","acts":[' + ACT + b"]}",
    b'{"by":"ann","acts":[{"do":"set","case":"q1","key":"must_pass","value":true}]}',
    b'{"by":"ann","acts":[{"do":"grade","case":"q1","passage":"000000000000","grade":3}]}',
    b'{"by":"ann","acts":[{"do":"grade","case":"q1","passage":"../../x","grade":3}]}',
    b'{"by":"ann","acts":[{"do":"written"}]}',
    b'{"by":"ann","acts":[' + ACT + b',{"do":"settle","case":"q1"}]}',
    b'{"by":"ann","extra":1,"acts":[' + ACT + b"]}",
]


def test_what_no_page_of_ours_sends(session: Session) -> None:
    """A body that is no list of decisions is answered with why, and nothing of it is kept."""
    for body in WRONG_BODIES:
        status, _, answer = asked(session, "POST", DECIDE, POST, body)
        assert (status, b"problem" in answer) == (409, True), body
    assert session.journal.decisions == []
