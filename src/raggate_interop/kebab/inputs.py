"""What the kebab commands work on: paths in; golden queries, stored runs, rules, spans and raggate runs out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from raggate.base.errors import CannotTell, UsageError
from raggate.base.files import read_file
from raggate.base.quote import cut, quoted
from raggate.models.golden import Golden, digest
from raggate.models.run import Run
from raggate_interop.kebab import golden as kebab_golden, run as kebab_run
from raggate_interop.kebab.golden import GoldenFile, Unlabelled
from raggate_interop.kebab.metrics import ChunkSpans, Queries, Rules, read_spans
from raggate_interop.kebab.rows import StoredRun, read_rows
from raggate_interop.kebab.sqlite import is_store, open_store

ROWS = "per_query.jsonl"
"""The file of a run's rows, in the run's directory."""


def golden(path: Path) -> tuple[GoldenFile, Queries]:
    """Read a golden YAML; its queries also by id."""
    content = kebab_golden.read_golden(read_file(path), str(path))
    return content, {query.id: query for query in content.queries}


def stored(source: str) -> StoredRun:
    """Read a run from wherever it stands."""
    path, run_id = _split(source)
    if path.is_dir():
        path = path / ROWS
    if not is_store(path):
        if run_id:
            raise UsageError(f"{path}: not an SQLite file, so it has no run {quoted(run_id)}")
        return StoredRun(run_id=path.resolve().parent.name, rows=read_rows(read_file(path), str(path)))
    with open_store(path) as store:
        if run_id:
            return store.run(run_id)
        runs = store.runs()
        if len(runs) != 1:
            names = ", ".join(cut(run.run_id, limit=60) for run in runs[-5:])
            raise UsageError(
                f"{path}: {len(runs)} runs, expected one to be named as {path}#RUN_ID",
                hint=f"The newest: {names}." if runs else "",
            )
        return store.run(runs[0].run_id)


def reworded(run: StoredRun, asked: GoldenFile) -> list[str]:
    """Name the questions that were asked in other words than the golden set has now."""
    words = {query.id: query.query for query in asked.queries}
    if not any(row["query_id"] in words for row in run.rows):
        raise CannotTell(
            f"run {cut(run.run_id)}: none of its {len(run.rows)} queries is in {asked.name}",
            hint="Name the golden set of this run: --golden FILE.",
        )
    return [
        f"run {run.run_id}: query {row['query_id']} was asked in other words"
        for row in run.rows
        if row["query_id"] in words and row.get("query") not in (None, words[row["query_id"]])
    ]


def check_ids(source: str, asked: GoldenFile) -> None:
    """Check the ids of a golden set against the index beside a stored run."""
    with open_store(_split(source)[0]) as store:
        kebab_golden.check_ids(asked.queries, store.documents(), store.chunk_ids())


def rules(index: Path | None, **settings: Any) -> Rules:
    """Return the rules of the metrics; with an index, a citation counts only when its path is one of the index."""
    if index is None:
        return Rules(**settings)
    with open_store(index) as store:
        return Rules(paths=frozenset(store.documents().values()), **settings)


def chunk_spans(sources: tuple[str, str], queries: Queries) -> Mapping[str, ChunkSpans]:
    """Find where labelled chunks stand, as far as a source is a file that tells it."""
    wanted = {name for query in queries.values() for name in query.expected_chunk_ids}
    result: dict[str, ChunkSpans] = {}
    for path in dict.fromkeys(_split(source)[0] for source in sources):
        if is_store(path):
            with open_store(path) as store:
                spans = store.spans(wanted) if store.has_index() else {}
            result |= {name: ChunkSpans(document, read_spans(raw)) for name, (document, raw) in spans.items()}
    return result


def imported(run: StoredRun, asked: GoldenFile, *, unlabelled: Unlabelled, k: int | None) -> Run:
    """Make a raggate run of a stored one.

    Args:
        k: how many hits were asked for, where the run does not say.
    """
    cases = list(kebab_golden.to_cases(asked, unlabelled=unlabelled))
    if not cases:
        raise UsageError(f"{asked.name}: no query with an expected answer is left")
    measured = Golden(name=asked.name, cases=tuple(cases), hash=digest(cases))
    return kebab_run.to_run(run, measured, k=k)


def _split(source: str) -> tuple[Path, str]:
    name, mark, run_id = source.rpartition("#")
    return (Path(name), run_id) if mark and not Path(source).exists() else (Path(source), "")
