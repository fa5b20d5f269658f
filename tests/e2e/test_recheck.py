"""The example API at two commits: a regression is checked on the one before, as a process and in containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.engine import NOTES_API, ROOT, compile_program, connect, leftovers, remove_leftovers
from here import Done
from project import ended

pytestmark = [
    pytest.mark.go,
    pytest.mark.timeout(300),
    pytest.mark.skipif(shutil.which("go") is None, reason="no Go on PATH; `make test` provides it"),
]

GOOD, WORSE = '"NOTES_VECTOR_WEIGHT", 0.4', '"NOTES_VECTOR_WEIGHT", 9.4'
DOCKERFILE = 'FROM scratch\nCOPY program /program\nENTRYPOINT ["/program"]\n'


@dataclass
class Repository:
    """A git repository with the example API, the golden set and the baseline of this one."""

    root: Path
    run: str = "none"

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace text in a file; it must be there."""
        text = (self.root / name).read_text()
        assert old in text
        (self.root / name).write_text(text.replace(old, new))

    def commit(self) -> None:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false")
        for words in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "state"]):
            subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True)

    def check(self, *arguments: str, **environment: str) -> Done:
        """Run `raggate check` against the commit."""
        variables = {**os.environ, "GITHUB_RUN_ID": self.run, **environment}
        return ended("check", "--against", "HEAD", *arguments, at=self.root, environment=variables, seconds=280)

    def recheck(self) -> dict[str, Any]:
        (path,) = self.root.glob(".raggate/runs/*/verdict.json")
        found: dict[str, Any] = json.loads(path.read_text())["recheck"]
        return found


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """The repository, with nothing committed yet."""
    for name in ("golden", "baselines"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copytree(NOTES_API, tmp_path / "examples" / "notes-api")
    shutil.copy(ROOT / "raggate.yml", tmp_path)
    (tmp_path / ".gitignore").write_text(".raggate/\n")
    return Repository(tmp_path)


class TestProcess:
    """`recheck: ref` of an API that is compiled and run beside raggate."""

    def test_built_at_both_commits(self, repository: Repository) -> None:
        """A change of the API's source is red, and the source of the commit, compiled anew, answers what was lost."""
        (repository.root / "raggate.yml").write_text((ROOT / "raggate.yml").read_text() + "recheck: ref\n")
        repository.commit()
        repository.edit("examples/notes-api/config.go", GOOD, WORSE)
        done = repository.check()
        assert done.code == 1, done.out + done.err
        found = repository.recheck()
        assert found["asked"] > 10
        assert found["failing"] == found["unanswered"] == 0
        assert "fails none of the" in done.out


@pytest.mark.docker
class TestContainer:
    """Both ways to name the base build of an API in a container."""

    @pytest.fixture
    def engine(self, repository: Repository) -> Iterator[Any]:
        """Yield the engine; what this test started is gone at its end by itself."""
        client = connect()
        repository.run = f"recheck-{uuid.uuid4().hex}"
        yield client
        left = leftovers(client, repository.run)
        remove_leftovers(client, repository.run)
        client.close()
        assert left == []

    @pytest.fixture
    def contained(self, repository: Repository, engine: Any) -> Repository:
        compile_program(NOTES_API, repository.root / "program")
        (repository.root / "Dockerfile").write_text(DOCKERFILE)
        (repository.root / ".dockerignore").write_text("*\n!program\n")
        config = yaml.safe_load((ROOT / "raggate.container.yml").read_text())
        container = config["api"]["container"]
        del container["image"]
        container["build"] = {"context": "."}
        (repository.root / "raggate.yml").write_text(yaml.safe_dump({**config, "recheck": "ref"}))
        repository.commit()
        return repository

    def test_built_from_both_trees(self, contained: Repository) -> None:
        """The image of the base is built from the commit's Dockerfile, not from that of the change."""
        contained.edit("Dockerfile", "ENTRYPOINT", "ENV NOTES_DISABLE=vector\nENTRYPOINT")
        done = contained.check()
        assert done.code == 1, done.out + done.err
        assert contained.recheck()["failing"] == 0
        assert contained.recheck()["build"].startswith("commit ")
        assert (next(contained.root.glob(".raggate/runs/*/base")) / "build.log").exists()

    def test_an_image_of_the_base(self, contained: Repository, engine: Any) -> None:
        """`--base-image` names the build before the change; it runs by the same settings of the container."""
        name = f"raggate-test-{uuid.uuid4().hex[:8]}:base"
        engine.images.build(path=str(contained.root), tag=name, rm=True, forcerm=True)
        try:
            contained.edit("Dockerfile", "ENTRYPOINT", "ENV NOTES_DISABLE=vector\nENTRYPOINT")
            done = contained.check("--base-image", name)
            assert done.code == 1, done.out + done.err
            found = contained.recheck()
            assert found["asked"] > 10
            assert (found["build"], found["problem"]) == (f"image {name}", "")
            assert (found["failing"], found["unanswered"]) == (0, 0)
            assert (found["times"], found["lost_again"]) == (1, found["asked"])
        finally:
            engine.images.remove(name, force=True)
