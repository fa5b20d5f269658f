"""The nouns of the fake -> JSON as the API shows it: what raggate reads. The rest is filled up from the description."""

from __future__ import annotations

from typing import Any

from fakes.github.nouns import Comment, Issue, Pull
from fakes.github.objects import Commit
from fakes.github.world import Repository


def account(login: str, kind: str | None = None) -> dict[str, Any]:
    """Show a person, bot or organisation."""
    return {"login": login, "type": kind or ("Bot" if login.endswith("[bot]") else "User")}


def repository(one: Repository) -> dict[str, Any]:
    names = {"name": one.full_name.split("/")[1], "full_name": one.full_name, "owner": account(one.owner)}
    return {**names, "id": one.id, "private": one.private, "default_branch": one.default_branch}


def pull(one: Pull, base: Repository) -> dict[str, Any]:
    """Show a pull request; a deleted fork has no repository, and its owner is still named."""
    head = one.head_repo
    owner = head.owner if head else one.login
    place = {"ref": one.head_ref, "sha": one.head_sha, "repo": repository(head) if head else None}
    return {
        "number": one.number,
        "state": one.state,
        "locked": one.locked,
        "merged": one.merged,
        "title": one.title,
        "body": one.body,
        "user": account(one.login),
        "html_url": f"{base.world.server_url}/{base.full_name}/pull/{one.number}",
        "head": {**place, "label": f"{owner}:{one.head_ref}", "user": account(owner)},
        "base": {"ref": one.base_ref, "sha": one.base_sha, "repo": repository(base), "user": account(base.owner)},
    }


def issue(one: Issue, base: Repository) -> dict[str, Any]:
    return {
        "number": one.number,
        "state": one.state,
        "state_reason": one.state_reason,
        "title": one.title,
        "body": one.body,
        "user": account(one.login),
        "html_url": f"{base.world.server_url}/{base.full_name}/issues/{one.number}",
    }


def comment(one: Comment, base: Repository) -> dict[str, Any]:
    return {
        "id": one.id,
        "node_id": one.node_id,
        "user": account(one.login, one.type),
        "body": one.body,
        "html_url": f"{base.world.server_url}/{base.full_name}/pull/{one.number}#issuecomment-{one.id}",
    }


def git_commit(one: Commit) -> dict[str, Any]:
    return {
        "sha": one.sha,
        "message": one.message,
        "tree": {"sha": one.tree},
        "parents": [{"sha": sha} for sha in one.parents],
        "verification": {"verified": one.verified, "reason": "valid" if one.verified else "unsigned"},
    }


def commit(one: Commit) -> dict[str, Any]:
    about = {"message": one.message, "tree": {"sha": one.tree}}
    people = dict.fromkeys(("author", "committer"), account("octocat"))
    return {**people, "sha": one.sha, "commit": about, "parents": [{"sha": sha} for sha in one.parents]}
