"""GitHub's API description and example events, as packages hold them -> the small parts that the tests commit.

`python -m tools.trim_github_api OPENAPI EXAMPLES` takes the folders of the unpacked packages `@octokit/openapi` and
`@octokit/webhooks-examples` and rewrites the JSON files in `tests/fakes/github`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "tests" / "fakes" / "github"
OLDEST_SERVER = (3, 17)
OPERATIONS = frozenset(
    """
    actions/download-artifact actions/get-workflow-run actions/list-workflow-run-artifacts
    actions/list-workflow-runs actions/re-run-workflow git/create-blob git/create-commit git/create-ref
    git/create-tree git/get-blob git/get-commit git/get-ref git/get-tree git/update-ref issues/create-comment
    issues/delete-comment issues/get-comment issues/list-comments issues/update-comment issues/create
    issues/list-for-repo issues/update pulls/create pulls/get pulls/list pulls/update
    reactions/create-for-issue-comment repos/compare-commits-with-basehead repos/get
    repos/get-collaborator-permission-level repos/list-pull-requests-associated-with-commit
""".split()
)
EVENTS = (
    *("pull_request", "pull_request_target", "push", "merge_group", "workflow_run", "workflow_dispatch", "schedule"),
    "issue_comment",
)
# maps from names that somebody chose: a property may well be called `description`
NAMED = {"properties", "paths", "responses", "headers", "content", "schemas", "parameters", "patternProperties"}
# values, not schemas: kept as they are
VERBATIM = {"enum", "required", "default", "const"}
NOISE = {
    *("description", "summary", "example", "examples", "externalDocs", "tags", "title", "deprecated", "links"),
    *("contentMediaType", "security", "callbacks", "discriminator"),
}
# a path parameter that may hold slashes is marked with this extension
MULTI_SEGMENT = "x-multi-segment"
HEADED = {"pull-request", "pull-request-simple"}
NULLABLE_REPOSITORY = "#/components/schemas/nullable-repository"
METHODS = {"get", "put", "post", "patch", "delete"}
EVENT_URLS = {"html_url", "clone_url", "url"}
# what an event says about people and repositories beyond who they are
EVENT_NOISE = {
    "gravatar_id",
    "node_id",
    "license",
    "topics",
    "permissions",
    "site_admin",
    "_links",
    "body",
    "milestone",
}
EVENT_NOISE_PATTERN = re.compile(
    r"has_|allow_|stargazers|watchers|forks$|forks_count|open_issues|.*_commit_(?:title|message)$"
)


def trimmed_description(whole: dict[str, Any]) -> dict[str, Any]:
    """Cut an API description down to the operations in use and the components they refer to, without prose.

    Raises:
        ValueError: when an operation is missing.
    """
    paths: dict[str, Any] = {}
    for path, item in whole["paths"].items():
        kept = {method: item[method] for method in item.keys() & METHODS if item[method]["operationId"] in OPERATIONS}
        if kept:
            paths[path] = kept
    missing = OPERATIONS - {operation["operationId"] for item in paths.values() for operation in item.values()}
    if missing:
        raise ValueError(f"the description lacks {', '.join(sorted(missing))}")
    slim = _slim(paths, named=True)
    components: dict[str, dict[str, Any]] = {}
    wanted = set(_references(slim))
    while wanted:
        kind, name = wanted.pop()
        component = _slim({name: whole["components"][kind][name]}, named=True)
        if name in HEADED:
            # null once a fork was deleted, which the description does not say
            component[name]["properties"]["head"]["properties"]["repo"]["$ref"] = NULLABLE_REPOSITORY
        components.setdefault(kind, {}).update(component)
        wanted |= {(kind, name) for kind, name in _references(component) if name not in components.get(kind, {})}
    info = {"title": whole["info"]["title"], "version": whole["info"]["version"]}
    return {"openapi": whole["openapi"], "info": info, "paths": slim, "components": components}


def _slim(node: Any, *, named: bool = False) -> Any:
    if isinstance(node, list):
        return [_slim(part) for part in node]
    if not isinstance(node, dict):
        return node
    result = {}
    for key, value in node.items():
        if named:
            result[key] = _slim(value)
        elif key in VERBATIM:
            result[key] = value
        elif key not in NOISE and (key == MULTI_SEGMENT or not key.startswith("x-")):
            # the alternatives overlap: an error with a message often fits two of them, which oneOf forbids
            result["anyOf" if key == "oneOf" else key] = _slim(value, named=key in NAMED)
    if not named and result.get("nullable") and "enum" in result:
        # the standard wants null among the values; the description leaves it out
        result["enum"] = [*(value for value in result["enum"] if value is not None), None]
    if not named and "responses" not in node and _is_response(node):
        result["description"] = ""
    return result


def _is_response(node: dict[str, Any]) -> bool:
    """Whether an object is a response, for which the standard requires a description."""
    return "description" in node and not node.keys() & {
        "type",
        "in",
        "schema",
        "operationId",
        "required",
        "anyOf",
        "oneOf",
    }


def _references(node: Any) -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            _, _, kind, name = node["$ref"].split("/")
            yield kind, name
        for value in node.values():
            yield from _references(value)
    elif isinstance(node, list):
        for value in node:
            yield from _references(value)


def trimmed_event(node: Any) -> Any:
    """Drop from an event what no reader of it needs: most addresses, avatars, licences and counters."""
    if isinstance(node, list):
        return [trimmed_event(part) for part in node]
    if not isinstance(node, dict):
        return node
    return {
        key: trimmed_event(value)
        for key, value in node.items()
        if not (key.endswith("_url") and key not in EVENT_URLS)
        and key not in EVENT_NOISE
        and not EVENT_NOISE_PATTERN.match(key)
    }


def write_descriptions(package: Path) -> None:
    """Write the trimmed description of github.com and of the oldest GitHub Enterprise Server from 3.17 on."""
    servers = {
        tuple(map(int, match.groups())): path
        for path in (package / "generated").iterdir()
        if (match := re.fullmatch(r"ghes-(\d+)\.(\d+)\.json", path.name))
    }
    oldest = servers[min(version for version in servers if version >= OLDEST_SERVER)]
    for path in (package / "generated" / "api.github.com.json", oldest):
        slim = trimmed_description(json.loads(path.read_text(encoding="utf-8")))
        _write(TARGET / path.name, slim)


def write_events(package: Path) -> None:
    """Write every example of the events that raggate may see, one file each."""
    events = json.loads((package / "api.github.com" / "index.json").read_text(encoding="utf-8"))
    shutil.rmtree(TARGET / "events", ignore_errors=True)
    for event in events:
        if event["name"] in EVENTS:
            for number, payload in enumerate(event["examples"]):
                label = "-".join([f"{number:02}", *filter(None, [payload.get("action")])])
                _write(TARGET / "events" / event["name"] / f"{label}.json", trimmed_event(payload))


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"{path.relative_to(TARGET)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tools.trim_github_api OPENAPI EXAMPLES")
    try:
        write_descriptions(Path(sys.argv[1]))
        write_events(Path(sys.argv[2]))
    except (OSError, ValueError) as error:
        sys.exit(f"trim_github_api: {error}")
