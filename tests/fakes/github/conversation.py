"""Pull requests and their comments, the repository itself, and who may write to it."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response, invalid
from fakes.github.nouns import Comment, Pull

COMMENT_UNITS = 65536
"""The longest comment, in UTF-16 code units."""

TITLE_CHARACTERS = 256
"""The longest title of a pull request."""


def list_pulls(call: Call) -> Response:
    """Answer GET pulls: open ones unless the query says otherwise; `head` is `owner:branch`."""
    query = call.request.query
    state = query.get("state", "open")
    found = [pull for pull in call.repository.pulls.values() if state in {pull.state, "all"}]
    # GitHub ignores a head without an owner
    if ":" in query.get("head", ""):
        found = [pull for pull in found if _shown(call, pull, simple=True)["head"]["label"] == query["head"]]
    if "base" in query:
        found = [pull for pull in found if pull.base_ref == query["base"]]
    page, headers = call.page(sorted(found, key=lambda pull: pull.number, reverse=True))
    return Response(200, [_shown(call, pull, simple=True) for pull in page], headers)


def pulls_of_commit(call: Call) -> Response:
    """Answer GET commits/{sha}/pulls of a commit that is not merged: the open ones with it."""
    repository, sha = call.repository, call.parameters["commit_sha"]
    if sha not in repository.objects.commits:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    history = repository.objects.history
    pulls = [pull for pull in repository.pulls.values() if pull.state == "open"]
    found = [pull for pull in pulls if sha in set(history(pull.head_sha)) - set(history(pull.base_sha))]
    page, headers = call.page(found)
    return Response(200, [_shown(call, pull, simple=True) for pull in page], headers)


def get_pull(call: Call) -> Response:
    return Response(200, _shown(call, _pull(call, "pull_number")))


def create_pull(call: Call) -> Response:
    repository, body = call.repository, call.body
    if call.token and call.token.is_bot and not repository.actions_may_open_pulls:
        raise Refusal(403, "GitHub Actions is not permitted to create or approve pull requests.")
    branch = body["head"]
    _check_title(body)
    head, base = repository.refs.get(f"refs/heads/{branch}"), repository.refs.get(f"refs/heads/{body['base']}")
    for name, sha in (("head", head), ("base", base)):
        if sha is None:
            raise invalid("PullRequest", name, f"{name} is not a branch", code="invalid")
    if "title" not in body:
        raise invalid("PullRequest", "title", "title is missing", code="missing_field")
    if head in repository.objects.history(base or ""):
        raise invalid("PullRequest", "head", f"No commits between {body['base']} and {branch}")
    for pull in repository.pulls.values():
        if (pull.state, pull.head_repo, pull.head_ref, pull.base_ref) == ("open", repository, branch, body["base"]):
            raise invalid("PullRequest", "head", f"A pull request already exists for {repository.owner}:{branch}.")
    made = repository.add_pull(
        max(repository.pulls, default=0) + 1,
        head_sha=head or "",
        head_ref=branch,
        head_repo=repository,
        base_ref=body["base"],
        title=body["title"],
        body=body.get("body"),
        login=call.login,
    )
    return Response(201, _shown(call, made))


def update_pull(call: Call) -> Response:
    """Answer PATCH pulls/{number}."""
    pull, body = _pull(call, "pull_number"), call.body
    _check_title(body)
    pull.title = body.get("title", pull.title)
    pull.body = body.get("body", pull.body)
    return Response(200, _shown(call, pull))


def _check_title(body: dict[str, Any]) -> None:
    if len(body.get("title", "")) > TITLE_CHARACTERS:
        message = f"title is too long (maximum is {TITLE_CHARACTERS} characters)"
        raise invalid("Issue", "title", message)


def _pull(call: Call, parameter: str) -> Pull:
    pull = call.repository.pulls.get(call.number(parameter))
    if pull is None:
        raise Refusal(404, "Not Found")
    return pull


def _shown(call: Call, pull: Pull, *, simple: bool = False) -> dict[str, Any]:
    values = shapes.pull(pull, call.repository)
    if simple:
        del values["merged"]
    return call.filled("pull-request-simple" if simple else "pull-request", values)


def list_comments(call: Call) -> Response:
    """Answer GET comments of a pull request, oldest first."""
    number = call.number("issue_number")
    number = number if number in call.repository.issues else _pull(call, "issue_number").number
    found = call.repository.comments_of(number)
    page, headers = call.page(found)
    return Response(200, [_comment_shown(call, comment) for comment in page], headers)


def get_comment(call: Call) -> Response:
    return Response(200, _comment_shown(call, _comment(call)))


def create_comment(call: Call) -> Response:
    """Answer POST of a comment; refused where the conversation is locked."""
    issue = call.repository.issues.get(call.number("issue_number"))
    pull = issue or _pull(call, "issue_number")
    if isinstance(pull, Pull) and pull.locked:
        raise Refusal(403, "Unable to create comment because issue is locked.")
    body = _checked(call.body["body"])
    kind = "Bot" if call.token and call.token.is_bot else "User"
    return Response(201, _comment_shown(call, call.repository.add_comment(pull.number, call.login, body, type=kind)))


def update_comment(call: Call) -> Response:
    comment = _comment(call)
    comment.body = _checked(call.body["body"])
    return Response(200, _comment_shown(call, comment))


def delete_comment(call: Call) -> Response:
    del call.repository.comments[_comment(call).id]
    return Response(204)


def _checked(body: str) -> str:
    if not body.strip():
        raise invalid("IssueComment", "body", "body can't be blank", code="missing_field")
    if len(body.encode("utf-16-le", "surrogatepass")) // 2 > COMMENT_UNITS:
        message = f"body is too long (maximum is {COMMENT_UNITS} characters)"
        raise invalid("IssueComment", "data", message, code="unprocessable")
    return body


def _comment(call: Call) -> Comment:
    comment = call.repository.comments.get(call.number("comment_id"))
    if comment is None:
        raise Refusal(404, "Not Found")
    return comment


def _comment_shown(call: Call, comment: Comment) -> dict[str, Any]:
    return call.filled("issue-comment", shapes.comment(comment, call.repository))


def react(call: Call) -> Response:
    """Answer POST of a reaction: one that is there already stays the only one of its kind."""
    reaction = (_comment(call).id, call.login, call.body["content"])
    known = reaction in call.repository.reactions
    if not known:
        call.repository.reactions.append(reaction)
    values = {"user": shapes.account(call.login), "content": reaction[2]}
    return Response(200 if known else 201, call.filled("reaction", values))


def get_permission(call: Call) -> Response:
    """Answer GET of a person's permission: the coarse one of old, and the name of the role."""
    login = call.parameters["username"]
    role = call.repository.roles.get(login, "none" if call.repository.private else "read")
    coarse = {"maintain": "write", "triage": "read"}.get(role, role)
    user = {**shapes.account(login), "role_name": role}
    return Response(200, {"permission": coarse, "role_name": role, "user": call.filled("nullable-collaborator", user)})


def get_repository(call: Call) -> Response:
    return Response(200, call.filled("full-repository", shapes.repository(call.repository)))


OPERATIONS = {
    "pulls/list": list_pulls,
    "pulls/get": get_pull,
    "pulls/create": create_pull,
    "pulls/update": update_pull,
    "repos/list-pull-requests-associated-with-commit": pulls_of_commit,
    "issues/list-comments": list_comments,
    "issues/get-comment": get_comment,
    "issues/create-comment": create_comment,
    "issues/update-comment": update_comment,
    "issues/delete-comment": delete_comment,
    "reactions/create-for-issue-comment": react,
    "repos/get-collaborator-permission-level": get_permission,
    "repos/get": get_repository,
}
