"""A refused or failed request to GitHub -> one error that says what was asked, what came back and what to change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from typing import Any

from raggate.errors import CannotTell
from raggate.text.jsonio import fields, loads
from raggate.text.quote import cut

_FORK = (
    "The token of a pull request from a fork or from Dependabot can only read, whatever the workflow says: "
    "there the report is posted by the second stage."
)
_SETTING = (
    "The repository's setting 'Allow GitHub Actions to create and approve pull requests' "
    "(Settings, Actions, General) must be on as well."
)
# path below /repos/owner/name -> the scope of `permissions:` that its methods need; the first match counts
_SCOPES = (
    (re.compile(r"/issues/(\d+/comments|comments/\d+(/reactions)?)"), "pull-requests"),
    (re.compile(r"/pulls(/.*)?|/commits/[^/]+/pulls"), "pull-requests"),
    (re.compile(r"/issues(/.*)?"), "issues"),
    (re.compile(r"/check-(runs|suites)(/.*)?|/commits/[^/]+/check-(runs|suites)"), "checks"),
    (re.compile(r"/statuses/[^/]+|/commits/[^/]+/status(es)?"), "statuses"),
    (re.compile(r"/actions/.*"), "actions"),
    (re.compile(r"|/(contents|git|commits|compare|branches|tags|zipball|tarball|merges)(/.*)?"), "contents"),
)
_REPOSITORY = re.compile(r"/repos/[^/]+/[^/]+")
_READING = frozenset(("GET", "HEAD"))
_GRANT = "Give the job `{}` under `permissions:`."
_HIDDEN = "If the token has the permission, it does not exist: GitHub hides what a token may not see."


class GitHubError(CannotTell):
    """GitHub refused a request, did not answer it, or answered with what cannot be used.

    Args:
        message: harmless text, without the token.
        status: of the answer; None when none came or its status is not the problem.
        hint: what to do about it.
        wait_s: seconds GitHub asked to wait, when that was more than there was time for.
        reply: GitHub's own words, empty where it said none.
        permission: the line of `permissions:` that the hint asks for; empty for none.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        hint: str = "",
        wait_s: float | None = None,
        reply: str = "",
        permission: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.wait_s = wait_s
        self.reply = reply
        self.permission = permission

    def with_hint(self, hint: str) -> GitHubError:
        """Return the same error with other advice."""
        error = copy(self)
        error.hint = hint
        return error

    @property
    def denied(self) -> bool:
        """Whether GitHub keeps something from this token: what it hides, it says is not there."""
        return self.status in {401, 403, 404} and self.wait_s is None


def unexpected(expected: str, *, where: str = "", hint: str = "") -> GitHubError:
    """Make the error for an answer that is not what was asked for; `where` is the request or the part of the API."""
    place = f"{where}: " if where else ""
    return GitHubError(f"the server's API: {place}expected {expected}; found something else", hint=hint)


def permission(method: str, path: str) -> str:
    """Return the line of `permissions:` that a request needs, such as `checks: write`; empty when it is not known.

    Args:
        path: below the API's base, such as `/repos/owner/name/check-runs`, without the query.
    """
    repository = _REPOSITORY.match(path)
    if repository is None:
        return ""
    rest = path[repository.end() :].rstrip("/")
    scope = next((scope for pattern, scope in _SCOPES if pattern.fullmatch(rest)), "")
    return f"{scope}: {'read' if method in _READING else 'write'}" if scope else ""


def advice(method: str, path: str, status: int, headers: Mapping[str, str]) -> str:
    """Tell what to do about a refusal; empty when the status says nothing about the token.

    Args:
        headers: of the answer, whose names may have any case when it is a mapping of httpx.
    """
    if status == 401:
        return "The token is wrong or has expired. GITHUB_TOKEN ends with its job; other tokens have an end date."
    if status not in {403, 404}:
        return ""
    line = permission(method, path)
    accepted = cut(headers.get("x-accepted-github-permissions", ""), limit=120)
    parts = []
    if line:
        parts.append(_GRANT.format(line))
    elif accepted:
        parts.append(f"The token needs one of these permissions: {accepted}.")
    if method == "POST" and path.rstrip("/").endswith("/pulls"):
        parts.append(_SETTING)
    if line and method not in _READING:
        parts.append(_FORK)
    if status == 404:
        parts.append(_HIDDEN)
    return " ".join(parts)


def to_write(error: GitHubError) -> GitHubError:
    """Restate a refusal to read for one who has to write there as well: the right to read would not be enough."""
    if error.permission != "pull-requests: read" or not error.hint:
        return error
    hint = _GRANT.format("pull-requests: write")
    return error.with_hint(f"{hint} {_HIDDEN}" if error.status == 404 else hint)


def reply_message(body: bytes) -> str:
    """Return what GitHub says about a refusal, as one line; empty when it says nothing that can be read."""
    reply = _reply(body)
    errors, message = reply.get("errors"), reply.get("message")
    details = [_detail(error) for error in errors[:5]] if isinstance(errors, list) else []
    return cut("; ".join(part for part in (message if isinstance(message, str) else "", *details) if part))


def graphql_failure(body: bytes) -> tuple[int, bytes]:
    """Return the status REST would have for an answer of GraphQL, and its message; 200 when trying again is no use.

    429 is the primary rate limit, 403 a secondary one, 502 a query that took too long or broke on the way.
    """
    errors = _reply(body).get("errors")
    if not isinstance(errors, list):
        return 200, b""
    message = reply_message(body)
    if re.search(r"\bsecondary rate\b", message, re.IGNORECASE):
        return 403, message.encode()
    if any(fields(error).get("type") == "RATE_LIMITED" for error in errors):
        return 429, b""
    if message.startswith("Something went wrong while executing your query"):
        return 502, b""
    return 200, b""


def _reply(body: bytes) -> dict[str, Any]:
    try:
        return fields(loads(body))
    except ValueError:
        return {}


def _detail(error: object) -> str:
    if isinstance(error, str):
        return error
    detail = fields(error)
    keys = ("message",) if isinstance(detail.get("message"), str) else ("resource", "field", "code")
    return " ".join(detail[key] for key in keys if isinstance(detail.get(key), str))
