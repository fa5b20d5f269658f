"""How an API ended, or how large its index is -> what to do about it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from raggate.errors import CannotTell
from raggate.models.service import ProcessExit
from raggate.text.numbers import counted
from raggate.text.quote import quoted

_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w/])(?:/[^\s/:'\"]+)+")
_LONGEST = 2000


def why_it_ended(ended: ProcessExit, log: Iterable[str] = (), *, contained: bool = False) -> str:
    """Say what to do about an API that has ended.

    Args:
        ended: how.
        log: its last lines, untrusted.
        contained: whether it ran in a container, whose limits are raggate's.
    """
    lines = (line[:_LONGEST] for line in log) if contained else ()
    tried = next((seen for line in lines if _READ_ONLY.search(line) and (seen := _PATH.search(line))), None)
    if tried is not None:
        path = quoted(tried[0], limit=200)
        return (
            f"It tried to write {path}, and its root file system is read-only. Name the directory in "
            "`api.container.tmpfs` (it is then empty at every start), or set `api.container.read_only: false`."
        )
    if ended.service is not None:
        return "Its whole output is in the log of its name in the run directory; its limits are under `services`."
    if ended.code == 0:
        return "The command must stay in the foreground for as long as it serves."
    if ended.out_of_memory:
        return "Raise `api.container.memory`, or make it need less."
    if ended.signal == "SIGKILL":
        return "Nobody but the system kills it so: it may have used too much memory."
    return "Its whole output is in api.log of the run directory."


def check_size(documents: int | None, *, expected: int, files: int) -> None:
    """Refuse an index with more documents than the vault has files.

    Args:
        documents: what the API counts, None for nothing.
        expected: notes with text in the vault.
        files: all files in it, those that are no notes too.

    Raises:
        CannotTell: when it must be the index of something else.
    """
    if documents is not None and documents > max(expected, files):
        raise CannotTell(
            f"the API's index has {counted(documents, 'document')}, but the vault has {counted(expected, 'note')}",
            hint="It answers from another vault, or from an index that an earlier run has left. Give it the vault of "
            "raggate.yml ({vault.NAME}), and a fresh index or a store of its own ({run}) for every run.",
        )
