"""The status of the head commit on Gitea and Forgejo, which have no check runs: pending first, then how it ended."""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote

from raggate.github.rest.checks import Conclusion
from raggate.github.rest.exchange import encodable
from raggate.github.rest.failures import unexpected
from raggate.github.rest.repository import Repository
from raggate.text.escape import plain
from raggate.text.jsonio import fields

DESCRIPTION_CHARACTERS = 255
"""What fits the column it is kept in."""

State = Literal["pending", "success", "failure", "error"]
_STATES: dict[Conclusion, State] = {
    "success": "success",
    "failure": "failure",
    "cancelled": "error",
    # there is no other state that keeps nobody from merging; its title says that nothing was run
    "skipped": "success",
}


def begin(repository: Repository, *, head: str, name: str, details_url: str) -> int:
    """Set the status to pending; see `complete`. Gives its id."""
    return _set(repository, head, name, "pending", "The gate is running.", details_url)


def complete(
    repository: Repository, *, head: str, name: str, conclusion: Conclusion, title: str, details_url: str
) -> None:
    """Set the status to how the run ended.

    Args:
        repository: where; the token may write to it.
        head: full id of the commit under test.
        name: the context, which a rule for a branch can require; the same on every run.
        conclusion: see `checks.conclusion_of`. What was cancelled is an error.
        title: one line, cut after 255 characters.
        details_url: where the status leads to.

    Raises:
        GitHubError: when the server refuses.
    """
    _set(repository, head, name, _STATES[conclusion], title, details_url)


def _set(repository: Repository, head: str, name: str, state: State, description: str, details_url: str) -> int:
    path = f"{repository.path}/statuses/{quote(head, safe='')}"
    body = {
        "state": state,
        "context": encodable(name),
        "description": plain(description, limit=DESCRIPTION_CHARACTERS),
        "target_url": details_url,
    }
    # the newest of a context counts: the same once more does no harm
    status = fields(repository.github.send("POST", path, body, repeatable=True)).get("id")
    if type(status) is not int:
        raise unexpected("a commit status", where=f"POST {path}")
    return status
