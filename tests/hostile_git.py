"""Repositories that somebody tampered with: what a change can commit beside its files, and what lies in `.git`."""

from __future__ import annotations

import copy
import shutil
import subprocess
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

Git = Callable[..., str]
Tamper = Callable[["Hostile"], None]


class Hostile:
    """A checkout whose base commit has `sub/gate.txt` and `sub/notes/a.md`; its programs leave `mark` behind."""

    TRUE = b"tolerance: 0.0\n"
    FORGED = b"tolerance: 0.9\n"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sub = root / "sub"
        self.mark = root.parent / f"{root.name}-ran"
        (self.sub / "notes").mkdir(parents=True)
        self.git("init", "--quiet", "--initial-branch=main")
        self.base = self.commit({"sub/gate.txt": self.TRUE, "sub/notes/a.md": b"# A\n"})
        self.commit({"sub/gate.txt": self.FORGED, "sub/notes/a.md": b"# B\n"})

    def copied(self, root: Path) -> Hostile:
        """Copy the checkout, whose programs then leave a mark of their own."""
        shutil.copytree(self.root, root, symlinks=True)
        made = copy.copy(self)
        made.root, made.sub, made.mark = root, root / "sub", root.parent / f"{root.name}-ran"
        return made

    def git(self, *words: str, stdin: bytes = b"") -> str:
        who = ("-c", "user.name=T", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *words], cwd=self.root, input=stdin, capture_output=True, check=True)
        return done.stdout.decode().strip()

    def commit(self, files: Mapping[str, bytes]) -> str:
        for name, content in files.items():
            (self.root / name).write_bytes(content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "x")
        return self.git("rev-parse", "HEAD")

    def id_of(self, path: str) -> str:
        """Return the id of what the base commit has at a path."""
        return self.git("rev-parse", f"{self.base}:{path}")

    def program(self) -> str:
        """Return a command that leaves the mark."""
        return f"touch {self.mark}; cat"


def forge(objects: Path, object_name: str, content: bytes, kind: str = "blob") -> None:
    """Write a loose object under an id that is another's."""
    place = objects / object_name[:2] / object_name[2:]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(zlib.compress(f"{kind} {len(content)}\0".encode() + content))


def plant(hostile: Hostile, *, folder: Path | None = None) -> Path:
    """Commit what git takes for a bare repository beside the configuration, whose alternates lead to the real one."""
    place = folder or hostile.sub
    objects = place / "objects"
    (objects / "info").mkdir(parents=True, exist_ok=True)
    (place / "refs").mkdir(exist_ok=True)
    (place / "HEAD").write_text("ref: refs/heads/main\n")
    (objects / "info" / "alternates").write_text(f"{hostile.root}/.git/objects\n")
    forge(objects, hostile.id_of("sub/gate.txt"), hostile.FORGED)
    run = hostile.program()
    (place / "config").write_text(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
        f'\tfsmonitor = "{run}"\n\tpager = "{run}"\n\tsshCommand = "{run}"\n\thooksPath = hooks\n'
        f'[filter "a=b"]\n\tclean = "{run}"\n\tsmudge = "{run}"\n\trequired = true\n'
        f'[filter "plain"]\n\tclean = "{run}"\n[diff]\n\texternal = "{run}"\n[diff "a"]\n\ttextconv = "{run}"\n'
        f'\tcommand = "{run}"\n[credential]\n\thelper = "!{run}"\n'
    )
    (place / ".gitattributes").write_text("* filter=a=b diff=a\nnotes/* filter=plain\n")
    return place


def _planted(hostile: Hostile) -> None:
    plant(hostile)


def _configured(hostile: Hostile) -> None:
    """Let the repository's own settings name programs, another working tree, and files to include."""
    shutil.rmtree(hostile.root / "elsewhere", ignore_errors=True)
    folder = hostile.root / "elsewhere"
    folder.mkdir()
    plant(hostile, folder=folder)
    (hostile.root / ".gitattributes").write_text("* filter=a=b diff=a\n")
    for key, value in {
        "include.path": str(folder / "config"),
        "core.worktree": str(folder),
        "core.attributesFile": str(folder / ".gitattributes"),
        "extensions.worktreeConfig": "true",
        "core.fsmonitor": hostile.program(),
    }.items():
        with (hostile.root / ".git" / "config").open("a") as stream:
            section, _, name = key.partition(".")
            stream.write(f'[{section}]\n\t{name} = "{value}"\n')


