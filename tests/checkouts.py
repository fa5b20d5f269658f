"""Git in the directories of tests. Who commits there, and that nothing is signed, is told by `data/gitconfig`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(root: Path, *words: str, given: str | None = None) -> str:
    """Run git in a directory, and give what it prints."""
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True, input=given)
    return done.stdout.strip()


def files_below(root: Path) -> dict[str, bytes]:
    """Read what a directory holds beside run directories, by path."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file() and ".raggate" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def write_files(root: Path, files: Mapping[str, str]) -> None:
    """Write files by their path, with the directories above them."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def commit_all(root: Path, message: str = "x") -> None:
    """Commit all that stands in a directory, which becomes a repository where it is none yet."""
    if not (root / ".git").exists():
        git(root, "init", "-q")
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", message)
