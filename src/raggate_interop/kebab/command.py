"""`raggate kebab`: files of kebab in; its metrics, comparison with a verdict, reports, and raggate's own runs out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.base.errors import CannotTell
from raggate.base.escape import log_line
from raggate.base.jsonio import dumps
from raggate.base.numbers import counted, fixed, written
from raggate.cli.options import RUN, FiniteRange, choice
from raggate.models.answer import Answer
from raggate_interop.terminal import FILE, MODE, OUT, SUITE, refuse_existing, warn, write_imported

if TYPE_CHECKING:
    from raggate_interop.kebab.golden import GoldenFile
    from raggate_interop.kebab.metrics import Queries
    from raggate_interop.kebab.rows import StoredRun
    from raggate_interop.results import SystemDocument, Written

_DEFAULT_GOLDEN = Path("fixtures/golden_queries.yaml")
_SHOWN = 20

_GOLDEN = click.option(
    "--golden",
    "golden_file",
    type=FILE,
    default=_DEFAULT_GOLDEN,
    show_default=True,
    envvar="KEBAB_EVAL_GOLDEN",
    show_envvar=True,
    help="The golden queries.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON as kebab does.")
_STRICT_CITATIONS = click.option(
    "--strict-citations",
    "index",
    type=FILE,
    metavar="DB",
    help="Count a citation only when its path is one of the documents in this SQLite file.",
)
_REFUSALS = choice(
    "--refusals",
    "unlabelled",
    "declared",
    help="Expect a refusal of queries without expected_doc_ids, or of those with `answerable: false`.",
)

_GROUNDEDNESS = choice(
    "--groundedness",
    "code",
    "spec",
    help="Count all answers that can be judged (kebab's code), or only those that should not be refused (its "
    "specification).",
)


@click.group()
def kebab() -> None:
    """Read runs of kebab, compare them, and turn them into runs of raggate and back.

    A SOURCE is a per_query.jsonl, a directory that holds one, or kebab's SQLite file: FILE#RUN_ID, or FILE alone
    when it holds one run only.
    """


@kebab.command()
@click.argument("source")
@_GOLDEN
@_JSON
@_STRICT_CITATIONS
@_REFUSALS
@_GROUNDEDNESS
@click.option("--check-ids", is_flag=True, help="Refuse labels that the index in SOURCE lacks.")
def aggregate(
    *, source: str, golden_file: Path, as_json: bool, index: Path | None, check_ids: bool, **settings: Any
) -> Answer[SystemDocument]:
    """Compute the metrics of a run as kebab does."""
    from raggate_interop.kebab import inputs, metrics

    golden, queries = _golden(golden_file)
    if check_ids:
        inputs.check_ids(source, golden)
    stored = _stored(source, golden)
    values = metrics.aggregate(stored.rows, queries, inputs.rules(index, **settings))
    for difference in metrics.differences(stored.aggregate, values):
        warn(f"not as stored in the file: {difference}")
    if as_json:
        click.echo(dumps(values, pretty=True), nl=False)
        return Answer(values)
    for name, value in metrics.flat(values).items():
        whole = name in {"total_queries", "failed_queries"}
        click.echo(f"{name:24} " + ("null" if value is None else fixed(value, 0) if whole else written(value)))
    return Answer(values)


@kebab.command()
@click.argument("source_a", metavar="A")
@click.argument("source_b", metavar="B")
@_GOLDEN
@click.option("--strict-chunker-version", "strict", is_flag=True, help="Refuse runs of different chunkers.")
@choice(
    "--fallback",
    "auto",
    "doc",
    help="If chunkers differ, match by spans if both runs have them, or by document as kebab does.",
)
@choice(
    "--kinds",
    "code",
    "spec",
    help="The definition of a regression: that of kebab's code, or that of its specification.",
)
@click.option("--max-drop", type=FiniteRange(0, 1), help="Largest drop of a metric, absolute.  [default: 0.05]")
@_STRICT_CITATIONS
@_REFUSALS
@_GROUNDEDNESS
@_JSON
@click.option("--report", "report_file", type=FILE, help="Write report.md here.")
def compare(
    *,
    source_a: str,
    source_b: str,
    golden_file: Path,
    strict: bool,
    fallback: Any,
    kinds: Any,
    max_drop: float | None,
    index: Path | None,
    as_json: bool,
    report_file: Path | None,
    **settings: Any,
) -> Answer[SystemDocument]:
    """Compare run B with run A.

    Ends with 1 when a question that was answered is not any more, or a metric fell too far; with 3 when the runs cannot
    be compared, or nothing of them can be measured.
    """
    from raggate_interop.kebab import compare as kebab_compare, inputs, report as kebab_report

    golden, queries = _golden(golden_file)
    runs = [_stored(source, golden) for source in (source_a, source_b)]
    options = kebab_compare.Options(
        rules=inputs.rules(index, **settings),
        strict_chunker_version=strict,
        fallback=fallback,
        kinds=kinds,
        chunk_spans=inputs.chunk_spans((source_a, source_b), queries),
    )
    report = kebab_compare.compare(runs[0], runs[1], queries, options)
    report["raggate"]["golden_hash"] = golden.hash
    _give(report, kebab_report.report_md, report_file, as_json=as_json)
    for name, (before, after) in report["raggate"]["settings"].items():
        warn(f"{name} differs: {before} and {after}")
    verdict = kebab_compare.decide(report, max_drop=kebab_compare.MAX_DROP if max_drop is None else max_drop)
    warn(f"verdict: {verdict.code.name.lower().replace('_', ' ')}")
    _say_all(list(verdict.reasons))
    return Answer(report, int(verdict.code))


@kebab.command()
@click.argument("source")
@_GOLDEN
@_JSON
@click.option("--report", "report_file", type=FILE, help="Write the report as Markdown here.")
def variants(*, source: str, golden_file: Path, as_json: bool, report_file: Path | None) -> Answer[SystemDocument]:
    """Return how much the documents found depend on the words of a question, by paraphrase group."""
    from raggate_interop.kebab import report as kebab_report

    golden, queries = _golden(golden_file)
    stored = _stored(source, golden)
    report = kebab_report.variants(stored.rows, queries, stored.snapshot)
    if not report["total_groups"]:
        raise CannotTell("no query of the run has a group", hint="Give paraphrases the same `group` in the golden set.")
    _give(report, kebab_report.variants_md, report_file, as_json=as_json)
    return Answer(report)


@kebab.command()
@click.argument("database", type=FILE)
@_JSON
def runs(*, database: Path, as_json: bool) -> Answer[SystemDocument]:
    """List the runs of kebab's SQLite file, oldest first."""
    from msgspec.structs import asdict

    from raggate_interop.kebab.sqlite import open_store

    with open_store(database) as store:
        lines = [asdict(run) for run in store.runs()]
    if as_json:
        click.echo(dumps(lines, pretty=True), nl=False)
        return Answer({"runs": lines})
    for run in lines:
        about = f"{run['run_id']}  {run['created_at']}  {run['suite']}  {counted(run['queries'], 'query', 'queries')}"
        click.echo(log_line(about))
    return Answer({"runs": lines})


