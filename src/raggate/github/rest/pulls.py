"""Open pull requests by the commit that was measured, and the gate's runs of one, by what GitHub says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from raggate.base.errors import CannotTell
from raggate.base.jsonio import fields
from raggate.base.quote import quoted
from raggate.github import workflow_files
from raggate.github.rest.client import GitHubError
from raggate.github.rest.repository import Repository


class Pull(Struct, frozen=True, kw_only=True):
    """An open pull request as GitHub shows it now; the head's repository is empty when the fork was deleted."""

    number: int
    head_sha: str
    base_sha: str
    base_ref: str
    head_repository: str


def find_all(repository: Repository, *, head_sha: str, head_repository: str, head_branch: str) -> tuple[Pull, ...]:
    """Find the open pull requests into a repository whose head is, at this moment, one commit.

    One head can be in several pull requests with different bases: the commit was measured for all of them. Where the
    commit was pushed to is empty when that is not known.
    """
    by_number: dict[int, Pull] = {}
    for item in _listed(repository, head_sha, head_repository, head_branch):
        pull = _pull(item, repository.name)
        if pull is None or item.get("state") != "open" or pull.head_sha != head_sha:
            continue
        # a fork that was deleted since has no name any more; the commit still tells
        if head_repository and pull.head_repository and pull.head_repository.lower() != head_repository.lower():
            continue
        by_number[pull.number] = pull
    return tuple(by_number[number] for number in sorted(by_number))


def find(repository: Repository, number: int) -> Pull | None:
    """Return a pull request as GitHub shows it now; None when it is not open."""
    item = repository.github.get(f"{repository.path}/pulls/{number}")
    pull = _pull(item, repository.name)
    return pull if pull is not None and item.get("state") == "open" and pull.number == number else None


def _listed(repository: Repository, sha: str, head_repository: str, branch: str) -> Iterator[Any]:
    base, github = repository.path, repository.github
    owner = head_repository.partition("/")[0]
    if owner and branch:
        yield from github.pages(f"{base}/pulls", state="open", head=f"{owner}:{branch}")
        return
    try:
        yield from github.pages(f"{base}/commits/{quote(sha, safe='')}/pulls")
    except GitHubError as error:
        # so GitHub says that the repository does not have the commit
        if error.status != 422:
            raise


def _pull(item: Any, repository: str) -> Pull | None:
    try:
        head, base = item["head"], item["base"]
        into, origin = str(base["repo"]["full_name"]), head["repo"]
        pull = Pull(
            number=item["number"],
            head_sha=str(head["sha"]),
            base_sha=str(base["sha"]),
            base_ref=str(base["ref"]),
            head_repository=str(origin["full_name"]) if origin else "",
        )
    except (KeyError, TypeError):
        return None
    return pull if type(pull.number) is int and into.lower() == repository.lower() else None


def newest_run(repository: Repository, pull: Pull, workflow: str) -> dict[str, Any] | None:
    """Return the newest run that an event `pull_request` started for the head of a pull request; None for none."""
    file = workflow.removeprefix(workflow_files.FOLDER)
    path = f"{repository.path}/actions/workflows/{quote(file, safe='')}/runs"
    try:
        listed = repository.github.pages(path, key="workflow_runs", event="pull_request", head_sha=pull.head_sha)
        own = [record for record in map(fields, listed) if _is_run_of(record, pull, workflow)]
    except GitHubError as error:
        if error.status == 404:
            raise CannotTell(
                f"there are no runs of a workflow file {quoted(file)}",
                hint=workflow_files.NAME_IT,
            ) from error
        raise
    return max(own, key=lambda record: int(record["id"]), default=None)


def rerun(repository: Repository, record: Mapping[str, Any]) -> int:
    """Start all jobs of a run that has ended again, once."""
    run, before = int(record["id"]), attempt_of(record)

    def begun() -> dict[str, Any] | None:
        again = repository.workflow_run(run)
        return again if attempt_of(again) > before else None

    repository.github.send("POST", f"{repository.path}/actions/runs/{run}/rerun", find_existing=begun)
    return before + 1


def attempt_of(record: Mapping[str, Any]) -> int:
    """Return the attempt that GitHub tells of; the first where it does not say which."""
    attempt = record.get("run_attempt")
    return attempt if type(attempt) is int else 1


def _is_run_of(record: Mapping[str, Any], pull: Pull, workflow: str) -> bool:
    branch = str(record.get("head_branch") or "")
    # neither has a name once the fork is deleted
    origin = str(fields(record.get("head_repository")).get("full_name") or "")
    if type(record.get("id")) is not int or record.get("event") != "pull_request":
        return False
    if record.get("head_sha") != pull.head_sha or origin.lower() != pull.head_repository.lower():
        return False
    # GitHub lists none for a fork; one commit can be in several pull requests of a repository
    numbers = [fields(listed).get("number") for listed in record.get("pull_requests") or ()]
    return workflow_files.is_of(str(record.get("path") or ""), workflow, branch) and (
        not numbers or pull.number in numbers
    )
