"""summary.md: what people read about a run, as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.escape import markdown as safe
from raggate.models import Flip, Judged, Reason, Review
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
        _flips("Questions that broke", review, "broke"),
        _folded("Questions that were fixed", _flip_rows(review, "fixed")),
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
    if not main:
        return ""
    return f"### Metrics\n\n{main}\n\n{_folded('Other metrics that moved', others)}".rstrip()


def _metric_rows(rows: Sequence[Judged], *, show_mode: bool) -> str:
    head = "| | metric | baseline | now | delta | allowed | cases |\n|---|---|---:|---:|---:|---:|---|"
    return "\n".join([head, *(_metric_row(row, show_mode=show_mode) for row in rows)]) if rows else ""


def _metric_row(row: Judged, *, show_mode: bool) -> str:
    delta = row.delta
    mode = f" ({safe(delta.mode)})" if show_mode else ""
    bold = "**" if row.status in {"worse", "below floor", "vanished"} else ""
    return (
        f"| {figures.MARKS[row.status]} | {bold}{safe(delta.metric)}{mode}{bold} "
        f"| {figures.figure(delta.baseline, binary=delta.binary)} "
        f"| {figures.figure(delta.current, binary=delta.binary)} | {bold}{figures.change(delta)}{bold} | {figures.allowed(row)} "
        f"| {_cases(row)} |"
    )


def _cases(row: Judged) -> str:
    moved = figures.moves(row.delta)
    return f"{row.delta.current.n}: {moved}" if moved else str(row.delta.current.n)


def _flips(title: str, review: Review, kind: str) -> str:
    rows = _flip_rows(review, kind)
    return f"### {title} ({rows.count(chr(10)) - 1})\n\n{rows}" if rows else ""


def _flip_rows(review: Review, kind: str) -> str:
    flips = [flip for flip in review.comparison.flips if flip.kind == kind]
    if not flips:
        return ""
    head = "| question | expected | was → is | why | in its place |\n|---|---|---|---|---|"
    if kind == "fixed":
        head = "| question | expected | was → is |\n|---|---|---|"
    lines = [_flip_row(flip) for flip in flips[:SHOWN_FLIPS]]
    if len(flips) > SHOWN_FLIPS:
        lines.append(
            f"| … and {len(flips) - SHOWN_FLIPS} more in verdict.json |" + " |" * (4 if kind == "broke" else 2)
        )
    return "\n".join([head, *lines])


def _flip_row(flip: Flip) -> str:
    must = " 🔒" if flip.must_pass else ""
    cells = [
        f"{safe(flip.question)}<br><sub>{safe(flip.case_id)}{must} · {safe(flip.mode)}</sub>",
        safe(flip.gold),
        figures.rank_change(flip),
    ]
    if flip.kind == "broke":
        cells += [safe(flip.why), safe(flip.displaced_by) if flip.displaced_by else "–"]
    return f"| {' | '.join(cells)} |"


def _slices(review: Review) -> str:
    rows = figures.slice_rows(review.verdict.rows)
    if not rows:
        return ""
    lines = ["| slice | metric | baseline | now | delta | cases |", "|---|---|---:|---:|---:|---|"]
    for row in rows[:40]:
        delta = row.delta
        lines.append(
            f"| {safe(delta.slice)} ({safe(delta.mode)}) | {safe(delta.metric)} "
            f"| {figures.figure(delta.baseline, binary=delta.binary)} "
            f"| {figures.figure(delta.current, binary=delta.binary)} | {figures.change(delta)} | {_cases(row)} |"
        )
    return _folded("Slices that got worse", "\n".join(lines))


def _changes(review: Review) -> str:
    comparison = review.comparison
    lines = [f"- {safe(key)}: {safe(before)} → {safe(now)}" for key, before, now in comparison.config_changes]
    for label, names in (
        ("added", comparison.golden.added),
        ("removed", comparison.golden.removed),
        ("relabelled", comparison.golden.relabelled),
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
    lines = [f"Reproduce: `{review.reproduce}`"]
    if baseline is not None:
        taken = baseline.scorecard.run_id or "a metrics file"
        lines.append(
            f"Baseline: {safe(baseline.source)}, run {safe(taken)}, {review.comparison.compared} cases compared"
        )
    if review.against:
        lines.append(f"Configuration, golden set, vault and baseline are those of commit {safe(review.against)}")
    if operations is not None:
        lines.append(safe(figures.operations_line(operations), limit=500))
    return "<sub>" + "<br>\n".join(lines) + "</sub>"