@kebab.command(name="import")
@click.argument("source")
@_GOLDEN
@OUT
@choice(
    "--unlabelled",
    "refuse-to-guess",
    "refusal",
    "skip",
    help="How to read queries without labels that do not say whether they are answerable.",
)
@click.option("--k", type=click.IntRange(1, 1000), help="Requested hits, if the run does not say.")
@SUITE
def import_run(
    *, source: str, golden_file: Path, out: Path, unlabelled: Any, k: int | None, suite: str
) -> Answer[Written]:
    """Turn a run of kebab into a raggate run directory, to be scored, compared or promoted."""
    from raggate_interop.kebab import inputs
    from raggate_interop.kebab.run import recorded_depth

    golden, _ = _golden(golden_file)
    stored = _stored(source, golden)
    run = inputs.imported(stored, golden, unlabelled=unlabelled, k=k)
    done = write_imported(run, out, suite)
    if k is None and recorded_depth(stored) is None:
        warn(
            "the run does not say how many hits it requested: its deepest rank, "
            f"{run.fingerprint['k']}, counts unless you give --k"
        )
    asked, rows = {case.id for case in run.golden.cases}, {row["query_id"]: row for row in stored.rows}
    if strangers := len(rows.keys() - asked):
        warn(f"{counted(strangers, 'row')} left out: the golden set has no such question")
    if unasked := len(asked - rows.keys()):
        warn(f"{counted(unasked, 'case')} without a row: counted as failed")
    return Answer(done)


@kebab.command()
@click.argument("directory", metavar="RUN", type=RUN)
@OUT
@MODE
def export(*, directory: Path, out: Path, mode: str | None) -> Answer[Written]:
    """Write a raggate run as a per_query.jsonl of kebab."""
    from raggate.base.files import write_file
    from raggate_interop.export import only_mode, whole
    from raggate_interop.kebab import inputs
    from raggate_interop.kebab.rows import write_rows
    from raggate_interop.kebab.run import to_rows
    from raggate_interop.results import Written

    run = whole(directory)
    rows = to_rows(run, only_mode(run, mode))
    refuse_existing(out)
    write_file(out / inputs.ROWS, write_rows(rows))
    failed = sum(row["error"] is not None for row in rows)
    click.echo(log_line(f"wrote {out / inputs.ROWS}: {counted(len(rows), 'row')}, {failed} of them failed"))
    return Answer(Written(path=out / inputs.ROWS, entries=len(rows), failed=failed))


def _golden(path: Path) -> tuple[GoldenFile, Queries]:
    from raggate_interop.kebab import inputs

    golden, queries = inputs.golden(path)
    _say_all(list(golden.ignored))
    return golden, queries


def _stored(source: str, golden: GoldenFile) -> StoredRun:
    from raggate_interop.kebab import inputs

    stored = inputs.stored(source)
    _say_all(inputs.reworded(stored, golden))
    return stored


def _give(report: dict[str, Any], render: Callable[..., str], file: Path | None, *, as_json: bool) -> None:
    from raggate.base.files import write_file

    if file is not None:
        write_file(file, render(report).encode())
    click.echo(dumps(report, pretty=True) if as_json else render(report, log_line), nl=False)


def _say_all(lines: list[str]) -> None:
    for line in lines[:_SHOWN]:
        warn(line)
    if len(lines) > _SHOWN:
        warn(f"… and {len(lines) - _SHOWN} more")
