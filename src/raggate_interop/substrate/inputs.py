"""What the substrate commands work on: paths in; chosen queries, result rows, tables, baselines and limits out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from raggate.base.errors import CannotTell, UsageError
from raggate_interop import export
from raggate_interop.substrate import gate, metrics as substrate_metrics, records
from raggate_interop.substrate.golden import QuerySet, read_corpus
from raggate_interop.substrate.metrics_files import Shape, Table, read_limits, read_targets
from raggate_interop.substrate.records import read_lines
from raggate_interop.substrate.results import from_run, read_results, with_texts
from raggate_interop.substrate.trace import read_trace, to_rows

Row = Mapping[str, Any]
Depths = Mapping[str, Any]
"""How deep their scripts look, of what is asked for in place of their defaults.

`limit` is that of `run_experiment.py`: how many results were asked for, at which hits and MRR are taken. `k` and
`heading_threshold` are those of `build_metrics.py`: how many results nDCG and heading dominance look at, and the share
of the lexical score from which a result is dominated.
"""


def chosen(queries: QuerySet, scenarios: Sequence[str], name: str) -> QuerySet:
    """Keep the queries of some scenarios; all of them when none is named."""
    if not scenarios:
        return queries
    slugs = sorted({query.scenario for query in queries.queries if query.scenario})
    for slug in scenarios:
        if slug not in slugs:
            raise UsageError(f"{name}: no query of scenario {slug!r}. Known: {', '.join(slugs) or 'none'}")
    return replace(queries, queries=tuple(query for query in queries.queries if query.scenario in scenarios))


def read_rows(path: Path) -> tuple[Row, ...]:
    """Read result rows of a results.jsonl, a trace.jsonl or a run directory of raggate."""
    if path.is_dir():
        return from_run(export.whole(path))
    first = next((value for _, value in read_lines(path)), None)
    if isinstance(first, dict) and "rank" in first and "results" not in first:
        return to_rows(read_trace(path))
    return read_results(path)


def scored(
    queries: QuerySet,
    rows: Sequence[Row],
    *,
    heading: substrate_metrics.HeadingRule,
    corpus: Path | None,
    all_modes: bool,
    depths: Depths,
) -> tuple[Table, substrate_metrics.Joined]:
    """Score rows by the specification.

    Args:
        corpus: a corpus.jsonl, for titles, bodies and clusters.
    """
    if "limit" in depths:
        raise UsageError(
            "--limit needs --exact --shape by_mode",
            hint="Add both, or remove --limit. Hits are then at 1, 3, 5 and 10.",
        )
    clusters = None
    if corpus is not None:
        documents = read_corpus(corpus)
        rows = with_texts(rows, documents)
        by_document = {name: document.frontmatter.get("cluster") for name, document in documents.items()}
        clusters = {name: str(cluster) for name, cluster in by_document.items() if cluster is not None}
    joined = substrate_metrics.join([query.row() for query in queries.queries], rows, all_modes=all_modes)
    if len(joined.missing) == len(joined.asked):
        raise CannotTell("no query matches the results", hint="Queries and results are joined by text and mode.")
    definitions = substrate_metrics.Definitions(heading=heading, clusters=clusters, **depths)
    definitions = replace(definitions, cutoffs=tuple(sorted({*definitions.cutoffs, definitions.k})))
    return substrate_metrics.score(joined.asked, definitions), joined


def exact(
    queries: QuerySet, rows: Sequence[Row], shape: Shape, depths: Depths
) -> tuple[Table, substrate_metrics.Joined]:
    """Score rows as their own code does that writes this shape, by the labels of the queries."""
    if shape == "seed":
        raise UsageError("--exact: none of their programs writes the seed's shape", hint="Add --shape by_mode or bare.")
    if shape == "bare" and depths:
        raise UsageError("--limit, --k and --heading-threshold are options of the skill's scripts: add --shape by_mode")
    # their code knows no grades
    asked = [replace(query, relevance=None).row() for query in queries.queries]
    joined = substrate_metrics.join(asked, rows, all_modes=shape == "by_mode")
    table: Table = {}
    if len(joined.missing) < len(joined.asked):
        if shape == "bare":
            table = substrate_metrics.golden_check(asked, rows)
        else:
            table = substrate_metrics.run_skill(joined.asked, **depths)
    if not table:
        raise CannotTell("no query matches the results", hint="The bare shape asks by retriever_types alone.")
    return table, joined


def stored(baseline: Path, metrics: Path) -> Path:
    """Return the file of a baseline; in a directory, the one of the key of the run record `metrics`."""
    if not baseline.is_dir():
        return baseline
    key = records.baseline_key(records.read_record(metrics))
    path = records.baseline_path(baseline, key)
    if not path.exists():
        raise CannotTell(
            f"{baseline}: no baseline for {key}",
            hint="Keep one with `raggate substrate baseline update`.",
        )
    return path


def limits(
    current: Table,
    *,
    floors: bool,
    floors_file: Path | None,
    heading_limits: bool,
    manifest: Path | None,
    scenarios: Sequence[str],
) -> tuple[gate.Limit, ...]:
    """Check the absolute limits that are asked for.

    Args:
        heading_limits: whether to demand the maxima of heading_bias over all queries of each mode.
        manifest: a scenario_manifest.json with targets, in place of the known ones.
        scenarios: whose targets to demand; with a manifest, all of them when none is named.
    """
    wanted: list[gate.Limits] = []
    if floors_file is not None:
        wanted.append(read_limits(floors_file))
    if heading_limits:
        wanted.append(gate.targets(dict.fromkeys(current, gate.HEADING_BIAS_THRESHOLDS)))
    targets = gate.SCENARIOS if manifest is None else read_targets(manifest)
    for slug in scenarios or (targets if manifest is not None else ()):
        if slug not in targets:
            raise UsageError(f"--scenario {slug!r} has no targets. Known: {', '.join(targets)}")
        wanted.append(gate.targets(targets[slug]))
    # of the catalog's own those count whose mode and difficulty are there, of what somebody wrote down all
    checked = [*gate.check_limits(current, gate.EVAL_THRESHOLDS)] if floors else []
    checked += [limit for table in wanted for limit in gate.check_limits(current, table, everywhere=True)]
    asked = floors or heading_limits or floors_file is not None or manifest is not None
    if asked and all(limit.value is None for limit in checked):
        raise CannotTell("none of the limits asked for applies to a mode and difficulty of the metrics")
    return tuple(checked)
