"""An evaluation in several processes: parts of its files in, the means of one process out, or nothing.

Nothing is decided here. What anything unusual is to mean, errors with their lines first, is found by one process
that reads the files as they are (`evaluate.evaluate_files`).
"""

from __future__ import annotations

import marshal
import os
import select
from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from io import RawIOBase
from itertools import chain
from typing import BinaryIO

from raggate.service import forked_processes
from raggate_interop.joining import join
from raggate_interop.measures import Measures
from raggate_interop.totals import Evaluation, Totals
from raggate_interop.trec_beir import cuts
from raggate_interop.trec_beir.evaluation_files import Files

_CHUNK_BYTES = 1 << 20
_LOOK_SECONDS = 0.2


def evaluate_parts(files: Files, cutoffs: Sequence[int], processes: int) -> Evaluation | None:
    """Score each part of the files in a process of its own.

    Returns:
        None where the files cannot be cut, where a query is in two parts, and where a process did not come to its end.

    Raises:
        UsageError: when there is nothing to average.
    """
    parts = cuts.parts(files, processes)
    if len(parts) < 2:
        return None
    try:
        messages = _messages(parts, cutoffs)
    except OSError:  # no further process
        return None
    totals = Totals(Measures(cutoffs))
    queries: list[array[int]] = []
    for message in messages:
        packed, hashes = marshal.loads(message)  # noqa: S302 - a fork of this process wrote it
        totals.merge(packed)
        queries.append(array("q", hashes))
    # two queries that have the same hash by chance cost no more than time
    return totals.evaluation() if messages and _apart(queries) else None


def _apart(queries: Sequence[array[int]]) -> bool:
    """Return whether no query is in two parts, by their hashes. Those of the last part need not be kept to tell."""
    *earlier, last = queries
    kept = {*chain.from_iterable(earlier)}
    return len(kept) == sum(map(len, earlier)) and kept.isdisjoint(last)


def _messages(parts: Sequence[Files], cutoffs: Sequence[int]) -> list[bytes]:
    """Return what each process has measured, in the order of the parts; none where one of them failed."""
    with ExitStack() as streams, forked_processes.running() as running:
        readers = []
        for part in parts:
            reader, writer = os.pipe()
            readers.append(streams.enter_context(os.fdopen(reader, "rb", buffering=0)))
            with os.fdopen(writer, "wb") as stream:
                forked_processes.start(partial(_score, part, cutoffs, stream, os.getpid()), running)
        messages: list[bytes] = []
        for pipe in readers:
            message = _whole(pipe)
            if not message:
                return []
            messages.append(message)
    return messages


def _whole(pipe: RawIOBase) -> bytes:
    """Read a pipe to its end, and wake up now and then: a signal that comes just before a read does not end it."""
    chunks: list[bytes] = []
    while True:
        ready, _, _ = select.select([pipe], [], [], _LOOK_SECONDS)
        if ready:
            chunk = pipe.read(_CHUNK_BYTES)
            if not chunk:
                return b"".join(chunks)
            chunks.append(chunk)


def _score(part: Files, cutoffs: Sequence[int], stream: BinaryIO, parent: int) -> None:
    forked_processes.end_with(parent)
    totals = Totals(Measures(cutoffs))
    queries = join(part.rankings(whole=False), part.judgements(whole=False), totals)
    stream.write(marshal.dumps((totals.packed(), array("q", map(hash, queries)).tobytes())))
    stream.flush()
