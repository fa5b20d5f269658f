"""Equal runs held against each other: how often the gate is red although nothing changed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from msgspec.structs import replace

from raggate.config.gate_settings import Gate
from raggate.gate import compare, promote, verdict
from raggate.models.baseline import Baseline
from raggate.models.run import Run
from raggate.scoring import score
from raggate.scoring.repeats import KEY, TIMES_KEY, answers_by_question

POLICIES = ("evidence", "threshold")


def separate(run: Run) -> list[Run]:
    """Split a run that asked all questions equally often into single runs."""
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


def alarms_by_policy(runs: Sequence[Run], gate: Gate) -> tuple[dict[str, int], int]:
    """Compare each equal run with each other one; return by policy how many are red, and how many there are."""
    scored = [(run, score.score(run, run.config.score.k)) for run in runs]
    pairs = [*permutations(scored, 2)]
    counts = dict.fromkeys(POLICIES, 0)
    for (_, before), (run, scorecard) in pairs:
        baseline = Baseline(source="", scorecard=before, provenance=promote.provenance(run, before))
        # most of the time goes into the comparison, which is the same for all
        comparison = compare.compare(run, scorecard, baseline, min_slice=gate.min_cases)
        for policy in POLICIES:
            decided = verdict.decide(comparison, (), gate.model_copy(update={"policy": policy}))
            counts[policy] += decided.outcome == "regression"
    return counts, len(pairs)
