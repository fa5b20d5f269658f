"""git as a reader of a repository that nobody has to trust: arguments in, the finished process out.

git is given a directory of its own: raggate's settings, no refs, and the objects of the repository. What the
repository configures (filters, hooks, a monitor, remotes, includes) and its grafts are not there, so no command can
run a program of theirs or be led elsewhere by them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self

from msgspec import Struct

from raggate.base import files
from raggate.base.errors import UsageError
from raggate.base.quote import cut, quoted
from raggate.inputs.git_objects import Entry, Limits, Store, is_id, object_id, parse_tree, walk

TIMEOUT_S = 60
MAX_POINTER_BYTES = 4096

_SETTINGS: Mapping[str, str] = {
    "core.commitGraph": "false",
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.multiPackIndex": "false",
    "core.quotePath": "false",
    "core.untrackedCache": "false",
    "core.warnAmbiguousRefs": "true",
    "maintenance.auto": "false",
    "safe.bareRepository": "explicit",
    "safe.directory": "*",
    # in a partial clone even reading would fetch, by a command of the repository's choice
    "protocol.allow": "never",
    **{f"protocol.{name}.allow": "never" for name in ("ext", "file", "git", "http", "https", "ssh")},
}
# nothing of raggate's own surroundings: neither a token nor a home directory that others have written to
_ENVIRONMENT: Mapping[str, str] = {
    "PATH": os.defpath,
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CEILING_DIRECTORIES": "/",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
}

# a submodule has settings of its own, which git would follow
_DIFF = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
_CHANGED = ("diff", "-z", "--name-only", "--no-renames", *_DIFF)


class Checkout(Struct, frozen=True):
    """A working tree: the directory that holds `.git`, what that is or leads to, and where objects and refs lie."""

    top: Path
    directory: Path
    common: Path


def find(folder: Path, workspace: Path | None = None) -> Checkout | None:
    """Find the working tree that a folder lies in, by `.git` alone: nothing that git can check out has that name.

    git itself would also take a folder with `HEAD`, `objects` and `refs` for a repository, which a change can commit.

    Args:
        workspace: the directory that the checkouts of a job lie in; None for a person's own machine. A change can
            bring another repository as a submodule, whose `.git` is a file: a job does not look into it, and a person
            has to be in it.
    """
    folder = Path(os.path.normpath(folder.absolute()))
    above = [folder, *folder.parents]
    if workspace is None:
        checkouts = [*filter(None, map(_checkout, above))]
        modules = [outer.directory / "modules" for outer in checkouts]
        return next(
            (
                own
                for own in checkouts
                if not any(map(own.directory.is_relative_to, modules)) or Path.cwd().is_relative_to(own.top.resolve())
            ),
            None,
        )
    workspace = Path(os.path.normpath(workspace.absolute()))
    inside = above[: above.index(workspace) + 1] if workspace in above else []
    real = [place for place in inside if not (place / ".git").is_file()]
    return next(filter(None, map(_checkout, [*real, *reversed(inside)])), None)


def _checkout(top: Path) -> Checkout | None:
    directory = top / ".git"
    try:
        if directory.is_file():
            directory = top / _pointer(directory).removeprefix("gitdir:").strip()
        common = directory / "commondir"
        shared = directory / _pointer(common) if common.is_file() else directory
        complete = (directory / "HEAD").is_file() and (shared / "objects").is_dir()
    except (OSError, ValueError):
        return None
    return Checkout(top, directory.resolve(), shared.resolve()) if complete else None


def _pointer(file: Path) -> str:
    with file.open("rb") as stream:
        return os.fsdecode(stream.read(MAX_POINTER_BYTES)).strip()


def resolve(checkout: Checkout, revision: str) -> str | None:
    """Return the full id of the commit that a revision names, None when there is none. A full id is taken as it is."""
    if is_id(revision):
        return revision
    # names are the repository's own, so here alone git looks into its directory
    environment = {**_environment(checkout), "GIT_DIR": str(checkout.directory)}
    arguments = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    done = _finished([_program(), *arguments], environment, checkout)
    commit = done.stdout.decode(errors="replace").strip()
    if done.returncode != 0 or not is_id(commit):
        return None
    # git takes a tag before a branch, and whoever can push can push a tag `origin/main`
    name = re.split(r"[~^:@]", revision, maxsplit=1)[0]
    if b" is ambiguous" in done.stderr and name != "HEAD" and not name.startswith("refs/"):
        raise UsageError(
            f"{quoted(revision)} names several things here, such as a tag and a branch",
            hint="Write the full name, such as refs/remotes/origin/main.",
        )
    return commit


class Reader:
    """git over the objects of a repository; see `reading`."""

    def __init__(self, checkout: Checkout, scratch: Path) -> None:
        self._checkout = checkout
        self._scratch = scratch
        self._program = _program()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command that only reads; paths are taken literally, from the top of the working tree."""
        return _finished(self._command(*arguments), self._environment(), self._checkout)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command that is asked by its standard input and answers on its standard output."""
        return subprocess.Popen(
            self._command(*arguments),
            env=self._environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **_as_owner(self._checkout),
        )

    def changed(self, commit: str) -> bool:
        """Return whether tracked files differ from a commit. What cannot be compared counts as changed."""
        self._take_index()
        return self.run("diff", "--quiet", *_DIFF, commit, "--").returncode != 0

    def changes(self, commit: str, but: Collection[str] = ()) -> bytes:
        """Return what tracked files differ in from a commit, as one patch; nothing where they do not."""
        self._take_index()
        listed = self.run(*_CHANGED, commit, "--")
        names = {*_names(listed)}
        if listed.returncode == 0 and names <= {*but}:
            return b""
        paths = sorted(names.difference(but)) if names & {*but} else []
        options = ("--exit-code", "--binary", "--full-index", "--no-color")
        done = self.run("diff", *options, *_DIFF, commit, "--", *paths)
        # what cannot be compared counts as changed
        return b"" if done.returncode == 0 else done.stdout or b"?"

    def changed_files(self, commit: str) -> tuple[str, ...]:
        """Name the tracked files that differ from a commit, from the top; none where that cannot be told."""
        self._take_index()
        return _names(self.run(*_CHANGED, commit, "--"))

    def _take_index(self) -> None:
        directory = self._checkout.directory
        # git may keep the most of it in a file beside it
        for file in (directory / "index", *directory.glob("sharedindex.*")):
            # with its time, by which git knows the files that were changed right after it was written
            try:
                shutil.copy2(file, self._scratch / file.name)
                _hand_over(self._scratch / file.name, self._checkout)
            except OSError as error:
                # a half of it would be told as a broken index
                if error.errno in files.FULL:
                    raise

    def listed(self, *paths: str) -> tuple[str, ...]:
        """Name the files of the working tree at or below these paths that git does not ignore, tracked or not."""
        return _names(self.run("ls-files", "-z", "--others", "--exclude-standard", "--", *paths))

    def tracked(self, *paths: str) -> tuple[str, ...]:
        """Name the files that git tracks, at or below these paths; all of them where none is given."""
        self._take_index()
        done = self.run("ls-files", "-z", "--cached", "--", *paths)
        if done.returncode != 0:
            raise UsageError(f"git cannot say which files it tracks: {stderr_line(done)}")
        return _names(done)

    def _command(self, *arguments: str) -> list[str]:
        return [self._program, "--no-pager", "--literal-pathspecs", *arguments]

    def _environment(self) -> dict[str, str]:
        shallow = self._checkout.common / "shallow"
        return {
            **_environment(self._checkout, {"core.excludesFile": str(self._checkout.common / "info" / "exclude")}),
            **({"GIT_SHALLOW_FILE": str(shallow)} if shallow.exists() else {}),
            "GIT_DIR": str(self._scratch),
            "GIT_INDEX_FILE": str(self._scratch / "index"),
            "GIT_OBJECT_DIRECTORY": str(self._checkout.common / "objects"),
        }


@contextlib.contextmanager
def reading(checkout: Checkout, *, like: str) -> Iterator[Reader]:
    """Open the objects of a repository; `like` is a full id of one of them, which tells their kind of hash."""
    with tempfile.TemporaryDirectory(prefix="raggate-git-") as name:
        scratch = Path(name)
        (scratch / "refs").mkdir()
        (scratch / "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        version, extension = (1, "[extensions]\n\tobjectFormat = sha256\n") if len(like) == 64 else (0, "")
        disk_settings = "".join(f"\t{line}\n" for line in _of_the_disk(checkout))
        settings = f"[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{disk_settings}{extension}"
        (scratch / "config").write_text(settings, encoding="utf-8")
        for place in (scratch, *scratch.iterdir()):
            _hand_over(place, checkout)
        yield Reader(checkout, scratch)


def _of_the_disk(checkout: Checkout) -> list[str]:
    """Return what git wrote down of a disk that keeps no modes or links, as mounts of Windows do not."""
    text = ""
    with contextlib.suppress(OSError):
        text = (checkout.common / "config").read_text(encoding="utf-8", errors="replace")
    return re.findall(r"(?im)^[ \t]*((?:fileMode|symlinks)[ \t]*=[ \t]*false)[ \t]*$", text)


def _names(done: subprocess.CompletedProcess[bytes]) -> tuple[str, ...]:
    return tuple(name.decode("utf-8", "surrogateescape") for name in done.stdout.split(b"\0") if name)


def stderr_line(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return what git wrote about a failure, as one line; empty when it wrote nothing."""
    return cut(done.stderr.decode(errors="replace"))


