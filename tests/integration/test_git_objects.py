"""The trusted inputs of a commit, read from a server that is held to GitHub's API description."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fakes import github_api
from fakes.github.calls import Call, Response
from fakes.github_api import FakeGitHub, Repository, Submodule, Symlink, status
from fakes.truncated import cut_short
from flavours import EITHER
from raggate.base.errors import UsageError
from raggate.github.rest import git_objects
from raggate.github.rest.client import GitHub, GitHubError
from raggate.github.rest.git_objects import Objects
from raggate.github.rest.repository import Repository as GitHubRepository
from raggate.inputs import sources, vault
from raggate.inputs.committed import Commit
from raggate.inputs.git_objects import object_id

NAME = "octo/notes"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "1" * 64 + "\nsize 5\n"
FILES = {
    "raggate.yml": "version: 1\n",
    "vault/a.md": "# A\n",
    "vault/empty.md": "",
    "vault/ä #1?%2e&.md": "# Umlaut\n",
    "vault/deep/er/b.md": "# B\n",
    "vault/deep/copy.md": "# A\n",
    "vault/link.md": Symlink("deep/copy.md"),
    "vault/module": Submodule("1" * 40),
    "vault/picture.png": POINTER,
    "other/o.md": "# O\n",
}
Open = Callable[..., Commit]


@pytest.fixture
def fake(flavour: str) -> Iterator[FakeGitHub]:
    with FakeGitHub(flavour) as github:
        yield github


@pytest.fixture
def repository(fake: FakeGitHub) -> Repository:
    return fake.add_repository(NAME, files=FILES)


@pytest.fixture
def opened(fake: FakeGitHub, repository: Repository, tmp_path: Path) -> Iterator[Open]:
    """Yield a function that opens a commit, by default the head, with a token that may read contents."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    clients: list[GitHub] = []

    def opener(
        commit: str = "", prefix: str = "", *, root: Path | None = None, permissions: Any = None, name: str = NAME
    ) -> Commit:
        token = fake.token({"contents": "read"} if permissions is None else permissions)
        clients.append(fake.client(token))
        return Commit(Objects(GitHubRepository(clients[-1], name)), commit or repository.head, prefix, scratch, root)

    yield opener
    for client in clients:
        with client:
            pass


def files_below(directory: Path) -> dict[str, str]:
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_text() for path in found}


def add(repository: Repository, files: dict[str, Any]) -> str:
    """Commit files on top of the head and give the commit's id."""
    return repository.add_commit(files, [repository.head], branch="main")


class TestRead:
    """One file."""

    @pytest.mark.parametrize(
        "path",
        ["nowhere.md", "vault", "vault/module", "vault/a.md/b", "vault/link.md/b", "../x", "vault/module/x", "."],
    )
    def test_what_is_no_file_is_not_found(self, opened: Open, path: str) -> None:
        """A directory, a submodule, a path below a file or link, and nothing at all are no files."""
        with pytest.raises(FileNotFoundError):
            opened().read(path)

    def test_a_link_is_refused(self, opened: Open) -> None:
        """A link is named and not followed, although GitHub would follow it."""
        with pytest.raises(UsageError, match=r"vault/link.md@\w{12}: a symbolic link"):
            opened().read("vault/link.md")

    @EITHER
    def test_a_token_that_may_not_read(self, opened: Open) -> None:
        """A missing permission is told with the line that grants it, and is never a missing file."""
        with pytest.raises(GitHubError) as caught:
            opened(permissions={"pull-requests": "write"}).read("nowhere.md")
        assert caught.value.status == 403
        assert "contents: read" in caught.value.hint

    @pytest.mark.parametrize("change", [{"name": "octo/hidden"}, {"commit": "2" * 40}])
    def test_what_is_hidden(self, opened: Open, change: dict[str, str]) -> None:
        """A repository or commit that cannot be seen is an error and never a missing file."""
        with pytest.raises(GitHubError) as caught:
            opened(**change).read("nowhere.md")
        assert caught.value.status == 404
        assert "contents: read" in caught.value.hint

    @pytest.mark.parametrize("operation", ["git/get-commit", "git/get-tree", "git/get-blob"])
    def test_a_refusal_on_the_way(self, fake: FakeGitHub, opened: Open, operation: str) -> None:
        """That GitHub does not give an object that is there is an error and never a missing file."""
        fake.fail_next(operation, status(404))
        with pytest.raises(GitHubError):
            opened().read("raggate.yml")

    def test_another_content_than_the_id_says(self, repository: Repository, opened: Open) -> None:
        """Bytes that do not have the id that the tree names are not taken."""
        entry = repository.objects.entry(repository.objects.commits[repository.head].tree, "raggate.yml")
        assert entry is not None
        repository.objects.blobs[entry[1]] = b"version: 3\n"
        with pytest.raises(GitHubError, match="expected the blob"):
            opened().read("raggate.yml")


