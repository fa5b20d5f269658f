"""Which workflow file a run was of: by its whole path, with its own ref behind it or none."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import UsageError
from raggate.github import workflow_files
from tables import each_row

FOLDER = ".github/workflows/"


@each_row("workflow", ["rag-gate.yml", f"{FOLDER}rag-gate.yml"])
@each_row("ref", ["", "@main", "@refs/heads/main", "@refs/pull/7/merge"])
def test_the_file_that_is_expected(workflow: str, ref: str) -> None:
    """The file counts by its name or its path, with the run's own ref or without."""
    assert workflow_files.is_of(f"{FOLDER}rag-gate.yml{ref}", workflow, "main")


@given(st.text("abx@.-", max_size=8), st.text("abx@./-", min_size=1, max_size=8), st.booleans())
def test_no_other_file_is_taken(name: str, branch: str, longer: bool) -> None:
    """No name of another file, on a branch of any name, reads as the file that is expected and a ref."""
    other = f"{FOLDER}rag-gate.yml@{name}.{'yaml' if longer else 'yml'}"
    for path in (other, f"{other}@{branch}", f"{other}@refs/heads/{branch}", f"{other}@refs/pull/7/merge"):
        for known in (branch, f"{name}.yml", other.removeprefix(f"{FOLDER}rag-gate.yml@")):
            # with a ref behind it, the path is that of a run on this very branch
            if path == other or known == branch:
                assert not workflow_files.is_of(path, "rag-gate.yml", known)


@each_row("name", ["", "x", "../x.yml", "a/b.yml", "x.yml ", f"{FOLDER}a/b.yml", "x.json"])
def test_what_is_no_workflow_file(name: str) -> None:
    """The input takes a file of the folder of workflows, and nothing else."""
    with pytest.raises(UsageError, match="input 'workflow'"):
        workflow_files.check_name(name)
    workflow_files.check_name(f"{FOLDER}a.yaml")
