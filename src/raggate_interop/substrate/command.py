"""The commands `raggate substrate ...`: files of substrate in, its metrics, its gate or its trace out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.dates import now
from raggate.base.errors import UsageError
from raggate.base.escape import log_line
from raggate.base.files import write_file
from raggate.base.jsonio import loads, printable
from raggate.base.numbers import counted, setting, written
from raggate.cli.options import RUN, FiniteRange, choice
from raggate.models.answer import Answer
from raggate_interop.terminal import FILE, warn

if TYPE_CHECKING:
    from raggate_interop.results import SystemDocument
    from raggate_interop.substrate.gate import Comparison
    from raggate_interop.substrate.metrics import Joined
    from raggate_interop.substrate.metrics_files import Shape, Table

_EXAMPLES = 5
"""How many queries are named before a list is cut."""

_NAME = 40
"""Characters of a name that are shown."""

_SCENARIO = click.option(
    "--scenario", "scenarios", multiple=True, metavar="SLUG", help="Only this scenario; repeatable."
)


@click.group()
def substrate() -> None:
    """Score, compare and keep metrics as substrate does."""


@substrate.command()
@click.argument("queries", type=FILE)
@click.argument("results", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print a metrics file in place of a table.")
@click.option("--out", type=FILE, help="Write the metrics file here.")
@choice("--shape", "seed", "by_mode", "bare", help="The shape of the metrics file.")
@click.option(
    "--exact",
    is_flag=True,
    help="Compute as their own code for that shape: the skill's scripts (by_mode), the catalog's harness (bare).",
)
@choice("--heading", "seed", "build_metrics", "heading_bias", help="The definition of heading_dominance_rate.")
@click.option(
    "--corpus", type=FILE, help="corpus.jsonl: titles and bodies for heading metrics, clusters for diversity."
)
@click.option("--all-modes", is_flag=True, help="Score queries in every mode, whatever retriever_types says.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), help="With --exact --shape by_mode: how many results were asked for.  [10]"
)
@click.option(
    "--k", type=click.IntRange(1, 1000), help="How many results nDCG of the scripts and heading rates look at.  [10]"
)
@click.option(
    "--heading-threshold", type=FiniteRange(0), help="Share of the lexical score from which a heading dominates.  [0.7]"
)
@_SCENARIO
def score(
    queries: Path, results: Path, *, as_json: bool, out: Path | None, shape: Shape, exact: bool, **settings: Any
) -> Answer[SystemDocument]:
    """Score RESULTS by QUERIES.

    QUERIES is a queries.json, RESULTS a results.jsonl, a trace.jsonl or a run directory of raggate.
    """
    from raggate_interop.substrate import inputs
    from raggate_interop.substrate.golden import read_queries
    from raggate_interop.substrate.metrics_files import from_table, render_metrics

    golden = inputs.chosen(read_queries(queries), settings.pop("scenarios"), str(queries))
    rows = inputs.read_rows(results)
    depths = {name: settings.pop(name) for name in ("limit", "k", "heading_threshold")}
    depths = {name: value for name, value in depths.items() if value is not None}
    if exact:
        table, joined = inputs.exact(golden, rows, shape, depths)
    else:
        table, joined = inputs.scored(golden, rows, depths=depths, **settings)
    _say_doubts(joined)
    document = from_table(table, shape)
    text = render_metrics(document)
    if out is not None:
        write_file(out, text.encode())
    if as_json:
        click.echo(text, nl=False)
    else:
        _say_table(table)
    return Answer(document)


@substrate.command()
@click.argument("metrics", type=FILE)
@click.argument("baseline", type=FILE)
@click.option(
    "--threshold", type=FiniteRange(0, 1), default=0.05, show_default=True, help="Allow metrics to be so much worse."
)
@click.option("--thresholds", "thresholds_file", type=FILE, help="Limits by metric: JSON, or an experiment's spec.md.")
@click.option("--strict", is_flag=True, help="Allow nothing to get worse.")
@click.option("--min-count", type=click.IntRange(1), default=1, show_default=True, help="Do not judge smaller buckets.")
@click.option("--allow-vanished", is_flag=True, help="Let buckets, metrics and queries vanish.")
@click.option("--floors", is_flag=True, help="Also require the catalog's minima by retriever and difficulty.")
@click.option("--floors-file", type=FILE, help="JSON: minima by mode, difficulty (or overall) and metric.")
@click.option("--heading-limits", is_flag=True, help="Also require the maxima of heading_bias.")
@click.option("--manifest", type=FILE, help="scenario_manifest.json: the targets of its scenarios.")
@click.option("--as-written", is_flag=True, help="Judge as compare_baseline.py does, mistakes included.")
@click.option("--output", type=FILE, help="Write comparison.json here.")
@_SCENARIO
def compare(metrics: Path, baseline: Path, *, output: Path | None, **settings: Any) -> Answer[SystemDocument]:
    """Compare METRICS with BASELINE.

    Both are metrics files of any shape or run records; BASELINE may be a directory of baselines if METRICS is a run
    record. Exits 0 when nothing is worse than allowed, 1 when something is or is beyond a limit, 2 for unusable files,
    3 when something that the baseline has is not measured any more.
    """
    from msgspec.structs import replace

    from raggate_interop.substrate import gate, inputs
    from raggate_interop.substrate.metrics_files import read_shaped, read_thresholds, render_metrics
    from raggate_interop.substrate.records import script_mode

    thresholds = settings.pop("thresholds_file")
    policy = gate.Policy(
        threshold=settings.pop("threshold"),
        thresholds=read_thresholds(thresholds) if thresholds else {},
        strict=settings.pop("strict"),
        vanished=not settings.pop("allow_vanished"),
        min_count=settings.pop("min_count"),
        as_written=settings.pop("as_written"),
    )
    current, shape = read_shaped(metrics)
    stored = inputs.stored(baseline, metrics)
    before, stored_shape = read_shaped(stored)
    flat = (stored_shape != "seed", shape != "seed")
    limits = inputs.limits(current, **settings)
    if shape == "by_mode":
        before, current = ({script_mode(mode): buckets for mode, buckets in side.items()} for side in (before, current))
        limits = tuple(replace(limit, mode=script_mode(limit.mode)) for limit in limits)
    comparison = gate.compare(before, current, policy, limits, flat=flat)
    told = gate.metric_names(before) | gate.metric_names(current)
    if unknown := sorted(policy.thresholds.keys() - told):
        warn(f"thresholds for metrics that neither file has: {', '.join(unknown)}")
    if undirected := gate.undirected(comparison):
        warn(f"raggate has no metric of these names, and assumes that more is better: {', '.join(undirected)}")
    _say_comparison(comparison)
    content = gate.report(comparison, now(), baseline=stored.resolve(), current=metrics.resolve())
    if output is not None:
        write_file(output, render_metrics(content).encode())
    return Answer(content, int(comparison.exit_code))


@substrate.group()
def baseline() -> None:
    """Keep metrics files as baselines."""


@baseline.command()
@click.argument("metrics", type=FILE)
@click.option("--dir", "directory", type=FILE, required=True, help="The directory of baselines.")
@click.option("--record", type=FILE, help="The run record METRICS belongs to, if METRICS is not a run record itself.")
@click.option("--key", help="Use this key, instead of that of a run record.")
@click.option("--force", is_flag=True, help="Replace a baseline of this key.")
def update(
    metrics: Path, directory: Path, *, record: Path | None, key: str | None, force: bool
) -> Answer[SystemDocument]:
    """Copy METRICS into the directory of baselines.

    The file is named by the corpus, queries and settings of its run record. What would change is shown; a baseline that
    exists already is replaced with --force alone.
    """
    from raggate_interop.substrate import gate, records
    from raggate_interop.substrate.metrics_files import read_shaped
    from raggate_interop.substrate.records import read_bytes

    table, shape = read_shaped(metrics)
    run_record = None if key else records.read_record(record or metrics)
    name = key or records.baseline_key(run_record or {})
    target = records.baseline_path(directory, name)
    data = read_bytes(metrics)
    if target.exists():
        if read_bytes(target) == data:
            click.echo(log_line(f"{target} is the same already"))
            return Answer({"baseline": str(target), "key": name, "written": False})
        before, stored_shape = read_shaped(target)
        flat = (stored_shape != "seed", shape != "seed")
        _say_comparison(gate.compare(before, table, flat=flat))
        if not force:
            raise UsageError(f"{target} exists already", hint="Review the changes above, then repeat with --force.")
    if run_record is not None and run_record["git"]["dirty"]:
        warn(f"{metrics} was measured with uncommitted changes")
    write_file(target, data)
    click.echo(log_line(f"wrote {target} for {name}"))
    return Answer({"baseline": str(target), "key": name, "written": True})


@substrate.command()
@click.argument("directory", metavar="RUN", type=RUN)
@choice("--form", "seed", "scripts", help="As their document specifies it, or as their scripts write it.")
@click.option("--out", type=FILE, help="Write it here.")
def trace(directory: Path, form: Any, out: Path | None) -> Answer[SystemDocument]:
    """Print the trace of a run of raggate: one line for every retrieved chunk."""
    from raggate.pipeline import run_directory
    from raggate_interop.substrate.trace import as_scripts_write, trace_of

    run = run_directory.read(directory)
    if run.shortfall:
        warn(run.shortfall)
    text = trace_of(run)
    if form == "scripts":
        text = as_scripts_write(text, str(directory))
    return _give(text, out)


@substrate.command()
@click.argument("directory", metavar="RUN", type=RUN)
@click.option("--out", type=FILE, help="Write it here.")
def results(directory: Path, out: Path | None) -> Answer[SystemDocument]:
    """Print the results.jsonl of a run of raggate: one line for every question in every mode."""
    from raggate_interop import export
    from raggate_interop.substrate.results import from_run, render_results

    return _give(render_results(from_run(export.whole(directory))), out)


def _say_comparison(comparison: Comparison) -> None:
    names = ("Mode", "Difficulty", "Metric")
    click.echo(f"{_columns(names)} {'Baseline':>9} {'Current':>9} {'Delta':>9}  Status")
    for row in comparison.rows:
        values = f"{written(row.baseline):>9} {written(row.current):>9} {written(row.delta, sign=True):>9}"
        click.echo(f"{_columns((row.mode, row.difficulty, row.metric))} {values}  {row.status}")
    for change, buckets in (("vanished", comparison.vanished), ("fewer", comparison.shrunk), ("new", comparison.added)):
        for name in buckets:
            click.echo(log_line(f"{change}: {name}"))
    for limit in comparison.limits:
        if limit.broken or limit.value is None:
            click.echo(log_line(f"limit: {limit}"))
    if comparison.levelled:
        click.echo("one of the files has no overall, so only difficulties are compared")
    states = ("REGRESSED", "IMPROVED", "OK", "TOO FEW")
    counts = (f"{sum(row.status == state for row in comparison.rows)} {state.lower()}" for state in states)
    click.echo(", ".join(counts))


def _say_table(table: Table) -> None:
    for mode, buckets in table.items():
        for name, bucket in buckets.items():
            count = bucket.get("count") or 0
            queries = "query" if count == 1 else "queries"
            click.echo(log_line(f"{mode} {name}: {setting(count)} {queries}"))
            for metric, value in bucket.items():
                if metric != "count":
                    click.echo(f"  {log_line(metric, limit=_NAME):24} {written(value):>8}")


def _say_doubts(joined: Joined) -> None:
    for problem, pairs in (
        ("without results in a mode, each a miss", joined.missing),
        ("of the results not among the queries, not scored", joined.unknown),
    ):
        if pairs:
            named = "; ".join(f"{mode}: {query}" for query, mode in pairs[:_EXAMPLES])
            warn(f"{counted(len(pairs), 'query', 'queries')} {problem}: {named}")
    for mode in joined.absent:
        warn(f"no results in mode {mode}, which queries ask for")


def _give(text: str, out: Path | None) -> Answer[SystemDocument]:
    if out is None:
        click.echo(printable(text), nl=False)
        return Answer({"file": None, "lines": [loads(line) for line in text.splitlines()]})
    write_file(out, text.encode())
    click.echo(log_line(f"wrote {out}"))
    return Answer({"file": str(out), "lines": None})


def _columns(names: Sequence[str]) -> str:
    widths = (14, 11, 24)
    return " ".join(f"{log_line(name, limit=_NAME):<{width}}" for name, width in zip(names, widths, strict=True))
