"""The example API in a container: a second check takes most answers of the first, until the image is another one."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.engine import NOTES_API, ROOT, compile_program, connect, leftovers, remove_leftovers
from here import Done
from project import ended

pytestmark = [
    pytest.mark.go,
    pytest.mark.docker,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("go") is None, reason="no Go on PATH; `make test` provides it"),
]

DOCKERFILE = 'FROM scratch\nCOPY program /program\nENTRYPOINT ["/program"]\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project of which raggate builds the API's image."""
    for name in ("golden", "baselines"):
        shutil.copytree(ROOT / name, tmp_path / name)
    compile_program(NOTES_API, tmp_path / "program")
    (tmp_path / "Dockerfile").write_text(DOCKERFILE)
    (tmp_path / ".dockerignore").write_text("*\n!program\n")
    config = yaml.safe_load((ROOT / "raggate.container.yml").read_text())
    del config["api"]["container"]["image"]
    config["api"]["container"]["build"] = {"context": "."}
    (tmp_path / "raggate.yml").write_text(yaml.safe_dump(config))
    return tmp_path


@pytest.fixture
def run_id() -> Iterator[str]:
    """Give the mark of what is started, of which nothing is left at the end."""
    name = f"answers-{uuid.uuid4().hex}"
    client = connect()
    yield name
    left = leftovers(client, name)
    remove_leftovers(client, name)
    client.close()
    assert left == []


def test_an_unchanged_image_is_asked_little(root: Path, run_id: str) -> None:
    """Same verdict and metrics with a part of the calls, and no baseline; an image that is built otherwise is asked."""

    def check() -> tuple[Done, dict[str, Any]]:
        environment = {**os.environ, "GITHUB_RUN_ID": run_id, "RAGGATE_ANSWERS_KEY": "k" * 32}
        done = ended("check", "--answers", "kept", at=root, environment=environment, seconds=200)
        newest = max((root / ".raggate" / "runs").iterdir(), key=lambda path: path.stat().st_mtime_ns)
        return done, json.loads((newest / "metrics.json").read_text())

    first, whole = check()
    assert first.code == 0, first.out + first.err
    second, fewer = check()
    assert second.code == 0, second.out + second.err
    assert "came out alike" in " ".join(second.out.split())
    assert fewer["by_retriever"] == whole["by_retriever"]
    calls, kept = (fewer["operational_metrics"][name] for name in ("calls", "kept"))
    assert calls + kept == whole["operational_metrics"]["calls"]
    assert calls < kept
    refused = ended("promote", "latest", at=root, environment={**os.environ}, seconds=60)
    assert refused.code == 2
    assert f"{kept} answers are those of run" in refused.err
    (root / "Dockerfile").write_text(f"{DOCKERFILE}LABEL other=1\n")
    third, again = check()
    assert third.code == 0, third.out + third.err
    assert again["operational_metrics"]["calls"] == whole["operational_metrics"]["calls"]
