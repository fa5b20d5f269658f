"""Where the notes of a job's run can be read: an address at the commit that they are from, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import make_config, make_run
from hostile_git import Hostile
from raggate.models.provenance import Checkout, Provenance
from raggate.models.run import Run
from raggate.models.verdict import ReportContext
from raggate.pipeline import context_file
from raggate.pipeline.forge import notes_address
from raggate.pipeline.request import Request

GITHUB = {"GITHUB_SERVER_URL": "https://forge.example", "GITHUB_REPOSITORY": "team/notes"}
GITLAB = {"CI_PROJECT_URL": "https://gitlab.example/group/team/notes"}
TRUSTED = "b" * 40


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """A checkout with notes in `sub/notes`."""
    return Hostile(tmp_path_factory.mktemp("forge") / "checkout")


def measured(checkout: Hostile, *, vault: str = "notes", against: str | None = None, dirty: bool | None = False) -> Run:
    """Build a run of the commit that is checked out."""
    provenance = Provenance(checkout=Checkout(commit=head(checkout), dirty=dirty), against=against)
    return make_run(config=make_config(vault={"work": vault}), provenance=provenance)


def head(checkout: Hostile) -> str:
    """Return the commit that is checked out."""
    return checkout.git("rev-parse", "HEAD")


def address(checkout: Hostile, run: Run, environment: dict[str, str], *, first_run: bool = False) -> str:
    """Return the address of a run's notes, the configuration in `sub`."""
    file = checkout.sub / "raggate.yml"
    request = Request(config_file=file, environment=environment, say=lambda _: None)
    return notes_address(request, run, first_run=first_run)


def test_files_of_the_checked_out_commit(checkout: Hostile) -> None:
    """On GitHub and GitLab the configuration's directory is named at the commit of the checkout."""
    run, commit = measured(checkout), head(checkout)
    assert address(checkout, run, GITHUB) == f"https://forge.example/team/notes/blob/{commit}/sub/"
    assert address(checkout, run, GITLAB) == f"https://gitlab.example/group/team/notes/-/blob/{commit}/sub/"


def test_files_of_the_trusted_commit(checkout: Hostile) -> None:
    """Where another commit judges, its notes were read, but not on a first run, which it has none for."""
    run = measured(checkout, against=TRUSTED, dirty=True)
    assert address(checkout, run, GITHUB) == f"https://forge.example/team/notes/blob/{TRUSTED}/sub/"
    run = measured(checkout, against=TRUSTED)
    assert f"/blob/{head(checkout)}/" in address(checkout, run, GITHUB, first_run=True)


def test_no_address(checkout: Hostile) -> None:
    """Outside a job, with files that differ from the commit's, and with notes that it has not, there is none."""
    assert address(checkout, measured(checkout), {}) == ""
    assert address(checkout, measured(checkout), {"GITHUB_SERVER_URL": "https://forge.example"}) == ""
    for dirty in (True, None):
        assert address(checkout, measured(checkout, dirty=dirty), GITHUB) == ""
    assert address(checkout, measured(checkout, vault="fetched"), GITHUB) == ""


def test_it_is_not_stored(tmp_path: Path) -> None:
    """A run directory has no address, and one that was put there is not read: it could lead anywhere."""
    context_file.write(tmp_path, ReportContext(root="../", forge="https://forge.example/a/b/blob/x/"))
    file = tmp_path / context_file.FILE
    assert "forge" not in file.read_text()
    file.write_text(file.read_text().replace('"root"', '"forge": "https://evil.example/a/b/blob/x/", "root"'))
    context = context_file.read(tmp_path)
    assert (context.root, context.forge) == ("../", "")
