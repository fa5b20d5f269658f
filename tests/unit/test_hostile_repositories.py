"""What the base commit says comes from its own objects, whatever lies in the repository or the change beside it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hostile_git import HARMLESS, TAMPERS, Hostile, plant
from raggate.base.errors import UsageError
from raggate.gate import history
from raggate.inputs import git, sources
from stored_objects import StoredObjects
from tries import tried


def read(hostile: Hostile, remote: sources.Remote | None = None) -> tuple[bytes, bytes]:
    """Return what the base commit says, after everything else that is done with a repository was done."""
    sources.head(hostile.sub)
    with sources.at(hostile.sub, hostile.base, remote) as source:
        source.differing(["gate.txt", "notes"])
        return source.read("gate.txt"), (source.directory("notes") / "a.md").read_bytes()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """A repository that nobody has tampered with yet, of which each test and each example gets a copy."""
    return Hostile(tmp_path_factory.mktemp("template") / "repository")


@pytest.fixture
def hostile(template: Hostile, tmp_path: Path) -> Hostile:
    return template.copied(tmp_path / "repository")


@pytest.mark.parametrize("name", [*HARMLESS, "settings that name programs"])
def test_what_changes_nothing(hostile: Hostile, name: str) -> None:
    """The base commit's files are read, and no program runs, whatever settings and attributes name one."""
    TAMPERS[name](hostile)
    assert read(hostile) == (Hostile.TRUE, b"# A\n")
    assert not hostile.mark.exists()


@pytest.mark.parametrize("name", ["alternates", "a forged file", "a forged tree", "a forged commit"])
def test_what_was_forged(hostile: Hostile, name: str) -> None:
    """Content under the id of another is refused as damaged, wherever it lies."""
    TAMPERS[name](hostile)
    with pytest.raises(UsageError, match="does not fit this id"):
        read(hostile)


def test_what_was_forged_is_read_from_the_server(hostile: Hostile) -> None:
    """A commit that was forged here is read from the server, where there is one."""
    TAMPERS["a forged commit"](hostile)
    files = {"sub/gate.txt": Hostile.TRUE, "sub/notes/a.md": b"# A\n"}
    remote = sources.Remote(workspace=hostile.root, objects=StoredObjects(files, hostile.base))
    assert read(hostile, remote) == (Hostile.TRUE, b"# A\n")


def test_what_a_partial_clone_leaves_out(hostile: Hostile) -> None:
    """An object that is not here comes from the server, without the repository's own way to fetch; else it is named."""
    TAMPERS["a partial clone"](hostile)
    with pytest.raises(UsageError, match="git does not have"):
        read(hostile)
    files = {"sub/gate.txt": Hostile.TRUE, "sub/notes/a.md": b"# A\n"}
    objects = StoredObjects(files, hostile.base)
    assert read(hostile, sources.Remote(workspace=hostile.root, objects=objects)) == (Hostile.TRUE, b"# A\n")
    assert objects.asked == 1
    assert not hostile.mark.exists()


@pytest.mark.usefixtures("outside_git")
def test_a_checkout_without_git(hostile: Hostile, tmp_path: Path) -> None:
    """Without `.git` a planted repository is none: the server is asked, and without one there is no such commit."""
    plant(hostile)
    shutil.move(hostile.root / ".git", tmp_path / "moved")
    (hostile.sub / "objects" / "info" / "alternates").write_text(f"{tmp_path}/moved/objects\n")
    with pytest.raises(UsageError, match="no git repository"):
        read(hostile)
    files = {"sub/gate.txt": Hostile.TRUE, "sub/notes/a.md": b"# A\n"}
    remote = sources.Remote(workspace=hostile.root, objects=StoredObjects(files, hostile.base))
    assert read(hostile, remote) == (Hostile.TRUE, b"# A\n")
    assert not hostile.mark.exists()


