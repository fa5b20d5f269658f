"""Configuration, golden set and baseline -> what the suite can show, and which policy suits it. Nothing is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.gate_settings import Gate
from raggate.config.retrieval_modes import asked_in
from raggate.config.schema import Config
from raggate.gate.evidence import ALPHA
from raggate.gate.policies import small_metrics
from raggate.gate.simulated_changes import gated_sizes, policy_odds
from raggate.gate.statistics.mcnemar import fewest_losses
from raggate.gate.statistics.paired import unit_sizes
from raggate.gate.statistics.power import visible_drop, visible_drop_of_groups
from raggate.models.baseline import Baseline
from raggate.models.golden import Golden
from raggate.models.outlook import ModeOutlook, Outlook, PolicyOdds
from raggate.models.scorecard import EPSILON
from raggate.scoring.repeats import Repeated


def suite_outlook(settings: Config, golden: Golden, baseline: Baseline | None) -> Outlook:
    """Say what a suite can show.

    Args:
        baseline: the baseline; None, or one of means alone, leaves how often the suite is red unsaid.
    """
    groups = {case.id: case.group for case in golden.cases}
    known = baseline if baseline is not None and baseline.paired else None
    odds = policy_odds(known, groups, settings.gate) if known is not None else ()
    sizes = gated_sizes(baseline, settings.gate) if baseline is not None else {}
    rules = [settings.gate.rule(name) for _, name in sizes]
    return Outlook(
        suite=settings.suite,
        policy=settings.gate.policy,
        questions=len(golden.cases),
        modes=tuple(_modes(settings, golden, baseline, sizes)),
        odds=odds,
        recommended=recommended(odds, settings.gate.policy),
        gated=len({name for _, name in sizes}),
        finest=min((rule.tolerance or 0.0 for rule in rules if rule is not None), default=0.0),
        part_of=golden.part_of,
        slices_fail=settings.gate.slices == "fail",
    )


def recommended(odds: Sequence[PolicyOdds], configured: str) -> str:
    """Name the policy that catches most of those that rarely cry wolf; of several as good, the configured or first one.

    Where there is none, because the questions are too few, it is the one that catches most.
    """
    suitable = [policy for policy in odds if policy.suits]
    best = max(suitable or odds, key=lambda policy: (policy.harmful, policy.policy == configured), default=None)
    return best.policy if best is not None else ""


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
        largest = max(units, default=0)
        heavy = possible and largest / len(cases) > visible_drop(len(units), moving, level)
        metrics = [name for where, name in sizes if where == mode]
        yield ModeOutlook(
            mode=mode,
            questions=len(cases),
            units=len(units),
            visible_drop=drop,
            heavy=largest if heavy else 0,
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
