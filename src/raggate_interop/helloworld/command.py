"""The commands `raggate helloworld ...`: run directories of helloworld scored, compared, imported and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from raggate.base.errors import ExitCode, UsageError
from raggate.base.escape import log_line
from raggate.base.numbers import counted, fixed, setting, written
from raggate.cli.options import DIRECTORY, RUN, FiniteRange
from raggate.models.answer import Answer
from raggate.models.scorecard import EPSILON, OVERALL, oriented
from raggate_interop.helloworld.compare import DIRECTIONS, GATED, LEVELS, Level, check_regressions
from raggate_interop.terminal import MODE, OUT, SUITE, refuse_existing, warn, write_imported

if TYPE_CHECKING:
    from raggate.models.scorecard import MetricValue, Scorecard
    from raggate_interop.helloworld.compare import MetricDelta, RowFlip, RunComparison
    from raggate_interop.helloworld.read import RunFiles
    from raggate_interop.results import SystemDocument, Written

_GOLDEN = click.Path(path_type=Path, dir_okay=False)
_EVAL_SET = click.option("--golden", "golden_file", type=_GOLDEN, required=True, help="Its eval_set.jsonl.")
SHOWN_FLIPS = 10
SHOWN_CASES = 20
SHOWN_ID = 40
# theirs, and what raggate measures in its place
_COUNTERPARTS = {
    "recall_at_k_avg": "hit_at_{k}",
    "recall_all_at_k_avg": "recall_all_at_{k}",
    "mrr_avg": "mrr_at_{k}",
    "precision_at_k_avg": "precision_at_{k}",
    "scope_miss_rate": "scope_miss_rate",
    "attribution_hit_rate": "attribution_hit_rate",
    "abstention_accuracy": "abstention_accuracy",
    "hallucination_rate_unanswerable": "hallucination_rate_unanswerable",
}


def _threshold(name: str, metric: str, default: float, most: int, meaning: str) -> Callable[[Any], Any]:
    flag, limits = f"--regression-threshold-{name}", FiniteRange(0, most)
    return click.option(flag, metric, type=limits, default=default, show_default=True, help=meaning)


def _levels(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, Level]:
    """Read `NAME=LEVEL` of every --invariant."""
    levels: dict[str, Level] = {}
    for text in given:
        name, _equals, written = text.partition("=")
        level = next((level for level in get_args(Level) if level == written), None)
        if name not in LEVELS or level is None:
            raise UsageError(
                f"--invariant: expected NAME=LEVEL, found {text!r}",
                hint=f"Names: {', '.join(LEVELS)}. Levels: error, warn, off.",
            )
        levels[name] = level
    return levels


@click.group()
def helloworld() -> None:
    """Work with run directories of helloworld's eval scripts (eval/results/<run_id>)."""


@helloworld.command()
@click.argument("directory", metavar="RUN_DIR", type=DIRECTORY)
@_EVAL_SET
@click.option(
    "--aggregate-only", is_flag=True, help="Average the scores stored in results.jsonl without scoring again."
)
@click.option("--update", is_flag=True, help="Write the scores into results.jsonl, and the means into metrics.json.")
@click.option("--output-metrics", type=_GOLDEN, help="Write helloworld's means to this JSON file.")
def score(directory: Path, golden_file: Path, output_metrics: Path | None, **flags: bool) -> Answer[SystemDocument]:
    """Score a run again: helloworld's own numbers and raggate's side by side."""
    from raggate_interop.helloworld import inputs, metrics as helloworld_metrics, write as writer

    if flags["update"] and flags["aggregate_only"]:
        raise UsageError("--update and --aggregate-only cannot be combined: remove one of them")
    files, run, scorecard = inputs.scored(directory, golden_file, stored=flags["aggregate_only"])
    cases = {case.id: case for case in run.golden.cases}
    theirs = helloworld_metrics.aggregate(files.rows, cases, stored=flags["aggregate_only"])
    theirs = {
        **{key: files.aggregates[key] for key in ("operational_metrics", "latency") if key in files.aggregates},
        **theirs,
    }
    if output_metrics is not None:
        writer.write_object(output_metrics, theirs)
    if flags["update"]:
        writer.update(directory, files, helloworld_metrics.scored(files.rows, cases), theirs)
        warn(f"wrote the scores of {counted(len(files.rows), 'row')} into {directory}")
    truncated = sum(item.labels.truncated for item in run.results)
    facts = {"run_id": files.run_id, "k": files.k, "truncated": truncated}
    document = {**facts, "helloworld": theirs, "raggate": _ours(scorecard)}
    for line in score_table(files, theirs, _overall(scorecard)):
        click.echo(line)
    if truncated:
        warn(f"{counted(truncated, 'row')} with cut texts: a missing snippet proves nothing there")
    return Answer(document)


