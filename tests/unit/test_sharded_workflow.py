"""The workflow that asks in shards, as it is written: who may do what, what each job gets, what is never skipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / ".github" / "workflows" / "rag-gate-sharded.yml").read_text()
WORKFLOW: dict[Any, Any] = yaml.load(TEXT, yaml.CSafeLoader)
JOBS: dict[str, dict[str, Any]] = WORKFLOW["jobs"]
ACTION: dict[str, Any] = yaml.load((ROOT / "action.yml").read_text(), yaml.CSafeLoader)
OWN = "./.raggate-action"
LAST = [*JOBS][-1]


def steps(job: str, action: str) -> list[dict[str, Any]]:
    return [step["with"] for step in JOBS[job]["steps"] if step.get("uses", "").partition("@")[0] == action]


def commands() -> dict[str, dict[str, Any]]:
    """Return the inputs of raggate's own steps: command -> inputs."""
    return {given["command"]: given for job in JOBS for given in steps(job, OWN)}


def test_only_other_workflows_start_it() -> None:
    """It is called, and starts by no event of its own."""
    assert {*WORKFLOW[True]} == {"workflow_call"}


def test_the_last_job_always_runs_and_hears_of_all_others() -> None:
    """GitHub takes a skipped job for a success: no job has a condition, and the last one knows each result."""
    assert {name: job["if"] for name, job in JOBS.items() if "if" in job} == {LAST: "${{ always() }}"}
    others = [name for name in JOBS if name != LAST]
    assert JOBS[LAST]["needs"] == others
    (parts,) = (step for step in JOBS[LAST]["steps"] if step.get("uses", "").startswith("actions/download-artifact"))
    assert parts["if"] == "${{ needs.ask.result == 'success' }}"
    (judge,) = (step for step in JOBS[LAST]["steps"] if step.get("uses") == OWN)
    assert "if" not in judge
    assert "continue-on-error" not in judge
    # what may fail before it is only what it then says is missing
    lenient = [step["uses"].partition("@")[0] for step in JOBS[LAST]["steps"] if step.get("continue-on-error")]
    assert lenient == ["actions/download-artifact"]


def test_only_the_last_job_may_write() -> None:
    """Who asks the API and who builds it can read the repository and no more; the last one comments."""
    read = {"contents": "read"}
    allowed = dict.fromkeys(JOBS, read) | {"number": {}, LAST: {**read, "pull-requests": "write"}}
    assert {name: job["permissions"] for name, job in JOBS.items()} == allowed
    assert WORKFLOW["permissions"] == {}
    assert "secrets" not in TEXT


def test_the_change_runs_in_the_first_job_alone() -> None:
    """The command that builds is run by a job that has no step of raggate's, and is no part of any script."""
    builders = {name for name, job in JOBS.items() if "inputs.build" in yaml.safe_dump(job["steps"])}
    assert builders == {"image"}
    assert not steps("image", OWN)
    assert all("${{" not in step.get("run", "") for job in JOBS.values() for step in job["steps"])


def test_raggate_is_that_of_the_workflows_commit() -> None:
    """Each job takes it from where the workflow is from, after whatever the change has put in its place is gone."""
    own = {"repository": "${{ job.workflow_repository }}", "ref": "${{ job.workflow_sha }}", "path": OWN[2:]}
    for name in (name for name in JOBS if steps(name, OWN)):
        order = [step.get("uses", step.get("run", "")).partition("@")[0] for step in JOBS[name]["steps"]]
        assert order[:3] == ["actions/checkout", "rm -rf .raggate .raggate-action", "actions/checkout"]
        assert own.items() <= steps(name, "actions/checkout")[1].items()
        assert order.index(OWN) > 2
    assert all(given["persist-credentials"] is False for name in JOBS for given in steps(name, "actions/checkout"))


def test_all_steps_are_given_the_same() -> None:
    """Each step is given the same files; all that the call takes is used, and the action knows it."""
    given = commands()
    same = ("config", "api-image", "allow-first-run")
    assert len({tuple(inputs[name] for name in same) for inputs in given.values()}) == 1
    assert all({*inputs} <= {*ACTION["inputs"]} for inputs in given.values())
    used = {*re.findall(r"inputs\.([a-z-]+)", TEXT)}
    assert used == {*WORKFLOW[True]["workflow_call"]["inputs"]}
    for name, spec in WORKFLOW[True]["workflow_call"]["inputs"].items():
        if name in ACTION["inputs"] and name != "shards":
            assert spec["default"] == ACTION["inputs"][name]["default"], name


def test_artifacts_are_named_by_run_shard_and_attempt() -> None:
    """A shard that is run again can leave its own, and nothing of an earlier pass is taken for a part of this one."""
    (left,) = steps("ask", "actions/upload-artifact")
    assert left["name"] == (
        "raggate-shard-${{ needs.number.outputs.run }}-${{ matrix.shard }}-attempt-${{ github.run_attempt }}"
    )
    (parts,) = steps(LAST, "actions/download-artifact")
    assert parts["pattern"] == "raggate-shard-${{ needs.number.outputs.run }}-*"
    assert parts["path"] == commands()["merge"]["parts"]
    assert left["path"] == commands()["shard"]["out"]
    assert JOBS["ask"]["strategy"] == {
        "fail-fast": False,
        "matrix": {"shard": "${{ fromJSON(needs.number.outputs.shards) }}"},
    }


def test_a_half_shard_is_kept_too() -> None:
    """What a shard has asked is kept where it was not asked to the end."""
    keep = JOBS["ask"]["steps"][-1]
    assert keep["if"] == "${{ !cancelled() && steps.ask.outputs.run-directory != '' }}"
