"""A pull request's conversation -> the comments in it that are raggate's own, and changes to those."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Literal

from msgspec import Struct

from raggate.base.jsonio import fields
from raggate.github.rest.client import GitHub, GitHubError, address, encodable, unexpected
from raggate.github.rest.repository import Repository
from raggate.reports.parts.document import COMMENT_UNITS, utf16_units

_OPENING = "<!-- raggate:"
_GONE = frozenset((404, 410))
_MINIMIZE = """mutation($id: ID!, $why: ReportedContentClassifiers!) {
  minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } }
}"""


class Comment(Struct, frozen=True, kw_only=True):
    """One comment, as GitHub gives it. `author` is login and type, such as `Bot`. `body` is text of anybody's."""

    id: int
    node_id: str
    url: str
    body: str
    author: tuple[str, str]


class Thread:
    """The conversation of one pull request, as far as it is raggate's; if `locked`, only members may write to it."""

    def __init__(self, repository: Repository, *, number: int, locked: bool = False) -> None:
        self._github = repository.github
        self._number, self._locked = number, locked
        self._comments = f"{repository.path}/issues/comments"
        self._thread = f"{repository.path}/issues/{number}/comments"

    @cached_property
    def author(self) -> tuple[str, str]:
        """Who writes with this token, and the type."""
        return author_of(self._github)

    def own(self) -> list[Comment]:
        """List the comments by this token's author whose first line could be raggate's, oldest first."""
        author = self.author
        comments = filter(None, map(_comment, self._github.pages(self._thread)))
        mine = (each for each in comments if each.author == author and each.body.startswith(_OPENING))
        return sorted(mine, key=lambda comment: comment.id)

    def read(self, comment_id: int) -> Comment | None:
        """Read one comment as it is now; None when it is gone."""
        with _unless_gone():
            return self._expected(self._github.get(f"{self._comments}/{comment_id}"))
        return None

    def create(self, body: str, find_existing: Callable[[], Comment | None]) -> Comment:
        """Write a comment, once; `find_existing` looks for it when an earlier try may have written it."""
        try:
            made = self._github.send("POST", self._thread, {"body": _checked(body)}, find_existing=find_existing)
        except GitHubError as error:
            self._explain(error)
            raise
        return made if isinstance(made, Comment) else self._expected(made)

    def edit(self, comment_id: int, body: str) -> bool:
        """Replace the text of a comment. False when the comment is gone."""
        try:
            self._github.send("PATCH", f"{self._comments}/{comment_id}", {"body": _checked(body)})
        except GitHubError as error:
            # what a token may not change can look as if it were not there
            if error.status in _GONE and self.read(comment_id) is None:
                return False
            self._explain(error)
            raise
        return True

    def remove(self, comment_id: int) -> None:
        """Delete a comment, if it is still there."""
        with _unless_gone():
            self._github.send("DELETE", f"{self._comments}/{comment_id}")

    def react(self, comment_id: int, content: Literal["eyes", "+1", "-1"]) -> None:
        """React to any comment of the conversation, if it is still there. A reaction that is there already stays."""
        with _unless_gone():
            path = f"{self._comments}/{comment_id}/reactions"
            self._github.send("POST", path, {"content": content}, repeatable=True)

    def minimize(self, comment: Comment) -> None:
        """Fold a comment away as resolved."""
        self._github.graphql(_MINIMIZE, {"id": comment.node_id, "why": "RESOLVED"})

    def _expected(self, content: Any) -> Comment:
        comment = _comment(content)
        if comment is None:
            raise unexpected(f"a comment of pull request {self._number}")
        return comment

    def _explain(self, error: GitHubError) -> None:
        # GitHub has no code for either, only words
        if error.status == 403 and (self._locked or "locked" in error.reply):
            error.hint = (
                f"The conversation of pull request {self._number} is locked. Unlock it, or let the token be one of "
                f"a collaborator. {error.hint}"
            ).strip()


def _checked(body: str) -> str:
    text = encodable(body)
    units = utf16_units(text)
    if units > COMMENT_UNITS:
        raise ValueError(f"a comment of {units} UTF-16 units was rendered, and GitHub takes {COMMENT_UNITS}")
    return text


def author_of(github: GitHub) -> tuple[str, str]:
    """Return who writes with a token, and the type.

    `GET /user` refuses the tokens of workflows and apps; GraphQL answers all of them.
    """
    login = fields(fields(github.graphql("query { viewer { login } }", {})).get("viewer")).get("login")
    if not isinstance(login, str):
        raise unexpected("the login of the token's owner", where="POST /graphql")
    return login, "Bot" if login.endswith("[bot]") else "User"


@contextmanager
def _unless_gone() -> Iterator[None]:
    try:
        yield
    except GitHubError as error:
        if error.status not in _GONE:
            raise


def _comment(item: Any) -> Comment | None:
    if not isinstance(item, dict) or type(item.get("id")) is not int:
        return None
    user = fields(item.get("user"))
    return Comment(
        id=item["id"],
        node_id=str(item.get("node_id") or ""),
        url=address(item.get("html_url")),
        body=str(item.get("body") or ""),
        author=(str(user.get("login")), str(user.get("type"))),
    )
