"""What a change would mean if it were merged is read from what would be merged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import reviews
from checkouts import commit_all, git, write_files
from raggate.inputs import vault
from raggate.inputs.committed import Commit
from raggate.inputs.sources import Remote
from raggate.inputs.trusted import load_trusted
from raggate.models.provenance import Checkout
from raggate.models.verdict import Review
from raggate.pipeline import previewing
from raggate.pipeline.request import Request, Voice, unheard
from raggate.pipeline.trusted_inputs import source_of

SUPPORT = {"rel_path": "n.md", "heading_path": "# Dogs", "snippets": []}
CASE = {"id": "q", "question": "what?", "answerable": True, "gold_supports": [SUPPORT]}
FILES = {
    "raggate.yml": "golden: golden.jsonl\nvault: {notes: vault}\napi: {url: 'http://127.0.0.1:1'}\n",
    "golden.jsonl": json.dumps(CASE) + "\n",
    "vault/n.md": "# Dogs\n\ntext\n",
}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A committed repository with a suite, of which each test gets a copy."""
    root = tmp_path_factory.mktemp("template")
    write_files(root, FILES)
    commit_all(root)
    return root


@pytest.fixture
def repository(template: Path, tmp_path: Path) -> Path:
    """Return such a repository."""
    return shutil.copytree(template, tmp_path, symlinks=True, dirs_exist_ok=True)


def commit(root: Path, name: str, content: str) -> None:
    """Commit other content of a file than stands on disk, as attributes of a change have git check it out."""
    blob = git(root, "hash-object", "-w", "--stdin", given=content)
    git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    git(root, "commit", "-qm", "change")


LOOSER = FILES["raggate.yml"] + "gate: {tolerance: 0.9}\n"
LOOSENED = "merging this change loosens the gate: gate.tolerance"


def previewed(
    root: Path, *, job: bool, dirty: bool = False, measured: str = "1" * 40, asking: bool = False, **given: Any
) -> Review:
    """Preview what is checked out beside a pass by the commit before it; kept `answers` are taken from a directory.

    `measured` is the commit that the run says it is of: its own word unless it was just asked, which `asking` says.
    """
    asked = Request(
        config_file=root / "raggate.yml",
        voice=Voice(say=unheard),
        remote=Remote(workspace=root) if job else None,
        **{"environment": {}, **given, "against": given.get("against") or git(root, "rev-parse", "HEAD~1")},
    )
    passing = reviews.passing()
    origin = replace(passing.run.provenance, checkout=Checkout(commit=measured, dirty=dirty))
    passing = replace(passing, run=replace(passing.run, provenance=origin))
    with load_trusted(source_of(asked), lambda settings, _: settings) as inputs:
        look = partial(previewing.preview_of, asked, inputs, root, passing, asking=asking)
        return previewing.with_preview(passing, look)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("golden.jsonl", "\u00c0\u0083", "golden.jsonl"),  # another encoding
        ("vault/n.md", "# Cats\n", "n.md"),  # without the passage of a question
    ],
)
def test_what_a_job_would_merge(repository: Path, name: str, content: str, problem: str) -> None:
    """In a job what is committed counts, though git checked the file out as the base has it."""
    commit(repository, name, content)
    review = previewed(repository, job=True)
    assert review.verdict.outcome == "cannot tell"
    assert problem in review.verdict.reasons[0].message


@pytest.mark.parametrize(
    ("key", "new", "content", "committed"),
    [
        pytest.param("golden: golden.jsonl", "golden: new.jsonl", FILES["golden.jsonl"], "?", id="questions"),
        pytest.param("notes: vault", "notes: new", FILES["vault/n.md"], "# Cats\n", id="notes"),
        pytest.param("golden: golden.jsonl", "golden: new.jsonl", FILES["golden.jsonl"], None, id="in no commit"),
    ],
)
def test_what_a_job_would_merge_elsewhere(
    repository: Path, key: str, new: str, content: str, committed: str | None
) -> None:
    """What is committed counts too where the change has its own settings name other files than the base does."""
    settings, name = FILES["raggate.yml"].replace(key, new), "new/n.md" if "notes" in new else "new.jsonl"
    (repository / "raggate.yml").write_text(settings)
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).write_text(content)
    git(repository, "add", "raggate.yml")
    if committed is None:
        git(repository, "commit", "-qm", "change")
    else:
        commit(repository, name, committed)
    assert previewed(repository, job=True).verdict.outcome == "cannot tell"


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


