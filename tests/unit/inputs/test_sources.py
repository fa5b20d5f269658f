"""Where the trusted inputs come from: the working tree, or a commit that the working tree cannot change."""

from __future__ import annotations

import os
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from raggate.base.errors import UsageError
from raggate.inputs import git_objects, sources
from raggate.models.provenance import Checkout

Git = Callable[..., str]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository without a commit, of which each test gets a copy."""
    root = tmp_path_factory.mktemp("empty")
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main"], cwd=root, check=True)
    return root


@pytest.fixture
def git(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Git:
    """Make a repository in `tmp_path` and give a function that runs git in it."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.org")

    def run(*arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=tmp_path, input=stdin, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    shutil.copytree(empty, tmp_path, dirs_exist_ok=True)
    return run


def commit(git: Git, root: Path, **files: str) -> str:
    """Write files (`__` stands for a slash, `_md` for the suffix), commit everything and give the commit's hash."""
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_md", ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")
    return git("rev-parse", "HEAD")


def contents(directory: Path) -> dict[str, str]:
    """Return the files below a directory with their content."""
    return {
        path.relative_to(directory).as_posix(): path.read_text()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def test_worktree_opens_no_pipe(tmp_path: Path) -> None:
    """A pipe that nobody writes to is told, and not waited for."""
    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(UsageError, match=r"a\.jsonl: a named pipe, where a file is expected"):
        sources.WorkTree(tmp_path).read("a.jsonl")


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize(
    ("path", "problem"), [("loop", "Too many levels of symbolic links"), ("n" * 300, "File name too long")]
)
def test_worktree_names_what_cannot_be_reached(tmp_path: Path, path: str, problem: str, confined: bool) -> None:
    """A link that leads to itself, and a name that no file can have, are mistakes, whatever is asked of them."""
    (tmp_path / "loop").symlink_to("loop")
    source = sources.WorkTree(tmp_path, confined=confined)
    for asked in (source.read, source.directory, source.names, lambda name: [*source.lines(name)]):
        with pytest.raises(UsageError, match=problem):
            asked(path)


def test_revision_is_not_what_the_working_tree_says(git: Git, tmp_path: Path) -> None:
    """Changed, staged, added, deleted and ignored files in the working tree have no part in what a revision says."""
    base = commit(git, tmp_path, a_md="old", gone_md="old", notes__n_md="old", notes__gone_md="old")
    commit(git, tmp_path, a_md="newer", notes__n_md="newer")
    (tmp_path / "a.md").write_text("changed")
    (tmp_path / "notes/n.md").write_text("changed")
    (tmp_path / "notes/new.md").write_text("new")
    (tmp_path / "gone.md").unlink()
    (tmp_path / "notes/gone.md").unlink()
    git("add", "--all")
    with sources.at(tmp_path, base) as source:
        assert source.read("a.md") == b"old"
        assert source.read("gone.md") == b"old"
        assert contents(source.directory("notes")) == {"gone.md": "old", "n.md": "old"}
        assert source.describe("a.md") == f"a.md@{base[:12]}"


def test_differing(git: Git, tmp_path: Path) -> None:
    """Changed, deleted, staged and untracked files below the given paths are named, and no others."""
    base = commit(git, tmp_path, same_md="x", a_md="x", notes__n_md="x", notes__gone_md="x", other__o_md="x")
    commit(git, tmp_path, notes__committed_md="x")
    for name in ("a.md", "notes/n.md", "notes/ä b.md", "other/o.md", "other/new.md"):
        (tmp_path / name).write_text("changed")
    (tmp_path / "notes/gone.md").unlink()
    paths = ("same.md", "a.md", "nowhere.md", "notes")
    changed = ("a.md", "notes/committed.md", "notes/gone.md", "notes/n.md", "notes/ä b.md")
    with sources.at(tmp_path, base) as source:
        assert source.differing(paths) == changed
        git("add", "--all")
        assert source.differing(paths) == changed


def test_what_is_tracked_differs_though_it_is_ignored(git: Git, tmp_path: Path) -> None:
    """A change cannot hide the files that it brings behind a pattern that it brings too; others stay ignored."""
    base = commit(git, tmp_path, notes__a_md="x")
    (tmp_path / "notes/link.md").symlink_to("/elsewhere")
    commit(git, tmp_path, notes__new_md="x")
    (tmp_path / ".gitignore").write_text("notes/*.md\n")
    (tmp_path / "notes/loose.md").write_text("x")
    with sources.at(tmp_path, base) as source:
        assert source.differing(["notes"]) == ("notes/link.md", "notes/new.md")


def test_reading_leaves_the_index_alone(git: Git, tmp_path: Path) -> None:
    """Reading and comparing write nothing into the repository, and a file that was only touched does not differ."""
    base = commit(git, tmp_path, a_md="x", b_md="x")
    index = tmp_path / ".git" / "index"
    (tmp_path / "b.md").write_text("y")
    os.utime(tmp_path / "a.md", (1, 1))
    before = (index.stat().st_ino, index.stat().st_mtime_ns, sorted((tmp_path / ".git").iterdir()))
    with sources.at(tmp_path, base) as source:
        assert source.differing(["."]) == ("b.md",)
    sources.head(tmp_path)
    assert (index.stat().st_ino, index.stat().st_mtime_ns, sorted((tmp_path / ".git").iterdir())) == before


@pytest.mark.parametrize("name", ["HEAD~1", "v1", "short"])
def test_revision_may_be_named(git: Git, tmp_path: Path, name: str) -> None:
    """A revision is anything git knows as a commit: a relation, an annotated tag, a branch, a short hash."""
    base = commit(git, tmp_path, a_md="old")
    git("tag", "--annotate", "v1", "--message", "x")
    commit(git, tmp_path, a_md="new")
    with sources.at(tmp_path, base[:8] if name == "short" else name) as source:
        assert source.read("a.md") == b"old"
        assert source.describe("a.md") == f"a.md@{base[:12]}"


def test_revision_stays_when_the_branch_moves(git: Git, tmp_path: Path) -> None:
    """A revision is resolved once: what is committed afterwards does not change it."""
    commit(git, tmp_path, a_md="old")
    with sources.at(tmp_path, "main") as source:
        commit(git, tmp_path, a_md="new")
        assert source.read("a.md") == b"old"


@pytest.mark.parametrize(
    ("name", "ref"),
    [
        ("origin/main", "refs/tags/origin/main"),
        ("main", "refs/tags/main"),
        ("origin/main~0", "refs/heads/origin/main"),
        ("abcdef0", "refs/tags/abcdef0"),
    ],
)
def test_a_name_of_several_things_is_refused(git: Git, tmp_path: Path, name: str, ref: str) -> None:
    """A tag that somebody pushed under the name of the branch that judges is not taken for it, nor the other way."""
    base = commit(git, tmp_path, a_md="old")
    git("update-ref", "refs/remotes/origin/main", base)
    git("update-ref", "refs/remotes/abcdef0", base)
    git("update-ref", ref, commit(git, tmp_path, a_md="loose"))
    git("config", "core.warnAmbiguousRefs", "false")
    with pytest.raises(UsageError, match="names several things here"), sources.at(tmp_path, name):
        pass
    with sources.at(tmp_path, "refs/remotes/origin/main") as source:
        assert source.read("a.md") == b"old"


def test_an_exact_name_stays_what_it_is(git: Git, tmp_path: Path) -> None:
    """HEAD and names in full are what git takes them for first, whatever tags are called."""
    base = commit(git, tmp_path, a_md="old")
    git("update-ref", "refs/remotes/origin/main", base)
    for ref in ("refs/tags/HEAD", "refs/tags/refs/remotes/origin/main"):
        git("update-ref", ref, git("commit-tree", f"{base}^{{tree}}", "-m", "another"))
    for name in ("HEAD", "refs/remotes/origin/main", "HEAD^{commit}"):
        with sources.at(tmp_path, name) as source:
            assert source.commit == base
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=False)


