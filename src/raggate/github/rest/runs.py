"""The gate's workflow runs of a pull request, by what GitHub says of them: the newest, and another attempt of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from raggate.errors import CannotTell
from raggate.github import workflow_files
from raggate.github.rest.client import GitHubError
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository
from raggate.text.jsonio import fields
from raggate.text.quote import quoted


def newest(repository: Repository, pull: Pull, workflow: str) -> dict[str, Any] | None:
    """Find the newest run that an event `pull_request` started for the present head of a pull request.

    Args:
        repository: where the pull request goes into; the token may read actions.

    Returns:
        What GitHub says of the run, with a number as its `id`; None when there is none.

    Raises:
        CannotTell: when there is no such workflow file.
        GitHubError: when GitHub refuses, or does not answer in time.
    """
    file = workflow.removeprefix(workflow_files.FOLDER)
    path = f"{repository.path}/actions/workflows/{quote(file, safe='')}/runs"
    try:
        listed = repository.github.pages(path, key="workflow_runs", event="pull_request", head_sha=pull.head_sha)
        own = [record for record in map(fields, listed) if _is_of(record, pull, workflow)]
    except GitHubError as error:
        if error.status == 404:
            raise CannotTell(
                f"there are no runs of a workflow file {quoted(file)}",
                hint=workflow_files.NAME_IT,
            ) from error
        raise
    return max(own, key=lambda record: int(record["id"]), default=None)


def rerun(repository: Repository, record: Mapping[str, Any]) -> int:
    """Start all jobs of a run that has ended again, once.

    Args:
        repository: where it ran; the token may write actions.

    Returns:
        The number of the attempt.

    Raises:
        GitHubError: when GitHub refuses, as it does for runs of more than 30 days, or does not answer in time.
    """
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


def _is_of(record: Mapping[str, Any], pull: Pull, workflow: str) -> bool:
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
