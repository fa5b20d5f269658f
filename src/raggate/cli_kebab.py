"""`raggate kebab`: files of kebab in; its metrics, comparison with a verdict, paraphrase report or list of runs out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.errors import CannotTell, UsageError
from raggate.escape import log_line

if TYPE_CHECKING:
    from raggate.compat.kebab import Queries, Rules
    from raggate.compat.kebab_compare import Side
    from raggate.compat.kebab_spans import Place
    from raggate.formats.kebab import GoldenFile
    from raggate.formats.kebab_rows import StoredRun

_DEFAULT_GOLDEN = Path("fixtures/golden_queries.yaml")
_FILE = click.Path(path_type=Path)
_SHOWN = 20

_GOLDEN = click.option(
    "--golden", "golden_file", type=_FILE, default=_DEFAULT_GOLDEN, show_default=True, envvar="KEBAB_EVAL_GOLDEN",
    show_envvar=True, help="The golden queries.",
)  # fmt: skip
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON as kebab does.")
_STRICT_CITATIONS = click.option(
    "--strict-citations", "index", type=_FILE, metavar="DB",
    help="Count a citation only when its path is one of the documents in this SQLite file.",
)  # fmt: skip
_REFUSALS = click.option(
    "--refusals", type=click.Choice(["unlabelled", "declared"]), default="unlabelled", show_default=True,
    help="Which queries should be refused: those without expected_doc_ids, or those that say `answerable: false`.",
)  # fmt: skip


@click.group()
def kebab() -> None:
    """Read runs of kebab and compare them.

    A SOURCE is a per_query.jsonl, a directory that holds one, or kebab's SQLite file: FILE#RUN_ID, or FILE alone
    when it holds one run only.
    """


@kebab.command()
@click.argument("source")
@_GOLDEN
@_JSON
@_STRICT_CITATIONS
@_REFUSALS
@click.option("--check-ids", is_flag=True, help="Refuse labels that the index in SOURCE does not have.")
def aggregate(
    *, source: str, golden_file: Path, as_json: bool, index: Path | None, refusals: str, check_ids: bool
) -> None:
    """Compute the metrics of a run as kebab does."""
    from raggate.compat import kebab as metrics
    from raggate.jsonio import dumps

    golden, queries = _golden(golden_file)
    if check_ids:
        _check_ids(source, golden)
    stored = _stored(source)
    _check_rows(stored, golden)
    values = metrics.aggregate(stored.rows, queries, _rules(index, refusals))
    for difference in metrics.differences(stored.aggregate, values):
        _say(f"not as stored in the file: {difference}")
    if as_json:
        click.echo(dumps(values, pretty=True), nl=False)
        return
    for name, value in metrics.flat(values).items():
        whole = name in {"total_queries", "failed_queries"}
        click.echo(f"{name:24} " + ("null" if value is None else f"{value:.0f}" if whole else f"{value:.4f}"))


@kebab.command()
@click.argument("source_a", metavar="A")
@click.argument("source_b", metavar="B")
@_GOLDEN
@click.option("--strict-chunker-version", "strict", is_flag=True, help="Refuse runs of different chunkers.")
@click.option(
    "--fallback", type=click.Choice(["auto", "doc"]), default="auto", show_default=True,
    help="How to match when chunkers differ: by spans where both runs carry them, or by document as kebab does.",
)  # fmt: skip
@click.option(
    "--kinds", type=click.Choice(["code", "spec"]), default="code", show_default=True,
    help="What is called a regression: as kebab's code does, or as its specification says.",
)  # fmt: skip
@click.option("--max-drop", type=click.FloatRange(0, 1), help="Largest drop of a metric, absolute.  [default: 0.05]")
@_STRICT_CITATIONS
@_REFUSALS
@_JSON
@click.option("--report", "report_file", type=_FILE, help="Write report.md here.")
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
    refusals: str,
    as_json: bool,
    report_file: Path | None,
) -> int:
    """Compare run B with run A.

    Ends with 1 when a question that was answered is not any more, or a metric fell too far; with 3 when the runs cannot
    be compared.
    """
    from raggate.compat import kebab_compare, kebab_report, kebab_verdict
    from raggate.jsonio import dumps, write_atomic

    golden, queries = _golden(golden_file)
    sides = [_stored(source) for source in (source_a, source_b)]
    for stored in sides:
        _check_rows(stored, golden)
    options = kebab_compare.Options(
        rules=_rules(index, refusals), strict_chunker_version=strict, fallback=fallback, kinds=kinds,
        places=_places((source_a, source_b), queries),
    )  # fmt: skip
    report = kebab_compare.compare(_side(sides[0]), _side(sides[1]), queries, options)
    report["raggate"]["golden_hash"] = golden.hash
    if report_file is not None:
        _write(report_file, kebab_report.report_md(report), write_atomic)
    if as_json:
        click.echo(dumps(report, pretty=True), nl=False)
    else:
        click.echo(kebab_report.report_md(report), nl=False)
    for name, (before, after) in report["raggate"]["settings"].items():
        _say(f"{name} differs: {before} and {after}")
    verdict = kebab_verdict.decide(report, max_drop=kebab_verdict.MAX_DROP if max_drop is None else max_drop)
    _say(f"verdict: {verdict.code.name.lower().replace('_', ' ')}")
    _say_all(list(verdict.reasons))
    return int(verdict.code)


@kebab.command()
@click.argument("source")
@_GOLDEN
@_JSON
def variants(*, source: str, golden_file: Path, as_json: bool) -> None:
    """Say how much the documents found depend on the words of a question, by paraphrase group."""
    from raggate.compat import kebab_report, kebab_variants
    from raggate.jsonio import dumps

    golden, queries = _golden(golden_file)
    stored = _stored(source)
    _check_rows(stored, golden)
    report = kebab_variants.variants(stored.rows, queries, stored.snapshot)
    if not report["total_groups"]:
        raise CannotTell(
            "no query of the run is in a group", hint="Give paraphrases the same `group` in the golden set."
        )
    if as_json:
        click.echo(dumps(report, pretty=True), nl=False)
    else:
        click.echo(kebab_report.variants_md(report), nl=False)


@kebab.command()
@click.argument("database", type=_FILE)
@_JSON
def runs(*, database: Path, as_json: bool) -> None:
    """List the runs of kebab's SQLite file, oldest first."""
    from dataclasses import asdict

    from raggate.formats.kebab_store import open_store
    from raggate.jsonio import dumps

    with open_store(database) as store:
        found = store.runs()
    if as_json:
        click.echo(dumps([asdict(run) for run in found], pretty=True), nl=False)
        return
    for run in found:
        click.echo(log_line(f"{run.run_id}  {run.created_at}  {run.suite}  {run.queries} queries"))


