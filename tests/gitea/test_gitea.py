"""A real Gitea held to what `tests/integration/test_gitea.py` claims of a stand-in, and to its artifacts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitea.server import Forge
from integration.test_gitea import (  # the claims, with this directory's fixtures
    test_a_baseline_that_moved_is_not_overwritten,
    test_a_promotion_is_a_pull_request,
    test_a_promotion_that_was_merged_is_followed_by_another,
    test_a_status_in_place_of_a_check_run,
    test_a_step_that_was_killed_leaves_no_status_open,
    test_an_issue_of_the_branch,
    test_branches_commits_and_roles,
    test_objects_are_what_their_ids_say,
    test_one_comment_that_every_push_rewrites,
    test_the_token_of_a_job,
)
from raggate.github.runner import event
from raggate.github.runner.artifact_upload import ArtifactService, upload
from raggate.text.http_client import httpx

pytestmark = [pytest.mark.gitea, pytest.mark.timeout(600)]
__all__ = [
    "test_a_baseline_that_moved_is_not_overwritten",
    "test_a_promotion_is_a_pull_request",
    "test_a_promotion_that_was_merged_is_followed_by_another",
    "test_a_status_in_place_of_a_check_run",
    "test_a_step_that_was_killed_leaves_no_status_open",
    "test_an_issue_of_the_branch",
    "test_branches_commits_and_roles",
    "test_objects_are_what_their_ids_say",
    "test_one_comment_that_every_push_rewrites",
    "test_the_token_of_a_job",
]


def test_a_run_directory_is_left_as_an_artifact(forge: Forge, tmp_path: Path) -> None:
    """What the old protocol of artifacts takes comes back whole from there, in parts and with names of any letters."""
    token, run = forge.job()
    content: dict[str, bytes] = {"results.jsonl": b"0123456789" * 1_000_000, "inner/ü.json": b"{}"}
    for name, data in content.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    service = ArtifactService(url=f"{forge.server.url}/api/actions_pipeline", token=token, run=str(run))
    assert upload(service, "raggate-run", tmp_path) == 2
    headers = {"Authorization": f"Bearer {token}"}
    place = f"{service.url}/_apis/pipelines/workflows/{run}/artifacts"
    (item,) = httpx.get(place, headers=headers).json()["value"]
    files = httpx.get(item["fileContainerResourceUrl"], params={"itemPath": "raggate-run"}, headers=headers).json()
    got = {file["path"]: httpx.get(file["contentLocation"], headers=headers).content for file in files["value"]}
    assert got == {f"raggate-run/{name}": data for name, data in content.items()}


def test_the_event_of_a_pull_request(forge: Forge, tmp_path: Path) -> None:
    """What Gitea hands to a job of a pull request is read as GitHub's is: whose commit judges, where to comment."""
    workflow = b"on: {pull_request: {}}\njobs: {gate: {runs-on: x, steps: [{run: 'true'}]}}\n"
    forge.write(".gitea/workflows/rag-gate.yml", workflow)
    forge.write("another.md", b"x", new="second")
    pull = forge.call("POST", "/pulls", {"title": "Second", "head": "second", "base": "main", "body": ""})
    file = tmp_path / "event.json"
    file.write_text(forge.event())
    variables = {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(file),
        "GITHUB_REPOSITORY": f"ada/{forge.name}",
        "GITHUB_RUN_ID": "1",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_SERVER_URL": forge.server.url,
        "GITHUB_API_URL": forge.server.api_url,
        "GITHUB_SHA": pull["head"]["sha"],
    }
    read = event.read(variables, allow_pull_request_target=False)
    assert (read.number, read.base, read.head) == (2, pull["base"]["sha"], pull["head"]["sha"])
    assert (read.base_ref, read.head_ref, read.default_branch) == ("main", "second", "main")
    assert (read.comments, read.from_fork, read.gitea) == (True, False, True)
