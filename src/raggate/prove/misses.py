"""Why a fault was missed, in one sentence, and which questions are missing from the golden set. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from raggate.gate.statistics.beta import beta_quantile
from raggate.gate.statistics.power import visible_drop
from raggate.models.gate_proof import Trial, Watch
from raggate.models.golden import Case, Vault
from raggate.models.scorecard import EPSILON, OVERALL, MetricValue
from raggate.models.verdict import Reason
from raggate.text.numbers import setting, written
from raggate.text.quote import cut

SHOWN_NOTES = 3
"""Notes that a sentence names."""


def unasked_notes(cases: Iterable[Case], vault: Vault) -> tuple[str, ...]:
    """Name the notes that no question expects an answer from, as `vault/rel_path`, sorted.

    A support that names no vault is of every one that has such a note, or of those its question is limited to.
    """
    asked = set()
    for case in cases:
        for support in case.gold_supports:
            names = (support.vault,) if support.vault else case.vaults or tuple(vault.directories)
            asked |= {(name, support.rel_path) for name in names}
    return tuple(sorted("/".join(note) for note in vault.texts if note not in asked))


def watch(
    metric: str, values: Mapping[str, MetricValue], tolerance: float | None, repeats: Sequence[Trial]
) -> Watch | None:
    """Say how well the watched metric stands, and the smallest drop of it that can be seen.

    Args:
        metric: its name.
        values: it without a fault, by mode, in each of which some question has a value.
        tolerance: how much it may fall; None where it is not gated.
        repeats: runs without a fault, which tell how much it moves by itself.

    Returns:
        None when no question has a value.
    """
    if not values:
        return None
    lowest = min(values.values(), key=lambda value: value.value or 0.0)
    moving = sum(trial.moved for trial in repeats) / len(repeats) if repeats else 0.0
    return Watch(
        metric=metric,
        value=lowest.value or 0.0,
        n=lowest.n,
        tolerance=tolerance,
        visible=visible_drop(lowest.n, moving),
    )


def alarm_limit(alarms: int, runs: int) -> float:
    """Give the share of false alarms that so many runs leave possible with 95 % confidence.

    Source: the upper end of Clopper and Pearson 1934, Biometrika 26, 404-413, one-sided.
    """
    return 1.0 if alarms >= runs else beta_quantile(alarms + 1, runs - alarms, 0.95)


def explanation(trial: Trial, watched: Watch, unasked: Iterable[str]) -> str:
    """Say why a trial was not caught.

    Args:
        trial: one that the gate let through.
        watched: the metric by which faults are measured.
        unasked: the notes without a question.
    """
    silent = sorted(set(trial.notes) & set(unasked))
    if not trial.changed:
        return _unchanged(trial, silent)
    if trial.drop is None:
        return f"{watched.metric} applies to no question"
    if trial.drop <= EPSILON:
        return f"{trial.changed} answers changed, and {watched.metric} did not fall{_of_notes(trial, silent)}"
    drop, seen = written(trial.drop), smallest_visible(watched)
    if trial.drop < sure(watched) + EPSILON:
        return f"{watched.metric} fell by {drop}, and {seen}{_of_notes(trial, silent)}"
    warned = next((warning.message for warning in trial.warnings if _is_of(warning, watched)), "")
    if warned:
        return f"{watched.metric} fell by {drop}, and the policy makes that a warning: {cut(warned, limit=200)}"
    return f"not explained: {watched.metric} fell by {drop}, though {seen}; look at what is gated, and at the warnings"


def _is_of(reason: Reason, watched: Watch) -> bool:
    return reason.metric == watched.metric and reason.slice in {None, OVERALL}


def sure(watched: Watch) -> float:
    """Give the drop of the watched metric beyond which the gate is red for certain, or may be expected to be."""
    return watched.visible if watched.tolerance is None else watched.tolerance


def smallest_visible(watched: Watch) -> str:
    """Say in a clause which drops of the watched metric are seen."""
    test = f"with {watched.n} questions a test sees a drop of {written(watched.visible)} four times out of five"
    if watched.tolerance is None:
        return f"{watched.metric} is not gated; {test}"
    return f"up to {setting(watched.tolerance)} is allowed; {test}"


def _unchanged(trial: Trial, silent: Sequence[str]) -> str:
    if trial.kind == "http":
        return "every answer came, and was the same: retries are counted, and how long an answer takes is not gated"
    if trial.notes:
        return f"no question of the golden set brings up one of these {len(trial.notes)} notes{_named(silent)}"
    return "no answer changed"


def _of_notes(trial: Trial, silent: Sequence[str]) -> str:
    if not silent:
        return ""
    return f"; {len(silent)} of its {len(trial.notes)} notes have no question{_named(silent)}"


def _named(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    more = f" and {len(notes) - SHOWN_NOTES} more" if len(notes) > SHOWN_NOTES else ""
    return f": {', '.join(cut(note, limit=80) for note in notes[:SHOWN_NOTES])}{more}"