def _forged(hostile: Hostile) -> None:
    forge(hostile.root / ".git" / "objects", hostile.id_of("sub/gate.txt"), hostile.FORGED)


def _forged_tree(hostile: Hostile) -> None:
    """Put the tree of the change under the id of the base commit's."""
    raw = subprocess.run(
        ["git", "cat-file", "tree", "HEAD:sub"], cwd=hostile.root, capture_output=True, check=True
    ).stdout
    forge(hostile.root / ".git" / "objects", hostile.id_of("sub"), raw, "tree")


def _forged_commit(hostile: Hostile) -> None:
    raw = subprocess.run(
        ["git", "cat-file", "commit", "HEAD"], cwd=hostile.root, capture_output=True, check=True
    ).stdout
    forge(hostile.root / ".git" / "objects", hostile.base, raw, "commit")


def _alternates(hostile: Hostile) -> None:
    """Take the base's file away and let alternates offer a forged one in its place."""
    name = hostile.id_of("sub/gate.txt")
    other = hostile.root / "other-objects"
    forge(other, name, hostile.FORGED)
    (hostile.root / ".git/objects/info").mkdir(exist_ok=True)
    (hostile.root / ".git/objects/info/alternates").write_text(f"{other}\n")
    (hostile.root / ".git/objects" / name[:2] / name[2:]).unlink(missing_ok=True)


def _grafts(hostile: Hostile) -> None:
    (hostile.root / ".git" / "info").mkdir(exist_ok=True)
    (hostile.root / ".git" / "info" / "grafts").write_text(f"{hostile.base}\n")


def _replaced(hostile: Hostile) -> None:
    hostile.git("replace", "--force", hostile.id_of("sub/gate.txt"), hostile.git("rev-parse", "HEAD:sub/gate.txt"))


def _indexes(hostile: Hostile) -> None:
    """Write a commit graph and a multi-pack index that are wrong."""
    for name in ("info/commit-graph", "pack/multi-pack-index"):
        place = hostile.root / ".git" / "objects" / name
        place.parent.mkdir(exist_ok=True)
        place.unlink(missing_ok=True)
        place.write_bytes(b"CGPH\1\1\0\0" + b"\0" * 100)


def _partial(hostile: Hostile) -> None:
    """Make it a partial clone whose server is a program, and lose an object."""
    hostile.git("config", "extensions.partialClone", "origin")
    hostile.git("config", "remote.origin.promisor", "true")
    hostile.git("config", "remote.origin.url", f"ext::sh -c touch% {hostile.mark}")
    hostile.git("config", "core.repositoryFormatVersion", "1")
    name = hostile.id_of("sub/notes/a.md")
    (hostile.root / ".git/objects" / name[:2] / name[2:]).unlink(missing_ok=True)


def _hooks(hostile: Hostile) -> None:
    for name in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        hook = hostile.root / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{hostile.program()}\n")
        hook.chmod(0o755)


TAMPERS: Mapping[str, Tamper] = {
    "a bare repository beside the configuration": _planted,
    "grafts": _grafts,
    "replaced objects": _replaced,
    "wrong indexes": _indexes,
    "hooks": _hooks,
    "a partial clone": _partial,
    "alternates": _alternates,
    "a forged file": _forged,
    "a forged tree": _forged_tree,
    "a forged commit": _forged_commit,
    # last: git itself cannot be asked about such a repository any more
    "settings that name programs": _configured,
}
"""Ways to tamper, in an order in which they can be done one after the other."""

HARMLESS = ("a bare repository beside the configuration", "grafts", "replaced objects", "wrong indexes", "hooks")
"""Those that take nothing away: everything can still be read."""