def _golden(path: Path) -> tuple[GoldenFile, Queries]:
    from raggate.formats.kebab import read_golden

    golden = read_golden(_bytes(path), str(path))
    _say_all(list(golden.ignored))
    return golden, {query.id: query for query in golden.queries}


def _stored(source: str) -> StoredRun:
    """Read a run from wherever it stands.

    Raises:
        UsageError: when it cannot be read, or a file holds several runs and the source names none.
    """
    from raggate.formats.kebab_rows import StoredRun, read_rows
    from raggate.formats.kebab_store import is_store, open_store

    path, run_id = _split(source)
    if path.is_dir():
        path = path / "per_query.jsonl"
    if not is_store(path):
        if run_id:
            raise UsageError(f"{path}: not an SQLite file, so it has no run {log_line(run_id)!r}")
        return StoredRun(run_id=path.resolve().parent.name, rows=read_rows(_bytes(path), str(path)))
    with open_store(path) as store:
        if run_id:
            return store.run(run_id)
        known = store.runs()
        if len(known) != 1:
            names = ", ".join(log_line(run.run_id, limit=60) for run in known[-5:])
            raise UsageError(
                f"{path}: {len(known)} runs, expected one to be named as {path}#RUN_ID",
                hint=f"The newest: {names}." if known else "",
            )
        return store.run(known[0].run_id)


def _split(source: str) -> tuple[Path, str]:
    name, mark, run_id = source.rpartition("#")
    return (Path(name), run_id) if mark and not Path(source).exists() else (Path(source), "")


def _check_rows(stored: StoredRun, golden: GoldenFile) -> None:
    """Tell of questions that were asked in other words than the golden set has now.

    Raises:
        CannotTell: when the run holds no row, or none of a golden query.
    """
    asked = {query.id: query.query for query in golden.queries}
    if not any(row["query_id"] in asked for row in stored.rows):
        raise CannotTell(
            f"run {log_line(stored.run_id)}: none of its {len(stored.rows)} queries is in {golden.name}",
            hint="Name the golden set it was made with: --golden FILE.",
        )
    changed = [
        row["query_id"]
        for row in stored.rows
        if row["query_id"] in asked and row.get("query") not in (None, asked[row["query_id"]])
    ]
    _say_all([f"run {stored.run_id}: query {one} was asked in other words" for one in changed])


def _check_ids(source: str, golden: GoldenFile) -> None:
    from raggate.formats import kebab as golden_yaml
    from raggate.formats.kebab_store import open_store

    with open_store(_split(source)[0]) as store:
        golden_yaml.check_ids(golden.queries, store.documents(), store.chunk_ids())


def _side(stored: StoredRun) -> Side:
    from raggate.compat.kebab_compare import Side

    return Side(run_id=stored.run_id, rows=stored.rows, snapshot=stored.snapshot)


def _rules(index: Path | None, refusals: Any) -> Rules:
    from raggate.compat.kebab import Rules
    from raggate.formats.kebab_store import open_store

    if index is None:
        return Rules(refusals=refusals)
    with open_store(index) as store:
        return Rules(paths=frozenset(store.documents().values()), refusals=refusals)


def _places(sources: tuple[str, str], queries: Queries) -> Mapping[str, Place]:
    """Find where labelled chunks stand, as far as a source is a file that tells it."""
    from raggate.compat.kebab_spans import Place, read_spans
    from raggate.formats.kebab_store import is_store, open_store

    wanted = {name for query in queries.values() for name in query.expected_chunk_ids}
    found: dict[str, Place] = {}
    for path in dict.fromkeys(_split(source)[0] for source in sources):
        if is_store(path):
            with open_store(path) as store:
                spans = store.spans(wanted) if store.has_index() else {}
            found |= {name: Place(document, read_spans(raw)) for name, (document, raw) in spans.items()}
    return found


def _write(path: Path, text: str, write: Any) -> None:
    try:
        write(path, text.encode())
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _say(line: str) -> None:
    click.echo(f"raggate: {log_line(line)}", err=True)


def _say_all(lines: list[str]) -> None:
    for line in lines[:_SHOWN]:
        _say(line)
    if len(lines) > _SHOWN:
        _say(f"… and {len(lines) - _SHOWN} more")
