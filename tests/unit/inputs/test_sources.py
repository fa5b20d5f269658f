"""Where the trusted inputs come from: the working tree, or a commit that the working tree cannot change."""

from __future__ import annotations

import os
import subprocess
import tracemalloc
from pathlib import Path

import pytest

from checkouts import commit_all, git, write_files
from raggate.base.errors import UsageError
from raggate.inputs import git_objects, sources
from raggate.models.provenance import Checkout


def commit(root: Path, **files: str) -> str:
    """Write files (`__` stands for a slash, `_md` for the suffix), commit everything and give the commit's hash."""
    write_files(root, {name.replace("__", "/").replace("_md", ".md"): content for name, content in files.items()})
    commit_all(root)
    return git(root, "rev-parse", "HEAD")


def contents(directory: Path) -> dict[str, str]:
    """Return the files below a directory with their content."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_text() for path in files}


def refusal(root: Path, revision: str) -> UsageError:
    """Return the error with which a revision is refused."""
    with pytest.raises(UsageError) as caught, sources.at(root, revision):
        pass
    return caught.value


@pytest.mark.parametrize("confined", [True, False])
def test_worktree_names_what_cannot_be_reached(tmp_path: Path, confined: bool) -> None:
    """A link to itself, a name that no file can have, and a pipe are mistakes, whatever is asked of them."""
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    source = sources.WorkTree(tmp_path, confined=confined)
    for path, problem in (("loop", "Too many levels of symbolic links"), ("n" * 300, "File name too long")):
        for asked in (source.read, source.directory, source.names, lambda name: [*source.lines(name)]):
            with pytest.raises(UsageError, match=problem):
                asked(path)
    with pytest.raises(UsageError, match=r"pipe: a named pipe, where a file is expected"):
        source.read("pipe")


def test_revision_is_not_what_the_working_tree_says(tmp_path: Path) -> None:
    """Changed, staged, added, deleted and ignored files in the working tree have no part in what a revision says."""
    base = commit(tmp_path, a_md="old", gone_md="old", notes__n_md="old", notes__gone_md="old")
    commit(tmp_path, a_md="newer", notes__n_md="newer")
    write_files(tmp_path, {"a.md": "changed", "notes/n.md": "changed", "notes/new.md": "new", "nowhere.md": "on disk"})
    (tmp_path / "gone.md").unlink()
    (tmp_path / "notes/gone.md").unlink()
    git(tmp_path, "add", "--all")
    with sources.at(tmp_path, base) as source:
        assert source.read("a.md") == source.read("gone.md") == b"old"
        assert contents(source.directory("notes")) == {"gone.md": "old", "n.md": "old"}
        assert source.describe("a.md") == f"a.md@{base[:12]}"
        for path in ("nowhere.md", "notes", "a.md/b.md"):
            with pytest.raises(FileNotFoundError):
                source.read(path)


def test_differing(tmp_path: Path) -> None:
    """Changed, deleted, staged and untracked files below the given paths are named, and no others."""
    base = commit(tmp_path, same_md="x", a_md="x", notes__n_md="x", notes__gone_md="x", other__o_md="x")
    commit(tmp_path, notes__committed_md="x")
    write_files(
        tmp_path, dict.fromkeys(("a.md", "notes/n.md", "notes/ä b.md", "other/o.md", "other/new.md"), "changed")
    )
    (tmp_path / "notes/gone.md").unlink()
    paths = ("same.md", "a.md", "nowhere.md", "notes")
    changed = ("a.md", "notes/committed.md", "notes/gone.md", "notes/n.md", "notes/ä b.md")
    with sources.at(tmp_path, base) as source:
        assert source.differing(paths) == changed
        git(tmp_path, "add", "--all")
        assert source.differing(paths) == changed


def test_what_is_tracked_differs_though_it_is_ignored(tmp_path: Path) -> None:
    """A change cannot hide the files that it brings behind a pattern that it brings too; others stay ignored."""
    base = commit(tmp_path, notes__a_md="x")
    (tmp_path / "notes/link.md").symlink_to("/elsewhere")
    commit(tmp_path, notes__new_md="x")
    write_files(tmp_path, {".gitignore": "notes/*.md\n", "notes/loose.md": "x"})
    with sources.at(tmp_path, base) as source:
        assert source.differing(["notes"]) == ("notes/link.md", "notes/new.md")


def test_reading_leaves_the_index_alone(tmp_path: Path) -> None:
    """Reading and comparing write nothing into the repository, and a file that was only touched does not differ."""
    base = commit(tmp_path, a_md="x", b_md="x")
    index = tmp_path / ".git" / "index"
    (tmp_path / "b.md").write_text("y")
    os.utime(tmp_path / "a.md", (1, 1))
    before = (index.stat().st_ino, index.stat().st_mtime_ns, sorted((tmp_path / ".git").iterdir()))
    with sources.at(tmp_path, base) as source:
        assert source.differing(["."]) == ("b.md",)
    sources.head(tmp_path)
    assert (index.stat().st_ino, index.stat().st_mtime_ns, sorted((tmp_path / ".git").iterdir())) == before


def test_revision_may_be_named(tmp_path: Path) -> None:
    """A revision is anything git knows as a commit: a relation, an annotated tag, a branch, a short hash."""
    base = commit(tmp_path, a_md="old")
    git(tmp_path, "tag", "--annotate", "v1", "--message", "x")
    commit(tmp_path, a_md="new")
    for name in ("HEAD~1", "v1", base[:8]):
        with sources.at(tmp_path, name) as source:
            assert (source.read("a.md"), source.commit) == (b"old", base)


def test_revision_stays_when_the_branch_moves(tmp_path: Path) -> None:
    """A revision is resolved once: what is committed afterwards does not change it."""
    commit(tmp_path, a_md="old")
    with sources.at(tmp_path, "main") as source:
        commit(tmp_path, a_md="new")
        assert source.read("a.md") == b"old"


AMBIGUOUS = {
    "origin/main": "refs/tags/origin/main",
    "main": "refs/tags/main",
    "origin/main~0": "refs/heads/origin/main",
    "abcdef0": "refs/tags/abcdef0",
}


def test_a_name_of_several_things_is_refused(tmp_path: Path) -> None:
    """A tag that somebody pushed under the name of the branch that judges is not taken for it, nor the other way."""
    base = commit(tmp_path, a_md="old")
    loose = commit(tmp_path, a_md="loose")
    git(tmp_path, "config", "core.warnAmbiguousRefs", "false")
    for name in ("origin/main", "abcdef0"):
        git(tmp_path, "update-ref", f"refs/remotes/{name}", base)
    for name, ref in AMBIGUOUS.items():
        git(tmp_path, "update-ref", ref, loose)
        assert "names several things here" in str(refusal(tmp_path, name))
        git(tmp_path, "update-ref", "-d", ref)
    with sources.at(tmp_path, "refs/remotes/origin/main") as source:
        assert source.read("a.md") == b"old"


def test_an_exact_name_stays_what_it_is(tmp_path: Path) -> None:
    """HEAD and names in full are what git takes them for first, whatever tags are called."""
    base = commit(tmp_path, a_md="old")
    git(tmp_path, "update-ref", "refs/remotes/origin/main", base)
    for ref in ("refs/tags/HEAD", "refs/tags/refs/remotes/origin/main"):
        git(tmp_path, "update-ref", ref, git(tmp_path, "commit-tree", f"{base}^{{tree}}", "-m", "another"))
    for name in ("HEAD", "refs/remotes/origin/main", "HEAD^{commit}"):
        with sources.at(tmp_path, name) as source:
            assert source.commit == base
    assert sources.head(tmp_path) == Checkout(commit=base, dirty=False)


@pytest.mark.usefixtures("outside_git")
def test_what_is_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no commit here is refused with the way to get it; outside git, and without git, the reason is named."""
    assert "no commit 'main' here: no git repository" in str(refusal(tmp_path, "main"))
    assert sources.head(tmp_path) == Checkout()
    base = commit(tmp_path, a_md="x")
    for revision in ("nowhere", "", "--help", "HEAD:a.md", "0" * 40):
        error = refusal(tmp_path, revision)
        assert str(error).startswith(f"no commit {revision!r} here")
        assert "git fetch" in error.hint

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", 60)

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", hang)
        assert "git took longer than 60 s" in str(refusal(tmp_path, "main"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for revision in ("main", base):
        assert "git is not installed" in str(refusal(tmp_path, revision))


@pytest.mark.parametrize("order", [["notes/office", "notes", "."], [".", "notes", "notes/office"]])
def test_directories_hold_what_was_committed(tmp_path: Path, order: list[str]) -> None:
    """A directory has all its files, links and executables, whichever of its folders were asked for before."""
    write_files(tmp_path, {"notes/build.sh": "x"})
    (tmp_path / "notes/build.sh").chmod(0o755)
    (tmp_path / "notes/link.md").symlink_to("office/ä b.md")
    base = commit(tmp_path, **{"notes__office__ä b_md": "w"})
    (tmp_path / "notes/build.sh").chmod(0o644)
    with sources.at(tmp_path, base) as source:
        files = {path: contents(source.directory(path)) for path in order}
        notes = source.directory("notes")
        assert (notes / "link.md").is_symlink()
        assert [os.access(notes / name, os.X_OK) for name in ("build.sh", "office/ä b.md")] == [True, False]
    inner = {"build.sh": "x", "link.md": "w", "office/ä b.md": "w"}
    whole = {f"notes/{name}": text for name, text in inner.items()}
    assert files == {"notes/office": {"ä b.md": "w"}, "notes": inner, ".": whole}


@pytest.mark.parametrize(
    "links", [{"b.md": "../../../secret"}, {"b.md": "/etc/passwd"}, {"a/up": "..", "b.md": "a/up/../x"}]
)
def test_link_out_of_a_directory_is_refused(tmp_path: Path, links: dict[str, str]) -> None:
    """A committed link that leads out, alone or by way of another, is refused, and one is never read through."""
    (tmp_path / "notes/a").mkdir(parents=True)
    for name, target in links.items():
        (tmp_path / "notes" / name).symlink_to(target)
    base = commit(tmp_path, notes__a_md="x")
    with sources.at(tmp_path, base) as source:
        with pytest.raises(UsageError, match=r"notes/b.md@\w{12}: a symbolic link out of its directory"):
            source.directory("notes")
        with pytest.raises(UsageError, match="a symbolic link, which raggate does not follow"):
            source.read("notes/b.md")


def test_empty_folders_of_a_commit_without_end(tmp_path: Path) -> None:
    """A chain of folders with siblings and no file in them, a few kilobytes of commit, is not followed to its end."""
    commit(tmp_path, a_md="x")
    empty = below = git(tmp_path, "mktree", given="")
    for _ in range(201):
        siblings = "".join(f"040000 tree {empty}\ta{number}{'x' * 240}\n" for number in range(9))
        below = git(tmp_path, "mktree", given=f"{siblings}040000 tree {below}\td{'x' * 240}\n")
    chain = git(tmp_path, "commit-tree", git(tmp_path, "mktree", given=f"040000 tree {below}\tnotes\n"), "-m", "x")
    with sources.at(tmp_path, chain) as source:
        tracemalloc.start()
        with pytest.raises(UsageError, match="more than 200 deep"):
            source.directory("notes")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
        tracemalloc.stop()


def test_sizes_of_a_commit_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long paths of a commit are not followed to their end, and a file of it is not read beyond the bound."""
    monkeypatch.setattr(git_objects, "MOST_PATH_CHARACTERS", 50)
    limits = git_objects.Limits(files=9, directory_bytes=99, file_bytes=4)
    monkeypatch.setattr("raggate.inputs.git.LocalObjects.limits", limits)
    first = commit(tmp_path, a_md="12345", b_md="1234", notes__a_md="# A", notes__deep__b_md="# B")
    (tmp_path / "a.md").unlink()
    (tmp_path / "b.md").unlink()
    with sources.at(tmp_path, first) as source:
        assert len([*source.directory("notes").rglob("*.md")]) == 2
        with pytest.raises(UsageError, match="it has 5 bytes, expected at most 4"):
            source.read("a.md")
        assert source.read("b.md") == b"1234"
    second = commit(tmp_path, **{f"notes__deep__{number}": "" for number in range(8)})
    with sources.at(tmp_path, second) as source, pytest.raises(UsageError, match="more than 50 characters in all"):
        source.directory("notes")


def test_entry_named_dots_stays_harmless(tmp_path: Path) -> None:
    """A commit made by hand with an entry `..` writes nothing outside the directory that is unpacked."""
    commit(tmp_path, a_md="x")
    blob = git(tmp_path, "hash-object", "-w", "--stdin", given="bad")
    evil = git(tmp_path, "mktree", given=f"100644 blob {blob}\tescaped.md\n")
    # git itself writes no such name, so the tree object is made of its bytes
    (tmp_path / "raw").write_bytes(b"40000 ..\0" + bytes.fromhex(evil))
    notes = git(tmp_path, "hash-object", "-t", "tree", "-w", "--literally", "raw")
    base = git(tmp_path, "commit-tree", git(tmp_path, "mktree", given=f"040000 tree {notes}\tnotes\n"), "-m", "x")
    with sources.at(tmp_path, base) as source:
        scratch = source.directory("nowhere").parents[1]
        with pytest.raises(UsageError):
            source.directory("notes")
        assert not list(scratch.rglob("escaped.md"))


@pytest.mark.parametrize("attributes", ["export-ignore", "export-subst", "text eol=crlf", "filter=evil"])
def test_attributes_of_the_commit_change_nothing(tmp_path: Path, attributes: str) -> None:
    """A directory holds the bytes that were committed, whatever the commit's attributes and filters would make."""
    text = "$Format:%H$ $Id$\n# N\n"
    write_files(tmp_path, {".gitattributes": f"*.md {attributes}\n"})
    base = commit(tmp_path, notes__n_md=text)
    git(tmp_path, "config", "core.autocrlf", "true")
    git(tmp_path, "config", "filter.evil.smudge", f"touch {tmp_path}/ran; cat")
    with sources.at(tmp_path, base) as source:
        assert (source.directory("notes") / "n.md").read_bytes() == text.encode()
    assert not (tmp_path / "ran").exists()


def test_what_was_broken_off_is_not_taken_for_whole(tmp_path: Path) -> None:
    """A directory that could not be unpacked is refused again when it is asked for again."""
    base = commit(tmp_path, notes__a_md="x", notes__b_md="y")
    lost = git(tmp_path, "rev-parse", "HEAD:notes/b.md")
    (tmp_path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    with sources.at(tmp_path, base) as source:
        for _ in range(2):
            with pytest.raises(UsageError, match=f"git does not have {lost}"):
                source.directory("notes")


def test_paths_above_the_configuration(tmp_path: Path) -> None:
    """What lies beside the configuration's folder is read by a path with `..`, and nothing outside the repository."""
    base = commit(tmp_path, sub__a_md="a", notes__n_md="n", x_md="top")
    with sources.at(tmp_path / "sub", base) as source:
        assert source.read("../notes/n.md") == b"n"
        assert contents(source.directory("../notes")) == {"n.md": "n"}
        assert not source.directory("../../notes").exists()
        with pytest.raises(FileNotFoundError):
            source.read("../../x.md")


def test_head(tmp_path: Path) -> None:
    """A checkout is described by its commit, and by whether tracked files were changed since.

    On a mount of Windows git notes that modes and links tell nothing: they change no file.
    """
    (tmp_path / "link.md").symlink_to("a.md")
    base = commit(tmp_path, a_md="x")
    clean, dirty = (Checkout(commit=base, dirty=changed) for changed in (False, True))
    (tmp_path / "new.md").write_text("untracked")
    assert sources.head(tmp_path) == clean
    (tmp_path / "link.md").unlink()
    (tmp_path / "link.md").write_text("a.md")
    (tmp_path / "a.md").chmod(0o755)
    assert sources.head(tmp_path) == dirty
    git(tmp_path, "config", "core.fileMode", "false")
    assert sources.head(tmp_path) == dirty
    git(tmp_path, "config", "core.symlinks", "false")
    assert sources.head(tmp_path) == clean
    (tmp_path / "a.md").write_text("y")
    assert sources.head(tmp_path) == dirty


def test_the_content_of_a_checkout_has_a_name(tmp_path: Path) -> None:
    """Equal content has one name whichever commit it is of; a changed tracked file, and its every change, another."""
    commit(tmp_path, a_md="x")
    first = sources.tree_id(tmp_path)
    commit(tmp_path, a_md="y")
    second = sources.tree_id(tmp_path)
    (tmp_path / "a.md").write_text("z")
    changed = sources.tree_id(tmp_path)
    (tmp_path / "a.md").write_text("zz")
    assert len({first, second, changed, sources.tree_id(tmp_path)}) == 4
    assert changed.startswith(f"{second}+")
    commit(tmp_path, a_md="x")
    (tmp_path / "untracked").write_text("more")
    assert sources.tree_id(tmp_path) == first
    (tmp_path / ".git/index").write_bytes(b"broken")
    assert sources.tree_id(tmp_path).startswith(f"{first}+")
    assert sources.tree_id(tmp_path, but="a.md").startswith(f"{first}+")


def test_a_file_may_be_left_out_of_that_name(tmp_path: Path) -> None:
    """Whatever becomes of that file, beside a changed one or not, the name stays; of another file it changes."""
    commit(tmp_path, gate__replies="x", gate__a_md="x")
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
