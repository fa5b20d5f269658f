"""A baseline file in a git repository -> its versions, newest first. What cannot be read is listed with its reason."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from raggate.base.dates import stamp
from raggate.base.errors import FileError, UsageError
from raggate.base.quote import cut
from raggate.gate import baseline
from raggate.inputs import git
from raggate.inputs.git import LocalObjects, Missing, Reader, TooLarge
from raggate.inputs.git_objects import find
from raggate.models.baseline import MOST_BYTES, Baseline
from raggate.models.history import History, Revision
from raggate.scoring import score

MAX_CUTOFF = 1000
_LONGEST_HEADER = 4096


DEEPEN = "For older commits: `git fetch --unshallow`, or `fetch-depth: 0` for actions/checkout."
"""What to do about a shallow clone."""


def revisions(root: Path, path: str, *, limit: int, cutoffs: Sequence[int], at: str = "HEAD") -> History:
    """Read the history of a baseline file up to a commit."""
    root = root.resolve()
    checkout, head = _checked_out(root, at)
    whole = posixpath.normpath(posixpath.join(root.relative_to(checkout.top).as_posix(), path))
    shallow = (checkout.common / "shallow").exists()
    with LocalObjects(checkout, head) as objects:
        touching = _touching(objects.reader, head, whole, limit + 1)
        if not touching:
            raise UsageError(
                f"{path}: no commit here has it", hint="Commit the baseline first." + (f" {DEEPEN}" if shallow else "")
            )
        versions = tuple(_revision(objects, whole, *touched, cutoffs) for touched in touching[:limit])
    return History(path=path, revisions=versions, more=len(touching) > limit, shallow=shallow)


def _checked_out(root: Path, at: str) -> tuple[git.Checkout, str]:
    if not root.is_dir():
        raise UsageError(f"no directory {cut(root.name or str(root))}")
    checkout = git.find(root)
    if checkout is None:
        raise UsageError(
            "the history of a baseline comes from git, but this is no git repository",
            hint="Run it in a clone of the repository.",
        )
    head = git.resolve(checkout, at)
    if head is None:
        raise UsageError("the repository has no commit yet", hint="Commit the baseline first.")
    return checkout, head


def read(data: bytes, source: str, cutoffs: Sequence[int]) -> Baseline:
    """Read a baseline with every metric it holds, also those at cut-offs that are not configured any more."""
    stored = baseline.read(data, source, score.directions(cutoffs))
    own = stored.scorecard.fingerprint.get("cutoffs")
    named = {k for k in own if type(k) is int and 0 < k <= MAX_CUTOFF} if isinstance(own, list) else set()
    if named <= set(cutoffs):
        return stored
    return baseline.read(data, source, score.directions(sorted(named | set(cutoffs))))


def _touching(reader: Reader, head: str, path: str, limit: int) -> list[tuple[str, bytes]]:
    """Return the commits that changed a file, newest first, each with git's line on author and subject."""
    options = (f"--max-count={limit}", "--format=%at %s", "--encoding=UTF-8")
    done = reader.run("rev-list", *options, head, "--", path)
    if done.returncode != 0:
        raise UsageError(f"git cannot list the history of {cut(path)}: {git.stderr_line(done) or done.returncode}")
    lines = done.stdout.split(b"\n")
    commits = (line.removeprefix(b"commit ").decode() for line in lines[::2])
    return [*zip(commits, lines[1::2], strict=False)]


def _revision(objects: LocalObjects, path: str, commit: str, header: bytes, cutoffs: Sequence[int]) -> Revision:
    seconds, _, subject = header[:_LONGEST_HEADER].decode(errors="replace").partition(" ")
    empty = Revision(commit=commit, stamp=_moment(seconds), subject=subject, path=path)
    try:
        stored = read(_content(objects, commit, path), f"{path}@{commit[:12]}", cutoffs)
    except FileError as error:
        return replace(empty, problem=error.problem)
    return replace(empty, baseline=stored.without_questions())


def _content(objects: LocalObjects, commit: str, path: str) -> bytes:
    try:
        entry = find(objects, objects.tree_of(commit), path)
        file = entry if entry is not None and entry.kind in {"file", "link"} else None
        content = None if file is None else objects.blob(file, limit=MOST_BYTES)
    except Missing:
        raise FileError(path, "this clone lacks its content") from None
    except TooLarge:
        raise FileError(path, f"larger than {MOST_BYTES} bytes") from None
    except UsageError as error:
        raise FileError(path, error.message) from None
    if content is None:
        raise FileError(path, "deleted by this commit" if entry is None else "not a file in this commit")
    return content


def _moment(seconds: str) -> str:
    try:
        return stamp(datetime.fromtimestamp(int(seconds), UTC))
    except (ValueError, OverflowError, OSError):
        return ""
