"""Workflow runs and their artifacts."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response
from fakes.github.nouns import Artifact


def get_run(call: Call) -> Response:
    """Answer GET of a run: its latest attempt."""
    return Response(200, _run_shown(call, _attempts(call)[-1]))


def _attempts(call: Call) -> list[dict[str, Any]]:
    attempts = call.repository.runs.get(call.number("run_id"))
    if not attempts:
        raise Refusal(404, "Not Found")
    return attempts


def _run_shown(call: Call, run: dict[str, Any]) -> dict[str, Any]:
    head = run["head_repository"]
    known = call.world.repositories.get(head) if isinstance(head, str) else None
    values = {
        **run,
        "html_url": f"{call.server_url}/{call.repository.full_name}/actions/runs/{run['id']}",
        "repository": shapes.repository(call.repository),
        "head_repository": shapes.repository(known) if known else head,
    }
    return call.filled("workflow-run", values)


def list_runs(call: Call) -> Response:
    """Answer GET runs of a workflow file, newest first, of one commit or event where the query names it."""
    query, file = call.request.query, call.parameters["workflow_id"]
    latest = [attempts[-1] for attempts in call.repository.runs.values()]
    files = {run["path"].partition("@")[0].rpartition("/")[2] for run in latest}
    if file not in files:
        raise Refusal(404, "Not Found")
    found = [run for run in latest if run["path"].partition("@")[0].endswith(f"/{file}")]
    for name in ("head_sha", "event"):
        if name in query:
            found = [run for run in found if run[name] == query[name]]
    page, headers = call.page(sorted(found, key=lambda run: run["id"], reverse=True))
    shown = [_run_shown(call, run) for run in page]
    return Response(200, {"total_count": len(found), "workflow_runs": shown}, headers)


def rerun(call: Call) -> Response:
    """Answer POST rerun: a further attempt of a run that has ended."""
    run = _attempts(call)[-1]
    if run["status"] != "completed":
        raise Refusal(403, "This workflow is already running")
    again = {name: value for name, value in run.items() if name not in {"run_attempt", "id", "head_sha"}}
    again |= {"status": "queued", "conclusion": None, "run_started_at": call.world.now()}
    call.repository.add_run(run["id"], head_sha=run["head_sha"], **again)
    return Response(201, {})


def list_artifacts(call: Call) -> Response:
    """Answer GET artifacts of a run, newest first, all of one name where the query gives one."""
    run = _attempts(call)[-1]
    name = call.request.query.get("name")
    artifacts = call.repository.artifacts.values()
    found = [one for one in artifacts if one.run_id == run["id"] and name in {None, one.name}]
    if call.request.query.get("direction", "desc") == "desc":
        found.reverse()
    page, headers = call.page(found)
    return Response(200, {"total_count": len(found), "artifacts": [_artifact(call, one, run) for one in page]}, headers)


def _artifact(call: Call, artifact: Artifact, run: dict[str, Any]) -> dict[str, Any]:
    values = {
        "id": artifact.id,
        "name": artifact.name,
        "size_in_bytes": len(artifact.content),
        "expired": artifact.expired,
        "created_at": run["created_at"],
    }
    if artifact.digest and call.contract.knows("artifact", "digest"):
        values["digest"] = artifact.digest
    return call.filled("artifact", values)


def download_artifact(call: Call) -> Response:
    """Answer GET of an artifact's archive: a redirect to the storage, which wants no token."""
    artifact = call.repository.artifacts.get(call.number("artifact_id"))
    if artifact is None or call.parameters["archive_format"] != "zip":
        raise Refusal(404, "Not Found")
    if artifact.expired:
        raise Refusal(410, "Artifact has expired")
    place = f"{call.storage_url}/{call.repository.full_name}/{artifact.id}?sig={artifact.signature}"
    return Response(302, headers={"Location": place})


OPERATIONS = {
    "actions/get-workflow-run": get_run,
    "actions/list-workflow-runs": list_runs,
    "actions/re-run-workflow": rerun,
    "actions/list-workflow-run-artifacts": list_artifacts,
    "actions/download-artifact": download_artifact,
}
