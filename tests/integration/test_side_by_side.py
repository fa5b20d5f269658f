"""`raggate diff`: a revision, the working tree and stored runs, held against each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from project import FAKE_API, Project
from raggate.pipeline import run_directory

API = f"""\
import os, runpy, sys
from pathlib import Path

os.environ["FAKE_BEHAVIOUR"] = Path(__file__).with_name("behaviour.txt").read_text().strip()
sys.path.insert(0, {str(FAKE_API.parent)!r})
runpy.run_path({str(FAKE_API)!r}, run_name="__main__")
"""


@pytest.fixture(scope="module")
def repository_once(promoted_few: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository whose committed API is healthy, and whose working tree has one that finds less."""
    project = promoted_few.copied(tmp_path_factory.mktemp("repository"))
    (project.root / "api.py").write_text(API)
    (project.root / "behaviour.txt").write_text("ok")
    project.edit(str(FAKE_API), '"{root}/api.py"')
    project.commit()
    (project.root / "behaviour.txt").write_text("worse")
    return project


@pytest.fixture
def repository(repository_once: Project, tmp_path: Path) -> Project:
    return repository_once.copied(tmp_path / "repository")


def told(project: Project) -> dict[str, object]:
    """Read what programs are told of the last comparison."""
    loaded: dict[str, object] = json.loads((project.last_run() / "diff" / "diff.json").read_text())
    return loaded


def test_a_revision_and_the_working_tree(repository: Project) -> None:
    """Both are booted and asked, the change is red, and each run says which commit it is of."""
    (repository.root / "go.mod").write_text("require x v1\n")
    repository.commit()
    (repository.root / "behaviour.txt").write_text("ok")
    repository.commit()
    (repository.root / "behaviour.txt").write_text("worse")
    (repository.root / "go.mod").write_text("require x v2\n")
    done = repository.command("diff", "HEAD", "--slice", "tag=work")
    assert done.code == 1, done.out + done.err
    assert "changed beside the notes: go.mod (x v1 → v2)" in done.out
    assert "base: revision HEAD (" in done.out
    assert "head: the working tree (run " in done.out
    assert "Questions that broke (3)" in done.out
    runs = sorted(path for path in (repository.root / ".raggate" / "runs").iterdir())[-2:]
    base, head = (run_directory.read(path).provenance.checkout for path in runs)
    assert (base.commit, base.dirty, head.dirty) == (head.commit, False, True)
    assert (repository.last_run() / "diff" / "diff.md").read_text().startswith("# revision HEAD (")
    # a partial one, as only some were asked
    assert repository.command("promote", "latest").code == 3


def test_the_other_way_round(repository: Project) -> None:
    """What is red one way is better the other, and nothing worse is a pass."""
    done = repository.command("diff", ".", "HEAD")
    assert done.code == 0, done.out + done.err
    assert "Questions that were fixed (6)" in done.out
    # the run of HEAD is the newest, and that of the working tree what is meant
    of_head, of_tree = json.loads(repository.command("runs", "--json").out)["result"]["runs"][:2]
    assert (of_head["command"], of_head["build"], of_tree["build"]) == ("diff", "revision HEAD", None)
    assert "diff: revision HEAD" in repository.command("runs").out
    refused = repository.command("promote", "latest", "--allow-regression", "--reason", "worse", "--dry-run")
    assert refused.code == 2
    assert f"run '{of_tree['id']}' is one of `raggate diff`" in refused.err
    refused = repository.command("promote", of_head["id"])
    assert refused.code == 2
    assert "is one of `raggate diff`: revision HEAD, one of two builds" in refused.err


def test_stored_runs(repository: Project) -> None:
    """Runs that are there already are not asked again; a partial one is nothing that a whole one is compared with."""
    assert repository.command("run").code == 0
    worse = repository.last_run().name
    assert repository.command("run", "--limit", "2").code == 0
    part = repository.last_run().name
    before = len(list((repository.root / ".raggate" / "runs").iterdir()))
    document = json.loads(repository.command("diff", worse, "latest", "--json").out)
    assert (document["exit_code"], document["result"]["verdict"]["outcome"]) == (5, "partial")
    done = repository.command("diff", part, worse)
    assert done.code == 3
    assert "cannot be compared with: it is partial: 2 of 6 questions chosen" in done.out
    assert len(list((repository.root / ".raggate" / "runs").iterdir())) == before


def test_latest_is_what_it_was_before(repository: Project) -> None:
    """The run that the other side leaves is not what `latest` means; a run is not held against itself."""
    assert repository.command("run", "--limit", "2").code == 0
    stored = repository.last_run().name
    done = repository.command("diff", "HEAD", "latest", "--limit", "2")
    assert f"head: run {stored} (run {stored})" in done.out
    done = repository.command("diff", stored, f".raggate/runs/{stored}")
    assert done.code == 2
    assert "both sides name the same run" in done.err


@pytest.mark.parametrize(
    ("side", "problem"),
    [
        ("nowhere", "'nowhere': neither a revision nor a run directory here"),
        ("ref:nowhere", "'nowhere': no such revision"),
        ("image:x", "image 'x': an image needs the section `api.container` in raggate.yml"),
    ],
)
def test_a_side_that_is_none(repository: Project, side: str, problem: str) -> None:
    """What cannot be named is a usage error before anything is started."""
    before = len(list((repository.root / ".raggate" / "runs").iterdir()))
    done = repository.command("diff", side)
    assert done.code == 2
    assert problem in done.err
    assert len(list((repository.root / ".raggate" / "runs").iterdir())) == before
