"""A patched copy: only it is changed, it holds what git would, and every mistake is named."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from raggate.errors import UsageError
from raggate.prove import declared as module
from raggate.prove.declared import patched_copy

PATCH = """\
--- a/src/main.txt
+++ b/src/main.txt
@@ -1,2 +1,2 @@
 first
-second
+changed
"""
NAME = "raggate.yml: prove.faults[0].patch"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout whose project lies in a folder of its own, with a file that git ignores."""
    root = tmp_path / "checkout" / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "main.txt").write_text("first\nsecond\n")
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / ".gitignore").write_text("ignored/\n")
    (root / "ignored").mkdir()
    (root / "ignored" / "large.bin").write_text("x")
    (root / "link").symlink_to("src/main.txt")
    (root / "fault.patch").write_text(PATCH)
    (root.parent / "beside.txt").write_text("not of the project")
    subprocess.run(["git", "init", "-q"], cwd=root.parent, check=True)
    return root


def refusal(root: Path, patch: str = "fault.patch") -> str:
    """Return the message with which a patch is refused."""
    with pytest.raises(UsageError) as caught, patched_copy(root, patch, NAME):
        pass
    return caught.value.message


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory for temporary ones."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    return place


def test_the_copy_is_patched_and_the_project_is_not(project: Path, temporary: Path) -> None:
    """The copy has the project's files with modes and links, without what git ignores, and is gone afterwards."""
    with patched_copy(project, "fault.patch", NAME) as copy:
        assert (copy / "src" / "main.txt").read_text() == "first\nchanged\n"
        names = sorted(path.relative_to(copy).as_posix() for path in copy.rglob("*"))
        assert names == [".gitignore", "fault.patch", "link", "run.sh", "src", "src/main.txt"]
        assert os.access(copy / "run.sh", os.X_OK)
        assert (copy / "link").is_symlink()
        assert copy.name == "project"
        assert copy.is_relative_to(temporary)
    assert [*temporary.iterdir()] == []
    assert (project / "src" / "main.txt").read_text() == "first\nsecond\n"


def test_a_patch_that_does_not_apply_is_named(project: Path, temporary: Path) -> None:
    """The message has the key, the file and git's own words, and nothing is left of the copy."""
    (project / "src" / "main.txt").write_text("other\n")
    message = refusal(project)
    assert message.startswith(f"{NAME} ('fault.patch'): does not apply: ")
    assert "src/main.txt" in message
    assert [*temporary.iterdir()] == []


@pytest.mark.parametrize(
    "path", ["../beside.txt", "link/../../beside.txt", "/etc/hosts", ".git/config"], ids=["up", "link", "root", "git"]
)
def test_a_patch_changes_nothing_outside_the_copy(project: Path, path: str) -> None:
    """A patch that names another place is refused by git, and nothing there is changed."""
    (project / "fault.patch").write_text(PATCH.replace("src/main.txt", path))
    refusal(project)
    assert (project.parent / "beside.txt").read_text() == "not of the project"


def test_a_patch_does_not_write_through_a_link(project: Path) -> None:
    """A link in the project leads a patch nowhere."""
    outside = project.parent / "beside.txt"
    outside.write_text("first\nsecond\n")
    (project / "away").symlink_to("..")
    (project / "fault.patch").write_text(PATCH.replace("src/main.txt", "away/beside.txt"))
    refusal(project)
    assert outside.read_text() == "first\nsecond\n"


def test_a_patch_lies_in_the_project(project: Path) -> None:
    """A link out of the project is no patch of it, and one that is not there is named."""
    (project / "fault.patch").unlink()
    assert "fault.patch" in refusal(project)
    (project.parent / "other.patch").write_text(PATCH)
    (project / "fault.patch").symlink_to("../other.patch")
    assert "leads out of the directory" in refusal(project)


def test_without_a_checkout_nothing_tells_what_is_source(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that git does not know is not copied, as it could hold anything."""
    # whatever the directory of the tests lies in
    monkeypatch.setattr(module.git, "find", lambda _: None)
    message = refusal(project)
    assert "is not in a git checkout" in message


def test_a_project_that_is_too_large_is_not_copied(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound nothing more is copied."""
    monkeypatch.setattr(module, "MAX_COPY_BYTES", 10)
    assert "more than 10 bytes" in refusal(project)
