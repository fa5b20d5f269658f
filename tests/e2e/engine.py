"""The Docker engine for tests: found or skipped loudly, images of single static programs, and what was left behind.

With RAGGATE_REQUIRE_DOCKER=1 a missing engine is a failure. Use it as `from e2e.engine import …`.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HOSTILE = Path(__file__).parent / "images" / "hostile"
NOTES_API = ROOT / "examples" / "notes-api"


def connect() -> Any:
    """Connect to the engine, or skip the test, or fail it where an engine is required."""
    import docker

    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    try:
        if host.startswith("unix://"):  # the library would leave a socket open that finds nobody
            with socket.socket(socket.AF_UNIX) as probe:
                probe.connect(host.removeprefix("unix://"))
        client = docker.from_env(timeout=60)
        client.ping()
    except (docker.errors.DockerException, OSError) as error:
        missing(f"NO DOCKER ENGINE ANSWERS, so nothing about containers is tested here: {error}")
    else:
        return client
    return None


def missing(why: str) -> None:
    """Skip the test for a missing instrument, or fail it where instruments are required."""
    if os.environ.get("RAGGATE_REQUIRE_DOCKER") == "1":
        pytest.fail(f"{why} (RAGGATE_REQUIRE_DOCKER=1)")
    pytest.skip(why)


def build_program(client: Any, source: Path, directory: Path, tag: str, extra: str = "") -> str:
    """Compile a Go program statically and make an image of nothing else. Returns the tag."""
    compile_program(source, directory / "program")
    (directory / "Dockerfile").write_text(f'FROM scratch\nCOPY program /program\n{extra}\nENTRYPOINT ["/program"]\n')
    client.images.build(path=str(directory), tag=tag, rm=True, forcerm=True)
    return tag


def compile_program(source: Path, target: Path) -> None:
    if shutil.which("go") is None:
        missing("NO GO ON PATH, so no program for an image can be compiled; `make test` provides it")
    subprocess.run(
        ["go", "build", "-trimpath", "-ldflags=-s -w", "-o", str(target), "."],
        cwd=source,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
        timeout=300,
    )


def leftovers(client: Any, run: str) -> list[str]:
    """List the containers, networks and volumes that carry the label of a run."""
    filters = {"label": f"raggate.run={run}"}
    return [
        *(f"container {one.name}" for one in client.containers.list(all=True, filters=filters)),
        *(f"network {one.name}" for one in client.networks.list(filters=filters)),
        *(f"volume {one.name}" for one in client.volumes.list(filters=filters)),
    ]


def remove_leftovers(client: Any, run: str) -> None:
    """Remove what carries the label of a run, so that one failing test does not fail the next."""
    filters = {"label": f"raggate.run={run}"}
    for container in client.containers.list(all=True, filters=filters):
        container.remove(force=True, v=True)
    for network in client.networks.list(filters=filters):
        network.remove()
    for volume in client.volumes.list(filters=filters):
        volume.remove()
