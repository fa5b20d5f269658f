"""Runs for other tools: whole runs only, one mode of them, and their result lists as TREC or JSON lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from raggate.base.errors import CannotTell, UsageError
from raggate.base.jsonio import dumps
from raggate.base.quote import cut, quoted
from raggate.models.run import Chunk, LabelledResult, Run
from raggate.pipeline import run_directory
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import write_whole

Unit = Literal["document", "note", "chunk"]
"""What a list names: documents by their ids (by their paths where the API gives none), notes by path, or chunks."""

Lists = Mapping[str, Sequence[str] | None]


def lists_of(directory: Path, unit: Unit, mode: str | None = None) -> dict[str, tuple[str, ...] | None]:
    """Return per case what a run retrieved, best first and each name once; None for a failed call."""
    lists: dict[str, tuple[str, ...] | None] = {}
    for item in results(directory, mode):
        response = item.result.response
        names = None if response is None else tuple(dict.fromkeys(_name(chunk, unit) for chunk in response.chunks))
        if names is not None and "" in names:
            raise UsageError(f"question {quoted(item.case.id)}: the API returned a {unit} without a name")
        lists[item.case.id] = names
    return lists


def write_lists(lists: Lists, target: Path, form: Literal["trec", "lists"]) -> None:
    """Write a TREC run file, or JSON lines as `raggate evaluate --lists` reads them.

    A failed call is in neither, and an empty list not in a TREC file: whoever scores the file has to count both as
    misses. Scores of a TREC file are made of the ranks.
    """
    if form == "trec":
        trec.write_run(target, ((name, doc_ids) for name, doc_ids in lists.items() if doc_ids))
        return
    with write_whole(target) as stream:
        for name, doc_ids in lists.items():
            if doc_ids is not None:
                stream.write(dumps({"query_id": name, "doc_ids": list(doc_ids)}) + b"\n")


def _name(chunk: Chunk, unit: Unit) -> str:
    if unit == "chunk":
        return chunk.chunk_id
    return chunk.rel_path if unit == "note" or chunk.doc_id is None else chunk.doc_id


def whole(directory: Path) -> Run:
    """Read a run that asked all of its questions: what other tools read has no place to say that it is a part."""
    run = run_directory.read(directory)
    if run.shortfall:
        raise CannotTell(f"{directory}: not a whole run: {cut(run.shortfall)}", hint="Ask all questions first.")
    return run


def results(directory: Path, mode: str | None = None) -> tuple[LabelledResult, ...]:
    """Return the results of a whole run in one mode."""
    run = whole(directory)
    wanted = only_mode(run, mode)
    return tuple(item for item in run.results if item.result.mode == wanted)


def only_mode(run: Run, wanted: str | None) -> str:
    """Return the mode that `--mode` names, or the only one of the run where it names none."""
    modes = list(dict.fromkeys(item.result.mode for item in run.results))
    mode = modes[0] if wanted is None and len(modes) == 1 else wanted
    if mode is None or mode not in modes:
        raise UsageError(f"--mode: the run has the modes {cut(', '.join(modes)) or 'none'}", hint="Choose one of them.")
    return mode
