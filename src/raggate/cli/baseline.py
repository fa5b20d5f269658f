"""The commands `raggate baseline ...`: what a baseline says, and how it came to say it."""

from __future__ import annotations

import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from raggate.errors import UsageError
from raggate.text.escape import log_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raggate.config.schema import Config
    from raggate.models.baseline import Baseline
    from raggate.models.history import History, Revision
    from raggate.models.scorecard import MetricValue
    from raggate.reports.history_table import Column

LOG_WIDTH = 140
"""Columns when the output is not a terminal."""

_CONFIG = click.option(
    "--config", "-c", "config_file", type=click.Path(path_type=Path), default=Path("raggate.yml"), show_default=True,
    help="The configuration file.",
)  # fmt: skip


@click.group()
def baseline() -> None:
    """Show a baseline and its history."""


@baseline.command()
@_CONFIG
@click.option(
    "--baseline", "baseline_file", type=click.Path(path_type=Path),
    help="A baseline file on disk, in place of the configured one. It needs no configuration.",
)  # fmt: skip
@click.option("--slices", is_flag=True, help="Show the values of every slice too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(config_file: Path, baseline_file: Path | None, *, slices: bool, as_json: bool) -> None:
    """Show what a baseline says: where it is from, its values, and what was accepted."""
    from raggate.gate import history
    from raggate.inputs.trusted import read_file

    # a baseline that is named needs no configuration, and is judged by one if there is one
    settings = _settings(config_file) if baseline_file is None or config_file.exists() else None
    path = baseline_file or config_file.parent / (settings.baseline_path if settings else "")
    content = read_file(path, hint="Name a baseline file with --baseline, or promote a run with `raggate promote`.")
    found = history.read(content, str(path), _cutoffs(settings))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if as_json:
        click.echo(_json(_shown(found, now, slices=slices)), nl=False)
        return
    click.echo("\n".join([*_origin(found, settings, now), *_values(found, slices=slices), *_accepted(found)]))


@baseline.command()
@_CONFIG
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many versions, newest first."
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="A metric in place of the gated ones. Repeatable."
)
@click.option("--all", "everything", is_flag=True, help="Show every metric, not only the gated ones.")
@click.option(
    "--format", "form", type=click.Choice(["table", "markdown", "json"]), default="table", show_default=True,
    help="How it is printed.",
)  # fmt: skip
@click.option(
    "--svg", type=click.Path(path_type=Path, dir_okay=False), help="Draw the values over time into this file."
)
def log(
    config_file: Path, *, limit: int, metrics: tuple[str, ...], everything: bool, form: str, svg: Path | None
) -> None:
    """Show the history of the baseline from git: every version with its values over all cases.

    Shown are the gated metrics; --format json has every metric.
    """
    from raggate.gate import history
    from raggate.reports import history_table

    if everything and metrics:
        raise UsageError("--all and --metric exclude each other", hint="--all shows every metric already.")
    settings = _settings(config_file)
    told = history.revisions(
        config_file.resolve().parent, settings.baseline_path, limit=limit, cutoffs=_cutoffs(settings)
    )
    every = history_table.columns(told, lambda _: True)
    _refuse_unknown(metrics, every, told)
    wanted = set(metrics)
    gated = history_table.columns(told, lambda name: name in wanted if wanted else settings.gate.rule(name) is not None)
    shown = every if everything else gated
    if svg is not None:
        _draw(told, shown, settings.suite, svg)
    if form == "json":
        click.echo(_json(_logged(told, every if not wanted else shown)), nl=False)
    elif form == "markdown":
        click.echo(history_table.render_markdown(told, shown), nl=False)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else LOG_WIDTH
        click.echo(history_table.render_text(told, shown, width=width), nl=False)
    if told.shallow:
        click.echo(f"raggate: the clone is shallow. {history.DEEPEN}", err=True)


def _settings(config_file: Path) -> Config:
    from raggate.config import schema
    from raggate.inputs.trusted import NO_CONFIG, read_file

    return schema.load(read_file(config_file, hint=NO_CONFIG), str(config_file))


def _cutoffs(settings: Config | None) -> Sequence[int]:
    from raggate.config.schema import Score

    return (settings.score if settings else Score()).k


def _refuse_unknown(metrics: Sequence[str], every: Sequence[Column], told: History) -> None:
    known = dict.fromkeys(column.metric for column in every)
    for name in metrics:
        if name not in known and any(one.baseline for one in told.revisions):
            raise UsageError(
                f"--metric {plain(name)!r}: no version of {plain(told.path)} has it",
                hint=f"Known: {', '.join(known)}.",
            )


def _draw(told: History, shown: Sequence[Column], suite: str, target: Path) -> None:
    from raggate.reports import history_table, plot
    from raggate.text.jsonio import write_atomic

    drawn = plot.render_all(history_table.plots_of(told, shown, f"Baseline of suite {suite}"))
    try:
        write_atomic(target, drawn.encode())
    except OSError as error:
        raise UsageError(f"cannot write {plain(str(target))}: {error.strerror}") from None


def _json(document: object) -> bytes:
    from raggate.text.jsonio import dumps

    return dumps(document, pretty=True)