@pytest.mark.parametrize(
    "revision", ["nowhere", "", "--help", "HEAD:a.md", "0" * 40], ids=["name", "empty", "option", "file", "hash"]
)
def test_unknown_revision(git: Git, tmp_path: Path, revision: str) -> None:
    """A revision that is no commit here is refused with its name and the way to get it."""
    commit(git, tmp_path, a_md="x")
    with pytest.raises(UsageError) as caught, sources.at(tmp_path, revision):
        pass
    assert str(caught.value).startswith(f"no commit {revision!r} here")
    assert "git fetch" in caught.value.hint


@pytest.mark.usefixtures("outside_git")
def test_root_is_no_repository(tmp_path: Path) -> None:
    """Outside a repository a revision is refused and the reason named, and the checkout is described as nothing."""
    with pytest.raises(UsageError, match="no commit 'main' here: no git repository") as caught:
        sources.at(tmp_path, "main").__enter__()
    assert "git fetch" not in caught.value.hint
    assert sources.head(tmp_path) == Checkout()


def test_no_git_installed(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git on the machine the message says that git is missing."""
    base = commit(git, tmp_path, a_md="x")
    monkeypatch.setenv("PATH", str(tmp_path))
    for revision in ("main", base):
        with pytest.raises(UsageError, match="git is not installed"), sources.at(tmp_path, revision):
            pass


@pytest.mark.parametrize("path", ["nowhere.md", "notes", "a.md/b.md"], ids=["missing", "directory", "below a file"])
def test_revision_has_no_such_file(git: Git, tmp_path: Path, path: str) -> None:
    """What is not a file in the commit is not found, even if it is one on disk."""
    base = commit(git, tmp_path, a_md="x", notes__n_md="x")
    (tmp_path / "nowhere.md").write_text("on disk")
    with sources.at(tmp_path, base) as source, pytest.raises(FileNotFoundError):
        source.read(path)


@pytest.mark.parametrize(
    "order", [["notes/office", "notes", "."], [".", "notes", "notes/office"]], ids=["inner first", "outer first"]
)
def test_directories_inside_one_another(git: Git, tmp_path: Path, order: list[str]) -> None:
    """A directory has all its files, whichever of its folders were asked for before."""
    base = commit(git, tmp_path, notes__office__w_md="w", notes__n_md="n")
    with sources.at(tmp_path, base) as source:
        files = {path: contents(source.directory(path)) for path in order}
    assert files == {
        "notes/office": {"w.md": "w"},
        "notes": {"office/w.md": "w", "n.md": "n"},
        ".": {"notes/office/w.md": "w", "notes/n.md": "n"},
    }


def test_directory_holds_what_was_committed(git: Git, tmp_path: Path) -> None:
    """Files, folders and links within a directory are unpacked as they were committed."""
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    (tmp_path / "notes" / "deep" / "ä b.md").write_text("x")
    (tmp_path / "notes" / "link.md").symlink_to("deep/ä b.md")
    base = commit(git, tmp_path)
    with sources.at(tmp_path, base) as source:
        directory = source.directory("notes")
        assert {str(path.relative_to(directory)) for path in directory.rglob("*")} == {"deep", "deep/ä b.md", "link.md"}
        assert (directory / "link.md").read_text() == "x"


def test_the_whole_commit_is_unpacked_with_its_executables(git: Git, tmp_path: Path) -> None:
    """The top of a repository is a directory too, and what git has as an executable can be run."""
    (tmp_path / "build.sh").write_text("x")
    (tmp_path / "build.sh").chmod(0o755)
    base = commit(git, tmp_path, notes__a_md="a")
    (tmp_path / "build.sh").chmod(0o644)
    with sources.at(tmp_path, base) as source:
        directory = source.directory(".")
        assert contents(directory) == {"build.sh": "x", "notes/a.md": "a"}
        assert os.access(directory / "build.sh", os.X_OK)
        assert not os.access(directory / "notes" / "a.md", os.X_OK)


@pytest.mark.parametrize(
    "target", [pytest.param("../../../secret", id="link upwards"), pytest.param("/etc/passwd", id="absolute link")]
)
def test_link_out_of_a_directory_is_refused(git: Git, tmp_path: Path, target: str) -> None:
    """A committed link that leads out of its directory is refused instead of followed."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "b.md").symlink_to(target)
    base = commit(git, tmp_path, notes__a_md="x")
    with (
        sources.at(tmp_path, base) as source,
        pytest.raises(UsageError, match=r"notes/b.md@\w{12}: a symbolic link out"),
    ):
        source.directory("notes")


def test_link_is_not_followed(git: Git, tmp_path: Path) -> None:
    """A committed link in place of a file is refused: neither a file elsewhere nor the name of its target is read."""
    (tmp_path / "a.md").symlink_to("/etc/passwd")
    base = commit(git, tmp_path)
    with (
        sources.at(tmp_path, base) as source,
        pytest.raises(UsageError, match="a symbolic link, which raggate does not follow"),
    ):
        source.read("a.md")


def test_empty_folders_of_a_commit_without_end(git: Git, tmp_path: Path) -> None:
    """A chain of folders with siblings and no file in them, a few kilobytes of commit, is not followed to its end."""
    empty = below = git("mktree")
    for _ in range(201):
        siblings = "".join(f"040000 tree {empty}\ta{number}{'x' * 240}\n" for number in range(9))
        below = git("mktree", stdin=f"{siblings}040000 tree {below}\td{'x' * 240}\n")
    chain = git("commit-tree", git("mktree", stdin=f"040000 tree {below}\tnotes\n"), "-m", "x")
    with sources.at(tmp_path, chain) as source:
        tracemalloc.start()
        with pytest.raises(UsageError, match="more than 200 deep"):
            source.directory("notes")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
        tracemalloc.stop()


def test_paths_of_a_commit_without_end(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders of a commit whose paths are very long together are not followed to their end."""
    monkeypatch.setattr(git_objects, "MOST_PATH_CHARACTERS", 50)
    first = commit(git, tmp_path, notes__a_md="# A", notes__deep__b_md="# B")
    with sources.at(tmp_path, first) as source:
        assert len([*source.directory("notes").rglob("*.md")]) == 2
    second = commit(git, tmp_path, **{f"notes__deep__{number}": "" for number in range(8)})
    with sources.at(tmp_path, second) as source, pytest.raises(UsageError, match="more than 50 characters in all"):
        source.directory("notes")


def test_entry_named_dots_stays_harmless(git: Git, tmp_path: Path) -> None:
    """A commit made by hand with an entry `..` writes nothing outside the directory that is unpacked."""
    blob = git("hash-object", "-w", "--stdin", stdin="bad")
    evil = git("mktree", stdin=f"100644 blob {blob}\tescaped.md\n")
    # git itself writes no such name, so the tree object is made of its bytes
    raw = b"40000 ..\0" + bytes.fromhex(evil)
    (tmp_path / "raw").write_bytes(raw)
    notes = git("hash-object", "-t", "tree", "-w", "--literally", "raw")
    top = git("mktree", stdin=f"040000 tree {notes}\tnotes\n")
    base = git("commit-tree", top, "-m", "x")
    with sources.at(tmp_path, base) as source:
        scratch = source.directory("nowhere").parents[1]
        with pytest.raises(UsageError):
            source.directory("notes")
        assert not list(scratch.rglob("escaped.md"))


@pytest.mark.parametrize("attributes", ["export-ignore", "export-subst", "text eol=crlf"])
def test_attributes_of_the_commit_change_nothing(git: Git, tmp_path: Path, attributes: str) -> None:
    """A directory holds the bytes that were committed, whatever the commit's attributes would make of them."""
    git("config", "core.autocrlf", "true")
    text = "$Format:%H$ $Id$\n# N\n"
    (tmp_path / ".gitattributes").write_text(f"*.md {attributes}\n")
    base = commit(git, tmp_path, notes__n_md=text)
    with sources.at(tmp_path, base) as source:
        assert (source.directory("notes") / "n.md").read_bytes() == text.encode()


def test_links_that_lead_out_together_are_refused(git: Git, tmp_path: Path) -> None:
    """A link that leads out by way of another is refused, though its own text does not look like it."""
    (tmp_path / "notes/a/b/c").mkdir(parents=True)
    (tmp_path / "notes/a/b/c/up").symlink_to("../../..")
    (tmp_path / "notes/x.md").symlink_to("a/b/c/up/../../secret.md")
    base = commit(git, tmp_path)
    with sources.at(tmp_path, base) as source, pytest.raises(UsageError, match="a symbolic link out of its directory"):
        source.directory("notes")


def test_what_was_broken_off_is_not_taken_for_whole(git: Git, tmp_path: Path) -> None:
    """A directory that could not be unpacked is refused again when it is asked for again."""
    base = commit(git, tmp_path, notes__a_md="x", notes__b_md="y")
    lost = git("rev-parse", "HEAD:notes/b.md")
    (tmp_path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    with sources.at(tmp_path, base) as source:
        for _ in range(2):
            with pytest.raises(UsageError, match=f"git does not have {lost}"):
                source.directory("notes")


def test_paths_above_the_configuration(git: Git, tmp_path: Path) -> None:
    """What lies beside the configuration's folder is read by a path with `..`, and nothing outside the repository."""
    base = commit(git, tmp_path, sub__a_md="a", notes__n_md="n", x_md="top")
    with sources.at(tmp_path / "sub", base) as source:
        assert source.read("a.md") == b"a"
        assert source.read("../notes/n.md") == b"n"
        assert contents(source.directory("../notes")) == {"n.md": "n"}
        assert not source.directory("../../notes").exists()
        with pytest.raises(FileNotFoundError):
            source.read("../../x.md")


@pytest.mark.parametrize(("change", "dirty"), [(None, False), ("a.md", True), ("new.md", False)])
def test_head(git: Git, tmp_path: Path, change: str | None, *, dirty: bool) -> None:
    """A checkout is described by its commit, and by whether tracked files were changed since."""
    base = commit(git, tmp_path, a_md="x")
    if change:
        (tmp_path / change).write_text("changed")
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=dirty)


def test_a_disk_without_modes_and_links_has_changed_no_file(git: Git, tmp_path: Path) -> None:
    """On a mount of Windows git notes that modes and links tell nothing: they change no file."""
    (tmp_path / "link.md").symlink_to("a.md")
    base = commit(git, tmp_path, a_md="x")
    (tmp_path / "link.md").unlink()
    (tmp_path / "link.md").write_text("a.md")
    (tmp_path / "a.md").chmod(0o755)
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=True)
    git("config", "core.fileMode", "false")
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=True)
    git("config", "core.symlinks", "false")
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=False)
    (tmp_path / "a.md").write_text("y")
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=True)


