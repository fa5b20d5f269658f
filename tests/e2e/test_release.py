"""What a release does to the image: pushed, named by digest in action.yml, pulled by that digest and run."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tools.release_action import SOURCE, released

from e2e import image
from e2e.emulator import Job, copy_tree, docker
from e2e.engine import connect, missing
from e2e.image import ROOT

pytestmark = [pytest.mark.docker, pytest.mark.go, pytest.mark.timeout(600)]

CONFIG = "{version: 0.1, storage: {filesystem: {rootdirectory: %s}}, http: {addr: '%s'}}"
GATE = {"config": "raggate.container.yml", "api-image": image.EXAMPLE_API}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Start a registry on this machine, where an engine may push without TLS, and give its address."""
    connect().close()
    program = shutil.which("docker-registry")
    if program is None:
        missing("NO docker-registry ON PATH, so no image is pulled by digest; Debian and Ubuntu have it as a package")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    config = tmp_path / "registry.yml"
    config.write_text(CONFIG % (tmp_path / "registry", address))
    with subprocess.Popen(
        [str(program), "serve", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait(address)
            yield address
        finally:
            process.terminate()


def _wait(address: str) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return


def test_released_action_runs_the_pushed_image_by_digest(tmp_path: Path, registry: str) -> None:
    """The released action.yml gates with the image of its digest, also where the tag was moved since."""
    built, api = image.action(), image.example_api()
    tag = f"{registry}/raggate:9"
    docker("tag", built, tag)
    docker("push", "-q", tag)
    (pinned,) = [name for name in json.loads(docker("image", "inspect", tag))[0]["RepoDigests"] if registry in name]
    docker("tag", api, tag)
    docker("push", "-q", tag)
    docker("rmi", tag)
    docker("rmi", pinned, check=False)
    action = tmp_path / "action.yml"
    action.write_text(released(SOURCE.read_text(encoding="utf-8"), pinned))
    try:
        made = Job(tmp_path / "job", action, _image(action))
        copy_tree(ROOT, made.workspace, ("golden", "baselines", "raggate.yml", "raggate.container.yml"))
        made.own()
        step = made.run(GATE)
        assert "Unable to find image" in step.text, "the image was here already: nothing was pulled"
        assert (step.exit_code, step.outputs["verdict"]) == (0, "pass"), step.text
        assert made.post(step).exit_code == 0
    finally:
        docker("rmi", pinned, check=False)


def _image(action: Path) -> str:
    """Read the image as the runner does: what stands behind `docker://`."""
    text = str(yaml.safe_load(action.read_text(encoding="utf-8"))["runs"]["image"])
    assert text.startswith("docker://")
    return text.removeprefix("docker://")
