"""One note on a merge request, written anew by every pipeline: GitLab's REST API, version 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote

import httpx
from msgspec import Struct

from raggate.errors import CannotTell, UsageError
from raggate.text.certificates import authorities, checked_by
from raggate.text.guarded import Guarded
from raggate.text.jsonio import dumps, fields, loads
from raggate.text.quote import cut

TOKEN = "RAGGATE_GITLAB_TOKEN"  # noqa: S105 - the name of a variable
MAX_CHARACTERS = 1_000_000
"""Of a note: what is longer GitLab refuses."""

MAX_PAGES = 100
_PER_PAGE = 100
_SECONDS = 30
_HINTS = {
    401: f"The token in {TOKEN} is not valid (any more).",
    403: f"The token in {TOKEN} needs the scope `api` and a role that may comment.",
    404: f"The token in {TOKEN} may not see this project, or the merge request is gone.",
}


class MergeRequest(Guarded, Struct, frozen=True, kw_only=True):
    """The merge request that a pipeline runs for, and how to reach it.

    Attributes:
        api: address of the API, such as https://gitlab.com/api/v4.
        project: the project's number.
        number: the merge request's number in the project.
        token: a project or personal access token.
        ca_file: certificates of the server's own authority; empty for the usual ones.
    """

    api: str
    project: str
    number: str
    token: str
    ca_file: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables that GitLab gives to a job of a merge request pipeline.

        Raises:
            UsageError: naming those that are missing.
        """
        names = ("CI_API_V4_URL", "CI_MERGE_REQUEST_PROJECT_ID", "CI_MERGE_REQUEST_IID", TOKEN)
        missing = [name for name in names if not environment.get(name)]
        if missing:
            raise UsageError(
                f"not set: {', '.join(missing)}",
                hint="A note is written by a job of a merge request pipeline, with an access token in "
                f"{TOKEN}; docs/gitlab.md shows both.",
            )
        api, project, number, token = (environment[name] for name in names)
        return cls(
            api=api.rstrip("/"),
            project=project,
            number=number,
            token=token,
            ca_file=environment.get("CI_SERVER_TLS_CA_FILE", ""),
        )

    @property
    def notes(self) -> str:
        """The address of its notes."""
        return f"{self.api}/projects/{quote(self.project, safe='')}/merge_requests/{quote(self.number, safe='')}/notes"


def write(request: MergeRequest, marker: str, body: str) -> tuple[int, bool]:
    """Write the note that begins with a marker, or a new one. Only what the token's own user wrote is replaced.

    Returns:
        The number of the note, and whether it is new.

    Raises:
        CannotTell: when GitLab cannot be reached or refuses.
    """
    verify = authorities(request.ca_file) if request.ca_file else checked_by(request.api)
    headers = {"PRIVATE-TOKEN": request.token, "User-Agent": "raggate"}
    try:
        with httpx.Client(headers=headers, timeout=_SECONDS, verify=verify) as client:
            me = fields(_json(client, "GET", f"{request.api}/user")).get("id")
            number = next((note for note in _own(client, request, me, marker)), None)
            address = request.notes if number is None else f"{request.notes}/{number}"
            written = fields(_json(client, "POST" if number is None else "PUT", address, {"body": body}))
    except httpx.HTTPError as error:
        raise CannotTell(f"the note could not be written: {cut(str(error) or type(error).__name__)}") from None
    return int(written.get("id", 0)), number is None


def _own(client: httpx.Client, request: MergeRequest, me: object, marker: str) -> Iterator[int]:
    for page in range(1, MAX_PAGES + 1):
        query = f"?sort=asc&order_by=created_at&per_page={_PER_PAGE}&page={page}"
        notes = _json(client, "GET", f"{request.notes}{query}")
        notes = notes if isinstance(notes, list) else []
        for note in map(fields, notes):
            if fields(note.get("author")).get("id") == me and str(note.get("body")).startswith(marker):
                yield int(note["id"])
        if len(notes) < _PER_PAGE:
            return


def _json(client: httpx.Client, method: str, address: str, value: object = None) -> Any:
    content = None if value is None else dumps(value)
    reply = client.request(method, address, content=content, headers={"Content-Type": "application/json"})
    if not reply.is_success:
        path = reply.request.url.path
        answer = f"GitLab answers {method} {path} with {reply.status_code}: {cut(reply.text, limit=200)}"
        raise CannotTell(f"the note could not be written: {answer}", hint=_HINTS.get(reply.status_code, ""))
    try:
        return loads(reply.content)
    except ValueError as error:
        raise CannotTell(f"the note could not be written: GitLab's answer is not JSON: {error}") from None
