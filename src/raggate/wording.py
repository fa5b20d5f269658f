"""The sentences of a verdict: how changes, counts and the headline are put into words. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.outcomes import OVERALL, Comparison, Delta, Judged, Outcome, Reason


def change(row: Judged) -> str:
    """Say how a metric went from one value to another, and what was allowed."""
    before, after = row.delta.baseline.value or 0.0, row.delta.current.value or 0.0
    return (
        f"{name(row.delta)} went from {before:.4f} to {after:.4f} "
        f"({row.delta.delta or 0.0:+.4f}, allowed {row.allowed or 0.0:g})"
    )


def name(delta: Delta) -> str:
    """Name a row: metric, mode and slice."""
    where = "" if delta.slice == OVERALL else f" for {delta.slice}"
    return f"{delta.metric} ({delta.mode}){where}"


def removed(names: Sequence[str]) -> str:
    """Say which cases of the baseline are gone."""
    return f"{count(len(names), 'case')} of the baseline {are(len(names))} gone: {some(names)}"


def count(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def are(number: int) -> str:
    """Choose the verb for a number."""
    return "is" if number == 1 else "are"


def differ(number: int) -> str:
    """Say how many notes differ."""
    return f"{count(number, 'note')} differ{'s' if number == 1 else ''}"


def some(names: Sequence[str]) -> str:
    """List the first five names."""
    shown = ", ".join(names[:5])
    return f"{shown}, …" if len(names) > 5 else shown


def headline(outcome: Outcome, reasons: Sequence[Reason], comparison: Comparison, warnings: Sequence[Reason]) -> str:
    """Say the verdict in one sentence, for a reader in a hurry."""
    if outcome == "pass":
        compared = comparison.compared or len({case.case_id for case in comparison.scorecard.cases})
        note = f", with {count(len(warnings), 'warning')}" if warnings else ""
        return f"Nothing gated is worse than allowed, over {count(compared, 'question')}{note}."
    if outcome == "regression":
        broke = sum(flip.kind == "broke" for flip in comparison.flips)
        worse = sum(reason.code in {"worse", "below-floor"} for reason in reasons)
        lost = sum(reason.code == "must-pass" for reason in reasons)
        parts = [count(worse, "gated metric")] if worse else []
        parts += [count(lost, "must-pass question")] if lost else []
        tail = f" {count(broke, 'question')} broke." if broke else ""
        return f"Worse than allowed: {' and '.join(parts)}.{tail}"
    cause = reasons[0].message.rstrip(".")
    if outcome == "invariant broken":
        return f"The API's answers cannot be right: {cause}."
    return f"No verdict is possible: {cause}."
