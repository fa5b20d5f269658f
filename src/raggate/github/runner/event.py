"""The runner's variables and its event file -> what happened, to which commits, and where it may be reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from raggate.errors import UsageError
from raggate.models.publication import Links
from raggate.text.dates import stamp
from raggate.text.jsonio import parse_object
from raggate.text.quote import cut
from raggate.text.redact import Guarded

MOST_EVENT_BYTES = 32 << 20
"""GitHub sends no event larger than 25 MB."""

_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.IGNORECASE)
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_LONGEST = 1024


_REQUIRED = (
    "GITHUB_EVENT_NAME",
    "GITHUB_EVENT_PATH",
    "GITHUB_REPOSITORY",
    "GITHUB_RUN_ID",
    "GITHUB_RUN_ATTEMPT",
    "GITHUB_SERVER_URL",
    "GITHUB_API_URL",
    "GITHUB_SHA",
)
_NAME = re.compile(r"[a-z][a-z_]{0,63}")
_REPOSITORY = re.compile(r"(?!\.\.?/)[A-Za-z0-9._-]{1,100}/(?!\.\.?$)[A-Za-z0-9._-]{1,100}")
# of people, who have no brackets in theirs; companies that make the accounts put an underscore in
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_COUNT = re.compile(r"[1-9][0-9]{0,18}")
# they check out the merge of a pull request, as its own event does
_REVIEWS = frozenset(("pull_request_review", "pull_request_review_comment"))


class Part(Struct, frozen=True):
    """The variables, or an object of the event file and the keys that lead to it. Null is as good as missing.

    Every method raises UsageError for a value of another shape, naming the key and what was expected.
    """

    values: Mapping[str, Any]
    keys: tuple[str, ...] = ()

    def where(self, key: str) -> str:
        """Name a key for messages, with those that lead to it."""
        return cut(".".join((*self.keys, key)))

    def part(self, key: str, *, optional: bool = False) -> Part:
        """Return an object; an empty one where it may be missing."""
        value = self.values.get(key)
        if value is None and optional:
            value = {}
        if not isinstance(value, dict):
            raise _wrong(self.where(key), "an object", value)
        return Part(value, (*self.keys, key))

    def text(self, key: str) -> str:
        """Return a line of foreign text; empty for none."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value) > _LONGEST or "\n" in value or "\r" in value or "\0" in value:
            raise _wrong(self.where(key), f"one line of at most {_LONGEST} characters", value)
        return value

    def moment(self, key: str) -> str:
        """Return a point in time in UTC, to the second; empty for none."""
        if self.values.get(key) is None:
            return ""
        text = self.matched(key, _MOMENT, "a time such as 2026-01-01T00:00:00Z")
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            raise _wrong(self.where(key), "a time such as 2026-01-01T00:00:00Z", text) from None
        return stamp(moment)

    def matched(self, key: str, pattern: re.Pattern[str], expected: str) -> str:
        """Return a text of a shape."""
        value = self.values.get(key)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise _wrong(self.where(key), expected, value)
        return value

    def url(self, key: str) -> str:
        """Return a URL without a slash at its end; empty for none."""
        text = self.values.get(key) or ""
        if text and not _is_url(text):
            raise _wrong(self.where(key), "a URL with http or https", text)
        return text.rstrip("/")

    def commit(self, key: str) -> str:
        """Return the hash of a commit."""
        return self.matched(key, _SHA, "the hash of a commit").lower()

    def count(self, key: str) -> int:
        """Return a number from 1."""
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise _wrong(self.where(key), "a number from 1", value)
        return value


