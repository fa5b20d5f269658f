"""A repository's issues -> those that this token's author opened, and changes to them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from msgspec import Struct

from raggate.github.rest.client import address, encodable, unexpected
from raggate.github.rest.repository import Repository
from raggate.github.rest.thread import author_of
from raggate.text.jsonio import fields

MOST = 500
"""Issues of the author that are looked at, the newest."""


class Issue(Struct, frozen=True, kw_only=True):
    """An issue. `body` is text of anybody who may edit it."""

    number: int
    url: str
    body: str
    open: bool


class Issues:
    """The issues of a repository, as far as they are this token's. Every method raises GitHubError when GitHub refuses.

    Args:
        repository: where they are; the token needs `issues: write`.
        login: who writes with this token, for a token that cannot tell; None to ask GitHub.
    """

    def __init__(self, repository: Repository, *, login: str | None) -> None:
        self._github = repository.github
        self._path = f"{repository.path}/issues"
        self._author = author_of(repository.github, login)

    def own(self) -> list[Issue]:
        """List the newest issues by this token's author, open or not, the newest first; pull requests are none."""
        listed = self._github.pages(self._path, state="all", creator=self._author[0], sort="created", direction="desc")
        mine = (_issue(item) for item in islice(listed, MOST) if self._is_own(item))
        return [issue for issue in mine if issue is not None]

    def create(self, title: str, body: str, find_existing: Callable[[], Issue | None]) -> Issue:
        """Open an issue, once; `find_existing` looks for it when an earlier try may have opened it."""
        values = {"title": encodable(title), "body": encodable(body)}
        made = self._github.send("POST", self._path, values, find_existing=find_existing)
        issue = made if isinstance(made, Issue) else _issue(made)
        if issue is None:
            raise unexpected("an issue", where=f"POST {self._path}")
        return issue

    def rewrite(self, number: int, body: str) -> None:
        """Replace the text of an issue."""
        self._github.send("PATCH", f"{self._path}/{number}", {"body": encodable(body)})

    def close(self, number: int, body: str) -> None:
        """Replace the text of an issue, and close it as done."""
        changes = {"body": encodable(body), "state": "closed", "state_reason": "completed"}
        self._github.send("PATCH", f"{self._path}/{number}", changes)

    def _is_own(self, item: Any) -> bool:
        user = fields(fields(item).get("user"))
        # what GitHub was asked for is looked at all the same: who opened it decides whether it is believed
        return (user.get("login"), user.get("type")) == self._author and "pull_request" not in item


def _issue(item: Any) -> Issue | None:
    number, body, state = (fields(item).get(name) for name in ("number", "body", "state"))
    if type(number) is not int or state not in {"open", "closed"}:
        return None
    text = body if isinstance(body, str) else ""
    return Issue(number=number, url=address(fields(item).get("html_url")), body=text, open=state == "open")
