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
from raggate.service.backends import container, group


def test_run_is_one_name_for_all() -> None:
    """{run} is the same for all and another in the next start; the API's port is an unknown word to a service."""
    env = {"COLLECTION": "notes_{run}", "STORE": "{service.store}"}
    own = {"image": "x:1", "port": 9000, "command": ["serve", "{run}"], "env": env}
    first, second = (
        Workspace(root=Path("/r"), out=Path("/o"), vaults={"notes": Path("/v")}, environment={}) for _ in range(2)
    )

    def parts(word: str) -> dict[str, group.Part]:
        services = {"store": {"image": "y:1", "env": {"NAME": word}}}
        return container._parts(Api.model_validate({"container": own, "services": services}), first)

    api, store = parts("{run}").values()
    assert api.command == ("serve", first.run)
    assert api.environment == {"COLLECTION": f"notes_{first.run}", "STORE": "store"}
    assert store.environment == {"NAME": first.run}
    assert second.run != first.run
    with pytest.raises(UsageError, match=r"api\.services\.store\.env\.NAME: unknown") as caught:
        parts("{port}")
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