def read_payload(path: Path) -> Part:
    """Read the event file.

    Raises:
        UsageError: when there is none, it is too large, or it is no JSON object.
    """
    where = f"the event file {cut(path)} (GITHUB_EVENT_PATH)"
    try:
        if not path.is_file():
            raise UsageError(f"{where} is no file")
        with path.open("rb") as file:
            data = file.read(MOST_EVENT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{where} cannot be read: {error}") from error
    if len(data) > MOST_EVENT_BYTES:
        raise UsageError(f"{where} is larger than {MOST_EVENT_BYTES} bytes")
    return Part(parse_object(data, where))


def _is_url(text: str) -> bool:
    if re.search(r"[@?#\s\x00-\x20]", text) or not text.isascii():
        return False
    try:
        url = urlsplit(text)
        return url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return False


def _wrong(where: str, expected: str, value: object) -> UsageError:
    actual = "nothing" if value is None else cut(repr(value), limit=80)
    source = "" if where.startswith("GITHUB_") else "the event's "
    return UsageError(f"{source}{where}: expected {expected}; found {actual}")


class SourceRun(Struct, frozen=True, kw_only=True):
    """The run whose end started this one. `head_repository` and `head_branch` are empty when they were deleted.

    `run_started_at` is when this attempt of it started, as `2026-01-01T00:00:00Z`; `path` is that of its workflow file.
    Each is empty when the event does not say.
    """

    id: int
    attempt: int
    event: str
    head_sha: str
    head_branch: str
    head_repository: str
    conclusion: str
    run_started_at: str = ""
    path: str = ""


class WrittenComment(Struct, frozen=True, kw_only=True):
    """A comment that was just written on a pull request, as it was when it was written.

    Attributes:
        id: by which GitHub knows it.
        number: of the pull request.
        author: login of who wrote it; empty when that is no person.
        person: whether a person wrote it: no bot, and no app in a person's name.
        body: text of anybody's, of many lines.
    """

    id: int
    number: int
    author: str
    person: bool
    body: str


class Event(Guarded, Struct, frozen=True, kw_only=True):
    """What started the run. Texts are of the shape GitHub gives them, but names of refs and people are foreign text.

    Attributes:
        name: `pull_request`, which is what reviews are of too, `push`, `merge_group`, `workflow_dispatch`,
            `workflow_run`, `schedule` or another.
        repository: `owner/name`.
        number: of the pull request.
        base: the commit that the trusted inputs come from, of a pull request or a merge group.
        head: the commit that checks and links belong to.
        base_ref: the branch a pull request or merge group goes into; empty otherwise.
        head_ref: the branch or ref of `head`.
        open: whether the pull request is open.
        from_fork: whether the head of the pull request is, or was, in another repository than its base.
        graphql_url: empty when the runner names none.
        triggering_actor: empty when the runner names none.
        source_run: for `workflow_run`.
        comment: for `issue_comment`, where it was written just now and on a pull request.
    """

    name: str
    repository: str
    run_id: int
    attempt: int
    server_url: str
    api_url: str
    graphql_url: str
    triggering_actor: str
    default_branch: str
    head: str
    head_ref: str
    number: int | None = None
    base: str | None = None
    base_ref: str = ""
    open: bool = False
    from_fork: bool = False
    source_run: SourceRun | None = None
    comment: WrittenComment | None = None

    @property
    def comments(self) -> bool:
        """Whether there is an open pull request to comment on. A merge group gates and never comments."""
        return self.number is not None and self.open

    @property
    def run_url(self) -> str:
        """Where the run can be looked at."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"

    def links(self, head: str, *, inputs_at: str | None = None, prefix: str = "") -> Links:
        """Say what the links of a report are made of.

        Args:
            inputs_at: the commit that the golden set and the notes were read from; by default that under test.
            prefix: directory of the configuration in the repository, empty or `folder/`.
        """
        return Links(
            server=self.server_url,
            repository=self.repository,
            commit=inputs_at or head,
            head=head,
            prefix=prefix,
            run=self.run_url,
        )


def read(environment: Mapping[str, str]) -> Event:
    """Read what started the run. An event that is not known gates like a push.

    Raises:
        UsageError: for `pull_request_target`, whose token can write; and when a variable is missing, or the event
            cannot be read or has another shape than GitHub's, naming variable or key.
    """
    missing = [name for name in _REQUIRED if not environment.get(name)]
    if missing:
        raise UsageError(
            f"not in the environment: {', '.join(missing)}", hint="A runner of GitHub Actions sets these variables."
        )
    variables = Part(environment)
    name = variables.matched("GITHUB_EVENT_NAME", _NAME, "the name of an event")
    if name == "pull_request_target":
        raise UsageError(
            "the event pull_request_target is refused: its token can write to the repository, and the workflow would "
            "run the pull request's code beside it",
            hint="Use `on: pull_request` for the gate, which needs no rights to write, and a second workflow on "
            "`workflow_run` to comment on pull requests from forks.",
        )
    if name in _REVIEWS:
        name = "pull_request"
    content = read_payload(Path(environment["GITHUB_EVENT_PATH"]))
    known: dict[str, Any] = {
        "name": name,
        "repository": variables.matched("GITHUB_REPOSITORY", _REPOSITORY, "owner/name"),
        "run_id": int(variables.matched("GITHUB_RUN_ID", _COUNT, "a number from 1")),
        "attempt": int(variables.matched("GITHUB_RUN_ATTEMPT", _COUNT, "a number from 1")),
        "server_url": variables.url("GITHUB_SERVER_URL"),
        "api_url": variables.url("GITHUB_API_URL"),
        "graphql_url": variables.url("GITHUB_GRAPHQL_URL"),
        "triggering_actor": environment.get("GITHUB_TRIGGERING_ACTOR") or environment.get("GITHUB_ACTOR", ""),
        "default_branch": content.part("repository", optional=True).text("default_branch"),
        "head": variables.commit("GITHUB_SHA"),
        "head_ref": environment.get("GITHUB_REF", "").removeprefix("refs/heads/"),
    }
    extra = {
        "pull_request": _pull_request,
        "merge_group": _merge_group,
        "workflow_run": _workflow_run,
        "issue_comment": _issue_comment,
    }.get(name)
    return Event(**(known | (extra(content) if extra else {})))


def _pull_request(content: Part) -> dict[str, Any]:
    pull = content.part("pull_request")
    base, head = pull.part("base"), pull.part("head")
    repositories = [side.part("repo", optional=True).text("full_name") for side in (base, head)]
    return {
        "number": (content if "number" in content.values else pull).count("number"),
        "base": base.commit("sha"),
        "head": head.commit("sha"),
        "base_ref": base.text("ref"),
        "head_ref": head.text("ref"),
        "open": pull.text("state") == "open",
        # a fork that was deleted has no name any more
        "from_fork": not repositories[1] or repositories[0] != repositories[1],
    }


def _merge_group(content: Part) -> dict[str, Any]:
    group = content.part("merge_group")
    return {
        "base": group.commit("base_sha"),
        "head": group.commit("head_sha"),
        "base_ref": group.text("base_ref").removeprefix("refs/heads/"),
        "head_ref": group.text("head_ref").removeprefix("refs/heads/"),
    }


def _workflow_run(content: Part) -> dict[str, Any]:
    run = content.part("workflow_run")
    head = run.part("head_repository", optional=True)
    return {
        "source_run": SourceRun(
            id=run.count("id"),
            attempt=run.count("run_attempt"),
            event=run.matched("event", _NAME, "the name of an event"),
            head_sha=run.commit("head_sha"),
            head_branch=run.text("head_branch"),
            head_repository=head.matched("full_name", _REPOSITORY, "owner/name") if head.values else "",
            conclusion=run.text("conclusion"),
            run_started_at=run.moment("run_started_at"),
            path=run.text("path") or content.part("workflow", optional=True).text("path"),
        )
    }


def _issue_comment(content: Part) -> dict[str, Any]:
    """Read a comment. One that was edited or deleted, or stands below an issue, asks for nothing."""
    issue = content.part("issue", optional=True)
    if content.text("action") != "created" or not issue.part("pull_request", optional=True).values:
        return {}
    comment = content.part("comment")
    author = comment.part("user", optional=True)
    by_app = bool(comment.part("performed_via_github_app", optional=True).values)
    login = author.text("login")
    person = author.text("type") == "User" and not by_app and _LOGIN.fullmatch(login) is not None
    body = comment.values.get("body")
    written = WrittenComment(
        id=comment.count("id"),
        number=issue.count("number"),
        author=login if person else "",
        person=person,
        body=body if isinstance(body, str) else "",
    )
    return {"comment": written}
