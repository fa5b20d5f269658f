"""The real API's habits, one by one named rightly: as a process, and as a container beside a service it needs."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e import image
from e2e.engine import connect, leftovers
from project import Project, make_project
from stored_rows import plain_rows

FAKES = Path(__file__).parents[1] / "fakes"
PROGRAMS = ("lying_api.py", "plain_http.py", "process_api.py")
CHUNKS = 36
ANSWERED = "generated an answer in 24 of 24 calls although only"
WORDS = {
    "unasked-answers": (ANSWERED, ANSWERED),
    "noise": (
        "asked twice, 10 of 10 questions came back with other chunks or in another order",
        "10 asked twice, 10 ranked differently",
    ),
}
"""What the warning of each habit says, and what terminal and summary show of it."""

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A small repository whose API is the lying one, started as a process."""
    project = make_project(tmp_path)
    project.edit("process_api.py", "lying_api.py")
    project.edit("settle: 0.05", "settle: 1")
    return project


def environment(project: Project, **variables: str) -> None:
    """Give the API environment variables."""
    settings = yaml.safe_load(project.config.read_text())
    backend = settings["api"].get("command") or settings["api"]["container"]
    backend["env"] |= variables
    project.config.write_text(yaml.safe_dump(settings))


def measured(project: Project) -> list[dict[str, Any]]:
    """Read the responses of the newest run."""
    lines = plain_rows(project.last_run()).read_text().splitlines()
    return [json.loads(line)["result"]["response"] for line in lines]


def named(project: Project, out: str) -> None:
    """See that each habit stands on the terminal, in the summary and in the verdict, and that all was measured."""
    summary = (project.last_run() / "summary.md").read_text().replace("&#95;", "_")
    told = {one["code"]: one["message"] for one in project.verdict()["warnings"]}
    for code, (words, shown) in WORDS.items():
        assert words in told[code]
        assert shown in out
        assert shown in summary
    responses = measured(project)
    assert len(responses) == 24
    # the index was complete before the first question, whatever the API said of it
    assert {response["coverage"]["chunks_embedded"] for response in responses} == {CHUNKS}
    assert {response["answer"] for response in responses} == {None}


def test_each_habit_is_named(project: Project) -> None:
    """A passing run names what is generated, ranked by a model and not the same twice, and began with a whole index."""
    project.promote()
    done = project.raggate("check")
    assert done.code == 0, done.out + done.err
    named(project, done.out)


def test_an_index_that_looks_complete_too_early_is_never_green(project: Project) -> None:
    """Where a note takes longer than the index must rest, a part of it was asked, and the setting is named."""
    project.promote()
    environment(project, NOTE_SECONDS="0.8")
    project.edit("settle: 1", "settle: 0.2")
    done = project.raggate("check")
    assert done.code in {3, 4}, done.out + done.err
    assert "api.ready.settle" in done.out + done.err


@pytest.fixture
def lying_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the image of the lying API."""
    client = connect()
    context = tmp_path_factory.mktemp("lying")
    for name in PROGRAMS:
        shutil.copy(FAKES / name, context / name)
    copied = " ".join(PROGRAMS)
    (context / "Dockerfile").write_text(
        f'FROM {image.base()}\nCOPY {copied} /app/\nENTRYPOINT ["python3", "-B", "/app/lying_api.py"]\nCMD []\n'
    )
    tag = f"raggate-test-lying-{uuid.uuid4().hex[:8]}"
    client.images.build(path=str(context), tag=tag, rm=True, forcerm=True)
    yield tag
    client.images.remove(tag, force=True)
    client.close()


@pytest.mark.docker
def test_each_habit_is_named_of_a_container_beside_its_service(project: Project, lying_image: str) -> None:
    """The same API in a container embeds by a service that it knows by name, and what it does is told alike."""
    settings = yaml.safe_load(project.config.read_text())
    container = {"image": lying_image, "port": 9000}
    container["env"] = {
        "API_HOST": "0.0.0.0",
        "API_PORT": "{port}",
        "VAULT_PERSONAL_PATH": "{vault.personal}",
        "VAULT_WORK_PATH": "{vault.work}",
        "EMBEDDER": "{service.embedder}:7000",
    }
    service = {"image": lying_image, "command": ["embedder", "7000"], "ready": {"tcp": 7000}}
    container["services"] = {"embedder": service}
    settings["api"] = {"container": container, "ready": {"timeout": 60, "settle": 1}}
    project.config.write_text(yaml.safe_dump(settings))
    run = f"test-{uuid.uuid4().hex}"
    assert project.raggate("run", GITHUB_RUN_ID=run, GITHUB_JOB="gate").code == 0
    assert project.raggate("promote", str(project.last_run())).code == 0
    done = project.raggate("check", GITHUB_RUN_ID=run, GITHUB_JOB="gate")
    assert done.code == 0, done.out + done.err
    named(project, done.out)
    assert "embedded" in (project.last_run() / "embedder.log").read_text()
    client = connect()
    assert leftovers(client, run) == []
    client.close()
