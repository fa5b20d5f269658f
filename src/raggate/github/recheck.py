"""`/raggate recheck`: the gate's run of a pull request starts again."""

from __future__ import annotations

from raggate.github.reply import Reply
from raggate.github.rest import runs
from raggate.github.rest.exchange import address
from raggate.github.rest.pulls import Pull
from raggate.github.rest.repository import Repository
from raggate.models.publication import Links
from raggate.reports.parts.markup import commit_link, link


def recheck(repository: Repository, pull: Pull, workflow: str, links: Links) -> Reply:
    """Start the newest run for the head of a pull request again.

    Args:
        repository: where the pull request goes into; the token may write actions.
        pull: the pull request.
        workflow: name of the gate's workflow file.
        links: what links are made of.

    Raises:
        CannotTell: when there is no such workflow file.
        GitHubError: when GitHub refuses.
    """
    head = commit_link(links, pull.head_sha)
    run = runs.newest(repository, pull, workflow)
    if run is None:
        return Reply(
            text=f"There is no run of the gate's workflow for {head}, so there is nothing to start again.", done=False
        )
    name = link(f"Run {run['id']}", address(run.get("html_url")), links)
    if run.get("status") != "completed":
        return Reply(text=f"{name} for {head} has not ended yet, so it is not started again.", done=False)
    if run.get("conclusion") == "action_required":
        return Reply(text=f"{name} for {head} waits for approval. Approve it on its page.", done=False)
    attempt = runs.rerun(repository, run)
    return Reply(
        text=f"{name} for {head} starts again, as attempt {attempt}. The base commit that judges stays that of its "
        "first attempt: for a newer one, update the branch.",
        done=True,
    )
