"""The container action as GitHub's runner runs it: the built image, a real engine, the example API FROM scratch."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import image
from e2e.emulator import RUNNER_UID, Job, Step, copy_tree, docker, job_network, leftovers
from e2e.engine import connect
from e2e.image import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.go, pytest.mark.timeout(600)]

INPUTS = ("golden", "baselines", "raggate.yml", "raggate.container.yml")
GATE = {"config": "raggate.container.yml", "api-image": image.EXAMPLE_API}

Jobs = Callable[..., Job]


@pytest.fixture(scope="session")
def images() -> tuple[str, str]:
    """Build the action's image and the example API's, where there is an engine."""
    connect().close()
    return image.action(), image.example_api()


@pytest.fixture
def job(tmp_path: Path, images: tuple[str, str]) -> Jobs:
    """Return a function that makes a job whose workspace holds this repository's gate."""

    def make(**options: Any) -> Job:
        made = Job(tmp_path, ROOT / "action.yml", images[0], **options)
        copy_tree(ROOT, made.workspace, INPUTS)
        made.own()
        return made

    return make


@pytest.fixture
def sibling(images: tuple[str, str]) -> Iterator[Callable[..., str]]:
    """Yield a function that starts the example API beside the runner and gives its address."""
    started: list[str] = []

    def start(*words: str) -> str:
        environment = {"VAULT_PERSONAL_PATH": "/vault/personal", "VAULT_WORK_PATH": "/vault/work"}
        variables = [word for key, value in environment.items() for word in ("-e", f"{key}={value}")]
        name = docker("create", "--user", "0", *variables, *words, images[1])
        started.append(name)
        docker("cp", str(ROOT / "golden" / "vault"), f"{name}:/vault")
        docker("start", name)
        shown = json.loads(docker("inspect", name))[0]["NetworkSettings"]["Networks"]
        return str(next(iter(shown.values()))["IPAddress"])

    yield start
    for name in started:
        docker("rm", "-f", name)


def run_directory(made: Job, step: Step) -> Path:
    return made.workspace / step.outputs["run-directory"]


def test_pass(job: Jobs) -> None:
    """The API as it is passes: exit 0, every output, the files it names, a summary, and nothing left behind."""
    made = job()
    step = made.run(GATE)
    assert (step.exit_code, step.problems) == (0, []), step.text
    directory = step.outputs["run-directory"]
    assert directory.startswith(".raggate/runs/")
    assert step.outputs == {
        "verdict": "pass",
        "exit-code": "0",
        "run-directory": directory,
        "cases": "203",
        "broke": "0",
        "fixed": "0",
        "warnings": "0",
        "comment-url": "",
        "pull-request-url": "",
        "suites": "",
    }
    assert set(step.outputs) == set(made.action["outputs"])
    assert step.summary.splitlines()[0] == (made.workspace / directory / "summary.md").read_text().splitlines()[0]
    assert f"/actions/runs/{made.run_id}" in step.summary
    assert json.loads((made.workspace / directory / "verdict.json").read_text())["verdict"] == "pass"
    assert "STARTED" in step.state
    assert step.commands == []
    assert leftovers(made) == []
    post = made.post(step)
    assert (post.exit_code, post.text, post.summary) == (0, "", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="files belong to the user who runs the tests anyway")
def test_files_belong_to_the_owner_of_the_workspace(job: Jobs) -> None:
    """Every file the step leaves in the workspace is its owner's, who can delete all of it without being root."""
    made = job()
    made.run(GATE)
    assert {path.lstat().st_uid for path in made.workspace.rglob("*")} == {RUNNER_UID}
    made.root.chmod(0o755)
    # those that pytest made, one more where its workers have one each
    for parent in made.root.parents[:3]:
        parent.chmod(0o755)
    subprocess.run(["rm", "-r", str(made.workspace / ".raggate")], user=RUNNER_UID, check=True)


