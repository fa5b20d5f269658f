"""What an API gets of a vault has another hash as soon as any file of it is another one, and not for its time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from raggate.errors import UsageError
from raggate.pipeline.answers import vault_files


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with a note, an attachment, settings of an editor, an empty file and a link."""
    root = tmp_path / "vault"
    (root / ".obsidian").mkdir(parents=True)
    (root / "a.md").write_text("# A\n")
    (root / "table.csv").write_text("1,2\n")
    (root / ".obsidian" / "app.json").write_text("{}")
    (root / "empty.md").write_bytes(b"")
    (root / "link.md").symlink_to("a.md")
    return root


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "a.md").write_text("# B\n"),
        lambda root: (root / "table.csv").write_text("1,3\n"),
        lambda root: (root / ".obsidian" / "app.json").write_text("[]"),
        lambda root: (root / "empty.md").unlink(),
        lambda root: (root / "a.md").rename(root / "b.md"),
        lambda root: (root / "folder").mkdir(),
        lambda root: ((root / "link.md").unlink(), (root / "link.md").symlink_to("table.csv")),
        lambda root: ((root / "link.md").unlink(), (root / "link.md").write_text("# A\n")),
    ],
)
def test_whatever_changes_is_seen(vault: Path, change: Callable[[Path], object]) -> None:
    """Notes, other files, settings, empty files, folders and links all count, by path and content."""
    before = vault_files.content({"v": vault})
    change(vault)
    assert vault_files.content({"v": vault}) != before


def test_a_checkout_elsewhere_is_the_same(vault: Path, tmp_path: Path) -> None:
    """Neither where it lies nor when it was written counts, but what the vault is called does."""
    before = vault_files.content({"v": vault})
    moved = vault.rename(tmp_path / "moved")
    os.utime(moved / "a.md", (0, 0))
    assert vault_files.content({"v": moved}) == before != vault_files.content({"w": moved})


def test_a_device_is_waited_for_by_nobody(vault: Path) -> None:
    """A pipe is no file that an API gets, and is not read."""
    before = vault_files.content({"v": vault})
    os.mkfifo(vault / "pipe")
    assert vault_files.content({"v": vault}) != before


def test_a_file_that_cannot_be_read_is_named(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attachment that nobody else reads is no bug of raggate."""

    def refuse(self: Path, mode: str) -> None:
        raise PermissionError(13, "Permission denied", self, mode)

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UsageError, match=r"a\.md: Permission denied"):
        vault_files.content({"v": vault})