def test_changes_that_git_cannot_read_are_changes(git: Git, tmp_path: Path) -> None:
    """A broken index gives no name of an unchanged checkout."""
    commit(git, tmp_path, a_md="x")
    (tmp_path / ".git/index").write_bytes(b"broken")
    tree = git("rev-parse", "HEAD^{tree}")
    assert sources.tree_id(tmp_path).startswith(f"{tree}+")
    assert sources.tree_id(tmp_path, but="a.md").startswith(f"{tree}+")


def test_slow_git_is_given_up(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that does not come back is an error, not a hang."""

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", 60)

    commit(git, tmp_path, a_md="x")
    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(UsageError, match="git took longer than 60 s"), sources.at(tmp_path, "main"):
        pass


def test_no_filter_of_the_repository_is_run(git: Git, tmp_path: Path) -> None:
    """Comparing and unpacking run nothing that the repository's own settings name."""
    (tmp_path / ".gitattributes").write_text("*.md filter=evil\n")
    base = commit(git, tmp_path, notes__a_md="one")
    mark = tmp_path / "ran"
    for part in ("clean", "smudge"):
        git("config", f"filter.evil.{part}", f"touch {mark}; cat")
    (tmp_path / "notes" / "a.md").write_text("two")
    with sources.at(tmp_path, base) as source:
        assert contents(source.directory("notes")) == {"a.md": "one"}
        assert source.differing(["notes"]) == ("notes/a.md",)
    sources.head(tmp_path)
    assert not mark.exists()


def test_no_object_is_replaced(git: Git, tmp_path: Path) -> None:
    """A commit is what its id says, whatever the repository would show in its place."""
    base = commit(git, tmp_path, a_md="one")
    other = commit(git, tmp_path, a_md="two")
    git("replace", base, other)
    with sources.at(tmp_path, base) as source:
        assert source.read("a.md") == b"one"


def test_the_content_of_a_checkout_has_a_name(git: Git, tmp_path: Path) -> None:
    """Equal content has one name whichever commit it is of; a changed tracked file, and its every change, another."""
    commit(git, tmp_path, a_md="x")
    first = sources.tree_id(tmp_path)
    commit(git, tmp_path, a_md="y")
    second = sources.tree_id(tmp_path)
    (tmp_path / "a.md").write_text("z")
    changed = sources.tree_id(tmp_path)
    (tmp_path / "a.md").write_text("zz")
    assert len({first, second, changed, sources.tree_id(tmp_path)}) == 4
    assert changed.startswith(f"{second}+")
    (tmp_path / "a.md").write_text("x")
    commit(git, tmp_path, a_md="x")
    (tmp_path / "untracked").write_text("more")
    assert sources.tree_id(tmp_path) == first


def test_a_file_may_be_left_out_of_that_name(git: Git, tmp_path: Path) -> None:
    """Whatever becomes of that file, beside a changed one or not, the name stays; of another file it changes."""
    (tmp_path / "gate").mkdir()
    commit(git, tmp_path / "gate", replies="x", a_md="x")
    root = tmp_path / "gate"
    whole = sources.tree_id(root)
    (root / "replies").write_text("y")
    assert sources.tree_id(root, but="replies") == whole != sources.tree_id(root)
    (root / "a.md").write_text("y")
    changed = sources.tree_id(root, but="replies")
    (root / "replies").write_text("z")
    assert sources.tree_id(root, but="replies") == changed != whole
    (root / "replies").unlink()
    assert sources.tree_id(root, but="replies") == changed


def test_a_file_that_is_too_large(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a commit is not read beyond the bound."""
    base = commit(git, tmp_path, a_md="12345", b_md="1234")
    limits = git_objects.Limits(files=9, directory_bytes=99, file_bytes=4)
    monkeypatch.setattr("raggate.inputs.git.LocalObjects.limits", limits)
    for name in ("a.md", "b.md"):
        (tmp_path / name).unlink()
    with sources.at(tmp_path, base) as source:
        with pytest.raises(UsageError, match="it has 5 bytes, expected at most 4"):
            source.read("a.md")
        assert source.read("b.md") == b"1234"
