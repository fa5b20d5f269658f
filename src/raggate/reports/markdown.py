"""summary.md: what people read about a run, as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.escape import markdown as safe
from raggate.escape import plain
from raggate.outcomes import Delta, Flip, Judged, Reason, Review
from raggate.reports import figures
from raggate.reports.failure import log_section

SHOWN_FLIPS = 20
_ALERTS = {"pass": "NOTE", "regression": "CAUTION", "cannot tell": "WARNING", "invariant broken": "CAUTION"}
_SIGNS = {"pass": "✅", "regression": "❌", "cannot tell": "❔", "invariant broken": "⛔", "interrupted": "⏹️"}


def render(review: Review) -> str:
    """Render a whole run: verdict, deltas, questions that broke, slices, invariants, what else changed."""
    sections = (
        _verdict(review),
        _reasons("What is wrong", review.verdict.reasons),
        log_section(review.run.log) if review.run.log else "",
        _table(review),
        _broke(review),
        _fixed(review),
        _slices(review),
        _reasons("Warnings", review.verdict.warnings),
        _changes(review),
        _footer(review),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _verdict(review: Review) -> str:
    verdict = review.verdict
    sign, alert = _SIGNS[verdict.outcome], _ALERTS.get(verdict.outcome, "WARNING")
    return (
        f"## {sign} raggate: {verdict.outcome} (suite {safe(review.run.suite)})\n\n"
        f"> [!{alert}]\n> {safe(verdict.headline, limit=600)}"
    )


def _reasons(title: str, reasons: Sequence[Reason]) -> str:
    if not reasons:
        return ""
    lines = [f"- {safe(reason.message, limit=500)} <sub>{safe(reason.code)}</sub>" for reason in reasons[:30]]
    if len(reasons) > 30:
        lines.append(f"- … and {len(reasons) - 30} more in verdict.json")
    return f"### {title}\n\n" + "\n".join(lines)


def _table(review: Review) -> str:
    several = len(review.scorecard.slices) > 1
    main = _metric_rows(figures.main_rows(review.verdict.rows), show_mode=several)
    others = _metric_rows(figures.other_rows(review.verdict.rows), show_mode=several)
    if not review.verdict.rows:
        return _measured(review, show_mode=several)
    parts = [f"### Metrics\n\n{main}" if main else "", _folded("Other metrics that moved", others)]
    return "\n\n".join(part for part in parts if part)


def _measured(review: Review, *, show_mode: bool) -> str:
    rows = figures.measured(review.scorecard)
    if not rows:
        return ""
    lines = ["| metric | value | cases |", "|---|---:|---:|"]
    for mode, metric, value in rows:
        name = f"{safe(metric)} ({safe(mode)})" if show_mode else safe(metric)
        lines.append(f"| {name} | {figures.figure(value, binary=False)} | {value.n} |")
    return _folded("What was measured", "\n".join(lines))


def _metric_rows(rows: Sequence[Judged], *, show_mode: bool) -> str:
    head = "| metric | baseline | now | delta (allowed) | cases |\n|---|---:|---:|---:|---|"
    return "\n".join([head, *(_metric_row(row, show_mode=show_mode) for row in rows)]) if rows else ""


def _metric_row(row: Judged, *, show_mode: bool) -> str:
    delta = row.delta
    mode = f" ({safe(delta.mode)})" if show_mode else ""
    bold = "**" if row.status in {"worse", "below floor", "vanished"} else ""
    allowed = f" ({figures.allowed(row)})" if row.gated else ""
    return (
        f"| {figures.MARKS[row.status]} {bold}{safe(delta.metric)}{mode}{bold} | {_values(delta)} "
        f"| {bold}{figures.change(delta)}{bold}{allowed} | {figures.cases(delta)} |"
    )


def _values(delta: Delta) -> str:
    before, after = (figures.figure(value, binary=delta.binary) for value in (delta.baseline, delta.current))
    return f"{before} | {after}"


def _broke(review: Review) -> str:
    flips = [flip for flip in review.comparison.flips if flip.kind == "broke"]
    return f"### Questions that broke ({len(flips)})\n\n{_flip_rows(flips)}" if flips else ""


def _fixed(review: Review) -> str:
    flips = [flip for flip in review.comparison.flips if flip.kind == "fixed"]
    return _folded(f"Questions that were fixed ({len(flips)})", _flip_rows(flips)) if flips else ""


def _flip_rows(flips: Sequence[Flip]) -> str:
    lines = ["| question | what happened |", "|---|---|", *(_flip_row(flip) for flip in flips[:SHOWN_FLIPS])]
    if len(flips) > SHOWN_FLIPS:
        lines.append(f"| … and {len(flips) - SHOWN_FLIPS} more in verdict.json | |")
    return "\n".join(lines)


def _flip_row(flip: Flip) -> str:
    must = " 🔒 must pass" if flip.must_pass else ""
    why = f": {safe(flip.why)}" if flip.why else ""
    happened = [f"**{figures.rank_change(flip)}**{why}", f"expected: {safe(flip.gold)}"]
    if flip.displaced_by:
        happened.append(f"in its place: {safe(flip.displaced_by)}")
    asked = f"{safe(flip.question)}<br><sub>{safe(flip.case_id)} · {safe(flip.mode)}{must}</sub>"
    return f"| {asked} | {'<br>'.join(happened)} |"


def _slices(review: Review) -> str:
    rows = figures.slice_rows(review.verdict.rows)
    if not rows:
        return ""
    lines = ["| slice | metric | baseline | now | delta | cases |", "|---|---|---:|---:|---:|---|"]
    for row in rows[:40]:
        delta = row.delta
        lines.append(
            f"| {safe(delta.slice)} ({safe(delta.mode)}) | {safe(delta.metric)} | {_values(delta)} "
            f"| {figures.change(delta)} | {figures.cases(delta)} |"
        )
    if len(rows) > 40:
        lines.append(f"| … and {len(rows) - 40} more in verdict.json | | | | | |")
    return _folded("Slices that got worse", "\n".join(lines))


def _changes(review: Review) -> str:
    comparison = review.comparison
    lines = [f"- {safe(key)}: {safe(before)} → {safe(now)}" for key, before, now in comparison.config_changes]
    for label, names in (
        ("added", comparison.golden.added),
        ("removed", comparison.golden.removed),
        ("relabelled", comparison.golden.relabelled),
        ("refiled", comparison.golden.refiled),
        ("no longer must-pass", comparison.golden.released),
    ):
        if names:
            lines.append(f"- golden set, {label}: {safe(', '.join(names), limit=600)}")
    if comparison.vault_changes:
        lines.append(f"- vault: {safe(', '.join(comparison.vault_changes), limit=600)}")
    return _folded("What else changed since the baseline", "\n".join(lines)) if lines else ""


def _folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def _footer(review: Review) -> str:
    baseline = review.comparison.baseline
    operations = review.scorecard.operations
    # a command is there to be copied, so it stays as it is unless it would break out of its code span
    command = safe(review.reproduce) if "`" in review.reproduce else f"`{plain(review.reproduce, limit=1000)}`"
    lines = [f"Reproduce: {command}"]
    if baseline is not None:
        taken = baseline.scorecard.run_id or "unknown"
        lines.append(f"Baseline: {safe(baseline.source)}, run {safe(taken)}, {figures.compared(review.comparison)}")
    if review.against:
        lines.append(f"Configuration, golden set, vault and baseline are those of commit {safe(review.against[:12])}")
    ignored = review.run.config.get("ignored") or []
    if ignored:
        lines.append(f"Not used, because the commit's own count: {safe(', '.join(ignored), limit=600)}")
    if operations is not None:
        lines.append(safe(figures.operations_line(operations), limit=500))
    return "<sub>" + "<br>\n".join(lines) + "</sub>"
