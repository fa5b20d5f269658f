"""Equal runs held against each other: how often the gate is red although nothing changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from raggate.config.schema import Gate
from raggate.gate import compare, promote, verdict
from raggate.gate.simulated_changes import POLICIES
from raggate.models.baseline import Baseline
from raggate.models.run import Run
from raggate.models.scorecard import Scorecard
from raggate.scoring import score
from raggate.scoring.repeats import KEY, TIMES_KEY, answers_by_question


def separate(run: Run) -> list[Run]:
    """Give the runs that a run consists of whose questions were all asked equally often."""
    answers = zip(*answers_by_question(run).values(), strict=True)
    fingerprint = {key: value for key, value in run.fingerprint.items() if key not in {KEY, TIMES_KEY}}
    return [
        replace(
            run,
            results=tuple(replace(item, result=replace(item.result, repeat=1)) for item in items),
            repeats=(),
            fingerprint=fingerprint,
        )
        for items in answers
    ]


def alarms(runs: Sequence[Run], gate: Gate) -> tuple[int, int]:
    """Hold each of some equal runs against each other one.

    Args:
        runs: the runs.
        gate: the policy.

    Returns:
        In how many of the comparisons there is a regression, and how many comparisons there are.
    """
    scored = [(run, score.score(run, run.config.score.k)) for run in runs]
    pairs = [*permutations(scored, 2)]
    return sum(_red(before, run, scorecard, gate) for (_, before), (run, scorecard) in pairs), len(pairs)


def alarms_by_policy(runs: Sequence[Run], gate: Gate) -> tuple[dict[str, int], int]:
    """Do the same under each policy, and all else of the gate as it is; see `alarms`."""
    counts = {policy: alarms(runs, gate.model_copy(update={"policy": policy})) for policy in POLICIES}
    return {policy: red for policy, (red, _) in counts.items()}, max(pairs for _, pairs in counts.values())


def _red(before: Scorecard, run: Run, scorecard: Scorecard, gate: Gate) -> bool:
    baseline = Baseline(source="", scorecard=before, provenance=promote.provenance(run))
    comparison = compare.compare(run, scorecard, baseline, flip_at=gate.flip_at, min_slice=gate.min_slice)
    return verdict.decide(comparison, (), gate).outcome == "regression"
