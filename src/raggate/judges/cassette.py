"""The replies of judges so far: a file of JSON lines that is committed, reviewed, and asked before any server is.

A line is written as soon as a reply is there, so that a run that is killed asks nothing twice; the file is put in order
when the run ends. It holds the key of each request, which covers all of it, and of the request only what tells people
which one it was: the notes that stood in it are in the repository already.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, cast

from msgspec import Meta, Struct, convert

from raggate.base.errors import FileError, UsageError
from raggate.base.files import read_file, write_file, writing
from raggate.base.jsonio import as_dict, dump_line, loads, refuse_twice
from raggate.base.quote import cut
from raggate.models.judging import JudgeRequest, Reply

MOST_BYTES = 512 << 20
"""The largest cassette that is read."""

_HINT = "This is the cassette of the judges' replies. Restore it from git, or remove it to ask the judges again."

About = dict[str, str | bool | list[str]]
"""What a line tells people of its request: nothing that could not be written again as it was read."""


class Line(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a cassette: a reply, and what it is a reply to."""

    key: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    model: str
    build: str
    endpoint: str
    prompt: str
    template: str
    about: About
    reply: Reply

    @property
    def judge(self) -> tuple[str, ...]:
        """What identifies the judge, as in `JudgeModelSettings.identity`."""
        return self.model, self.build, self.endpoint

    @property
    def place(self) -> tuple[str, ...]:
        """Where it stands in the file: what is about the same question stands together."""
        subject = self.about.get("question") or self.about.get("claim") or ""
        return str(subject), self.prompt, self.model, self.key

    def written(self) -> bytes:
        """Return the line as it stands in the file."""
        return dump_line(as_dict(self))


def line_of(request: JudgeRequest, reply: Reply) -> Line:
    """Return the line of a reply."""
    prompt = request.prompt
    return Line(
        key=request.key,
        **request.model.identity,
        prompt=prompt.name,
        template=prompt.template,
        about=cast("About", dict(prompt.about)),
        reply=reply,
    )


def read(data: bytes, name: str) -> dict[str, Line]:
    """Read a cassette, by key; of two lines with the same key the last one counts.

    A last line without a newline counts where it is whole: editors leave the newline out. Half a line is what a killed
    run has left, and is nothing.
    """
    if len(data) > MOST_BYTES:
        raise FileError(name, f"larger than {MOST_BYTES} bytes", hint=_HINT)
    lines: dict[str, Line] = {}
    *whole, last = data.split(b"\n")
    for number, text in enumerate([*whole, last] if _is_whole(last) else whole, 1):
        if not text.strip():
            continue
        try:
            line = convert(loads(text), Line)
            # of two values of a key a reviewer may see the other one
            refuse_twice(text)
        except ValueError as error:
            raise FileError(f"{name}:{number}", cut(error), hint=_HINT) from None
        lines[line.key] = line
    return lines


def _is_whole(last: bytes) -> bool:
    """Return whether a last line without a newline is JSON: no beginning of an object is."""
    try:
        loads(last)
    except ValueError:
        return False
    return True


def written(lines: Iterable[Line]) -> bytes:
    """Return the content of a cassette in order."""
    return b"".join(line.written() for line in sorted(lines, key=lambda line: line.place))


class Cassette:
    """The replies that are known, and where new ones go.

    Args:
        path: the file that new ones are added to, which may be the one the known ones came from. Other processes may
            add to it at the same time.
        fresh: whether known replies are not used, but replaced.
    """

    def __init__(self, known: Mapping[str, Line], path: Path, *, fresh: bool = False) -> None:
        self._before = known
        self._known = {} if fresh else known
        self.path = path
        self._taken: set[str] = set()
        self.recorded: dict[str, Line] = {}
        self._models: dict[tuple[str, ...], set[str]] = {}
        # also where they are asked anew: another model under the name of the judge is another judge
        for line in known.values():
            self._note_model(line)

    def reply(self, request: JudgeRequest, *, fresh: bool = False) -> Reply | None:
        """Return the reply to a request, with `fresh` one of this run alone; None where there is none.

        What a line tells people must be true of the request: else nobody who reviewed it has seen what it replies to.
        """
        key = request.key
        line = self.recorded.get(key) or (None if fresh else self._known.get(key))
        if line is None or line != line_of(request, line.reply):
            return None
        self._taken.add(key)
        return line.reply

    def models(self, request: JudgeRequest) -> frozenset[str]:
        """Name the models that have answered for the judge of a request, as the servers said."""
        return frozenset(self._models.get(tuple(request.model.identity.values()), ()))

    def _note_model(self, line: Line) -> None:
        if line.reply.model:
            self._models.setdefault(line.judge, set()).add(line.reply.model)

    def record(self, request: JudgeRequest, reply: Reply) -> None:
        """Keep a reply, on disk before this returns."""
        line = line_of(request, reply)
        self.recorded[line.key] = line
        self._note_model(line)
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with _alone(self.path.parent):
                _append(self.path, line.written())

    def put_in_order(self) -> None:
        """Write the file anew in order, without what was replaced, and with all that was known before.

        Where nothing was recorded, nothing is written.
        """
        if not self.recorded:
            return
        with _alone(self.path.parent):
            # what another process has added meanwhile stays
            lines = read(read_file(self.path, most_bytes=MOST_BYTES), str(self.path))
            write_file(self.path, written({**self._before, **lines}.values()))

    def prune(self) -> tuple[int, int]:
        """Drop from the file what was not asked for; return how many replies are dropped, and how many stay."""
        if not self._taken:
            message = f"{self.path}: contains no reply that this run needs, so nothing was dropped"
            raise UsageError(
                message,
                hint="It belongs to other answers, judges or prompts. Run `raggate judge` without --prune first.",
            )
        with _alone(self.path.parent):
            lines = read(read_file(self.path, most_bytes=MOST_BYTES), str(self.path))
            kept = {key: line for key, line in lines.items() if key in self._taken or key not in self._before}
            if len(kept) < len(lines):
                write_file(self.path, written(kept.values()))
        return len(lines) - len(kept), len(kept)


def _append(path: Path, line: bytes) -> None:
    with path.open("ab+") as stream:
        end = stream.tell()
        if end:
            stream.seek(end - 1)
            if stream.read(1) != b"\n":
                stream.seek(0)
                before, newline, last = stream.read().rpartition(b"\n")
                if _is_whole(last):
                    line = b"\n" + line
                else:
                    # the half of a line that a killed process has left
                    stream.truncate(len(before + newline))
        stream.write(line)


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Let one process at a time write in a directory."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