class TestDirectory:
    """A whole directory."""

    @EITHER
    def test_everything_in_it(self, opened: Open) -> None:
        """Files have their content, links stay links, submodules are empty, and nothing else is there."""
        directory = opened().directory("vault")
        assert files_below(directory) == {
            "a.md": "# A\n",
            "empty.md": "",
            "ä #1?%2e&.md": "# Umlaut\n",
            "deep/er/b.md": "# B\n",
            "deep/copy.md": "# A\n",
            "link.md": "# A\n",
            "picture.png": POINTER,
        }
        assert (directory / "link.md").readlink() == Path("deep/copy.md")
        assert list((directory / "module").iterdir()) == []
        assert not (directory.parent / "other").exists()

    def test_what_the_working_tree_has(self, fake: FakeGitHub, opened: Open, tmp_path: Path) -> None:
        """A file that the working tree has unchanged is not downloaded; a changed one is, and is as committed."""
        for name, text in {"a.md": "# A\n", "deep/er/b.md": "# X\n", "deep/copy.md": "# A\n"}.items():
            place = tmp_path / "vault" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        directory = opened(root=tmp_path).directory("vault")
        assert files_below(directory)["deep/er/b.md"] == "# B\n"
        assert files_below(directory)["a.md"] == "# A\n"
        assert len(fake.calls("git/get-blob")) == 5

    def test_what_the_working_tree_puts_in_the_way(self, opened: Open, tmp_path: Path) -> None:
        """A pipe, a directory or a link where a file should be is neither opened nor followed."""
        vault = tmp_path / "vault"
        (vault / "deep/copy.md").mkdir(parents=True)
        os.mkfifo(vault / "a.md")
        (vault / "empty.md").symlink_to("/dev/zero")
        assert files_below(opened(root=tmp_path).directory("vault"))["a.md"] == "# A\n"

    @pytest.mark.parametrize("target", ["../raggate.yml", "/etc/passwd", "deep/../../x", ".."])
    def test_a_link_out_of_it(self, repository: Repository, opened: Open, target: str) -> None:
        """A link that leads out of the directory is refused by name."""
        commit = add(repository, {"vault/deep/out.md": Symlink(f"../{target}" if target[0] != "/" else target)})
        with pytest.raises(UsageError, match=r"vault/deep/out.md@\w{12}: a symbolic link out of"):
            opened(commit).directory("vault")

    @pytest.mark.parametrize("name", ["vault/../x.md", "vault/./x.md", "vault/a\\..\\b.md", "vault/x\0.md"])
    def test_names_that_lead_out(self, repository: Repository, opened: Open, name: str, tmp_path: Path) -> None:
        """A name that could lead out of the directory is refused, and nothing is left behind."""
        with pytest.raises(UsageError, match="cannot use this file name"):
            opened(add(repository, {name: "x"})).directory("vault")
        assert list((tmp_path / "scratch").iterdir()) == []

    @pytest.mark.parametrize(
        ("limit", "value", "message"),
        [
            ("files", 3, "more than 3 files"),
            ("directory_bytes", 5, "more than 5 bytes"),
            ("file_bytes", 5, "larger than 5 bytes"),
        ],
    )
    def test_too_much(
        self, fake: FakeGitHub, opened: Open, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, message: str
    ) -> None:
        """A directory that is too much is refused before anything of it is downloaded."""
        monkeypatch.setattr(Objects, "limits", replace(Objects.limits, **{limit: value}))
        with pytest.raises(UsageError, match=message):
            opened().directory("vault")
        assert not fake.calls("git/get-blob")


