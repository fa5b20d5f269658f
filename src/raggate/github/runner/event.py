"""The runner's variables and its event file -> what happened, to which commits, and where it may be reported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, ValidationError, convert, field

from raggate.base.errors import UsageError
from raggate.base.jsonio import parse_object
from raggate.base.quote import cut
from raggate.base.redact import Guarded
from raggate.models.publication import Links

MOST_EVENT_BYTES = 32 << 20
"""GitHub sends no event larger than 25 MB."""

_SHA = r"([0-9a-f]{40}|[0-9a-f]{64})"
_NAME = r"[a-z][a-z_]{0,63}"
_REPOSITORY = r"(?!\.\.?/)[A-Za-z0-9._-]{1,100}/(?!\.\.?\Z)[A-Za-z0-9._-]{1,100}"
_COUNT = r"[1-9][0-9]{0,18}"
_URL = r"https?://[A-Za-z0-9._-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~/-]*)?"
# of people, who have no brackets in theirs; companies that make the accounts put an underscore in
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# they check out the merge of a pull request, as its own event does
_REVIEWS = frozenset(("pull_request_review", "pull_request_review_comment"))
_VARIABLES = {
    "GITHUB_EVENT_NAME": (_NAME, "the name of an event"),
    "GITHUB_EVENT_PATH": (r"[^\0]+", "a path"),
    "GITHUB_REPOSITORY": (_REPOSITORY, "owner/name"),
    "GITHUB_RUN_ID": (_COUNT, "a number from 1"),
    "GITHUB_RUN_ATTEMPT": (_COUNT, "a number from 1"),
    "GITHUB_SERVER_URL": (_URL, "a URL with http or https"),
    "GITHUB_API_URL": (_URL, "a URL with http or https"),
    "GITHUB_SHA": (_SHA, "the hash of a commit"),
}
"""The variables that every runner sets, and what they look like."""

Sha = Annotated[str, Meta(pattern=rf"^{_SHA}\Z")]
Count = Annotated[int, Meta(ge=1)]
Line = Annotated[str, Meta(max_length=1024, pattern=r"^[^\n\r\0]*\Z")]
"""A line of foreign text."""


class SourceRun(Struct, frozen=True, kw_only=True):
    """The run whose end started this one. What GitHub does not say, or has deleted, is empty."""

    id: Count
    attempt: Count = field(name="run_attempt")
    event: Annotated[str, Meta(pattern=rf"^{_NAME}\Z")]
    head_sha: Sha
    head_branch: Line = ""
    head_repository: str = ""
    conclusion: Line = ""
    run_started_at: Line = ""
    path: Line = ""


class WrittenComment(Struct, frozen=True):
    """A comment that was just written on a pull request: anybody's text. A bot's, or an app's, has no author."""

    id: int
    number: int
    author: str
    body: str


