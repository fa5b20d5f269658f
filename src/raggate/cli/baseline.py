"""The commands `raggate baseline ...`: what a baseline says, and how it came to say it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from raggate.base import dates
from raggate.base.errors import UsageError
from raggate.base.escape import log_line, plain
from raggate.base.quote import cut, quoted
from raggate.cli import options
from raggate.cli.options import PATH
from raggate.frontends import console
from raggate.models.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from raggate.config.schema import Config
    from raggate.frontends.answers import BaselineLog, BaselineShown, BaselineValue, BaselineVersion
    from raggate.models.baseline import Baseline
    from raggate.models.history import History, Revision
    from raggate.reports.history_table import Column


@click.group()
def baseline() -> None:
    """Show a baseline, or its history."""


@baseline.command()
@options.config()
@click.option("--baseline", "baseline_file", type=PATH, help="Read this file, which needs no configuration.")
@click.option("--slices", is_flag=True, help="Show the values of every slice too.")
def show(config_file: Path, baseline_file: Path | None, *, slices: bool) -> Answer[BaselineShown]:
    """Show what a baseline says: where it is from, its values, and what was accepted."""
    from raggate.base.files import read_file
    from raggate.frontends.answers import BaselineShown
    from raggate.gate import history
    from raggate.models.baseline import MOST_BYTES

    # a baseline that is named needs no configuration, and is judged by one if there is one
    settings = _settings(config_file) if baseline_file is None or config_file.exists() else None
    path = baseline_file or config_file.parent / (settings.baseline_path if settings else "")
    hint = "Name a baseline file with --baseline, or promote a run with `raggate promote`."
    content = read_file(path, hint, most_bytes=MOST_BYTES)
    stored = history.read(content, str(path), _cutoffs(settings))
    now = dates.now()
    click.echo("\n".join([*_origin(stored, now), *_values(stored, slices=slices), *_accepted(stored)]))
    age = dates.days_between(stored.provenance.get("measured"), now)
    card = stored.scorecard
    return Answer(
        BaselineShown(
            source=stored.source, suite=card.suite, run_id=card.run_id, age_days=age, provenance=stored.provenance
        )
    )


@baseline.command()
@options.config()
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Show so many versions, newest first."
)
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Show this metric instead of the gated ones. Repeatable."
)
def log(config_file: Path, *, limit: int, metrics: tuple[str, ...]) -> Answer[BaselineLog]:
    """Show the history of the baseline from git: every version with its values over all cases.

    Shown are the gated metrics; --json has every metric.
    """
    from raggate.gate import history
    from raggate.reports import history_table
    from raggate.scoring import figures

    settings = _settings(config_file)
    past = history.revisions(
        config_file.resolve().parent, settings.baseline_path, limit=limit, cutoffs=_cutoffs(settings)
    )
    every = history_table.columns(past, lambda _: True)
    wanted = [figures.key(name, (column.metric for column in every)) for name in metrics]
    _refuse_unknown(wanted, every, past)
    shown = history_table.columns(past, lambda name: name in wanted if wanted else settings.gate.rule(name) is not None)
    click.echo(history_table.render_text(past, shown, width=console.width()), nl=False)
    if past.shallow:
        click.echo(f"raggate: the clone is shallow. {history.DEEPEN}", err=True)
    return Answer(_logged(past, shown if wanted else every))


def _settings(config_file: Path) -> Config:
    from raggate.base.files import read_file
    from raggate.config import schema
    from raggate.inputs.trusted import NO_CONFIG

    return schema.load(read_file(config_file, hint=NO_CONFIG), str(config_file))


def _cutoffs(settings: Config | None) -> Sequence[int]:
    from raggate.config.gate_settings import Score

    return (settings.score if settings else Score()).k


def _refuse_unknown(metrics: Sequence[str], every: Sequence[Column], history: History) -> None:
    names = dict.fromkeys(column.metric for column in every)
    for name in metrics:
        if name not in names and any(revision.baseline for revision in history.revisions):
            raise UsageError(
                f"--metric {quoted(name)}: no version of {cut(history.path)} has this metric",
                hint=f"Known: {', '.join(names)}.",
            )


def _logged(history: History, columns: Sequence[Column]) -> BaselineLog:
    from raggate.frontends.answers import BaselineLog, BaselineValue, BaselineVersion
    from raggate.reports import history_table

    changed = history_table.other_questions(history)

    def version(revision: Revision) -> BaselineVersion:
        values: dict[str, dict[str, BaselineValue]] = {}
        for column in columns:
            value = history_table.value_of(revision, column)
            if value is not None:
                values.setdefault(column.mode, {})[column.metric] = BaselineValue(value=value.value, n=value.n)
        provenance = revision.baseline.provenance if revision.baseline else {}
        return BaselineVersion(
            commit=revision.commit,
            date=revision.stamp or None,
            subject=plain(revision.subject),
            path=plain(revision.path),
            problem=plain(revision.problem) or None,
            run_id=revision.baseline.scorecard.run_id if revision.baseline else None,
            measured=provenance.get("measured"),
            promoted_by=provenance.get("promoted_by"),
            reason=provenance.get("reason"),
            cases=history_table.cases_of(revision),
            other_questions=revision.commit in changed,
            values=values,
        )

    versions = tuple(map(version, history.revisions))
    return BaselineLog(path=history.path, more=history.more, shallow=history.shallow, revisions=versions)


def _origin(baseline: Baseline, now: str) -> Iterator[str]:
    from raggate.config.gate_settings import STALE_AFTER_DAYS
    from raggate.gate import noise
    from raggate.models.scorecard import OVERALL

    provenance, scorecard = baseline.provenance, baseline.scorecard
    yield f"{log_line(baseline.source)}: baseline of suite {log_line(scorecard.suite) or 'unknown'}"
    measured = provenance.get("measured")
    age = dates.days_between(measured, now)
    when = log_line(str(measured or "unknown"), limit=40)
    if age is not None:
        when += f", {_ago(age)}" + (f", stale after {STALE_AFTER_DAYS} days" if age > STALE_AFTER_DAYS else "")
    checkout = provenance.get("checkout")
    checkout = checkout if isinstance(checkout, dict) else {}
    commit = log_line(str(checkout.get("commit") or "unknown"), limit=64)
    facts = {
        "run": log_line(scorecard.run_id) or "unknown",
        "measured": when,
        "commit": commit + (", with uncommitted changes" if checkout.get("dirty") is True else ""),
        "image": _fact(provenance, "image"),
        "judged by": _fact(provenance, "against"),
        "promoted by": _fact(provenance, "promoted_by"),
        "reason": _fact(provenance, "reason"),
        "replaced": _fact(provenance, "previous"),
        "raggate": _fact(provenance, "raggate_version"),
        "noise": log_line(noise.largest(scorecard.fingerprint)),
        "cases": ", ".join(f"{counts.get(OVERALL, 0)} ({log_line(mode)})" for mode, counts in scorecard.counts.items()),
    }
    yield from (f"  {name:12}{text}" for name, text in facts.items() if text)


def _fact(provenance: Mapping[str, object], key: str) -> str:
    value = provenance.get(key)
    return log_line(str(value), limit=500) if value else ""


def _ago(days: float) -> str:
    if days < 0:
        return "in the future"
    whole = int(days)
    return "today" if whole == 0 else f"{whole} {'day' if whole == 1 else 'days'} ago"


def _values(baseline: Baseline, *, slices: bool) -> Iterator[str]:
    from raggate.models.scorecard import OVERALL
    from raggate.scoring import figures

    for mode, parts in baseline.scorecard.slices.items():
        for name in sorted(parts, key=lambda name: (name != OVERALL, name)):
            if name != OVERALL and not slices:
                continue
            yield f"\n{log_line(mode)}, {'all cases' if name == OVERALL else log_line(name)}"
            for metric, value in parts[name].items():
                if value.n or name == OVERALL:
                    # a metrics file of another system need not tell over how many cases a mean is
                    cases = value.n or ("?" if value.value is not None else 0)
                    yield f"  {log_line(metric):32}{figures.value(metric, value):>8}  n={cases}"


def _accepted(baseline: Baseline) -> Iterator[str]:
    from raggate.scoring import figures

    for mode, metrics in baseline.accepted.items():
        yield f"\n{log_line(mode)}, accepted values (ratchet)"
        for metric, entry in metrics.items():
            since = f" since {log_line(entry.since)}" if entry.since else ""
            best, drops = figures.amount(metric, entry.best), figures.distance(metric, entry.drops)
            yield f"  {log_line(metric):32}best {best}{since}, drops {drops}"
            if (low := entry.lowered) is not None:
                by = f" by {log_line(low.by, limit=100)}" if low.by else ""
                why = f": {log_line(low.reason, limit=500)}" if low.reason else ""
                yield f"    lowered on {log_line(low.on)}{by}, {figures.both(metric, low.before, low.after)}{why}"