def _program() -> str:
    program = shutil.which("git")
    if program is None:
        raise UsageError("git is not installed", hint="Install git: raggate reads the repository by it.")
    return program


def _environment(checkout: Checkout, settings: Mapping[str, str] | None = None) -> dict[str, str]:
    pairs = {**_SETTINGS, **(settings or {})}
    environment = {**_ENVIRONMENT, "GIT_WORK_TREE": str(checkout.top), "GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _finished(
    command: list[str], environment: Mapping[str, str], checkout: Checkout
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            command,
            cwd=checkout.top,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
            **_as_owner(checkout),
        )
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"no directory {cut(checkout.top.name or str(checkout.top))}") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git took longer than {TIMEOUT_S} s") from None


def _as_owner(checkout: Checkout) -> dict[str, Any]:
    """Return what makes a process the working tree's owner, who is not in root's groups, where raggate is root."""
    owner = checkout.top.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return {}
    return {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": ()}


def _hand_over(place: Path, checkout: Checkout) -> None:
    if identity := _as_owner(checkout):
        os.chown(place, identity["user"], identity["group"])


def tracked(folder: Path, names: Iterable[str]) -> set[str]:
    """Return which files and directories of a folder git tracks, themselves or something in them; none outside git."""
    folder, entries = folder.resolve(), set(names)
    checkout = find(folder) if entries else None
    if checkout is None:
        return set()
    commit = resolve(checkout, "HEAD")
    with reading(checkout, like=commit or "") as reader:
        files = reader.tracked()
    # a file system may take `A` and `a` for the same name, and git for two
    prefix = "".join(f"{part}/" for part in folder.relative_to(checkout.top).parts).casefold()
    folded = [name.casefold() for name in files]
    if any(prefix.startswith(f"{name}/") for name in folded):
        # git tracks the submodule that the folder lies in, with all that it has
        return entries
    first = {name[len(prefix) :].partition("/")[0] for name in folded if name.startswith(prefix)}
    return {name for name in entries if name.casefold() in first}


LIMITS = Limits(files=1_000_000, directory_bytes=8 << 30, file_bytes=512 << 20)
"""What is read of a repository on this machine."""

MAX_TREE_BYTES = 64 << 20
_LONGEST_HEADER = 4096
_HINT = "Fetch it, for example with `git fetch --refetch`, or with `fetch-depth: 0` of actions/checkout."


class Missing(UsageError):
    """The repository does not have an object, as a shallow or partial clone may not."""


class TooLarge(UsageError):
    """An object has more bytes than are read of it."""


class LocalObjects:
    """The objects of a checkout's repository; `spare` has those that a partial clone leaves out."""

    limits = LIMITS

    def __init__(self, checkout: Checkout, commit: str, *, spare: Store | None = None) -> None:
        self._spare = spare
        self._trees: dict[str, dict[str, Entry]] = {}
        self._stack = ExitStack()
        self.reader = self._stack.enter_context(reading(checkout, like=commit))
        self._git: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._hang_up()
        self._stack.close()

    def tree_of(self, commit: str) -> str:
        first = self._object(commit, "commit", MAX_TREE_BYTES).split(b"\n", 1)[0]
        tree = first.removeprefix(b"tree ").decode(errors="replace")
        if not is_id(tree):
            raise UsageError(f"{commit[:12]}: not a commit that git can read")
        return tree

    def merge_base(self, commit: str, other: str) -> str | None:
        found = self.reader.run("merge-base", commit, other).stdout.decode(errors="replace").strip()
        if is_id(found):
            return found
        # a shallow clone ends before it
        return None if self._spare is None else self._spare.merge_base(commit, other)

    def tree(self, tree_id: str) -> Mapping[str, Entry]:
        if tree_id not in self._trees:
            try:
                content = self._object(tree_id, "tree", MAX_TREE_BYTES)
            except Missing:
                if self._spare is None:
                    raise
                return self._spare.tree(tree_id)
            try:
                self._trees[tree_id] = parse_tree(content, like=tree_id)
            except ValueError as error:
                raise UsageError(f"the directory {tree_id[:12]} of the commit cannot be read: {error}") from None
        return self._trees[tree_id]

    def walk(self, tree_id: str) -> Iterator[tuple[str, Entry]]:
        return walk(tree_id, lambda tree: (self.tree(tree), False), most=LIMITS.files)

    def blob(self, entry: Entry, *, limit: int) -> bytes:
        try:
            return self._object(entry.id, "blob", limit)
        except Missing:
            if self._spare is None:
                raise
            return self._spare.blob(entry, limit=limit)

    def _object(self, object_name: str, kind: Literal["blob", "tree", "commit"], limit: int) -> bytes:
        try:
            actual_kind, content = self._asked(object_name, limit)
        except (OSError, ValueError) as error:
            self._hang_up()
            raise UsageError(f"git cannot read {object_name[:12]}: {error}") from None
        if content is None:
            raise Missing(f"git does not have {object_name}", hint=_HINT)
        # git takes the content of a loose object for what its file's name says
        if actual_kind != kind or object_id(kind, content, like=object_name) != object_name:
            raise UsageError(
                f"the content of {object_name} does not fit this id. The repository is damaged, or somebody changed it",
                hint="Run `git fsck`, then fetch the repository again.",
            )
        return content

    def _asked(self, object_name: str, limit: int) -> tuple[str, bytes | None]:
        """Return the kind and the content of an object, None for one that git does not have."""
        if self._git is None:
            self._git = self.reader.start("cat-file", "--batch")
        stdin, stdout = self._git.stdin, self._git.stdout
        if stdin is None or stdout is None:
            raise ValueError("it takes no input")
        stdin.write(f"{object_name}\n".encode())
        stdin.flush()
        words = stdout.readline(_LONGEST_HEADER).split()
        if words[1:] == [b"missing"]:
            return "", None
        if len(words) != 3 or not words[2].isdigit():
            raise ValueError("its answer has an unknown form")
        size = int(words[2])
        if size > limit:
            # it is still to come, so git is asked no more
            self._hang_up()
            raise TooLarge(f"git cannot read {object_name[:12]}: it has {size} bytes, expected at most {limit}")
        content = stdout.read(size + 1)
        if len(content) <= size:
            raise ValueError("it ended in the middle of an answer")
        return words[1].decode(errors="replace"), content[:size]

    def _hang_up(self) -> None:
        if self._git is not None:
            self._git.kill()
            self._git.communicate()
        self._git = None
