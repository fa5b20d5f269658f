"""The shards of a plan -> one run directory, as one process would have left it that asked everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from raggate.errors import CannotTell, UsageError
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.provenance import commit_words
from raggate.models.shards import Plan, Receipt
from raggate.pipeline import measure
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.request import Request
from raggate.pipeline.result import RunResult
from raggate.pipeline.second_answers import chosen
from raggate.pipeline.shards import planning, shard_directory
from raggate.pipeline.shards.attempts import HINT, SHOWN, Attempt, attempt_in, joined, read_shards
from raggate.pipeline.shards.shard_directory import ShardAnswers
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.text.jsonio import dumps, write_atomic
from raggate.text.quote import cut

FILE = "shards.json"
"""What a merged run directory has beside what every run has: who asked what, and which attempts were left out."""

SCHEMA = "raggate/shards/1"


_TRIED = 3
"""Plans that are made again to see whether shards are of them, the one that most say they are of first."""


class Merged(Struct, frozen=True, kw_only=True):
    """A run that was merged.

    Attributes:
        result: the run and its directory.
        shards: what each shard says it has done, in their order.
        left_out: attempts that ended before all was asked, each with why; another attempt asked everything.
    """

    result: RunResult
    shards: tuple[Receipt, ...]
    left_out: tuple[str, ...]


def merge(
    request: Request, directories: Sequence[Path], plan_file: Path | None = None, *, objections: Sequence[str] = ()
) -> Merged:
    """Merge the directories of all shards into one run directory.

    Args:
        request: what the front end asks for, as it did of the shards.
        directories: those of the shards, in any order, or directories that they lie in.
        plan_file: the plan; None for one by hash, which is made again of the inputs.
        objections: why they are not merged though each of them is whole, one line each.

    Raises:
        RunFailed: exit 2 for a plan of other inputs; exit 3 for shards that are missing, doubled, half, changed, or of
            another plan or index, each named.
    """
    with load_inputs(request) as inputs:
        # one that is named by itself and lies in another that is named is one attempt, not two
        named = (place for directory in directories for place in shard_directory.places(directory))
        attempts = [attempt_in(place) for place in {place.resolve(): place for place in named}.values()]
        plan = _plan(request, inputs, attempts, plan_file)
        shards, left_out = read_shards(plan, attempts, inputs)
        _refuse_other_commit(shards, sources.commit_of(request.root, request.remote))
        answers = joined(shards)
        _refuse_missing_samples(inputs, answers)
        if objections:
            raise CannotTell([*objections, "each shard is whole for all that"], hint=HINT)
        for line in left_out:
            request.say(f"left out, as another attempt asked everything: {line}")
        directory, run, _ = measure.of_answers(request, inputs, answers)
        receipts = tuple(part.receipt for part in shards)
        write_atomic(directory / FILE, _record(plan, receipts, left_out))
        return Merged(result=RunResult(run=run, directory=directory), shards=receipts, left_out=left_out)


def _plan(request: Request, inputs: Inputs, attempts: Sequence[Attempt], plan_file: Path | None) -> Plan:
    if plan_file is not None:
        plan = planning.read(plan_file)
        planning.check(plan, request, inputs)
        return plan
    receipts = [attempt.receipt for attempt in attempts if attempt.receipt is not None]
    claims = Counter((receipt.of, receipt.nonce) for receipt in receipts if 1 <= receipt.of <= planning.MOST_SHARDS)
    for (of, nonce), _ in claims.most_common(_TRIED):
        plan = planning.plan(request, inputs, of, nonce=nonce)
        if any(receipt.plan == plan.hash for receipt in receipts):
            return plan
    raise UsageError(
        "no shard is of a plan by hash of the inputs here",
        hint="Name the plan with --plan, and give the same files and flags as to the shards.",
    )


def _refuse_other_commit(shards: Sequence[ShardAnswers], here: str | None) -> None:
    others = [part.receipt for part in shards if here and part.receipt.commit != here]
    if others:
        lines = [f"shard {receipt.shard}: asked at {commit_words(receipt.commit)}" for receipt in others]
        raise CannotTell(
            [*lines[:SHOWN], f"they are merged at commit {cut(here, limit=12)}, which the run would be told to be of"],
            hint="Merge them at the commit that was measured.",
        )


def _refuse_missing_samples(inputs: Inputs, answers: AnswersSoFar) -> None:
    """Refuse shards that did not ask a second time what one process would have asked."""
    again = {(result.mode, result.case_id) for result in answers.again}
    missing = sum((result.mode, result.case_id) not in again for result in chosen(inputs, answers.results))
    if missing and inputs.config.asks_again:
        raise CannotTell(
            f"{missing} of the calls that are made twice {'was' if missing == 1 else 'were'} made once", hint=HINT
        )


def _record(plan: Plan, receipts: Sequence[Receipt], left_out: Sequence[str]) -> bytes:
    keys = ("shard", "attempt", "started", "seconds", "counts", "again", "probes", "resumed", "files")
    rows = [{key: getattr(receipt, key) for key in keys} for receipt in receipts]
    record = {"schema": SCHEMA, "plan": plan.hash, "by": plan.by, "shards": rows, "left_out": [*left_out]}
    return dumps(record, pretty=True)