class Event(Guarded, Struct, frozen=True, kw_only=True):
    """What started the run. Texts are of the shape GitHub gives them, but names of refs and people are foreign text.

    Of a pull request or a merge group `base` is the commit that the trusted inputs come from. Checks and links belong
    to `head`. A `comment` was written just now and on a pull request.
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
        """Return what the links of a report are made of; the files that judge are `inputs_at`, by default at `head`."""
        return Links(
            server=self.server_url,
            repository=self.repository,
            commit=inputs_at or head,
            head=head,
            prefix=prefix,
            run=self.run_url,
        )


class _Repository(Struct, frozen=True):
    full_name: Line = ""
    default_branch: Line = ""


class _Payload(Struct):
    """What is looked at in every event. Foreign keys are passed over; what GitHub leaves empty has its default."""

    repository: _Repository = _Repository()


class _Side(Struct):
    sha: Sha
    ref: Line = ""
    repo: _Repository = _Repository()


class _Pull(Struct):
    base: _Side
    head: _Side
    number: Count
    state: Line = ""


class _OfPull(_Payload, kw_only=True):
    pull_request: _Pull

    def values(self) -> dict[str, Any]:
        base, head = self.pull_request.base, self.pull_request.head
        return {
            "number": self.pull_request.number,
            "base": base.sha,
            "head": head.sha,
            "base_ref": base.ref,
            "head_ref": head.ref,
            "open": self.pull_request.state == "open",
            # a fork that was deleted has no name any more
            "from_fork": not head.repo.full_name or base.repo.full_name != head.repo.full_name,
        }


class _Group(Struct):
    base_sha: Sha
    head_sha: Sha
    base_ref: Line
    head_ref: Line


class _OfGroup(_Payload, kw_only=True):
    merge_group: _Group

    def values(self) -> dict[str, Any]:
        group = self.merge_group
        return {
            "base": group.base_sha,
            "head": group.head_sha,
            "base_ref": group.base_ref.removeprefix("refs/heads/"),
            "head_ref": group.head_ref.removeprefix("refs/heads/"),
        }


class _Origin(Struct):
    full_name: Annotated[str, Meta(pattern=rf"^{_REPOSITORY}\Z")]


class _OfRun(_Payload, kw_only=True):
    workflow_run: dict[str, Any]

    def values(self) -> dict[str, Any]:
        return {"source_run": source_run(self.workflow_run)}


class _User(Struct, frozen=True):
    login: Line = ""
    type: Line = ""


class _Comment(Struct):
    id: Count
    body: str = ""
    user: _User = _User()
    performed_via_github_app: Any = None


class _Issue(Struct):
    number: Count
    pull_request: Any = None


class _OfComment(_Payload, kw_only=True):
    action: Line = ""
    issue: _Issue | None = None
    comment: _Comment | None = None

    def values(self) -> dict[str, Any]:
        """Read a comment. One that was edited or deleted, or stands below an issue, asks for nothing."""
        comment, issue = self.comment, self.issue
        if self.action != "created" or comment is None or issue is None or not issue.pull_request:
            return {}
        author = comment.user
        person = author.type == "User" and not comment.performed_via_github_app and bool(_LOGIN.fullmatch(author.login))
        name = author.login if person else ""
        return {"comment": WrittenComment(comment.id, issue.number, name, comment.body)}


_KINDS: Mapping[str, type[_OfPull | _OfGroup | _OfRun | _OfComment]] = {
    "pull_request": _OfPull,
    "merge_group": _OfGroup,
    "workflow_run": _OfRun,
    "issue_comment": _OfComment,
}
S = TypeVar("S", bound=Struct)


def read(environment: Mapping[str, str]) -> Event:
    """Read what started the run. An event that is not known gates like a push; `pull_request_target` is refused."""
    missing = [name for name in _VARIABLES if not environment.get(name)]
    if missing:
        raise UsageError(
            f"not in the environment: {', '.join(missing)}", hint="A runner of GitHub Actions sets these variables."
        )
    for variable, (pattern, expected) in _VARIABLES.items():
        _check(variable, environment[variable], pattern, expected)
    graphql_url = environment.get("GITHUB_GRAPHQL_URL", "")
    _check("GITHUB_GRAPHQL_URL", graphql_url, rf"({_URL})?", "a URL with http or https")
    name = environment["GITHUB_EVENT_NAME"]
    if name == "pull_request_target":
        raise UsageError(
            "the event pull_request_target is refused: its token can write to the repository, and the workflow would "
            "run the pull request's code beside it",
            hint="Use `on: pull_request` for the gate, which needs no rights to write, and a second workflow on "
            "`workflow_run` to comment on pull requests from forks.",
        )
    if name in _REVIEWS:
        name = "pull_request"
    content, kind = _without_nulls(_payload(Path(environment["GITHUB_EVENT_PATH"]))), _KINDS.get(name)
    known: dict[str, Any] = {
        "name": name,
        "repository": environment["GITHUB_REPOSITORY"],
        "run_id": int(environment["GITHUB_RUN_ID"]),
        "attempt": int(environment["GITHUB_RUN_ATTEMPT"]),
        "server_url": environment["GITHUB_SERVER_URL"].rstrip("/"),
        "api_url": environment["GITHUB_API_URL"].rstrip("/"),
        "graphql_url": graphql_url.rstrip("/"),
        "triggering_actor": environment.get("GITHUB_TRIGGERING_ACTOR") or environment.get("GITHUB_ACTOR", ""),
        "default_branch": _shaped(content, _Payload).repository.default_branch,
        "head": environment["GITHUB_SHA"],
        "head_ref": environment.get("GITHUB_REF", "").removeprefix("refs/heads/"),
    }
    return Event(**(known | (_shaped(content, kind).values() if kind else {})))


def source_run(record: dict[str, Any]) -> SourceRun:
    """Read a workflow run, as an event or the API has it."""
    run = _without_nulls(record)
    if (origin := run.get("head_repository")) is not None:
        run["head_repository"] = _shaped(origin, _Origin, "the head_repository of the workflow run").full_name
    return _shaped(run, SourceRun, "the workflow run")


def _check(variable: str, value: str, pattern: str, expected: str) -> None:
    if not re.fullmatch(pattern, value):
        raise UsageError(f"{variable}: expected {expected}, found {cut(repr(value), limit=80)}")


def _payload(path: Path) -> dict[str, Any]:
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
    return parse_object(data, where)


def _without_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_nulls(below) for key, below in value.items() if below is not None}


def _shaped(content: Any, kind: type[S], what: str = "the event") -> S:
    try:
        return convert(content, kind)
    except ValidationError as error:
        raise UsageError(f"{what} is not as GitHub sends it: {cut(error)}") from None