@pytest.mark.parametrize("job", [True, False])
@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        pytest.param("vault/a\\b.md", "# B\n", "a\\b.md: raggate cannot use this file name of the commit", id="a name"),
        pytest.param("vault/b.md", POINTER, "b.md", id="Git LFS"),
    ],
)
def test_what_cannot_be_read_from_a_commit(repository: Path, name: str, content: str, problem: str, job: bool) -> None:
    """What a disk holds without trouble, and ends every run after the merge, is no pass."""
    commit(repository, name, content)
    (repository / name).write_text(content)
    review = previewed(repository, job=job)
    assert review.verdict.outcome == "cannot tell"
    assert problem in review.verdict.reasons[0].message


def test_notes_that_take_much_more_memory(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change whose notes are more than are looked at is no pass, and is not said to break the gate."""
    monkeypatch.setattr(vault, "MOST_NEW_BYTES", 1 << 20)
    commit(repository, "vault/big.md", "# Big\n" + "word " * (1 << 18))
    review = previewed(repository, job=True)
    assert (review.verdict.outcome, [reason.code for reason in review.verdict.reasons]) == ("cannot tell", ["preview"])
    assert "its notes take 1 MiB more memory than those of the base" in review.verdict.headline


def test_what_lies_on_somebody_s_disk(repository: Path) -> None:
    """On a person's own machine what they have not committed is previewed, and that the commit has others is said."""
    commit(repository, "golden.jsonl", "?")
    review = previewed(repository, job=False)
    assert (review.verdict.outcome, review.verdict.warnings[0].code) == ("pass", "preview")
    assert "the checked-out commit and the working tree differ in golden.jsonl" in review.verdict.warnings[0].message


def test_a_file_that_changes_while_it_is_looked_at(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was compared with the commit is not read from the disk afterwards, where something else may stand then."""
    (repository / "raggate.yml").write_text(LOOSER)
    git(repository, "commit", "-qam", "change")
    differing, head = Commit.differing, git(repository, "rev-parse", "HEAD")

    def swapped(commit: Commit, paths: Sequence[str]) -> tuple[str, ...]:
        names = differing(commit, paths)
        if commit.commit == head:
            (repository / "raggate.yml").write_text(FILES["raggate.yml"])
        return names

    monkeypatch.setattr(Commit, "differing", swapped)
    warnings = previewed(repository, job=True).verdict.warnings
    assert [item.message for item in warnings[:1]] == [LOOSENED]


@pytest.mark.parametrize("job", [True, False])
def test_another_commit_is_checked_out_meanwhile(repository: Path, job: bool) -> None:
    """What was measured is previewed, not what somebody has checked out by the end of it, such as the base itself."""
    (repository / "raggate.yml").write_text(LOOSER)
    git(repository, "commit", "-qam", "change")
    measured, base = git(repository, "rev-parse", "HEAD"), git(repository, "rev-parse", "HEAD~1")
    git(repository, "checkout", "-q", "--detach", base)
    warnings = previewed(repository, job=job, against=base, measured=measured, asking=True).verdict.warnings
    assert [item.message for item in warnings[:1]] == [LOOSENED]


@pytest.mark.parametrize(
    "variables",
    [
        {"CI_MERGE_REQUEST_IID": "7"},
        {"BUILDKITE_PULL_REQUEST": "7"},
        {"CHANGE_ID": "PR-7"},
        {"CI": "true", "BUILDKITE_PULL_REQUEST": "false"},
        {"TF_BUILD": "True"},
        {"JENKINS_URL": "https://jenkins.example.org/"},
    ],
)
def test_a_dirty_checkout_of_a_job_is_nobodys_work(repository: Path, variables: dict[str, str]) -> None:
    """In any CI system what is committed is previewed, of a branch as well; that other files were measured is told."""
    commit(repository, "raggate.yml", LOOSER)
    warnings = previewed(repository, job=False, environment=variables, dirty=True).verdict.warnings
    messages = {item.message for item in warnings}
    assert LOOSENED in messages
    assert sum("files of the measured checkout differ from its commit" in text for text in messages) == 1
    for nowhere in ({}, {"CI": "false"}):
        review = previewed(repository, job=False, environment=nowhere, dirty=True)
        assert "loosens the gate" not in str(review.verdict.warnings)


@pytest.mark.parametrize("job", [True, False])
def test_a_dirty_checkout_is_told_where_no_file_that_judges_differs(repository: Path, job: bool) -> None:
    """What the API was built of counts as well; on a person's own machine it is what they are at."""
    git(repository, "commit", "-q", "--allow-empty", "-m", "change")
    review = previewed(repository, job=job, dirty=True)
    assert ("files of the measured checkout differ" in str(review.verdict.warnings)) is job
    assert previewed(repository, job=job).verdict.warnings == ()


@pytest.mark.parametrize("asking", [True, False])
def test_what_a_step_of_the_job_has_edited_is_named(repository: Path, asking: bool) -> None:
    """Who stamps a version finds out which file it is; of a run that was only read this checkout may be another one."""
    (repository / "version.txt").write_text("0")
    git(repository, "add", "version.txt")
    git(repository, "commit", "-q", "-m", "a version")
    (repository / "version.txt").write_text("1.2.3")
    head = git(repository, "rev-parse", "HEAD")
    warnings = previewed(repository, job=True, dirty=True, measured=head, asking=asking).verdict.warnings
    (message,) = (item.message for item in warnings if "files of the measured checkout differ" in item.message)
    assert message.endswith("a step before the gate: version.txt") is asking


@pytest.mark.parametrize("job", [True, False])
def test_what_git_checks_out_otherwise_is_no_work_of_anybody(repository: Path, job: bool) -> None:
    """Where a change's attributes have git write the base's bytes, and nobody changed any, what is committed counts."""
    golden = FILES["golden.jsonl"].encode()
    (repository / ".gitattributes").write_text("golden.jsonl working-tree-encoding=UTF-16LE\n")
    git(repository, "add", ".gitattributes")
    commit(repository, "golden.jsonl", (golden if len(golden) % 2 == 0 else golden + b"\n").decode("utf-16-le"))
    (repository / "golden.jsonl").unlink()
    git(repository, "checkout", "--", "golden.jsonl")
    assert (repository / "golden.jsonl").read_bytes().strip() == golden.strip()
    review = previewed(repository, job=job)
    assert review.verdict.outcome == "cannot tell"
    assert "golden.jsonl@" in review.verdict.reasons[0].message


def test_other_line_ends_of_a_note_are_a_change(repository: Path) -> None:
    """A note is another one for the baseline when its line ends are committed otherwise, and the preview says so."""
    content = FILES["vault/n.md"].replace("\n", "\r\n")
    commit(repository, "vault/n.md", content)
    (repository / "vault" / "n.md").write_bytes(content.encode())
    preview = previewed(repository, job=True).context.preview
    assert preview is not None
    assert [change.note for change in preview.vault] == ["notes/n.md"]


def becomes_a_submodule(root: Path, folder: str) -> None:
    """Commit a folder as a repository of its own, whose files lie there as before."""
    git(root, "rm", "-rq", "--cached", folder)
    git(root, "init", "-q", folder)
    git(root / folder, "add", ".")
    git(root / folder, "commit", "-qm", "inner")
    inner = git(root / folder, "rev-parse", "HEAD")
    git(root, "update-index", "--add", "--cacheinfo", f"160000,{inner},{folder}")
    git(root, "commit", "-qm", "change")


@pytest.mark.parametrize("folder", ["vault", "vault/dogs", "questions"])
def test_what_a_submodule_holds_is_in_no_commit(repository: Path, folder: str) -> None:
    """A change that moves notes or questions into a submodule is no pass: a commit has nothing of what lies there."""
    case = {**CASE, "gold_supports": [{**SUPPORT, "rel_path": "dogs/d.md"}]}
    settings = FILES["raggate.yml"].replace("golden.jsonl", "questions/golden.jsonl")
    files = {"raggate.yml": settings, "questions/golden.jsonl": json.dumps(case), "vault/dogs/d.md": "# Dogs\n\ntext\n"}
    for name, content in files.items():
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text(content)
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "base")
    becomes_a_submodule(repository, folder)
    assert previewed(repository, job=True).verdict.outcome == "cannot tell"


@pytest.mark.parametrize("job", [True, False])
def test_line_ends_are_none_of_it(repository: Path, job: bool) -> None:
    """A file that git checked out with the line ends of Windows is what is committed."""
    commit(repository, "golden.jsonl", FILES["golden.jsonl"].replace("what?", "who?"))
    (repository / "golden.jsonl").write_text(FILES["golden.jsonl"].replace("what?", "who?").replace("\n", "\r\n"))
    review = previewed(repository, job=job)
    assert [warning.code for warning in review.verdict.warnings[:2]] != ["preview"]
    assert "edits-gate" in {warning.code for warning in review.verdict.warnings}
    assert "differ in" not in str(review.verdict.warnings)
