"""What is looked up of a working tree: which of its files git tracks."""

from __future__ import annotations

from pathlib import Path

import checkouts
from raggate.inputs import git


def test_tracked_in_a_repository_of_either_hash(tmp_path: Path) -> None:
    """Files that git tracks are named, whichever kind of hash their repository has."""
    for kind in ("sha256", "sha1"):
        checkouts.write_files(tmp_path, {f"{kind}/{name}/metrics.json": "{}" for name in ("one", "two")})
        for words in (["init", "-q", f"--object-format={kind}"], ["add", "one"], ["commit", "-qm", "x"]):
            checkouts.git(tmp_path / kind, *words)
        assert git.tracked(tmp_path / kind, ["one", "two"]) == {"one"}
