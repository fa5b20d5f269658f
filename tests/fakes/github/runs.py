"""Workflow runs, their jobs and artifacts, and check runs."""

from __future__ import annotations

from typing import Any

from fakes.github import shapes
from fakes.github.calls import Call, Refusal, Response
from fakes.github.nouns import Artifact


def get_run(call: Call) -> Response:
    """Answer GET of a run: its latest attempt."""
    return Response(200, _run_shown(call, _attempts(call)[-1]))


def get_attempt(call: Call) -> Response:
    """Answer GET of one attempt of a run."""
    attempts, number = _attempts(call), call.number("attempt_number")
    if not 1 <= number <= len(attempts):
        raise Refusal(404, "Not Found")
    return Response(200, _run_shown(call, attempts[number - 1]))


def _attempts(call: Call) -> list[dict[str, Any]]:
    attempts = call.repository.runs.get(call.number("run_id"))
    if not attempts:
        raise Refusal(404, "Not Found")
    return attempts


def _run_shown(call: Call, run: dict[str, Any]) -> dict[str, Any]:
    head = run["head_repository"]
    known = call.world.repositories.get(head) if isinstance(head, str) else None
    commit = call.repository.commit(run["head_sha"])
    about = {"id": run["head_sha"], "tree_id": commit.tree if commit else "", "timestamp": run["created_at"]}
    values = {
        **run,
        "node_id": f"WFR_fake{run['id']}",
        "updated_at": run.get("updated_at", run["created_at"]),
        "html_url": f"{call.server_url}/{call.repository.full_name}/actions/runs/{run['id']}",
        "repository": shapes.repository(call.repository),
        "head_repository": shapes.repository(known) if known else head,
        "head_commit": {**about, "message": commit.message if commit else "", "author": None, "committer": None},
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


def list_jobs(call: Call) -> Response:
    """Answer GET jobs of a run: those of the latest attempt, or all."""
    latest = _attempts(call)[-1]["run_attempt"]
    everything = call.request.query.get("filter", "latest") == "all"
    jobs = call.repository.jobs.get(call.number("run_id"), [])
    found = [job for job in jobs if everything or job["run_attempt"] == latest]
    page, headers = call.page(found)
    shown = [call.filled("job", job) for job in page]
    return Response(200, {"total_count": len(found), "jobs": shown}, headers)


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
    url = f"{call.api_url}/repos/{call.repository.full_name}/actions/artifacts/{artifact.id}"
    head = call.world.repositories.get(run["head_repository"]) if isinstance(run["head_repository"], str) else None
    values = {
        "id": artifact.id,
        "node_id": f"A_fake{artifact.id}",
        "name": artifact.name,
        "size_in_bytes": len(artifact.content),
        "expired": artifact.expired,
        "url": url,
        "archive_download_url": f"{url}/zip",
        "created_at": run["created_at"],
        "workflow_run": {
            "id": artifact.run_id,
            "repository_id": call.repository.id,
            "head_repository_id": head.id if head else 0,
            "head_branch": run["head_branch"],
            "head_sha": run["head_sha"],
        },
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


def create_check(call: Call) -> Response:
    """Answer POST of a check run."""
    body = call.body
    check = {"id": next(call.world.ids), "status": "queued", "conclusion": None, "started_at": call.world.now()}
    check |= {"completed_at": None, "external_id": "", "details_url": None, "output": {}, "annotations": []}
    call.repository.check_runs[check["id"]] = check
    if body["head_sha"] not in call.repository.objects.commits:
        del call.repository.check_runs[check["id"]]
        raise Refusal(422, f"No commit found for SHA: {body['head_sha']}")
    return Response(201, _changed(call, check))


def update_check(call: Call) -> Response:
    """Answer PATCH of a check run; annotations are added to those it has."""
    check = call.repository.check_runs.get(call.number("check_run_id"))
    if check is None:
        raise Refusal(404, "Not Found")
    return Response(200, _changed(call, check))


def _changed(call: Call, check: dict[str, Any]) -> dict[str, Any]:
    body = call.body
    check.update({name: value for name, value in body.items() if name != "output"})
    if "output" in body:
        check["annotations"] += body["output"].get("annotations", [])
        texts = ("title", "summary", "text")
        check["output"].update({name: value for name, value in body["output"].items() if name in texts})
    if "conclusion" in body:
        check["status"] = "completed"
        check["completed_at"] = check["completed_at"] or call.world.now()
    return _check_shown(call, check)


def _check_shown(call: Call, check: dict[str, Any]) -> dict[str, Any]:
    empty = {"title": None, "summary": None, "text": None}
    output = {**empty, **check["output"], "annotations_count": len(check["annotations"])}
    hidden = {"annotations", "actions"}
    values = {name: value for name, value in check.items() if name not in hidden}
    place = f"{call.server_url}/{call.repository.full_name}/runs/{check['id']}"
    return call.filled("check-run", {**values, "output": output, "html_url": place, "pull_requests": []})


def list_checks(call: Call) -> Response:
    """Answer GET check runs of a commit, newest first; the latest of each name unless all are asked for."""
    query, sha = call.request.query, call.repository.resolve(call.parameters["ref"])
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {call.parameters['ref']}")
    found = [one for one in call.repository.check_runs.values() if one["head_sha"] == sha]
    if query.get("filter", "latest") == "latest":
        found = list({one["name"]: one for one in found}.values())
    for name, key in (("check_name", "name"), ("status", "status")):
        if name in query:
            found = [one for one in found if one[key] == query[name]]
    page, headers = call.page(found[::-1])
    shown = [_check_shown(call, one) for one in page]
    return Response(200, {"total_count": len(found), "check_runs": shown}, headers)


OPERATIONS = {
    "actions/get-workflow-run": get_run,
    "actions/get-workflow-run-attempt": get_attempt,
    "actions/list-workflow-runs": list_runs,
    "actions/re-run-workflow": rerun,
    "actions/list-jobs-for-workflow-run": list_jobs,
    "actions/list-workflow-run-artifacts": list_artifacts,
    "actions/download-artifact": download_artifact,
    "checks/create": create_check,
    "checks/update": update_check,
    "checks/list-for-ref": list_checks,
}
