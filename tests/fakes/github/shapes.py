"""The nouns of the fake -> JSON as the API shows it, before it is filled up with addresses."""

from __future__ import annotations

from typing import Any

from fakes.github.nouns import Comment, Issue, Pull
from fakes.github.objects import Commit, Person
from fakes.github.world import Repository


def account(login: str, kind: str | None = None) -> dict[str, Any]:
    """Show a person, bot or organisation."""
    kind = kind or ("Bot" if login.endswith("[bot]") else "User")
    return {"login": login, "id": sum(login.encode()), "type": kind, "node_id": f"U_{login}", "gravatar_id": None}


def repository(one: Repository) -> dict[str, Any]:
    return {
        "id": one.id,
        "node_id": f"R_fake{one.id}",
        "name": one.full_name.split("/")[1],
        "full_name": one.full_name,
        "owner": account(one.owner),
        "private": one.private,
        "fork": one.fork,
        "default_branch": one.default_branch,
    }


def pull(one: Pull, base: Repository) -> dict[str, Any]:
    """Show a pull request; a deleted fork has no repository, and its owner is still named."""
    head = one.head_repo
    owner = head.owner if head else one.login
    return {
        "id": one.number + 100_000,
        "node_id": f"PR_fake{one.number}",
        "number": one.number,
        "state": one.state,
        "locked": one.locked,
        "draft": one.draft,
        "merged": one.merged,
        "mergeable": True,
        "mergeable_state": "clean",
        "title": one.title,
        "body": one.body,
        "user": account(one.login),
        "labels": [],
        "html_url": f"{base.world.server_url}/{base.full_name}/pull/{one.number}",
        "merge_commit_sha": one.merge_commit_sha,
        "merged_at": one.updated if one.merged else None,
        "created_at": one.created,
        "updated_at": one.updated,
        "head": {
            "label": f"{owner}:{one.head_ref}",
            "ref": one.head_ref,
            "sha": one.head_sha,
            "user": account(owner),
            "repo": repository(head) if head else None,
        },
        "base": {
            "label": f"{base.owner}:{one.base_ref}",
            "ref": one.base_ref,
            "sha": one.base_sha,
            "user": account(base.owner),
            "repo": repository(base),
        },
    }


def issue(one: Issue, base: Repository, api_url: str) -> dict[str, Any]:
    return {
        "id": one.number + 200_000,
        "node_id": f"I_fake{one.number}",
        "number": one.number,
        "state": one.state,
        "state_reason": one.state_reason,
        "title": one.title,
        "body": one.body,
        "user": account(one.login),
        "labels": [],
        "locked": False,
        "comments": len(base.comments_of(one.number)),
        "url": f"{api_url}/repos/{base.full_name}/issues/{one.number}",
        "html_url": f"{base.world.server_url}/{base.full_name}/issues/{one.number}",
        "created_at": one.created,
        "updated_at": one.updated,
        "closed_at": one.updated if one.state == "closed" else None,
    }


def comment(one: Comment, base: Repository, api_url: str) -> dict[str, Any]:
    place = f"{api_url}/repos/{base.full_name}/issues"
    return {
        "id": one.id,
        "node_id": one.node_id,
        "user": account(one.login, one.type),
        "body": one.body,
        "created_at": one.created,
        "updated_at": one.updated,
        "url": f"{place}/comments/{one.id}",
        "issue_url": f"{place}/{one.number}",
        "html_url": f"{base.world.server_url}/{base.full_name}/pull/{one.number}#issuecomment-{one.id}",
    }


def person(one: Person) -> dict[str, str]:
    return {"name": one.name, "email": one.email, "date": one.date}


def git_commit(one: Commit) -> dict[str, Any]:
    return {
        "sha": one.sha,
        "node_id": f"C_{one.sha}",
        "message": one.message,
        "tree": {"sha": one.tree},
        "parents": [{"sha": sha} for sha in one.parents],
        "author": person(one.author),
        "committer": person(one.committer),
        "verification": verification(one),
    }


def verification(one: Commit) -> dict[str, Any]:
    """Show whether GitHub signed a commit."""
    signed = one.verified
    return {
        "verified": signed,
        "reason": "valid" if signed else "unsigned",
        "signature": "-----BEGIN PGP SIGNATURE-----" if signed else None,
        "payload": f"tree {one.tree}" if signed else None,
        "verified_at": one.committer.date if signed else None,
    }


def commit(one: Commit, base: Repository) -> dict[str, Any]:
    return {
        "sha": one.sha,
        "node_id": f"C_{one.sha}",
        "html_url": f"{base.world.server_url}/{base.full_name}/commit/{one.sha}",
        "commit": {
            "message": one.message,
            "tree": {"sha": one.tree},
            "author": person(one.author),
            "committer": person(one.committer),
            "verification": verification(one),
            "comment_count": 0,
        },
        "author": account(one.author.name),
        "committer": account(one.committer.name),
        "parents": [{"sha": sha} for sha in one.parents],
    }
