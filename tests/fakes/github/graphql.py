"""The two GraphQL operations that raggate sends, each as it is written: who speaks, and folding a comment away."""

from __future__ import annotations

import re
from typing import Any

from fakes.github.calls import Call, Response
from fakes.github.permissions import FORBIDDEN, MINIMIZE, granted

CLASSIFIERS = {"SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED", "LOW_QUALITY"}
_VIEWER = "query { viewer { login } }"
_MINIMIZE = (
    "mutation($id: ID!, $why: ReportedContentClassifiers!) { "
    "minimizeComment(input: {subjectId: $id, classifier: $why}) { minimizedComment { isMinimized } } }"
)


def answer(call: Call) -> tuple[Response, list[str]]:
    """Answer a query, and say what of it GitHub would not have understood."""
    body = call.body if isinstance(call.body, dict) else {}
    query, variables = re.sub(r"\s+", " ", str(body.get("query"))), body.get("variables") or {}
    known = {_VIEWER: set[str](), _MINIMIZE: {"id", "why"}}
    problems = [f"unknown field {name}" for name in body if name not in {"query", "variables"}]
    if query not in known:
        problems.append(f"unknown query {query}")
    elif set(variables) != known[query] or variables.get("why", "RESOLVED") not in CLASSIFIERS:
        problems.append(f"unknown variables {variables}")
    if problems:
        return Response(200, {"errors": [_error("; ".join(problems))]}), problems
    if call.token is None:
        return Response(401, {"message": "Bad credentials", "status": "401"}), []
    if query == _VIEWER:
        return Response(200, {"data": {"viewer": {"login": call.login}}}), []
    if not granted(call, MINIMIZE):
        return _failed(FORBIDDEN, "FORBIDDEN"), []
    comments = (one for repository in call.world.repositories.values() for one in repository.comments.values())
    comment = next((one for one in comments if one.node_id == variables["id"]), None)
    if comment is None:
        return _failed(f"Could not resolve to a node with the global id of '{variables['id']}'", "NOT_FOUND"), []
    comment.minimized = variables["why"].lower().replace("_", "-")
    return Response(200, {"data": {"minimizeComment": {"minimizedComment": {"isMinimized": True}}}}), []


def _failed(message: str, kind: str) -> Response:
    """GraphQL says even what went wrong with status 200."""
    error = {**_error(message), "type": kind, "path": ["minimizeComment"]}
    return Response(200, {"data": {"minimizeComment": None}, "errors": [error]})


def _error(message: str) -> dict[str, Any]:
    return {"message": message, "locations": [{"line": 1, "column": 1}]}
