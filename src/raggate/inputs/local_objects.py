"""The objects of a repository on this machine, each verified by its id: git is only asked for bytes."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Literal, Self

from raggate.errors import UsageError
from raggate.inputs import git
from raggate.inputs.git_objects import Entry, Limits, Store, is_id, object_id, parse_tree, walk

LIMITS = Limits(files=1_000_000, directory_bytes=8 << 30, file_bytes=512 << 20)
"""What is read of a repository on this machine."""

MAX_TREE_BYTES = 64 << 20
_CHUNK = 1 << 16
_HINT = "Fetch it, for example by `git fetch --refetch`, or `fetch-depth: 0` of actions/checkout."


class Missing(UsageError):
    """The repository does not have an object, as a shallow or partial clone may not."""


class TooLarge(UsageError):
    """An object has more bytes than are read of it."""


class LocalObjects:
    """The objects of a checkout's repository.

    Args:
        checkout: the checkout.
        commit: a full id of the repository, which tells its kind of hash.
        spare: where objects are read that a partial clone leaves out; None for nowhere.
        purpose: completes "git is not installed, and …".

    Attributes:
        reader: git over these objects, for what else is asked of it.
    """

    limits = LIMITS

    def __init__(self, checkout: git.Checkout, commit: str, *, spare: Store | None = None, purpose: str) -> None:
        self._spare = spare
        self._trees: dict[str, dict[str, Entry]] = {}
        self._stack = ExitStack()
        self.reader = self._stack.enter_context(git.reading(checkout, like=commit, purpose=purpose))
        self._talk: _Talk | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hang_up()
        self._stack.close()

    def tree_of(self, commit: str) -> str:
        """Return the id of a commit's tree; see `Store`."""
        first = self._object(commit, "commit", MAX_TREE_BYTES).split(b"\n", 1)[0]
        tree = first.removeprefix(b"tree ").decode(errors="replace")
        if not is_id(tree):
            raise UsageError(f"{commit[:12]}: not a commit that git can read")
        return tree

    def tree(self, tree_id: str) -> Mapping[str, Entry]:
        """Return what stands directly in a tree; see `Store`."""
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
        """Return everything below a tree but directories; see `Store`."""
        return walk(tree_id, lambda tree: (self.tree(tree), False), most=LIMITS.files)

    def blob(self, entry: Entry, *, limit: int) -> bytes:
        """Return the content of a file or a link; see `Store`."""
        try:
            return self._object(entry.id, "blob", limit)
        except Missing:
            if self._spare is None:
                raise
            return self._spare.blob(entry, limit=limit)

    def _object(self, object_name: str, kind: Literal["blob", "tree", "commit"], limit: int) -> bytes:
        if self._talk is None:
            self._talk = _Talk(self.reader.start("cat-file", "--batch"))
        try:
            actual_kind, content = self._talk.ask(object_name, limit)
        except (OSError, ValueError) as error:
            self._hang_up()
            problem = TooLarge if isinstance(error, _OversizeError) else UsageError
            raise problem(f"git cannot read {object_name[:12]}: {error}") from None
        if content is None:
            raise Missing(f"git does not have {object_name}", hint=_HINT)
        # git takes the content of a loose object for what its file's name says
        if actual_kind != kind or object_id(kind, content, like=object_name) != object_name:
            raise UsageError(
                f"git has something else as {object_name} than this id says: the repository is damaged, or was "
                "tampered with",
                hint="Look at it with `git fsck`, and fetch it anew.",
            )
        return content

    def _hang_up(self) -> None:
        if self._talk is not None:
            self._talk.close()
        self._talk = None


class _OversizeError(ValueError):
    """What git announces is larger than what may be read, and still to come."""


class _Talk:
    """What is asked of and answered by one `git cat-file --batch`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._read = bytearray()

    def ask(self, object_name: str, limit: int) -> tuple[str, bytes | None]:
        """Return the kind and the content of an object, None for one that is not there.

        Raises:
            OSError: when git has ended.
            ValueError: when it says something else, takes longer than `git.TIMEOUT_S`, or the object is too large.
        """
        stdin = self._process.stdin
        if stdin is None:
            raise ValueError("it takes no questions")
        stdin.write(f"{object_name}\n".encode())
        stdin.flush()
        words = self._line().split()
        if words[1:] == [b"missing"]:
            return "", None
        if len(words) != 3 or not words[2].isdigit():
            raise ValueError("it does not answer in its own words")
        size = int(words[2])
        if size > limit:
            raise _OversizeError(f"it has {size} bytes, expected at most {limit}")
        return words[1].decode(errors="replace"), self._exactly(size + 1)[:size]

    def close(self) -> None:
        """End git."""
        self._process.kill()
        self._process.communicate()

    def _line(self) -> bytes:
        while b"\n" not in self._read:
            if len(self._read) > _CHUNK:
                raise ValueError("it does not answer in its own words")
            self._more()
        return self._exactly(self._read.index(b"\n") + 1)

    def _exactly(self, count: int) -> bytes:
        while len(self._read) < count:
            self._more()
        taken = bytes(self._read[:count])
        del self._read[:count]
        return taken

    def _more(self) -> None:
        stdout = self._process.stdout
        if stdout is None:
            raise ValueError("it gives no answers")
        if not select.select([stdout], [], [], git.TIMEOUT_S)[0]:
            raise ValueError(f"it took longer than {git.TIMEOUT_S} s")
        chunk = os.read(stdout.fileno(), _CHUNK)
        if not chunk:
            raise ValueError("it ended in the middle of an answer")
        self._read += chunk