class TestTruncated:
    """Trees that are too large for one answer."""

    @pytest.fixture(autouse=True)
    def cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cut_short(monkeypatch)

    def test_level_by_level(self, opened: Open) -> None:
        """A cut answer is made up for, level by level."""
        assert len(files_below(opened().directory("vault"))) == 7

    def test_trees_without_end(
        self, repository: Repository, opened: Open, fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A few trees that stand for very many files, each holding the next ten times, come to an end."""
        monkeypatch.setattr(git_objects, "MOST_ENTRIES", 200)
        objects = repository.objects
        tree = objects.add_tree({f"{number}.md": ("100644", objects.add_blob(b"x")) for number in range(10)})
        for _ in range(9):
            tree = objects.add_tree({str(number): ("040000", tree) for number in range(10)})
        bomb = objects.add_commit(tree, [], message="x", author=repository.world.person("octocat"))
        with pytest.raises(UsageError, match="more than 200 files"):
            opened(bomb.sha).directory(".")
        assert len(fake.requests) < 100


class TestVerified:
    """Trees are what their ids say."""

    @pytest.fixture
    def forged(self, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> str:
        """Let every answer name another blob for `a.md` and `raggate.yml`; gives the blob's content."""
        whole = github_api.OPERATIONS["git/get-tree"]
        other = repository.objects.add_blob(b"forged")

        def answer(call: Call) -> Response:
            response = whole(call)
            for entry in response.body["tree"]:
                if entry["path"].endswith(("a.md", "raggate.yml")):
                    entry |= {"sha": other, "size": 6}
            return response

        monkeypatch.setitem(github_api.OPERATIONS, "git/get-tree", answer)
        return "forged"

    @pytest.mark.usefixtures("forged")
    def test_a_file_of_a_forged_tree(self, opened: Open) -> None:
        """A tree that lists another blob than the commit has is refused."""
        with pytest.raises(GitHubError, match="expected the tree"):
            opened().read("raggate.yml")

    @pytest.mark.usefixtures("forged")
    def test_a_directory_of_a_forged_tree(self, opened: Open) -> None:
        """A recursive listing is verified at each of its levels."""
        with pytest.raises(GitHubError, match="expected the tree"):
            opened().directory("vault")

    def test_a_directory_that_is_not_listed(self, opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
        """A recursive listing that holds a file of no listed directory is refused."""
        whole = github_api.OPERATIONS["git/get-tree"]

        def answer(call: Call) -> Response:
            response = whole(call)
            kept = [entry for entry in response.body["tree"] if entry["path"] != "deep"]
            return replace(response, body={**response.body, "tree": kept})

        monkeypatch.setitem(github_api.OPERATIONS, "git/get-tree", answer)
        with pytest.raises(GitHubError, match="expected a tree whose directories are listed"):
            opened().directory("vault")


def test_ids_of_sha256() -> None:
    """In a repository of the SHA-256 format ids are computed with that."""
    empty = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
    assert object_id("blob", b"", like="0" * 64) == empty
    assert object_id("blob", b"", like="0" * 40) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


ATTRIBUTES = "dropped.md export-ignore\nstamped.md export-subst\nwindows.md text eol=crlf\nmarked.md ident\n"


def test_the_same_vault_as_by_git(fake: FakeGitHub, opened: Open, tmp_path: Path) -> None:
    """A commit's notes have one hash, read by git or by the API: attributes that rewrite files have no part."""
    text = "# Title\n\n$Format:%H$ and $Id$\n"
    names = ("plain", "dropped", "stamped", "windows", "marked")
    files = {f"vault/{name}.md": text for name in names} | {"vault/.gitattributes": ATTRIBUTES}
    top = tmp_path / "clone"
    for path, content in files.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_bytes(content.encode())

    def run(*words: str) -> str:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        return subprocess.run(["git", *who, *words], cwd=top, capture_output=True, text=True, check=True).stdout.strip()

    run("init", "--quiet")
    run("add", "--all")
    run("commit", "--quiet", "--message", "x")
    commit = run("rev-parse", "HEAD")
    by_api = opened(add(fake.add_repository("octo/same", files=files), files), name="octo/same").directory("vault")
    with sources.at(top, commit) as source:
        by_git = source.directory("vault")
        assert len(vault.load({"": by_git}).notes) == len(names)
        assert vault.load({"": by_git}).hash == vault.load({"": by_api}).hash
