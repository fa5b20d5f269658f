"""The lines that the commands of helloworld print: scores side by side, and what differs between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from raggate.models.scorecard import EPSILON, oriented
from raggate.text.escape import log_line
from raggate.text.numbers import counted, fixed, written
from raggate_interop.helloworld.compare import DIRECTIONS

if TYPE_CHECKING:
    from raggate.models.scorecard import MetricValue
    from raggate_interop.helloworld.compare import MetricDelta, RowFlip, RunComparison
    from raggate_interop.helloworld.read import RunFiles

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
