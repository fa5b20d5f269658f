"""What is looked up of a working tree: which of its files git tracks."""

from __future__ import annotations

from pathlib import Path

import pytest

import checkouts
from raggate.inputs import git, working_files


def test_tracked_in_a_repository_of_either_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of this repository that is known spares the question for one; one of another repository does not."""
    for name in ("here/one", "here/two", "other/one"):
        checkouts.write_files(tmp_path, {f"{name}/metrics.json": "{}"})
    for folder, kind in (("here", "sha256"), ("other", "sha1")):
        for words in (["init", "-q", f"--object-format={kind}"], ["add", "one"], ["commit", "-qm", "x"]):
            checkouts.git(tmp_path / folder, *words)
    here, other = (git.find((tmp_path / name).resolve()) for name in ("here", "other"))
    assert here is not None
    assert other is not None
    assert working_files.tracked(tmp_path / "here", ["one", "two"], {other: "0" * 40}) == {"one"}
    monkeypatch.delattr(git, "resolve")
    assert working_files.tracked(tmp_path / "here", ["one", "two"], {here: "0" * 64}) == {"one"}