def _ours(scorecard: Scorecard) -> dict[str, Any]:
    ours: dict[str, Any] = {
        name: {"value": value.value, "n": value.n, "unscored": value.unscored}
        for name, value in _overall(scorecard).items()
    }
    rates = scorecard.operations.rates if scorecard.operations else {}
    return {**ours, "operational_metrics": {name: rate.value for name, rate in rates.items()}}


@helloworld.command()
@click.argument("baseline", metavar="A", type=DIRECTORY)
@click.argument("new", metavar="B", type=DIRECTORY)
@click.option("--golden", "golden_file", type=_GOLDEN, help="Score both runs again by this eval_set.jsonl.")
@click.option("--ignore-invariants", is_flag=True, help="Compare even what was measured differently.")
@click.option(
    "--invariant",
    "levels",
    multiple=True,
    metavar="NAME=LEVEL",
    callback=_levels,
    help="How a difference in a setting counts: error (the runs cannot be compared), warn or off. Repeatable. error by "
    "default: eval_set_commit_hash, judge_model, judge_prompt_version, judge_temperature, k, debug_fields; warn: "
    "folder_mode, embedding_model, index_version, chunker_version.",
)
@click.option("--allow-vanished", is_flag=True, help="Let questions of A be without a row in B.")
@click.option("--allow-regressions", is_flag=True, help="Exit 0 whatever regressed.")
@_threshold("recall", "recall_at_k_avg", 0.05, 1, "Largest allowed fall of recall_at_k_avg.")
@_threshold("scope-miss", "scope_miss_rate", 0.10, 1, "Largest allowed rise of scope_miss_rate.")
@_threshold("groundedness", "groundedness_avg", 0.5, 5, "Largest allowed fall of groundedness_avg, in points.")
def compare(baseline: Path, new: Path, golden_file: Path | None, **settings: Any) -> Answer[RunComparison]:
    """Compare the run B with the run A: invariants, settings, means, and the questions that flipped.

    Exits 1 when a mean fell too far, and 3 when the runs cannot be compared: they were measured differently, no gated
    mean is on both sides, or questions of A have no row in B.
    """
    from raggate_interop.helloworld import compare as run_comparison, inputs

    ignore, levels = settings.pop("ignore_invariants"), settings.pop("levels")
    allow = {name: settings.pop(name) for name in ("allow_regressions", "allow_vanished")}
    sides = inputs.sides((baseline, new), golden_file)
    comparison = run_comparison.compare(sides[0], sides[1], levels)
    for invariant in comparison.invariants:
        problem = "is missing on one side" if None in (invariant.baseline, invariant.new) else "differs"
        warn(f"invariant {invariant.name} {problem}: {invariant.baseline} in the baseline, {invariant.new} now")
    if not comparison.comparable and not ignore:
        warn("cannot tell: the runs were not measured alike. --ignore-invariants compares them anyway")
        return Answer(comparison, ExitCode.CANNOT_TELL)
    for line in comparison_lines(comparison):
        click.echo(line)
    if golden_file is None and (comparison.vanished or comparison.added):
        warn("the two means cover different questions. With --golden they cover those of both")
    return Answer(comparison, _gate(comparison, settings, **allow))


