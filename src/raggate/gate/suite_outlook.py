"""Configuration, golden set and baseline -> what the suite can show. Nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.gate_settings import Gate
from raggate.config.question_settings import asked_in
from raggate.config.schema import Config
from raggate.gate.evidence import ALPHA
from raggate.gate.policies import small_metrics
from raggate.gate.statistics.mcnemar import fewest_losses
from raggate.gate.statistics.paired import unit_sizes
from raggate.gate.statistics.power import visible_drop_of_groups
from raggate.models.baseline import Baseline
from raggate.models.golden import Golden
from raggate.models.lint import ModeOutlook, Outlook
from raggate.models.scorecard import EPSILON, OVERALL
from raggate.scoring.repeats import Repeated


def suite_outlook(settings: Config, golden: Golden, baseline: Baseline | None) -> Outlook:
    """Return what a suite can show."""
    sizes = _gated_sizes(baseline, settings.gate) if baseline is not None else {}
    return Outlook(
        suite=settings.suite,
        policy=settings.gate.policy,
        questions=len(golden.cases),
        modes=tuple(_modes(settings, golden, baseline, sizes)),
        part_of=golden.part_of,
    )


def _gated_sizes(baseline: Baseline, gate: Gate) -> dict[tuple[str, str], int]:
    return {
        (mode, name): mean.n
        for mode, slices in baseline.scorecard.slices.items()
        for name, mean in slices.get(OVERALL, {}).items()
        if mean.n and gate.rule(name) is not None
    }


def _modes(
    settings: Config, golden: Golden, baseline: Baseline | None, sizes: dict[tuple[str, str], int]
) -> Iterator[ModeOutlook]:
    small = small_metrics(sizes, settings.gate) if settings.gate.policy != "threshold" else frozenset()
    level = ALPHA / len(settings.ask.modes)
    for mode in settings.ask.modes:
        cases = [case for case in golden.cases if asked_in(case.modes, mode)]
        units = unit_sizes(case.group for case in cases)
        moving, possible = _moving(baseline), fewest_losses(len(units), level) is not None
        drop = visible_drop_of_groups(units, moving, level) if possible else None
        metrics = [name for where, name in sizes if where == mode]
        yield ModeOutlook(
            mode=mode,
            questions=len(cases),
            units=len(units),
            visible_drop=drop,
            fine=tuple(_fine(metrics, drop, settings.gate)),
            small=tuple(sorted((name, sizes[mode, name]) for where, name in small if where == mode)),
        )


def _moving(baseline: Baseline | None) -> float:
    """Return the share of questions that came back otherwise when the baseline's run asked twice."""
    repeated = Repeated.of(baseline.scorecard.fingerprint) if baseline is not None else None
    return repeated.differ / repeated.compared if repeated is not None and repeated.compared else 0.0


def _fine(metrics: Sequence[str], drop: float | None, gate: Gate) -> Iterator[str]:
    for name in metrics:
        rule = gate.rule(name)
        if drop is not None and rule is not None and (rule.tolerance or 0.0) < drop - EPSILON:
            yield name
