"""Issues of a repository. Its list has pull requests among them, as GitHub's has."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response, invalid
from fakes.github.nouns import Issue, Pull


def list_issues(call: Call) -> Response:
    """Answer GET issues: open ones unless the query says otherwise, the newest first, of one author if it names one."""
    query = call.request.query
    state, creator = query.get("state", "open"), query.get("creator")
    every: list[Issue | Pull] = [*call.repository.issues.values(), *call.repository.pulls.values()]
    listed = [one for one in every if state in {one.state, "all"} and creator in {None, one.login}]
    newest_first = query.get("direction", "desc") == "desc"
    page, headers = call.page(sorted(listed, key=lambda one: one.number, reverse=newest_first))
    return Response(200, [_shown(call, one) for one in page], headers)


def create_issue(call: Call) -> Response:
    if not str(call.body.get("title") or "").strip():
        raise invalid("Issue", "title", "title can't be blank", code="missing_field")
    return Response(201, _shown(call, call.repository.add_issue(call.login, call.body["title"], call.body.get("body"))))


def update_issue(call: Call) -> Response:
    issue = call.repository.issues.get(call.number("issue_number"))
    if issue is None:
        raise Refusal(404, "Not Found")
    for name in ("title", "body", "state", "state_reason"):
        setattr(issue, name, call.body.get(name, getattr(issue, name)))
    return Response(200, _shown(call, issue))


def _shown(call: Call, one: Issue | Pull) -> dict[str, Any]:
    if isinstance(one, Issue):
        values = call.filled("issue", shapes.issue(one, call.repository))
        return {name: value for name, value in values.items() if name != "pull_request"}
    shown = shapes.pull(one, call.repository)
    same = {name: shown[name] for name in ("number", "state", "title", "body", "user", "locked", "html_url")}
    return call.filled("issue", {**same, "pull_request": {"url": shown["html_url"]}})


OPERATIONS = {"issues/list-for-repo": list_issues, "issues/create": create_issue, "issues/update": update_issue}
