"""The two GraphQL mutations that hide a comment and show it again, with the shape of the query checked by hand."""

from __future__ import annotations

import re
from typing import Any

from fakes.github.calls import Call, Response
from fakes.github.permissions import FORBIDDEN, MINIMIZE, granted

CLASSIFIERS = {"SPAM", "ABUSE", "OFF_TOPIC", "OUTDATED", "DUPLICATE", "RESOLVED", "LOW_QUALITY"}
TYPES = {"subjectId": "ID!", "classifier": "ReportedContentClassifiers!", "clientMutationId": "String"}
FIELDS = {
    "minimizeComment": ("minimizedComment", {"subjectId", "classifier"}),
    "unminimizeComment": ("unminimizedComment", {"subjectId"}),
}
SELECTABLE = {"isMinimized", "minimizedReason", "viewerCanMinimize", "__typename", "id"}
_QUERY = re.compile(
    r"\s*mutation(?:\s+\w+)?\s*(?:\((?P<declared>[^)]*)\))?\s*\{\s*(?P<name>\w+)\s*"
    r"\(\s*input\s*:\s*(?:\{(?P<fields>[^}]*)\}|\$(?P<whole>\w+))\s*\)\s*"
    r"\{\s*(?:clientMutationId\s+)?(?P<payload>\w+)\s*\{\s*(?P<selected>[\w\s,]+)\}\s*\}\s*\}\s*",
    re.DOTALL,
)


def answer(call: Call) -> tuple[Response, list[str]]:
    """Answer a query, and say what of it GitHub would not have understood."""
    parsed, problems = _parsed(call.body)
    if problems:
        return _failed("; ".join(problems), kind=None), problems
    name, given, selected = parsed
    payload, _ = FIELDS[name]
    if call.token is None:
        return Response(401, {"message": "Bad credentials", "status": "401"}), []
    if not granted(call, MINIMIZE):
        return _failed(FORBIDDEN, kind="FORBIDDEN", name=name), []
    comments = (one for repository in call.world.repositories.values() for one in repository.comments.values())
    comment = next((one for one in comments if one.node_id == given["subjectId"]), None)
    if comment is None:
        text = f"Could not resolve to a node with the global id of '{given['subjectId']}'"
        return _failed(text, kind="NOT_FOUND", name=name), []
    comment.minimized = given["classifier"].lower().replace("_", "-") if name == "minimizeComment" else None
    known = {"isMinimized": comment.minimized is not None, "minimizedReason": comment.minimized}
    known |= {"viewerCanMinimize": True, "__typename": "IssueComment", "id": comment.node_id}
    shown = {field: known[field] for field in selected}
    return Response(200, {"data": {name: {payload: shown}}}), []


def _failed(message: str, *, kind: str | None, name: str = "") -> Response:
    """GraphQL says even what went wrong with status 200."""
    error: dict[str, Any] = {"message": message, "locations": [{"line": 1, "column": 1}]}
    if kind is None:
        return Response(200, {"errors": [error]})
    return Response(200, {"data": {name: None}, "errors": [{**error, "type": kind, "path": [name]}]})


def _parsed(body: Any) -> tuple[tuple[str, dict[str, str], list[str]], list[str]]:
    """Take a query apart into the mutation, its input and what is selected of the result."""
    nothing: tuple[str, dict[str, str], list[str]] = ("", {}, [])
    if not isinstance(body, dict) or not isinstance(body.get("query"), str):
        return nothing, ["a query is expected as text under `query`"]
    problems = [f"unknown field {name}" for name in body if name not in {"query", "variables", "operationName"}]
    match = _QUERY.fullmatch(body["query"])
    if match is None or match["name"] not in FIELDS:
        return nothing, [*problems, "expected a mutation minimizeComment or unminimizeComment with an input"]
    payload, wanted = FIELDS[match["name"]]
    variables = body.get("variables") or {}
    declared = dict(re.findall(r"\$(\w+)\s*:\s*([\w!]+)", match["declared"] or ""))
    if match["whole"]:
        given = variables.get(match["whole"], {})
        expected = {match["whole"]: match["name"][0].upper() + match["name"][1:] + "Input!"}
    else:
        used = dict(re.findall(r"(\w+)\s*:\s*(\$?\w+|\"[^\"]*\")", match["fields"]))
        given = {name: variables.get(text[1:]) if text[0] == "$" else text.strip('"') for name, text in used.items()}
        expected = {text[1:]: TYPES.get(name, "?") for name, text in used.items() if text[0] == "$"}
    if declared != expected:
        problems.append(f"variables declared {declared}, expected {expected}")
    if set(variables) - set(declared):
        problems.append(f"variables that are not declared: {sorted(set(variables) - set(declared))}")
    if set(given) - {"clientMutationId"} != wanted or not all(isinstance(one, str) for one in given.values()):
        problems.append(f"expected the input fields {sorted(wanted)}, found {given}")
    if given.get("classifier", "OUTDATED") not in CLASSIFIERS:
        problems.append(f"unknown classifier {given['classifier']}")
    selected = re.split(r"[\s,]+", match["selected"].strip())
    if match["payload"] != payload or set(selected) - SELECTABLE:
        problems.append(f"cannot select {match['payload']} {{ {' '.join(selected)} }}")
    return (match["name"], given, selected), problems
