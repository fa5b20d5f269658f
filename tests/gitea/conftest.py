"""A real Gitea and a real Forgejo, which `make gitea` builds; with RAGGATE_REQUIRE_GITEA=1 both must be there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitea.server import Forge, Gitea, running
from raggate.text.http_client import httpx

BUILT = Path(__file__).parents[2] / ".venv"


@pytest.fixture(scope="session", params=["gitea", "forgejo"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gitea]:
    """Start each of the two servers once."""
    name = str(request.param)
    built = BUILT / name
    if not (built / "ready").exists():
        why = f"{name.upper()} IS NOT BUILT, SO THE CLIENT IS NOT TRIED AGAINST IT HERE: run make gitea"
        if os.environ.get("RAGGATE_REQUIRE_GITEA") == "1":
            pytest.fail(f"{why} (RAGGATE_REQUIRE_GITEA=1)")
        pytest.skip(why)
    with running(built / name, built / "source", tmp_path_factory.mktemp(name)) as gitea:
        yield gitea


@pytest.fixture(scope="session")
def ada(server: Gitea) -> str:
    """Give the token of the person who owns the repositories."""
    return server.user("ada")


@pytest.fixture(scope="session")
def bob(server: Gitea, ada: str) -> str:
    """Give the token of somebody else."""
    return server.user("bob")


@pytest.fixture
def forge(server: Gitea, ada: str) -> Forge:
    """Make a repository with a baseline, a branch and a pull request."""
    name = f"notes-{secrets.token_hex(3)}"
    body = {"name": name, "auto_init": True, "default_branch": "main"}
    headers = {"Authorization": f"Bearer {ada}"}
    httpx.post(f"{server.api_url}/user/repos", json=body, headers=headers, timeout=60).raise_for_status()
    made = Forge(server, ada, name)
    made.write("baselines/small.json", b'{"a": 0}\n')
    made.write("notes/Käse.md", "ü\n".encode(), new="change")
    made.call("POST", "/pulls", {"title": "A change", "head": "change", "base": "main", "body": ""})
    return made
