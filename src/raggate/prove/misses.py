"""Why a fault was missed, in one sentence, and which questions are missing from the golden set. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from raggate.gate import wording
from raggate.gate.evidence import ALPHA, MARGIN
from raggate.gate.statistics.beta import beta_quantile
from raggate.models.gate_proof import Trial, Watch
from raggate.models.golden import Case, Vault
from raggate.models.scorecard import EPSILON, MetricValue
from raggate.models.verdict import CompositeTest
from raggate.scoring import figures
from raggate.text.numbers import counted, points, setting
from raggate.text.quote import cut, enumerated

EXCUSED = frozenset(("few-cases", "no-evidence", "waived"))
"""Codes of warnings about a loss that would be red but for the policy or a waiver."""

SHOWN_NOTES = 3
"""Notes that a sentence names."""


def unasked_notes(cases: Iterable[Case], vault: Vault) -> tuple[str, ...]:
    """Name the notes that no question expects an answer from, as `vault/rel_path`, sorted.

    A support that names no vault is of every one that has such a note, or of those its question is limited to.
    """
    asked = set()
    for case in cases:
        for support in case.gold_supports:
            names = case.vaults_of(support) or tuple(vault.directories)
            asked |= {(name, support.rel_path) for name in names}
    return tuple(sorted("/".join(note) for note in vault.texts if note not in asked))


def watch(
    metric: str, values: Mapping[str, MetricValue], tolerance: float | None, runs: Sequence[Trial]
) -> Watch | None:
    """Say how well the watched metric stands, and the smallest loss that can be seen.

    Args:
        metric: its name.
        values: it without a fault, by mode, in each of which some question has a value.
        tolerance: how much it may fall; None where it is not gated.
        runs: runs without a fault, which tell how much the questions move by themselves.

    Returns:
        None when no question has a value.
    """
    if not values:
        return None
    lowest = min(values.values(), key=lambda value: value.value or 0.0)
    tests = (test for run in runs for test in _deciding(run) if test.fewest_losses is not None)
    return Watch(
        metric=metric,
        value=lowest.value or 0.0,
        n=lowest.n,
        tolerance=tolerance,
        visible=max((test.visible_drop for test in tests), default=None),
    )


def _deciding(trial: Trial) -> tuple[CompositeTest, ...]:
    """Give the tests that can make a trial red by themselves."""
    evidence = trial.evidence
    return () if evidence is None or evidence.policy == "threshold" else evidence.tests


def alarm_limit(alarms: int, runs: int) -> float:
    """Give the share of false alarms that so many runs leave possible with 95% confidence.

    Source: the upper end of Clopper and Pearson 1934, Biometrika 26, 404-413, one-sided.
    """
    return 1.0 if alarms >= runs else beta_quantile(alarms + 1, runs - alarms, 0.95)


def explanation(trial: Trial, watched: Watch, unasked: Iterable[str]) -> str:
    """Say why a trial was not caught, by the rule that decided.

    Args:
        trial: one that the gate let through.
        watched: the metric by which faults are measured.
        unasked: the notes without a question.
    """
    silent = sorted(set(trial.notes) & set(unasked))
    if not trial.changed:
        return _unchanged(trial, silent)
    name = figures.title(watched.metric)
    if trial.drop is None:
        return f"{name} applies to no question"
    excuses = [warning for warning in trial.warnings if warning.code in EXCUSED]
    fell = f"{name} fell by {figures.distance(watched.metric, trial.drop, beside=watched.tolerance or 0.0)}"
    if trial.drop <= EPSILON:
        fell = f"{counted(trial.changed, 'answer')} changed, and {name} did not fall"
    if excuses:
        # the one of the watched metric, if there is one
        first = min(excuses, key=lambda warning: warning.metric != watched.metric)
        return f"{fell}; a loss that only warns: {cut(first.message, limit=200)}{_of_notes(trial, silent)}"
    if watched.tolerance is not None and trial.drop > watched.tolerance + EPSILON:
        allowed = figures.tolerated(watched.metric, watched.tolerance)
        return f"not explained: {fell}, though no more than {allowed} is allowed"
    return f"{fell}{_allowed(trial.drop, watched)}; {_together(trial)}{_of_notes(trial, silent)}"


def _allowed(drop: float, watched: Watch) -> str:
    if drop <= EPSILON:
        return ""
    if watched.tolerance is None:
        return ", and it is not gated"
    return f", and up to {figures.tolerated(watched.metric, watched.tolerance)} is allowed"


def _together(trial: Trial) -> str:
    """Say why the test of all questions did not show a loss."""
    tests = _deciding(trial)
    if not tests:
        return "no test decides beside the tolerances"
    test = min(tests, key=lambda each: each.adjusted)
    if test.fewest_losses is None:
        return f"{counted(test.units, 'unit')} {wording.are(test.units)} too few to distinguish a loss from chance"
    if not test.lost:
        return f"no question got worse in {enumerated(test.metrics)}"
    needs = [f"p < {setting(ALPHA)}"] if test.adjusted >= ALPHA else []
    needs += [f"a drop of more than {points(MARGIN)}"] if test.drop <= MARGIN + EPSILON else []
    seen = f"a loss of {points(test.visible_drop)} is seen four times out of five"
    return f"{wording.composite(test)}, and to be red it takes {enumerated(needs)}; {seen}"


def _unchanged(trial: Trial, silent: Sequence[str]) -> str:
    if trial.kind == "http":
        return "every answer came, and was the same: retries are counted, and how long an answer takes is not gated"
    if trial.notes:
        which = "its one note" if len(trial.notes) == 1 else f"one of these {len(trial.notes)} notes"
        return f"no question of the suite brings up {which}{_named(silent)}"
    return "no answer changed"


def _of_notes(trial: Trial, silent: Sequence[str]) -> str:
    if not silent:
        return ""
    which = "its one note" if len(trial.notes) == 1 else f"{len(silent)} of its {len(trial.notes)} notes"
    return f"; {which} {'has' if len(silent) == 1 else 'have'} no question{_named(silent)}"


def _named(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    more = f" and {len(notes) - SHOWN_NOTES} more" if len(notes) > SHOWN_NOTES else ""
    return f": {', '.join(cut(note, limit=80) for note in notes[:SHOWN_NOTES])}{more}"