def test_a_submodule_is_not_the_checkout_of_a_job(
    hostile: Hostile, template: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that a change made a submodule is a checkout for nobody but a person who is in it."""
    other = template.copied(tmp_path / "other")
    (hostile.root / ".git" / "modules").mkdir()
    shutil.move(other.root / ".git", hostile.root / ".git" / "modules" / "sub")
    (hostile.sub / ".git").write_text("gitdir: ../.git/modules/sub\n")

    def top(workspace: Path | None) -> Path | None:
        checkout = git.find(hostile.sub, workspace)
        return checkout.top if checkout else None

    monkeypatch.chdir(hostile.root)
    assert (top(hostile.root), top(None)) == (hostile.root, hostile.root)
    monkeypatch.chdir(hostile.sub / "notes")
    assert (top(hostile.root), top(None)) == (hostile.root, hostile.sub)


def test_nothing_above_the_workspace_is_looked_at(hostile: Hostile) -> None:
    """The checkouts of a job lie in its workspace."""
    assert git.find(hostile.sub / "notes", hostile.sub) is None


def test_an_added_working_tree(hostile: Hostile, tmp_path: Path) -> None:
    """A working tree that git added has its repository elsewhere, and is read as any other."""
    hostile.git("worktree", "add", "--quiet", str(tmp_path / "added"), "HEAD")
    with sources.at(tmp_path / "added" / "sub", "HEAD~1") as source:
        assert source.read("gate.txt") == Hostile.TRUE
        assert source.differing(["gate.txt", "notes"]) == ("gate.txt", "notes/a.md")
    assert sources.head(tmp_path / "added").dirty is False


def test_the_history_of_a_baseline_runs_nothing(hostile: Hostile) -> None:
    """The history of a file is read without the repository's settings."""
    TAMPERS["settings that name programs"](hostile)
    told = history.revisions(hostile.sub, "gate.txt", limit=5, cutoffs=(5,))
    assert len(told.revisions) == 2
    assert not hostile.mark.exists()


def test_a_folder_that_is_ignored_and_a_line_end(hostile: Hostile) -> None:
    """What git ignores and what differs by line ends of Windows alone is not named as changed."""
    hostile.git("checkout", "--quiet", hostile.base)
    (hostile.sub / "notes" / "a.md").write_bytes(b"# A\r\n")
    (hostile.sub / "notes" / "scratch.log").write_text("x")
    (hostile.root / ".git" / "info").mkdir()
    (hostile.root / ".git" / "info" / "exclude").write_text("*.log\n")
    (hostile.sub / "notes" / "new.md").write_text("x")
    with sources.at(hostile.sub, hostile.base) as source:
        assert source.differing(["gate.txt", "notes"]) == ("notes/new.md",)


def test_the_sha256_format(tmp_path: Path) -> None:
    """A repository of the SHA-256 format is read and verified too."""
    root = tmp_path / "repository"
    root.mkdir()
    who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid")
    (root / "a.txt").write_text("one")
    for words in (["init", "--quiet", "--object-format=sha256"], ["add", "."], [*who, "commit", "-q", "-m", "x"]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    with sources.at(root, "HEAD") as source:
        assert len(source.commit or "") == 64
        assert source.read("a.txt") == b"one"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_git_runs_as_the_owner_of_the_checkout(template: Hostile) -> None:
    """Where raggate is root, git runs as whoever owns the working tree, in none of root's groups."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        hostile = template.copied(top / "repository")
        for place in (hostile.root, *hostile.root.rglob("*")):
            os.chown(place, 4711, 4712)
        checkout = git.find(hostile.sub)
        assert checkout is not None
        with git.reading(checkout, like=hostile.base) as reader:
            process = reader.start("cat-file", "--batch")
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            process.communicate()
        assert "Uid:\t4711\t4711\t4711\t4711" in status
        assert "Gid:\t4712\t4712\t4712\t4712" in status
        assert next(line for line in status if line.startswith("Groups:")).split() == ["Groups:"]
        assert not [one for one in variables if one.startswith((b"INPUT_", b"ACTIONS_", b"USER="))]
        assert read(hostile) == (Hostile.TRUE, b"# A\n")


@tried(10)
@given(chosen=st.sets(st.sampled_from(sorted(TAMPERS)), min_size=1, max_size=5), noise=st.binary(max_size=40))
def test_no_repository_says_something_else(template: Hostile, chosen: set[str], noise: bytes) -> None:
    """However a repository was tampered with: the base commit's own files, or a refusal, and no program runs."""
    with tempfile.TemporaryDirectory() as name:
        hostile = template.copied(Path(name) / "repository")
        (hostile.root / ".git" / "info").mkdir(exist_ok=True)
        (hostile.root / ".git" / "info" / "attributes").write_bytes(noise)
        for tamper in TAMPERS:
            if tamper in chosen:
                try:
                    TAMPERS[tamper](hostile)
                except subprocess.CalledProcessError:
                    # what was done before already keeps git itself from working there
                    continue
        with contextlib.suppress(UsageError):
            assert read(hostile) == (Hostile.TRUE, b"# A\n")
        assert not hostile.mark.exists()
