"""The answers of a shard -> what it says it has done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from raggate.config.ask_settings import Ask
from raggate.config.retrieval_modes import asked_in
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.run import Result
from raggate.models.shards import Plan, Receipt, ShardCounts
from raggate.pipeline.partial_run import PartialRun
from raggate.text.jsonio import JsonObject
from raggate.text.numbers import rounded

INDEX = {
    "index_version": ("index_version",),
    "chunker_version": ("chunker_version",),
    "documents": ("docs_processed",),
    "chunks": ("chunks_embedded",),
    "chunk_tokens": ("chunk_token_stats", "mean"),
}
"""What a fingerprint says of the index -> where the API tells it."""


MOST_VALUES = 10
"""Values of one key that a receipt tells; an index that changes with every answer has very many."""


def receipt_of(plan: Plan, shard: int, answers: PartialRun, inputs: Inputs, *, started: str, seconds: float) -> Receipt:
    """Say what a shard has done, as its first attempt, in a checkout of no known commit.

    Args:
        plan: the plan.
        shard: which, from 1.
        answers: what came of its questions.
        inputs: what was measured by.
        started: when that began, ISO 8601.
        seconds: how long it took.
    """
    wanted = {*plan.shards[shard - 1]}
    return Receipt(
        plan=plan.hash,
        nonce=plan.nonce,
        shard=shard,
        of=len(plan.shards),
        attempt=1,
        started=started,
        seconds=rounded(seconds, 3),
        counts=counts([case for case in inputs.golden.cases if case.id in wanted], inputs.config.ask, answers.results),
        again=len(answers.again),
        probes=len(answers.probes),
        index=index_told(answers),
        images=tuple(dict.fromkeys(answers.images)),
    )


def counts(cases: Sequence[Case], asking: Ask, results: Sequence[Result]) -> ShardCounts:
    """Say what became of the questions of a shard.

    Args:
        cases: its questions.
        asking: the modes, and how often each is asked.
        results: what came of those that were asked, and of those that a stop left over.
    """
    due = sum(asked_in(case.modes, mode) for case in cases for mode in asking.modes) * asking.repeat
    planned = len(cases) * len(asking.modes) * asking.repeat
    kinds = Counter("asked" if result.failure is None else result.failure.kind for result in results)
    failed = sum(number for kind, number in kinds.items() if kind not in {"asked", "aborted"})
    return ShardCounts(planned=planned, asked=kinds["asked"], failed=failed, skipped=planned - due)


def index_told(answers: PartialRun) -> dict[str, tuple[str, ...]]:
    """Give what the API told of its index: every value that answers told of each key, else that of the last look."""
    told: dict[str, dict[str, None]] = {}
    for result in answers.results:
        coverage = (result.response.coverage if result.response else None) or {}
        for key, path in INDEX.items():
            value = index_entry(coverage, path)
            if value is not None:
                told.setdefault(key, {})[str(value)] = None
    for key in ("documents", "chunks"):
        count = getattr(answers.index, key, None)
        if key not in told and count is not None:
            told[key] = {str(count): None}
    return {key: tuple(sorted(values)[:MOST_VALUES]) for key, values in sorted(told.items())}


def index_entry(coverage: JsonObject, path: Sequence[str]) -> Any:
    """Give what an answer tells of the index at a path of `INDEX`; None where it does not."""
    part: Any = coverage
    for name in path:
        part = part.get(name) if isinstance(part, dict) else None
    return part