def test_nothing_in_the_workspace_is_imported(job: Jobs) -> None:
    """Modules in the workspace, PYTHONPATH and a usercustomize in HOME are never run, neither in step nor post step."""
    made = job(env={"PYTHONPATH": ".", "PYTHONSTARTUP": "httpx.py", "PYTHONHOME": "", "PYTHONINSPECT": "1"})
    trap = f"print('::error::hijacked'); open({'/github/workspace/hijacked'!r}, 'w').close()\nraise SystemExit(0)\n"
    site = made.temp / "_github_home" / ".local" / "lib"
    version = docker("run", "--rm", "--entrypoint", "/opt/raggate/bin/python", made.image, "-V").split()[1]
    site = site / f"python{version.rpartition('.')[0]}" / "site-packages"
    places = [made.workspace / name for name in ("httpx.py", "yaml.py", "click.py", "os.py", "sitecustomize.py")]
    places += [made.workspace / name / "__init__.py" for name in ("docker", "raggate", "pydantic")]
    for path in (*places, site / "usercustomize.py", site / "sitecustomize.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(trap)
    made.own()
    step = made.run(GATE)
    post = made.post(step)
    assert (step.exit_code, post.exit_code) == (0, 0), step.text + post.text
    assert not (made.workspace / "hijacked").exists()
    assert "hijacked" not in step.text + post.text


@pytest.fixture(params=["bridge", "job network", "container", "host"])
def network(request: pytest.FixtureRequest, images: tuple[str, str]) -> Iterator[str | None]:
    """Yield each of the four networks that an action can be started in, as the value of `--network`."""
    if request.param == "job network":
        with job_network() as made:
            yield made
    elif request.param == "container":
        holder = docker("run", "-d", "--rm", "--entrypoint", "sleep", images[0], "300")
        try:
            yield f"container:{holder}"
        finally:
            docker("rm", "-f", holder)
    else:
        yield "host" if request.param == "host" else None


def test_api_in_a_container_is_reached_from_every_network(job: Jobs, network: str | None) -> None:
    """On the default bridge, on the job's network, in another container's and on the host's the gate passes."""
    made = job(network=network)
    step = made.run(GATE)
    assert step.exit_code == 0, step.text
    assert leftovers(made) == []


ASKS_ITS_STORE = """
import os, urllib.request
with urllib.request.urlopen(os.environ["STORE"] + "/api/health", timeout=10) as answer:
    raise SystemExit("the store answers %d" % answer.status)
"""


def test_services_of_a_command_are_reached_from_every_network(job: Jobs, network: str | None) -> None:
    """An API that runs in the action's own container reaches its service, wherever that container is."""
    made = job(network=network)
    environment = {"API_HOST": "0.0.0.0", "VAULT_PERSONAL_PATH": "/", "VAULT_WORK_PATH": "/"}
    store = {"image": GATE["api-image"], "env": environment, "port": 9000, "health_path": "/api/health"}
    api = {
        "run": ["python3", "-c", ASKS_ITS_STORE],
        "env": {"PORT": "{port}", "STORE": "http://{service.store}:9000"},
    }
    settings = yaml.safe_load((made.workspace / "raggate.yml").read_text())
    (made.workspace / "store.yml").write_text(
        yaml.safe_dump({**settings, "api": {"command": api, "services": {"store": store}}})
    )
    step = made.run({"config": "store.yml", "allow-command": "true"})
    assert (step.exit_code, step.outputs["verdict"]) == (3, "cannot tell"), step.text
    assert "the store answers 200" in step.text
    assert leftovers(made) == []


@pytest.fixture
def own_network() -> Iterator[str]:
    """Yield a job's network; what is asked for after it is gone when it is removed."""
    with job_network() as name:
        yield name


def test_api_beside_the_runner(own_network: str, job: Jobs, sibling: Callable[..., str]) -> None:
    """An API that somebody else runs is reached by its address, and by its name on the job's network."""
    step = job().run({"api-url": f"http://{sibling()}:9000"})
    assert step.exit_code == 0, step.text
    sibling("--network", own_network, "--network-alias", "api")
    step = job(network=own_network).run({"api-url": "http://api:9000"})
    assert step.exit_code == 0, step.text


RANDOM = random.Random(20260101)  # noqa: S311 - points in time, not secrets
CANCELLATIONS = [(round(RANDOM.uniform(0.1, 4.0), 2), number) for number in (signal.SIGINT, signal.SIGTERM) * 10]


@pytest.mark.parametrize(("after", "number"), CANCELLATIONS)
def test_cancelled_at_any_point(job: Jobs, after: float, number: signal.Signals) -> None:
    """Cancelled by either signal, the step ends in under 7 s, is no pass, and leaves nothing behind."""
    made = job(env={"NOTES_DISABLE": "vector"})  # had it ended before, it were a regression
    step = made.run(GATE, cancel=(after, number))
    # a signal that comes before the container runs may reach nobody: the next one counts, or the step's own end
    heard = after if step.spoke <= after else after + 7.5
    assert step.seconds - heard < 7, step.text
    assert step.exit_code != 0, step.text
    if step.exit_code == 130 and step.outputs:
        assert (step.outputs["verdict"], step.outputs["exit-code"]) == ("interrupted", "130")
        assert "interrupted" in step.summary
        if step.outputs["run-directory"]:
            # in a regression's place only when the signal came after the very last question and the report
            verdict = json.loads((run_directory(made, step) / "verdict.json").read_text())
            assert verdict["verdict"] in {"interrupted", "regression"}
    assert leftovers(made) == []


def kill_midway(made: Job, name: str) -> None:
    """Kill a step's container as soon as it has started containers of its own."""
    deadline = time.monotonic() + 60
    while len(leftovers(made)) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    docker("kill", "-s", "KILL", name, check=False)


def test_post_step_removes_what_a_killed_step_left(job: Jobs) -> None:
    """After SIGKILL the post step removes everything of this run and nothing else, and can be run twice."""
    made = job()
    other = docker("volume", "create", "--label", "raggate.run=other", "--label", "raggate.attempt=1")
    try:
        step = made.run(GATE, during=lambda name: kill_midway(made, name))
        assert step.exit_code == 137, step.text
        assert step.outputs["verdict"] == "interrupted"
        assert len(leftovers(made)) >= 3
        for _ in range(2):
            post = made.post(step)
            assert post.exit_code == 0, post.text
            assert leftovers(made) == []
        assert "killed" in post.summary
        assert other in docker("volume", "ls", "-q").split()
        if os.geteuid() == 0:
            assert {path.lstat().st_uid for path in made.workspace.rglob("*")} == {RUNNER_UID}
    finally:
        docker("volume", "rm", other)


def test_post_step_leaves_another_job_alone(job: Jobs) -> None:
    """Where every run is number 1 of a runner without a name, a post step removes only what its own step left."""
    unnamed = {"RUNNER_NAME": ""}
    made, other = job(run_id="1"), job(run_id="1")
    step = made.run(GATE, variables=unnamed, during=lambda name: kill_midway(made, name))
    there = leftovers(made)
    assert len(there) >= 3
    ended = other.run({"suite": "other"}, variables=unnamed)
    assert other.post(ended, variables=unnamed).exit_code == 0
    assert leftovers(made) == there
    assert made.post(step, variables=unnamed).exit_code == 0
    assert leftovers(made) == []


def test_the_image_as_that_of_a_gitlab_job(images: tuple[str, str]) -> None:
    """With its entry point emptied, as docs/other-ci.md says, a shell in the image has raggate and git on its path."""
    page = (ROOT / "docs" / "other-ci.md").read_text(encoding="utf-8")
    job = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])["rag-gate"]
    assert job["image"]["entrypoint"] == [""]
    # GitLab's runner hands the script to a shell on its standard input
    script = "\n".join(["set -e", *job["before_script"], "git --version", "raggate --version"])
    done = subprocess.run(
        ["docker", "run", "--rm", "--interactive", "--network", "none", "--entrypoint", "", images[0], "sh"],
        input=script,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "git version" in done.stdout
    assert "raggate, version" in done.stdout
