"""Run directories and a baseline -> the lists that were returned for each question, and what is left out of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from raggate.errors import RaggateError, UsageError
from raggate.gate import baseline as baseline_file
from raggate.models.golden import Golden
from raggate.models.run import Chunk, Run
from raggate.pipeline import results_file, run_directory, stored_runs
from raggate.scoring.list_entries import short_hash
from raggate.scoring.score import directions
from raggate.text.files import read_file

Lists = dict[str, list[tuple[Chunk, ...]]]
"""By the id of a case, the lists of its question, best first."""


def newest_run(parent: Path) -> Path:
    """Give the run directory that was made last.

    Raises:
        UsageError: when there is none, it came with a commit, or the directory cannot be read.
    """
    runs = [path for path in stored_runs.folders(parent) if results_file.exists(path)]
    if not runs:
        raise UsageError(
            f"{parent}: no run directory, so nothing was returned that could be judged",
            hint="Run `raggate check` or `raggate run` first, or name a run directory.",
        )
    newest = max(runs, key=lambda path: (path.stat().st_mtime_ns, path.name))
    stored_runs.refuse_committed(parent, [newest.name], "no run is named")
    return newest


def of_runs(directories: Iterable[Path], golden: Golden) -> Lists:
    """Read what runs returned for the questions of a golden set.

    A question that was asked in other words is another one: its list is left out.

    Raises:
        UsageError: for a run directory that cannot be read.
    """
    lists: Lists = {}
    questions = {case.id: case.question for case in golden.cases}
    for directory in directories:
        run = run_directory.read(directory)
        for item in run.answers:
            if item.result.response is not None and questions.get(item.case.id) == item.case.question:
                lists.setdefault(item.case.id, []).append(_ranked(run, item.result.response.chunks))
    return lists


def tell_headings(lists: Lists) -> bool:
    """Say whether any chunk has a heading, or there is none to tell it: a label by one would never match otherwise."""
    chunks = [chunk for several in lists.values() for ranked in several for chunk in ranked]
    return not chunks or any(chunk.heading_path.strip() for chunk in chunks)


def _ranked(run: Run, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Leave out the private notes that a run returned: nobody has to read those to judge."""
    private = set(run.probes.private)
    return tuple(chunk for chunk in chunks if f"{chunk.vault}/{chunk.rel_path}" not in private)


def of_baseline(path: Path, name: str, lists: Lists, golden: Golden, say: Callable[[str], None]) -> int:
    """Add the lists of a baseline, as far as its chunks are known by their ids from the lists of runs.

    A baseline holds hashes and no text.

    Args:
        path: the file, which may not be there.
        name: what messages call it.
        lists: those of runs; the baseline's are added.
        golden: the questions.
        say: is told of a file that cannot be read.

    Returns:
        How many of its places nobody knows.
    """
    if not path.is_file():
        return 0
    try:
        stored = baseline_file.read(read_file(path), name, directions((1, 3, 5, 10)))
    except RaggateError as error:
        say(f"the baseline is left out: {error.message}")
        return 0
    known = {short_hash(chunk.chunk_id): chunk for several in lists.values() for chunks in several for chunk in chunks}
    asked = {case.id for case in golden.cases}
    unknown = 0
    for case in stored.scorecard.cases:
        if case.case_id in asked:
            chunks = tuple(known[entry.chunk] for entry in case.entries if entry.chunk in known)
            unknown += len(case.entries) - len(chunks)
            lists.setdefault(case.case_id, []).append(chunks)
    return unknown