@helloworld.command()
@click.argument("directory", metavar="RUN", type=RUN)
@OUT
@click.option("--description", help="A description of the run, for summary.md.  [default: about.description]")
@click.option(
    "--previous",
    type=DIRECTORY,
    help="Compare summary.md with this run, instead of the one before it.",
)
@MODE
@click.option("--store-full-text", "full_text", is_flag=True, help="Score and keep whole texts, if the run has them.")
@click.option("--redact", is_flag=True, help="Leave out the texts of questions, answers and chunks, as for a commit.")
def export(directory: Path, out: Path, **settings: Any) -> Answer[Written]:
    """Write a raggate run as a run directory of helloworld, with its numbers."""
    from raggate.config.schema import DESCRIPTION
    from raggate_interop.export import only_mode, whole
    from raggate_interop.helloworld import metrics as helloworld_metrics, read as reader, write as writer
    from raggate_interop.results import Written

    run = whole(directory)
    refuse_existing(out)
    mode = only_mode(run, settings["mode"])
    items = [item for item in run.results if item.result.mode == mode]
    results = [item.result for item in items]
    config = writer.run_config(run)
    cases = {case.id: case for case in run.golden.cases}
    rows = writer.to_rows(items, config, full_text=settings["full_text"])
    if any(result.response is not None and result.response.answer is None for result in results):
        warn("the run asked for no answers: empty answers count as refusals there, and attribution is 0")
    aggregates = helloworld_metrics.aggregate_metrics(results, rows, cases)
    files = reader.RunFiles(
        run_id=run.run_id,
        config=config,
        metrics=writer.metrics_file(run, config, aggregates),
        rows=tuple(
            writer.redacted(row) if settings["redact"] else row for row in helloworld_metrics.scored(rows, cases)
        ),
    )
    previous = _previous(out, settings["previous"])
    description = settings["description"] or run.config.about.get(DESCRIPTION, "")
    writer.write(out, files, description=description, eval_set=run.golden.name, previous=previous)
    failed = len(results) - len(rows)
    click.echo(log_line(f"wrote {out}: {counted(len(rows), 'row')}, {counted(failed, 'failed call')} without one"))
    return Answer(Written(path=out, entries=len(rows), failed=failed))


@helloworld.command()
@click.argument("directory", metavar="RUN_DIR", type=DIRECTORY)
@OUT
def redact(directory: Path, out: Path) -> Answer[Written]:
    """Copy a run without the texts of questions, answers, chunks and judges, so that it can be committed.

    Places, ranks, scores and means stay; `score --aggregate-only` still averages them.
    """
    from raggate_interop.helloworld import read as reader, write as writer
    from raggate_interop.results import Written

    files = reader.read(directory)
    refuse_existing(out)
    writer.update(out, files, [writer.redacted(row) for row in files.rows], {})
    writer.write_object(out / "config.json", files.config)
    click.echo(log_line(f"wrote {out}: {counted(len(files.rows), 'row')} without texts"))
    return Answer(Written(path=out, entries=len(files.rows)))


@helloworld.command(name="import")
@click.argument("directory", metavar="RUN_DIR", type=DIRECTORY)
@_EVAL_SET
@OUT
@SUITE
@click.option("--judge-cache", type=_GOLDEN, help="Its judge_cache.jsonl, for rows without scores.")
@click.option("--judge-model", help="Model that judged, if config.json does not name it.")
@click.option("--judge-prompt-version", help="Version of the prompts, if config.json does not have it.")
def import_run(directory: Path, golden_file: Path, out: Path, suite: str, **judges: Any) -> Answer[Written]:
    """Turn a run of helloworld into a raggate run directory, to be scored, compared or promoted."""
    from raggate_interop.helloworld import inputs

    files, run, _ = inputs.scored(directory, golden_file)
    return Answer(write_imported(inputs.with_scores_of_judges(files, run, **judges), out, suite))


def _gate(
    comparison: RunComparison, thresholds: Mapping[str, float], *, allow_regressions: bool, allow_vanished: bool
) -> int:
    regressions, missing = check_regressions(comparison, thresholds)
    for metric in missing:
        warn(f"{metric} is missing on a side and not gated")
    for regression in regressions:
        delta = regression.delta
        click.echo(
            f"REGRESSION {delta.metric}: {written(delta.baseline)} → {written(delta.new)} "
            f"({written(delta.delta, sign=True)}, allowed {setting(regression.threshold)})"
        )
    if regressions and not allow_regressions:
        return ExitCode.REGRESSION
    if regressions:
        warn("regressions are allowed")
    if len(missing) == len(GATED):
        warn("cannot tell: no gated mean is on both sides. With --golden raggate computes means from results.jsonl")
        return ExitCode.CANNOT_TELL
    if comparison.vanished and not allow_vanished:
        warn("cannot tell: questions of the baseline have no row now. --allow-vanished accepts that")
        return ExitCode.CANNOT_TELL
    return ExitCode.PASS


