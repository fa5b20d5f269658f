"""Programs and MCP servers over standard input and output in containers: in the sandbox that an API over HTTP has."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e import image
from e2e.emulator import docker
from e2e.engine import connect, leftovers, remove_leftovers
from programs import BAD, hurried
from project import Project, make_small_project
from tables import each_row

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]

FAKES = Path(__file__).parents[1] / "fakes"
CONFIG = """\
suite: small
golden: golden.jsonl
vault: {{personal: vault/personal, work: vault/work}}
api:
  container:
    image: {image}
    command: [python3, -S, {program}, /vaults]
    pass_env: [FAKE_BEHAVIOUR]
  stdio: true
  ready: {{timeout: 20, settle: 0.05}}
ask:
  timeout: 20
  concurrency: 4
{ask}
  response:
    chunks: {{list: hits, rel_path: path, path_prefix: "{{vault}}/", heading_path: headings, text: text}}
"""
PROGRAM = """\
  adapter: mapped
  body: {question: "{question}", k: "{k}", vaults: "{vaults}"}"""
SERVER = """\
  adapter: mcp
  tool: search_notes
  body: {query: "{question}", limit: "{k}", vaults: "{vaults}"}"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield an image with the fakes, which has Python and nothing else."""
    connect().close()
    context = tmp_path_factory.mktemp("fakes")
    for path in FAKES.glob("*.py"):
        shutil.copy(path, context)
    (context / "Dockerfile").write_text(f"FROM {image.base()}\nCOPY *.py /app/\nWORKDIR /app\n")
    tag = f"raggate-test-stdio:{uuid.uuid4().hex[:8]}"
    docker("build", "-q", "--network", "none", "-t", tag, str(context))
    yield tag
    docker("rmi", "-f", tag)


def gate(root: Path, fakes: str, program: str, ask: str) -> Project:
    """Return a repository with a gate on a program in a container, and a baseline."""
    project = make_small_project(root)
    project.config.write_text(CONFIG.format(image=fakes, program=program, ask=ask))
    project.promote()
    return project


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, fakes: str) -> Project:
    return gate(tmp_path_factory.mktemp("program"), fakes, "program.py", PROGRAM)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, fakes: str) -> Project:
    return gate(tmp_path_factory.mktemp("server"), fakes, "mcp_server.py", SERVER)


@pytest.fixture
def run() -> Iterator[str]:
    """Yield the id of a run, and fail the test when anything of it is left."""
    engine, run = connect(), f"test-{uuid.uuid4().hex}"
    yield run
    left = leftovers(engine, run)
    remove_leftovers(engine, run)
    engine.close()
    assert left == []


@pytest.mark.parametrize("kind", ["program", "server"])
def test_from_green_to_red(request: pytest.FixtureRequest, kind: str, run: str) -> None:
    """What answers as before is green; what lost a note is a regression that names it."""
    gated: Project = request.getfixturevalue(kind)
    same = gated.command("check", GITHUB_RUN_ID=run)
    assert same.code == 0, same.out + same.err
    lost = gated.command("check", FAKE_BEHAVIOUR="lose:anchovy", GITHUB_RUN_ID=run)
    assert lost.code == 1, lost.out + lost.err
    assert "anchovy-first" in lost.out


def test_what_else_it_prints_goes_to_the_log(program: Project, run: str) -> None:
    """Lines that are no answers do no harm, and are in the log once."""
    same = program.command("check", FAKE_BEHAVIOUR="noisy", GITHUB_RUN_ID=run)
    assert same.code == 0, same.out + same.err
    log = (program.last_run() / "api.log").read_text()
    assert (log.count("Loading weights"), log.count('"versions"')) == (1, 1)


@each_row(("behaviour", "sentence"), BAD)
def test_a_bad_program_cannot_be_told_and_is_not_left_running(
    program: Project, run: str, behaviour: str, sentence: str
) -> None:
    """Whatever a program does wrong in its container, the sentence is that of a process, and nothing is left."""
    hurried(program, ready=4)
    done = program.command("check", "-c", "hurried.yml", FAKE_BEHAVIOUR=behaviour, GITHUB_RUN_ID=run)
    assert done.code == 3, done.out + done.err
    assert sentence in done.out + done.err
    assert "Traceback" not in done.out + done.err


def test_the_sandbox_is_that_of_an_api(program: Project, run: str) -> None:
    """The engine gives a program what it gives an API over HTTP: no capability, no network, bounded memory."""
    seen = cancelled(program, run)
    host, config = seen["HostConfig"], seen["Config"]
    assert (host["CapDrop"], host["SecurityOpt"], host["ReadonlyRootfs"]) == (["ALL"], ["no-new-privileges:true"], True)
    assert (host["Memory"], host["PidsLimit"], config["User"]) == (512 << 20, 1024, "65534:65534")
    assert {(mount["Type"], mount["RW"]) for mount in seen["Mounts"]} == {("volume", False)}
    assert seen["internal"]


def cancelled(program: Project, run: str) -> dict[str, Any]:
    """Interrupt a check while its program hangs; return what the engine told of the container before."""
    process = subprocess.Popen(
        [sys.executable, "-m", "raggate", "check"],
        cwd=program.root,
        env={**program.environment, "FAKE_BEHAVIOUR": "hangs", "GITHUB_RUN_ID": run},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    engine = connect()
    try:
        assert process.stdout is not None
        while b"is up after" not in (line := process.stdout.readline()):
            assert line, "it ended"
        filters = {"label": f"raggate.run={run}", "status": "running"}
        (found,) = engine.containers.list(filters=filters)
        (network,) = engine.networks.list(filters={"label": f"raggate.run={run}"})
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.stdout and process.stdout.close()
        engine.close()
    return {**found.attrs, "internal": network.attrs["Internal"]}
