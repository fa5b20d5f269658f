"""What the container backend hands to API and services, before any engine is asked."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from raggate.base.errors import UsageError
from raggate.config.service_settings import Api
from raggate.models.service import Workspace
from raggate.service.backends import container

SETTINGS = {
    "container": {
        "image": "x:1",
        "port": 9000,
        "command": ["serve", "{run}"],
        "env": {"COLLECTION": "notes_{run}", "STORE": "{service.store}"},
    },
    "services": {"store": {"image": "y:1", "env": {"NAME": "{run}"}}},
}


def place() -> Workspace:
    return Workspace(root=Path("/r"), out=Path("/o"), vaults={"notes": Path("/v")}, environment={})


def test_run_is_one_name_for_all() -> None:
    """{run} is the same for the API and its services, and another in the next run."""
    start = place()
    parts = container._parts(Api.model_validate(SETTINGS), start)
    api, store = parts[container._API], parts["store"]
    assert api.command == ("serve", start.run)
    assert api.environment == {"COLLECTION": f"notes_{start.run}", "STORE": "store"}
    assert store.environment == {"NAME": start.run}
    assert place().run != start.run


def test_a_service_has_no_port_of_the_api() -> None:
    """What is not a service's own is an unknown placeholder there, and {run} among the known."""
    services = {"store": {"image": "y:1", "env": {"P": "{port}"}}}
    with pytest.raises(UsageError, match=r"api\.services\.store\.env\.P: unknown") as caught:
        container._parts(Api.model_validate({**SETTINGS, "services": services}), place())
    assert "{run}" in caught.value.hint


def test_what_is_copied_of_a_vault(tmp_path: Path) -> None:
    """Files, folders and links arrive as they are, and belong to nobody; what is neither is left out."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "ä b.md").write_text("text")
    (tmp_path / "empty.md").touch(mode=0o600)
    (tmp_path / "link.md").symlink_to("ä b.md")
    os.link(tmp_path / "ä b.md", tmp_path / "same.md")
    os.mkfifo(tmp_path / "pipe")
    packed = io.BytesIO()
    container.archive(tmp_path, "notes", packed)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as tar:
        members = {member.name: member for member in tar}
        stream = tar.extractfile("same.md")
        assert stream is not None
        assert stream.read() == b"text"
    kinds = {name: (member.type, member.mode, member.uid, member.linkname) for name, member in members.items()}
    assert kinds == {
        "empty": (tarfile.DIRTYPE, 0o755, 0, ""),
        "empty.md": (tarfile.REGTYPE, 0o644, 0, ""),
        "link.md": (tarfile.SYMTYPE, 0o777, 0, "ä b.md"),
        "same.md": (tarfile.REGTYPE, 0o644, 0, ""),
        "ä b.md": (tarfile.REGTYPE, 0o644, 0, ""),
    }


def test_a_link_out_of_a_vault(tmp_path: Path) -> None:
    """It is refused by its name, and never followed."""
    (tmp_path / "out.md").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match=r"vault 'notes': out\.md is a link that leaves the vault"):
        container.archive(tmp_path, "notes", io.BytesIO())
