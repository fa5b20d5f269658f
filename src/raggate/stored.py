"""The commands on a run directory that is on disk already: score, report, compare, promote. Each can be repeated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from raggate import baseline, config, golden, invariants, pipeline, promote, rundir, scoring
from raggate.config import Config
from raggate.inputs import read_file
from raggate.invocation import Invocation
from raggate.jsonio import write_atomic
from raggate.models import Golden, Labelled, Run
from raggate.outcomes import Baseline, Review, Scorecard
from raggate.reports import METRICS_REPORT


def score(directory: Path, golden_file: Path | None) -> tuple[Run, Scorecard]:
    """Score a run directory again, by another golden set if one is given, and rewrite its metrics.

    Raises:
        UsageError: for a directory or golden set that cannot be read.
    """
    measured = rundir.read(directory)
    if golden_file is not None:
        cases = golden.load(read_file(golden_file), str(golden_file))
        measured = _relabelled(measured, cases)
        rundir.write(directory, measured, full_text=True)
    settings = pipeline.config_of(measured)
    scorecard = scoring.score(measured, settings.score.k)
    write_atomic(directory / METRICS_REPORT[0], METRICS_REPORT[1](measured, scorecard).encode())
    if (directory / "verdict.json").exists():
        # reports of an earlier scoring would contradict the metrics
        pipeline.judge(directory, measured, scorecard, _kept_baseline(directory, measured, settings))
    return measured, scorecard


def report(directory: Path, name: str) -> str:
    """Render a report of a run directory again from its data, rewrite it, and give its text.

    Raises:
        UsageError: for a directory that cannot be read.
    """
    path = directory / name
    if not (directory / "results.jsonl").exists():
        # a run that ended before anything was asked left its reason and nothing else
        return read_file(path).decode(errors="replace")
    judged = (directory / "verdict.json").exists()
    measured, scorecard = score(directory, None)
    if not judged:
        pipeline.judge(
            directory, measured, scorecard, _kept_baseline(directory, measured, pipeline.config_of(measured))
        )
    return read_file(path).decode(errors="replace")


def compare_directory(directory: Path, baseline_file: Path | None, policy_file: Path | None) -> Review:
    """Compare a run directory again and rewrite its reports.

    Args:
        directory: the run directory.
        baseline_file: a baseline file or another run directory; None for the baseline the run was held against.
        policy_file: a configuration whose gate and invariants count; None for those of the run.

    Raises:
        UsageError: when one of them cannot be read.
    """
    measured = rundir.read(directory)
    settings = pipeline.config_of(measured)
    policy = config.load(read_file(policy_file), str(policy_file)) if policy_file else None
    if baseline_file is not None:
        held_against: Baseline | None = _baseline_on_disk(baseline_file, str(baseline_file), settings)
    else:
        held_against = _kept_baseline(directory, measured, settings)
    return pipeline.judge(directory, measured, scoring.score(measured, settings.score.k), held_against, policy)


def promote_directory(invocation: Invocation, directory: Path) -> tuple[Path, Scorecard]:
    """Make a run directory the baseline of its suite. Returns the file written.

    Raises:
        UsageError: for a directory that cannot be read.
        CannotTell: for a run that was not measured well enough to be a baseline.
    """
    measured = rundir.read(directory)
    settings = pipeline.config_of(measured)
    scorecard = scoring.score(measured, settings.score.k)
    promote.refuse_unmeasured(
        measured, scorecard, invariants.check_answers(measured, settings.invariants), settings.gate
    )
    target = invocation.baseline_file or invocation.root / settings.baseline_path
    write_atomic(target, baseline.write(scorecard, promote.provenance(measured)))
    return target, scorecard


def _kept_baseline(directory: Path, run: Run, settings: Config) -> Baseline | None:
    path = directory / pipeline.KEPT_BASELINE
    name = str(run.config.get("baseline_name") or path)
    return _baseline_on_disk(path, name, settings) if path.exists() else None


def _baseline_on_disk(path: Path, name: str, settings: Config) -> Baseline:
    if not path.is_dir():
        return baseline.read(read_file(path), name, scoring.directions(settings.score.k))
    other = rundir.read(path)
    scorecard = scoring.score(other, pipeline.config_of(other).score.k)
    return Baseline(source=name, scorecard=scorecard, provenance=promote.provenance(other))


def _relabelled(run: Run, cases: Golden) -> Run:
    """Label a stored run by another golden set. Unchanged cases keep the labels made on the full text."""
    by_id = {case.id: case for case in cases.cases}
    items = []
    for item in run.results:
        case = by_id.get(item.case.id)
        if case is not None and case.question == item.case.question:
            same = case.hash == item.case.hash
            items.append(
                Labelled(case=case, result=item.result, labels=item.labels)
                if same
                else scoring.label(case, item.result, truncated=item.labels.truncated)
            )
    return replace(run, golden=cases, results=tuple(items), fingerprint={**run.fingerprint, "golden": cases.hash})
