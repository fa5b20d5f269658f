"""What is looked up of a working tree: which of its files git tracks."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from raggate.inputs import git, working_files


def test_tracked_in_a_repository_of_either_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of this repository that is known spares the question for one; one of another repository does not."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for name in ("here/one", "here/two", "other/one"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "metrics.json").write_text("{}")
    for folder, kind in (("here", "sha256"), ("other", "sha1")):
        for words in (["init", "-q", f"--object-format={kind}"], ["add", "one"], [*who, "commit", "-qm", "x"]):
            subprocess.run(["git", *words], cwd=tmp_path / folder, check=True)
    here, other = (git.find((tmp_path / name).resolve()) for name in ("here", "other"))
    assert here is not None
    assert other is not None
    assert working_files.tracked(tmp_path / "here", ["one", "two"], {other: "0" * 40}) == {"one"}
    monkeypatch.delattr(git, "resolve")
    assert working_files.tracked(tmp_path / "here", ["one", "two"], {here: "0" * 64}) == {"one"}
