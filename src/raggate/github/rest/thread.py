"""A pull request's conversation -> the comments in it that are raggate's own, and changes to those."""

from __future__ import annotations

from collections.abc import Callable
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
        self._author: tuple[str, str] | None = None

    @property
    def author(self) -> tuple[str, str]:
        """Who writes with this token, and the type."""
        if self._author is None:
            self._author = author_of(self._github)
        return self._author

    def own(self) -> list[Comment]:
        """List the comments by this token's author whose first line could be raggate's, oldest first."""
        author = self.author
        comments = (_comment(item) for item in self._github.pages(self._thread))
        mine = [
            comment
            for comment in comments
            if comment and comment.author == author and comment.body.startswith(_OPENING)
        ]
        return sorted(mine, key=lambda comment: comment.id)

    def read(self, comment_id: int) -> Comment | None:
        """Read one comment as it is now; None when it is gone."""
        try:
            return self._expected(self._github.get(f"{self._comments}/{comment_id}"))
        except GitHubError as error:
            if error.status in _GONE:
                return None
            raise

    def create(self, body: str, find_existing: Callable[[], Comment | None]) -> Comment:
        """Write a comment, once; `find_existing` looks for it when an earlier try may have written it."""
        try:
            made = self._github.send("POST", self._thread, {"body": _checked(body)}, find_existing=find_existing)
        except GitHubError as error:
            raise self._explained(error) from error
        return made if isinstance(made, Comment) else self._expected(made)

    def edit(self, comment_id: int, body: str) -> bool:
        """Replace the text of a comment. False when the comment is gone."""
        try:
            self._github.send("PATCH", f"{self._comments}/{comment_id}", {"body": _checked(body)})
        except GitHubError as error:
            # what a token may not change can look as if it were not there
            if error.status in _GONE and self.read(comment_id) is None:
                return False
            raise self._explained(error) from error
        return True

    def remove(self, comment_id: int) -> None:
        """Delete a comment, if it is still there."""
        try:
            self._github.send("DELETE", f"{self._comments}/{comment_id}")
        except GitHubError as error:
            if error.status not in _GONE:
                raise

    def react(self, comment_id: int, content: Literal["eyes", "+1", "-1"]) -> None:
        """React to any comment of the conversation, if it is still there. A reaction that is there already stays."""
        try:
            path = f"{self._comments}/{comment_id}/reactions"
            self._github.send("POST", path, {"content": content}, repeatable=True)
        except GitHubError as error:
            if error.status not in _GONE:
                raise

    def minimize(self, comment: Comment) -> None:
        """Fold a comment away as resolved."""
        self._github.graphql(_MINIMIZE, {"id": comment.node_id, "why": "RESOLVED"})

    def _expected(self, content: Any) -> Comment:
        comment = _comment(content)
        if comment is None:
            raise unexpected(f"a comment of pull request {self._number}")
        return comment

    def _explained(self, error: GitHubError) -> GitHubError:
        # GitHub has no code for either, only words
        if error.status == 403 and (self._locked or "locked" in error.reply):
            hint = (
                f"The conversation of pull request {self._number} is locked. Unlock it, or let the token be one of "
                f"a collaborator. {error.hint}"
            )
            return error.with_hint(hint.strip())
        return error


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


def _author(user: Any) -> tuple[str, str]:
    login, kind = fields(user).get("login"), fields(user).get("type")
    return (login, kind) if isinstance(login, str) and isinstance(kind, str) else ("", "")


def _comment(item: Any) -> Comment | None:
    if not isinstance(item, dict) or type(item.get("id")) is not int:
        return None
    node_id, url, body = (item.get(name) for name in ("node_id", "html_url", "body"))
    return Comment(
        id=item["id"],
        node_id=node_id if isinstance(node_id, str) else "",
        url=address(url),
        body=body if isinstance(body, str) else "",
        author=_author(item.get("user")),
    )