def _overall(scorecard: Scorecard) -> dict[str, Any]:
    return next((dict(slices.get(OVERALL, {})) for slices in scorecard.slices.values()), {})


def _previous(out: Path, given: Path | None) -> RunFiles | None:
    """Read the run that a summary compares with: the one that is given, else the last before in the same directory."""
    from raggate_interop.helloworld import read as reader

    if given is not None:
        return reader.read(given)
    # their run ids are times, so the last name is the last run
    names = sorted((path.name for path in out.resolve().parent.glob("[0-9]*_[0-9]*")), reverse=True)
    for name in (name for name in names if name < out.name):
        try:
            return reader.read(out.resolve().parent / name)
        except UsageError as error:
            warn(f"no run to compare with in summary.md: {error.message}")
    return None


def score_table(files: RunFiles, theirs: Mapping[str, Any], values: Mapping[str, MetricValue]) -> Iterator[str]:
    """Set their means of a run and raggate's own values side by side, a line each."""
    yield log_line(f"run {files.run_id}, K {files.k}, {counted(len(files.rows), 'row')}")
    yield f"{'helloworld':32} {'':>8}  {'raggate':32} {'':>8}  n"
    for name, pattern in _COUNTERPARTS.items():
        ours = pattern.format(k=files.k)
        value = values.get(ours)
        cells = (_number(theirs.get(name)), ours if value else "", _number(value.value if value else None))
        yield f"{name:32} {cells[0]:>8}  {cells[1]:32} {cells[2]:>8}  {value.n if value else ''}".rstrip()
    for name in ("groundedness_avg", "correctness_avg", "unanswerable_tests", "answerable_tests"):
        if theirs.get(name) is not None:
            yield f"{name:32} {_number(theirs[name]):>8}"


def comparison_lines(comparison: RunComparison) -> Iterator[str]:
    """Yield what differs between two runs: settings, means, questions that flipped and questions of one side only.

    What got better is green, what got worse red.
    """
    for key, (before, now) in comparison.config.items():
        yield log_line(f"setting {key}: {before} → {now}")
    for delta in comparison.deltas:
        yield _delta_line(delta)
    lists = (("regressions", comparison.regressions, -1), ("improvements", comparison.improvements, 1))
    for title, flips, better in lists:
        if flips:
            yield _coloured(f"{title}: {counted(len(flips), 'question')}", better)
            yield from (_flip_line(flip) for flip in flips[:SHOWN_FLIPS])
    for title, cases in (("only in the baseline", comparison.vanished), ("only in the new run", comparison.added)):
        if cases:
            more = f", … {len(cases) - SHOWN_CASES} more" if len(cases) > SHOWN_CASES else ""
            examples = ", ".join(case[:SHOWN_ID] for case in cases[:SHOWN_CASES])
            yield log_line(f"{title}: {counted(len(cases), 'question')}: {examples}{more}", limit=1200)


def _delta_line(delta: MetricDelta) -> str:
    percent = "" if delta.delta_pct is None else f", {fixed(delta.delta_pct, 1, sign=True)}%"
    change = f"{written(delta.delta, sign=True)}{percent}"
    line = f"{delta.metric:32} {written(delta.baseline)} → {written(delta.new)} ({change})"
    return _coloured(line, oriented(DIRECTIONS[delta.metric], delta.delta))


def _coloured(line: str, better: float) -> str:
    return click.style(line, fg="green" if better > 0 else "red") if abs(better) > EPSILON else line


def _flip_line(flip: RowFlip) -> str:
    return log_line(f"  {flip.test_case_id}: {', '.join(flip.changes)}: {flip.question}", limit=200)


def _number(value: float | None) -> str:
    return str(value) if isinstance(value, int) else written(value)
