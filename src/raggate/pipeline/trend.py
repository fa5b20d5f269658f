"""What was measured before a run, of the same suite: versions of the baseline in git, and runs that lie beside it."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from raggate.errors import RaggateError
from raggate.gate import history
from raggate.gate.other_systems import MAX_VALUE
from raggate.inputs import git
from raggate.inputs.trusted import Inputs
from raggate.models.baseline import Baseline
from raggate.models.history import History, Revision, TrendPoint
from raggate.models.scorecard import OVERALL
from raggate.pipeline.request import Request
from raggate.text.files import read_file
from raggate.text.jsonio import fields, parse_object

MOST_VERSIONS = 10
"""Versions of the baseline that are read: of each only its means, held against its questions."""

MOST_RUNS = 20
"""Run directories that are looked into, the newest."""


def before(
    request: Request, inputs: Inputs, baseline: Baseline | None, directory: Path, source: Path | None = None
) -> tuple[TrendPoint, ...]:
    """Return what was measured earlier, oldest first; what cannot be read is left out.

    Args:
        inputs: what judges: its suite, the metrics that it gates, and the commit whose history counts.
        baseline: that of the inputs, which most often is the newest version there is.
        source: another directory with the same run, which is no earlier one.
    """
    wanted = inputs.config.gate.rules()
    suite, past = inputs.config.suite, _past(request, inputs, baseline)
    points = [*of_history(past, suite, wanted)]
    if inputs.against is None:
        # a change that another commit judges may hold directories that look like runs
        points += of_runs(directory.parent, suite, wanted, without=(directory, source))
    return tuple(sorted(points, key=lambda point: point.stamp))


def _past(request: Request, inputs: Inputs, baseline: Baseline | None) -> History:
    """Read the configured baseline file up to the commit that judges, or that is checked out."""
    path = inputs.config.baseline_path
    if request.baseline_file is not None or inputs.baseline is None:
        return History(path=path, revisions=())
    try:
        return history.revisions(
            request.root,
            path,
            limit=MOST_VERSIONS,
            cutoffs=inputs.config.score.k,
            at=inputs.against or "HEAD",
            present=None if baseline is None else (inputs.baseline.data, baseline.without_questions()),
        )
    except RaggateError:
        # without git, or with a baseline that no commit has yet
        return History(path=path, revisions=())


def of_history(past: History, suite: str, wanted: Container[str]) -> Iterator[TrendPoint]:
    """Yield the versions of a suite, newest first; those that cannot be read or are of another suite are left out."""
    for revision in past.revisions:
        # a metrics file of another tool need not name its suite
        if revision.baseline is not None and revision.baseline.scorecard.suite in {suite, ""}:
            yield _of_revision(revision, revision.baseline, wanted)


def _of_revision(revision: Revision, baseline: Baseline, wanted: Container[str]) -> TrendPoint:
    measured = baseline.provenance.get("measured")
    scorecard = baseline.scorecard
    means = {
        mode: {metric: value.value for metric, value in slices.get(OVERALL, {}).items() if value.value is not None}
        for mode, slices in scorecard.slices.items()
    }
    return TrendPoint(
        kind="baseline",
        stamp=measured if isinstance(measured, str) else revision.stamp,
        name=revision.commit[:8],
        questions=str(scorecard.fingerprint.get("golden") or ""),
        values=_chosen(means, wanted),
    )


def of_runs(
    out: Path,
    suite: str,
    wanted: Container[str],
    *,
    without: Sequence[Path | None] = (),
) -> Iterator[TrendPoint]:
    """Yield the whole runs of a suite in a directory, but for some of them and what git tracks; links lead to none."""
    left_out = {path.resolve() for path in without if path is not None}
    try:
        with os.scandir(out) as entries:
            stored = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
        folder = out.resolve()
        others = [name for name in stored if folder / name not in left_out]
        # a commit can bring any, of any time
        committed = git.tracked(out, others)
    except (OSError, RaggateError):
        return
    for name in [name for name in others if name not in committed][-MOST_RUNS:]:
        point = _of_run(out / name, suite, wanted)
        if point is not None:
            yield point


def _of_run(path: Path, suite: str, wanted: Container[str]) -> TrendPoint | None:
    """Read the means of a run from its metrics.json; nothing where suite or build is another, or a part."""
    try:
        stored = parse_object(read_file(path / "metrics.json", follow=False), "metrics.json")
    except (RaggateError, OSError):
        return None
    if stored.get("suite") != suite or stored.get("complete") is not True or stored.get("build"):
        return None
    means = {mode: fields(fields(buckets).get(OVERALL)) for mode, buckets in fields(stored.get("by_retriever")).items()}
    return TrendPoint(
        kind="run",
        stamp=str(stored.get("timestamp") or ""),
        name=str(stored.get("run_id") or path.name),
        questions=str(stored.get("golden_hash") or ""),
        values=_chosen(means, wanted),
    )


def _chosen(means: Mapping[str, Mapping[str, Any]], wanted: Container[str]) -> dict[str, dict[str, float]]:
    return {
        mode: {
            metric: float(value)
            for metric, value in values.items()
            if metric in wanted and isinstance(value, int | float) and abs(value) <= MAX_VALUE
        }
        for mode, values in means.items()
    }
