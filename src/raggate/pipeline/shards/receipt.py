"""The answers of a shard -> what it says it has done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from raggate.config.ask_settings import Ask
from raggate.config.question_settings import asked_in
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.run import Result
from raggate.models.shards import Plan, Receipt, ShardCounts
from raggate.pipeline import index_facts
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.text.numbers import rounded


def receipt_of(
    plan: Plan, shard: int, answers: AnswersSoFar, inputs: Inputs, *, started: str, seconds: float
) -> Receipt:
    """Say what a shard has done, as its first attempt, in a checkout of no known commit.

    Args:
        shard: which, from 1.
        started: when that began, ISO 8601.
    """
    return Receipt(
        plan=plan.hash,
        nonce=plan.nonce,
        shard=shard,
        of=len(plan.shards),
        attempt=1,
        started=started,
        seconds=rounded(seconds, 3),
        counts=counts(plan.cases(shard, inputs.golden), inputs.config.ask, answers.results),
        again=len(answers.again),
        probes=len(answers.probes),
        index=index_facts.values_of(answers.results, answers.index),
        images=tuple(dict.fromkeys(answers.images)),
    )


def counts(cases: Sequence[Case], asking: Ask, results: Sequence[Result]) -> ShardCounts:
    """Say what became of the questions of a shard.

    Args:
        results: what came of those that were asked, and of those that a stop left over.
    """
    due = sum(asked_in(case.modes, mode) for case in cases for mode in asking.modes) * asking.repeat
    planned = len(cases) * len(asking.modes) * asking.repeat
    kinds = Counter("asked" if result.failure is None else result.failure.kind for result in results)
    failed = sum(number for kind, number in kinds.items() if kind not in {"asked", "aborted"})
    return ShardCounts(planned=planned, asked=kinds["asked"], failed=failed, skipped=planned - due)
