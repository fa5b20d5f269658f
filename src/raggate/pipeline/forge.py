"""Where a job's notes can be read: on the forge, at the commit that they were read from, as the runner names it."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from raggate.inputs import git, sources
from raggate.models.run import Run
from raggate.pipeline.request import Request

_PURPOSE = "the notes that a page links are those of a commit"


def notes_address(request: Request, run: Run, *, first_run: bool) -> str:
    """Return the address of the configuration's directory on the forge; the page checks its shape.

    Args:
        request: whose environment names the forge, as that of a job on GitHub or GitLab does.
        first_run: whether the change's own files counted, because the trusted commit has none.

    Returns:
        An address that ends in `/`; empty without a forge, and where the notes are not known to be those of a commit.
    """
    files = _files_of(request.environment)
    provenance = run.provenance
    if not files:
        return ""
    trusted = None if first_run else provenance.against
    commit = trusted or (provenance.checkout.commit if provenance.checkout.dirty is False else None)
    workspace = request.remote.workspace if request.remote else None
    checkout = git.find(request.root, workspace)
    if commit is None or (checkout is None and trusted is None):
        return ""
    prefix = sources.prefix_of(request.root, checkout, workspace)
    directories = [f"{prefix}{path}" for path in getattr(run.config, "vault", {}).values()]
    if trusted is None and checkout is not None and not _in_commit(checkout, commit, directories):
        return ""
    return f"{files}/{commit}/{quote(prefix, errors='replace')}"


def _files_of(environment: Mapping[str, str]) -> str:
    """Return what the addresses of a repository's files begin with."""
    server, name = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    if server and name:
        return f"{server}/{name}/blob"
    project = environment.get("CI_PROJECT_URL")
    return f"{project}/-/blob" if project else ""


def _in_commit(checkout: git.Checkout, commit: str, directories: list[str]) -> bool:
    """Return whether a commit has these directories: a job may have fetched its notes from elsewhere."""
    with git.reading(checkout, like=commit, purpose=_PURPOSE) as reader:
        return all(reader.run("cat-file", "-e", f"{commit}:{path}").returncode == 0 for path in directories)
