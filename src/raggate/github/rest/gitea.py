"""Gitea's API, which Forgejo has too, in the shapes of GitHub's: what raggate asks of either is asked in one way.

What has no counterpart there is not imitated: see `raggate.github.gitea_limits`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any

from raggate.github.rest.client import GitHub
from raggate.github.rest.exchange import Answer, Request
from raggate.github.rest.failures import GitHubError, unexpected
from raggate.inputs.git_objects import Entry, object_id, tree_content
from raggate.text.jsonio import fields

MOST_TREE_ENTRIES = 100_000
"""Entries of a tree that are collected from its pages."""

TREE_PAGE = 1000
"""Entries of a page of a tree."""

_PAGE = 50
"""Entries of any other page; the most that Gitea gives unless it is set up otherwise."""

_REPOSITORY = re.compile(r"/repos/[^/]+/[^/]+")
_BRANCH = re.compile(r"/git/ref/heads/(.+)")
_COMMIT = re.compile(r"/git/commits/[^/]+")
_TREE = re.compile(r"/git/trees/[^/]+")
_BLOB = re.compile(r"/git/blobs/[^/]+")
_COMPARE = re.compile(r"/compare/([^/]+)\.\.\.([^/]+)")
_ROLE = re.compile(r"/collaborators/[^/]+/permission")
_SCOPES = (
    "The job's token needs more rights: look at Settings, Actions of the repository, or give `github-token` a token of "
    "your own that may write to the repository and its issues."
)


class Gitea(GitHub):
    """A client of Gitea's or Forgejo's API with the interface of `GitHub`.

    Answers have GitHub's keys as far as raggate reads them. A user's `type` is always `User`, which those servers do
    not tell apart from programs.
    """

    name = "The server"
    graphql_api = False

    def advice(self, method: str, path: str, status: int, headers: Mapping[str, str]) -> str:
        """Tell what to do about a refusal; a workflow's `permissions:` help on newer servers only."""
        if status == 401:
            return "The token is wrong or has expired; that of a job ends with it."
        return _SCOPES if status in {403, 404} and method != "GET" else ""

    def get(self, path: str, **params: str | int | None) -> Any:
        """Read a JSON value in GitHub's shape; see `GitHub.get`."""
        if path == "/user":
            return self._user()
        base, rest = _parts(path)
        if branch := _BRANCH.fullmatch(rest):
            commit = fields(super().get(f"{base}/branches/{branch[1]}")).get("commit")
            return {"object": {"sha": fields(commit).get("id")}}
        if _COMMIT.fullmatch(rest):
            record = fields(super().get(path, stat="false", files="false"))
            own = {"sha": record.get("sha"), "parents": record.get("parents")}
            return {**fields(record.get("commit")), **own, "tree": {"sha": self._tree_of(base, record.get("sha"))}}
        if _TREE.fullmatch(rest):
            return self._tree(path, params.get("recursive"))
        if commits := _COMPARE.fullmatch(rest):
            return {"status": self._relation(base, commits[1], commits[2])}
        record = super().get(path, **params)
        owns = _ROLE.fullmatch(rest) and fields(record).get("permission") == "owner"
        return {**record, "permission": "admin"} if owns else record

    def pages(self, path: str, *, key: str | None = None, **params: str | int | None) -> Iterator[Any]:
        """Read a list page by page; see `GitHub.pages`. The caller looks at every entry: not all parameters count."""
        renamed = {"base_branch": params.get("base"), "limit": _PAGE, "state": params.get("state")}
        # the user of a job's token is none that can be asked for
        kind = {"type": "issues"} if _parts(path)[1] == "/issues" else {}
        return map(_typed, super().pages(path, key=key, **renamed, **kind))

    def shaped(self, request: Request, answer: Answer) -> Any:
        """Read the JSON value of an answer, in GitHub's shape; see `GitHub.shaped`."""
        return _typed(super().shaped(request, answer))

    def download(self, path: str, *, limit: int, accept: str = "application/vnd.github+json") -> bytes:
        """Read bytes; those of a blob, which come as text; see `GitHub.download`."""
        if not _BLOB.fullmatch(_parts(path)[1]):
            return super().download(path, limit=limit, accept=accept)
        record = fields(super().get(path))
        try:
            content = base64.b64decode(str(record["content"]), validate=True)
        except (KeyError, binascii.Error) as error:
            raise GitHubError(f"The server gives no content of {path}, which may be too large for it") from error
        if len(content) > limit:
            raise GitHubError(f"The server's answer is larger than {limit} bytes")
        return content

    def _user(self) -> dict[str, Any]:
        try:
            return fields(super().get("/user"))
        except GitHubError as error:
            if not error.denied or error.status == 401:
                raise
        version = str(fields(super().get("/version")).get("version"))
        # Forgejo tells which Gitea its API is that of, behind its own version
        return {"login": "forgejo-actions" if "+gitea-" in version else "gitea-actions", "type": "User"}

    def _tree_of(self, base: str, commit: object) -> str:
        """Work out the id of a commit's tree: where those servers should give it, they give the commit's."""
        entries = self._tree(f"{base}/git/trees/{commit}", None)["tree"]
        try:
            listed = {
                item["path"]: Entry(mode=item["mode"].removeprefix("0"), id=item["sha"], size=0) for item in entries
            }
            return object_id("tree", tree_content(listed), like=str(commit))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise unexpected("the tree of a commit", where=base) from error

    def _tree(self, path: str, recursive: object) -> dict[str, Any]:
        entries: list[Any] = []
        page, truncated = 1, True
        while truncated and len(entries) <= MOST_TREE_ENTRIES:
            part = fields(super().get(path, recursive="true" if recursive else None, page=page, per_page=TREE_PAGE))
            more = part.get("tree")
            if not isinstance(more, list) or not more:
                # git's empty tree has a list of its own
                return {"tree": entries if page > 1 else more or [], "truncated": page > 1}
            entries += more
            total = part.get("total_count")
            # Forgejo calls the last page of a long list truncated too
            ended = part.get("truncated") is False or (type(total) is int and len(entries) >= total)
            page, truncated = page + 1, not ended
        return {"tree": entries, "truncated": truncated}

    def _relation(self, base: str, commit: str, head: str) -> str:
        """Say in GitHub's words how `head` stands to a commit, by how many commits each has that the other has not."""
        ahead, behind = (
            fields(super(Gitea, self).get(f"{base}/compare/{first}...{second}", files="false", verification="false"))
            for first, second in ((commit, head), (head, commit))
        )
        counts = tuple(side.get("total_commits") for side in (ahead, behind))
        if any(type(count) is not int for count in counts):
            return ""
        return {(False, False): "identical", (True, False): "ahead", (False, True): "behind"}.get(
            (counts[0] != 0, counts[1] != 0), "diverged"
        )


def _parts(path: str) -> tuple[str, str]:
    repository = _REPOSITORY.match(path)
    return (repository[0], path[repository.end() :]) if repository else ("", path)


def _typed(record: Any) -> Any:
    """Give users the type that all have there, and leave out a key that says that an issue is no pull request."""
    if not isinstance(record, dict):
        return record
    kept = {key: value for key, value in record.items() if key != "pull_request" or value is not None}
    if isinstance(user := kept.get("user"), dict):
        kept["user"] = {**user, "type": "User"}
    return kept | {"type": "User"} if isinstance(kept.get("login"), str) else kept