def _logged(told: History, shown: Sequence[Column]) -> dict[str, Any]:
    from raggate.reports import history_table

    changed = history_table.other_questions(told)

    def version(one: Revision) -> dict[str, Any]:
        values: dict[str, dict[str, Any]] = {}
        for column in shown:
            value = history_table.value_of(one, column)
            if value is not None:
                values.setdefault(column.mode, {})[column.metric] = _pair(value)
        known = one.baseline.provenance if one.baseline else {}
        return {
            "commit": one.commit,
            "date": one.stamp or None,
            "subject": plain(one.subject),
            "path": plain(one.path),
            "problem": plain(one.problem) or None,
            "run_id": one.baseline.scorecard.run_id if one.baseline else None,
            "measured": known.get("measured"),
            "promoted_by": known.get("promoted_by"),
            "reason": known.get("reason"),
            "cases": history_table.cases_of(one),
            "other_questions": one.commit in changed,
            "values": values,
        }

    return {
        "path": told.path,
        "more": told.more,
        "shallow": told.shallow,
        "revisions": [version(one) for one in told.revisions],
    }


def _pair(value: MetricValue) -> dict[str, Any]:
    return {"value": value.value, "n": value.n}


def _shown(found: Baseline, now: str, *, slices: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from raggate.models.scorecard import OVERALL
    from raggate.text import dates

    scorecard = found.scorecard
    return {
        "source": found.source,
        "suite": scorecard.suite,
        "run_id": scorecard.run_id,
        "age_days": dates.days_between(found.provenance.get("measured"), now),
        "provenance": found.provenance,
        "counts": {mode: counts.get(OVERALL) for mode, counts in scorecard.counts.items()},
        "values": {
            mode: {
                name: {metric: _pair(value) for metric, value in values.items()}
                for name, values in parts.items()
                if slices or name == OVERALL
            }
            for mode, parts in scorecard.slices.items()
        },
        "accepted": {
            mode: {metric: asdict(entry) for metric, entry in metrics.items()}
            for mode, metrics in found.accepted.items()
        },
    }


def _origin(found: Baseline, settings: Config | None, now: str) -> Iterator[str]:
    from raggate.models.scorecard import OVERALL
    from raggate.text import dates

    known, scorecard = found.provenance, found.scorecard
    yield f"{log_line(found.source)}: baseline of suite {log_line(scorecard.suite) or 'unknown'}"
    measured = known.get("measured")
    age = dates.days_between(measured, now)
    stale = settings.gate.stale_after_days if settings else None
    when = log_line(str(measured or "unknown"), limit=40)
    if age is not None:
        when += f", {_ago(age)}" + (f", stale after {stale} days" if stale is not None and age > stale else "")
    checkout = known.get("checkout")
    checkout = checkout if isinstance(checkout, dict) else {}
    commit = log_line(str(checkout.get("commit") or "unknown"), limit=64)
    facts = {
        "run": log_line(scorecard.run_id) or "unknown",
        "measured": when,
        "commit": commit + (", with changes that were not committed" if checkout.get("dirty") is True else ""),
        "image": _said(known, "image"),
        "judged by": _said(known, "against"),
        "promoted by": _said(known, "promoted_by"),
        "reason": _said(known, "reason"),
        "replaced": _said(known, "previous"),
        "raggate": _said(known, "raggate_version"),
        "cases": ", ".join(f"{counts.get(OVERALL, 0)} ({log_line(mode)})" for mode, counts in scorecard.counts.items()),
    }
    yield from (f"  {name:12}{text}" for name, text in facts.items() if text)


def _said(known: dict[str, Any], key: str) -> str:
    value = known.get(key)
    return log_line(str(value), limit=500) if value else ""


def _ago(days: float) -> str:
    if days < 0:
        return "in the future"
    whole = int(days)
    return "today" if whole == 0 else f"{whole} {'day' if whole == 1 else 'days'} ago"


def _values(found: Baseline, *, slices: bool) -> Iterator[str]:
    from raggate.models.scorecard import OVERALL

    for mode, parts in found.scorecard.slices.items():
        for name in sorted(parts, key=lambda name: (name != OVERALL, name)):
            if name != OVERALL and not slices:
                continue
            yield f"\n{log_line(mode)}, {'all cases' if name == OVERALL else log_line(name)}"
            for metric, value in parts[name].items():
                if value.n or name == OVERALL:
                    yield f"  {log_line(metric):32}{_figure(value.value):>8}  n={_number_of_cases(value)}"


def _accepted(found: Baseline) -> Iterator[str]:
    for mode, metrics in found.accepted.items():
        yield f"\n{log_line(mode)}, accepted values (ratchet)"
        for metric, entry in metrics.items():
            since = f" since {log_line(entry.since)}" if entry.since else ""
            yield f"  {log_line(metric):32}best {_figure(entry.best)}{since}, drops {_figure(entry.drops)}"
            for what, low in (("lowered", entry.lowered), ("moved", entry.moved)):
                if low is not None:
                    by = f" by {log_line(low.by, limit=100)}" if low.by else ""
                    why = f": {log_line(low.reason, limit=500)}" if low.reason else ""
                    yield f"    {what} on {log_line(low.on)}{by}, {_figure(low.before)} → {_figure(low.after)}{why}"


def _number_of_cases(value: MetricValue) -> str:
    """Say over how many cases a mean is; a metrics file of another system need not tell."""
    return "?" if value.value is not None and not value.n else str(value.n)


def _figure(value: float | None) -> str:
    from raggate.text.jsonio import written

    return written(value)
