"""The shards of a plan -> one run directory, as one process would have left it that asked everything."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from msgspec import Struct

from raggate.errors import CannotTell, UsageError
from raggate.inputs import probe_plan, sources
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case, by_id
from raggate.models.provenance import commit_words
from raggate.models.run import Probe
from raggate.models.service import IndexState
from raggate.models.shards import PROBING_SHARD, Plan, Receipt
from raggate.pipeline import index_facts, measure
from raggate.pipeline.answers_so_far import AnswersSoFar
from raggate.pipeline.asking import chosen
from raggate.pipeline.request import Request, RunResult
from raggate.pipeline.shards import planning, shard_directory
from raggate.pipeline.shards.receipt import counts
from raggate.pipeline.shards.shard_directory import ShardAnswers
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.service.ask import RETRIES, questions_of
from raggate.text.dates import stamp
from raggate.text.files import write_atomic
from raggate.text.jsonio import dumps
from raggate.text.numbers import setting
from raggate.text.quote import cut

FILE = "shards.json"
"""What a merged run directory has beside what every run has: who asked what, and which attempts were left out."""

SCHEMA = "raggate/shards/1"


_TRIED = 3
"""Plans that are made again to see whether shards are of them, the one that most say they are of first."""


SHOWN = 20
"""Shards that a message names, one line each."""
_STAMP = "%Y-%m-%dT%H:%M:%SZ"
_MOST_SECONDS = 30 * 86_400.0
_CLOCK_SECONDS = 1.0
"""So much the time of an answer may exceed that of its shard, which a shard that went on has in part from its files."""
HINT = (
    "Ask each shard that is named again (`raggate run --plan plan.json --shard i/n`) and merge one whole directory of "
    "each; take out what is doubled, changed or of another plan. Nothing was merged."
)


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


class Attempt(Struct, frozen=True, kw_only=True):
    """A directory that was handed in: the shard it is of, and its receipt, or why there is none that can be used."""

    directory: Path
    shard: int | None
    receipt: Receipt | None = None
    problem: str = ""
    unfinished: bool = False

    @property
    def sentence(self) -> str:
        """The problem, with the directory as it was named."""
        return f"{self.directory}: {self.problem}"


def attempt_in(directory: Path) -> Attempt:
    """Read the receipt of a directory, and say what is wrong with it."""
    named = shard_directory.number_of(directory)
    if not (directory / shard_directory.RECEIPT).exists():
        problem = f"no {shard_directory.RECEIPT}: it was killed, or is not done yet"
        return Attempt(directory=directory, shard=named, problem=problem, unfinished=True)
    try:
        receipt = shard_directory.read_receipt(directory)
    except UsageError as error:
        return Attempt(directory=directory, shard=named, problem=error.message)
    problem = ""
    if receipt.stopped is not None:
        problem = f"it broke off: {cut(receipt.stopped)}"
    elif not receipt.counts.whole:
        problem = f"half: {receipt.counts.sentence}"
    return Attempt(directory=directory, shard=receipt.shard, receipt=receipt, problem=problem, unfinished=bool(problem))


def read_shards(
    plan: Plan, attempts: Sequence[Attempt], inputs: Inputs
) -> tuple[tuple[ShardAnswers, ...], tuple[str, ...]]:
    """Read one whole attempt of each shard, and say which attempts were left out.

    Raises:
        CannotTell: naming each shard that cannot be merged, and why.
    """
    problems, left_out, by_shard = [], [], defaultdict[int, list[Attempt]](list)
    count = len(plan.shards)
    for attempt in attempts:
        receipt = attempt.receipt
        if receipt is not None and receipt.plan != plan.hash:
            problems.append(f"{attempt.directory}: of another plan")
        elif attempt.problem and not attempt.unfinished:
            problems.append(attempt.sentence)
        elif attempt.shard is None or not 1 <= attempt.shard <= count or (receipt and receipt.of != count):
            problems.append(attempt.sentence if attempt.problem else f"{attempt.directory}: of no shard of the plan")
        else:
            by_shard[attempt.shard].append(attempt)
    shards: list[ShardAnswers] = []
    due = Due.of(plan, inputs)
    for shard in range(1, count + 1):
        whole = [attempt for attempt in by_shard[shard] if not attempt.unfinished]
        unfinished = [attempt for attempt in by_shard[shard] if attempt.unfinished]
        if len(whole) == 1:
            # by the name of its directory alone: where a machine has it is nobody's
            left_out += [f"{attempt.directory.name}: {attempt.problem}" for attempt in unfinished]
            try:
                shards.append(due.answers(whole[0]))
            except UsageError as error:
                problems.append(f"shard {shard} of {count}: {error.message}")
        elif whole:
            places = ", ".join(str(attempt.directory) for attempt in whole)
            problems.append(f"shard {shard} of {count}: doubled: {places}")
        else:
            ends = "; ".join(attempt.sentence for attempt in unfinished)
            problems.append(f"shard {shard} of {count}: {ends or 'missing'}")
    problems = problems or [*_other_surroundings(shards)]
    if problems:
        rest = [f"… and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
        raise CannotTell([*problems[:SHOWN], *rest], hint=HINT)
    return tuple(shards), tuple(left_out)


class Due(Struct, frozen=True, kw_only=True):
    """What the shards of a plan have to hold.

    Attributes:
        plan: the plan.
        inputs: what is measured by.
        cases: the questions by id.
        probes: what is asked for invariants, each with how often.
    """

    plan: Plan
    inputs: Inputs
    cases: dict[str, Case]
    probes: Counter[Probe]

    @classmethod
    def of(cls, plan: Plan, inputs: Inputs) -> Due:
        """Say what these inputs ask."""
        private = private_notes(inputs.vault, inputs.config.private)
        probes = Counter(probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private))
        return cls(plan=plan, inputs=inputs, cases=by_id(inputs.golden.cases), probes=probes)

    def answers(self, attempt: Attempt) -> ShardAnswers:
        """Read the answers of a shard, which must be all that the plan has it ask, and no others.

        Raises:
            UsageError: saying what is not as it must be.
        """
        place, receipt = attempt.directory, attempt.receipt
        assert receipt is not None  # noqa: S101 - only whole attempts come here
        cases = [self.cases[name] for name in self.plan.shards[receipt.shard - 1]]
        asking = self.inputs.config.ask
        questions = {(mode, case.id) for case, mode in questions_of(cases, asking.modes)}
        due = {(*question, repeat) for question in questions for repeat in range(1, asking.repeat + 1)}
        probes_due = self._probes_of(receipt.shard)
        shard = shard_directory.read(place, receipt, max(len(due), probes_due.total()))
        answered = [(result.mode, result.case_id, result.repeat) for result in shard.results]
        if len(answered) != len(due) or {*answered} != due:
            raise UsageError(f"{place}: its answers are not one to each of its questions")
        if counts(cases, asking, shard.results) != receipt.counts:
            raise UsageError(f"{place}: its counts are not those of its answers: {receipt.counts.sentence}")
        again = [(result.mode, result.case_id) for result in shard.again]
        if len(again) != receipt.again or len(again) != len({*again}) or not {*again} <= questions:
            raise UsageError(f"{place}: its second answers are not to questions of its own, each once")
        probes = Counter(answer.probe for answer in shard.probes)
        if receipt.probes != len(shard.probes) or probes != probes_due:
            raise UsageError(f"{place}: it does not hold what is asked for invariants, each once")
        index = index_facts.values_of(shard.results, None)
        if any(receipt.index.get(key) != values for key, values in index.items()):
            raise UsageError(f"{place}: what it says of the index is not what its answers say")
        moments(receipt, place)
        _refuse_wild_times(shard, place)
        return shard

    def _probes_of(self, shard: int) -> Counter[Probe]:
        return self.probes if shard == PROBING_SHARD else Counter()


def _refuse_wild_times(shard: ShardAnswers, place: Path) -> None:
    """Refuse answers that took less than no time, longer than their shard did, or more retries than there are.

    Raises:
        UsageError: naming the question.
    """
    most = 1000 * (shard.receipt.seconds + _CLOCK_SECONDS)
    for result in chain(shard.results, shard.again, (answer.result for answer in shard.probes)):
        # not a number is in no range
        if not 0 <= result.elapsed_ms <= most or not 0 <= result.retries <= RETRIES:
            raise UsageError(
                f"{place}: {cut(result.case_id)} ({cut(result.mode)}): {setting(result.elapsed_ms)} ms and "
                f"{result.retries} retries, where the whole shard took {setting(shard.receipt.seconds)} s and at most "
                f"{RETRIES} retries are made"
            )


def moments(receipt: Receipt, place: Path) -> tuple[datetime, datetime]:
    """Return when a shard was asked."""
    try:
        begin = datetime.strptime(receipt.started, _STAMP).replace(tzinfo=UTC)
        if not 0 <= receipt.seconds <= _MOST_SECONDS:
            raise ValueError
        return begin, begin + timedelta(seconds=receipt.seconds)
    except (ValueError, OverflowError):
        raise UsageError(f"{place}: when it was asked, and for how long, is not told as it should be") from None


def _other_surroundings(shards: Sequence[ShardAnswers]) -> Iterator[str]:
    """Name the shards that saw another index, or asked another image, than most."""
    receipts = [shard.receipt for shard in shards]
    for key in sorted({key for receipt in receipts for key in receipt.index}):
        yield from _odd([(receipt.shard, receipt.index.get(key)) for receipt in receipts], f"another index: {key}")
    yield from _odd([(receipt.shard, receipt.images[-1:] or None) for receipt in receipts], "another image of the API:")


def _odd(values: Iterable[tuple[int, Sequence[str] | None]], what: str) -> Iterator[str]:
    facts = [(shard, tuple(value)) for shard, value in values if value is not None]
    usual = Counter(value for _, value in facts).most_common(1)
    first = next((shard for shard, value in facts if value == usual[0][0]), 0)
    for shard, value in facts:
        if value != usual[0][0]:
            others = cut(", ".join(usual[0][0]))
            yield f"shard {shard}: it saw {what} {cut(', '.join(value))}, where shard {first} saw {others}"


def joined(shards: Sequence[ShardAnswers]) -> AnswersSoFar:
    """Put the answers of shards together as if one process had them, by the order of the shards."""
    receipts = [shard.receipt for shard in shards]
    asked = [receipt for receipt in receipts if receipt.counts.planned] or receipts
    times = [moments(receipt, Path()) for receipt in asked]
    begin, end = min(first for first, _ in times), max(last for _, last in times)

    def count(key: str) -> int | None:
        values = [value for receipt in receipts for value in receipt.index.get(key, ()) if value.isdecimal()]
        return int(values[0][:18]) if values else None

    return AnswersSoFar(
        results=[result for shard in shards for result in shard.results],
        images=[image for receipt in receipts for image in receipt.images],
        again=[result for shard in shards for result in shard.again],
        probes=[answer for shard in shards for answer in shard.probes],
        log=next((receipt.log for receipt in receipts if receipt.log), ()),
        index=IndexState(healthy=True, indexing=False, documents=count("documents"), chunks=count("chunks")),
        started=stamp(begin),
        seconds=(end - begin).total_seconds(),
    )
