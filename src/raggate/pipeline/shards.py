"""A run in shards: which questions each asks, asking one of them, and the merge of all.

Which questions a shard asks follows from the golden set and the number of shards alone, so no step hands a plan to the
next one. A shard leaves a directory as a run does: by what it was asked, and its rows, with whole texts and without
labels. Whoever merges labels all of them by the trusted inputs, as the process does that asks everything itself.
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.dates import now, stamp
from raggate.base.errors import CannotTell, Interrupted, UsageError
from raggate.base.numbers import lot, rounded, setting
from raggate.base.quote import cut, quoted
from raggate.inputs import probe_plan, sources
from raggate.inputs.leaks import private_notes
from raggate.inputs.trusted import Inputs
from raggate.models.asking import Asking, Ended, Means
from raggate.models.golden import EVERYTHING, Case, Golden
from raggate.models.provenance import VERSIONS, commit_words
from raggate.models.run import ProbeAnswer, Result
from raggate.models.service import IndexState
from raggate.pipeline import measure, result_rows, run_directory, unfinished_run
from raggate.pipeline.answers import AnswersSoFar, index_values
from raggate.pipeline.asking import Part, chosen
from raggate.pipeline.request import Request, RunResult
from raggate.pipeline.run_directory import failure_reports
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.pipeline.unfinished_run import UnfinishedRun
from raggate.service.ask import RETRIES, questions_of

MOST_SHARDS = 10_000
PROBING_SHARD = 1
"""The shard that asks what invariants need."""

SHOWN = 20
"""Shards that a message names, one line each."""

_WRITTEN = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_NUMBER = re.compile(r"[0-9]{1,9}")
_NAME = re.compile(r"shard-([0-9]{1,6})-of-([0-9]{1,6})(?:-attempt-[0-9]{1,9})?")
_STAMP = "%Y-%m-%dT%H:%M:%SZ"
_MOST_SECONDS = 30 * 86_400.0
_CLOCK_SECONDS = 1.0
"""So much the time of an answer may exceed that of its shard, which one that was resumed has in part from its files."""
_HINT = (
    "Nothing was merged. On GitHub, use “Re-run failed jobs”. Elsewhere run each named shard again "
    "(`raggate run --shard i/n`) with the files and flags of the merge. Then merge one whole directory of each."
)


class Shard(NamedTuple):
    """A part of a run, from 1, of how many."""

    number: int
    of: int

    def __str__(self) -> str:
        """Write it as `--shard` takes it."""
        return f"{self.number}/{self.of}"


class _Variables(NamedTuple):
    number: str
    total: str | None
    first: int


_SCHEDULERS = (
    _Variables("RAGGATE_SHARD_INDEX", "RAGGATE_SHARD_TOTAL", 0),
    _Variables("JOB_COMPLETION_INDEX", None, 0),
    _Variables("BUILDKITE_PARALLEL_JOB", "BUILDKITE_PARALLEL_JOB_COUNT", 0),
    _Variables("CI_NODE_INDEX", "CI_NODE_TOTAL", 1),
    _Variables("CIRCLE_NODE_INDEX", "CIRCLE_NODE_TOTAL", 0),
    _Variables("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", 0),
    _Variables("AWS_BATCH_JOB_ARRAY_INDEX", None, 0),
    _Variables("TEST_SHARD_INDEX", "TEST_TOTAL_SHARDS", 0),
)
"""GitHub, Kubernetes, Buildkite, GitLab, CircleCI, Slurm, AWS Batch and Bazel: which variable numbers a process, which
says how many there are, and where it begins to count."""


def written_shard(text: str, name: str) -> Shard:
    """Read a shard such as `3/8`; `name` is where it stands."""
    match = _WRITTEN.fullmatch(text.strip())
    shard = Shard(int(match[1]), int(match[2])) if match else Shard(0, 0)
    if not 1 <= shard.number <= shard.of <= MOST_SHARDS:
        raise UsageError(
            f"{name}: expected i/n with i from 1 to n, such as 3/8, found {quoted(text)}",
            hint="Shards count from 1: 1/8 to 8/8.",
        )
    return shard


def shard_of(of: int, environment: Mapping[str, str]) -> Shard:
    """Return which of so many shards this process is, by the variables of whatever started it."""
    for known in _SCHEDULERS:
        number = _number(environment, known.number)
        if number is None:
            continue
        total = None if known.total is None else _number(environment, known.total)
        if total not in {None, of}:
            raise UsageError(
                f"{known.total} says {total} shards, but --shards says {of}", hint="Use the same number in both."
            )
        # those of an array of Slurm begin anywhere
        begin = _number(environment, "SLURM_ARRAY_TASK_MIN") if known.number.startswith("SLURM") else None
        place = number - (known.first if begin is None else begin) + 1
        if not 1 <= place <= of:
            raise UsageError(f"{known.number} is {number}, but {of} shards count from {known.first}")
        return Shard(place, of)
    raise UsageError(
        "raggate does not know which shard this is",
        hint="Give --shard i/n, counted from 1, or one of the variables that docs/shards.md lists.",
    )


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "").strip()
    if text and not _NUMBER.fullmatch(text):
        raise UsageError(f"{name}: expected a number, found {quoted(text)}")
    return int(text) if text else None


def cases_of(golden: Golden, shard: Shard) -> list[Case]:
    """Return the questions of a shard, in the order of the golden set.

    They are a stretch of the ids in the order of a hash of each. No shard has more than one question more than another.
    """
    ids = sorted((case.id for case in golden.cases), key=lambda name: (lot(name), name))
    begin, end = (len(ids) * part // shard.of for part in (shard.number - 1, shard.number))
    own = {*ids[begin:end]}
    return [case for case in golden.cases if case.id in own]


class ShardResult(Struct, frozen=True, kw_only=True):
    """A shard that was asked: its directory, how it ended, and how many calls were answered and failed."""

    directory: Path
    shard: Shard
    ended: Ended
    answered: int
    failed: int

    def refuse_stopped(self) -> None:
        """Refuse a shard that did not ask everything."""
        if self.ended.stopped is not None:
            hint = f"Ask it again with --shard {self.shard}. You cannot merge it as it is."
            where = f"shard {self.shard.number} of {self.shard.of}"
            raise CannotTell(f"{where}: {self.ended.stopped}", hint=hint, log=self.ended.log)


def run(request: Request, shard: Shard) -> ShardResult:
    """Ask the questions of one shard; leave a directory with the answers and how it ended."""
    with load_inputs(request) as inputs:
        if request.choice != EVERYTHING:
            problem = f"{request.choice.words} cannot be combined with --shard: shards ask all questions"
            raise UsageError(problem, hint="Remove --shard to ask only a part.")
        parent = run_directory.safe_runs(request)
        checkout = sources.head(request.root, request.remote)
        cases = cases_of(inputs.golden, shard)
        by = unfinished_run.asking(request, inputs, cases, "shard", now(), checkout, shard=str(shard))
        resumes = request.resume is not None
        name = f"shard-{shard.number}-of-{shard.of}"
        directory = unfinished_run.place(request) if resumes else run_directory.fresh(parent, name, again="-attempt-")
        keeping = UnfinishedRun(directory=directory, asking=by, checkout=checkout, resumes=resumes, say=request.say)
        with keeping as kept:
            request.voice.created(directory)
            with failure_reports(directory, inputs.config):
                return _ask(request, inputs, shard, kept)


def _ask(request: Request, inputs: Inputs, shard: Shard, kept: UnfinishedRun) -> ShardResult:
    cases = cases_of(inputs.golden, shard)
    answers, begin = AnswersSoFar(), time.monotonic() - kept.asking.seconds
    kept.load(answers, cases)
    part = Part(
        request=request,
        inputs=inputs,
        cases=cases,
        directory=kept.directory,
        runs=kept.directory.parent,
        before={},
        probes=shard.number == PROBING_SHARD,
        kept=kept,
    )
    try:
        # nothing to ask is nothing to start an API for
        stopped, log = part.ask(answers) if part.asks_anything() else (None, ())
    except KeyboardInterrupt:
        due = len(questions_of(cases, inputs.config.ask.modes)) * inputs.config.ask.repeat
        way_on = f"Ask it again with --shard {shard}."
        if kept.can_be_resumed(answers):
            way_on = f"To continue: {request.resuming('run', kept.directory, shard=shard)}"
        raise Interrupted(f"{answers.interrupted(due)} of shard {shard.number}", hint=way_on) from None
    kept.check_index(answers)
    ended = Ended(
        stopped=stopped or measure.changed_vault(inputs.vault),
        seconds=rounded(time.monotonic() - begin, 3),
        images=tuple(dict.fromkeys(answers.images)),
        index=index_values(answers.results, answers.index),
        log=log,
    )
    kept.end(ended, _rows(answers))
    failed = sum(result.failure is not None for result in answers.results)
    return ShardResult(
        directory=kept.directory, shard=shard, ended=ended, answered=len(answers.results) - failed, failed=failed
    )


def _rows(answers: AnswersSoFar) -> Iterator[bytes]:
    yield from map(result_rows.asked_line, answers.results)
    for result in answers.again:
        yield result_rows.asked_line(result, again=True)
    for answer in answers.probes:
        yield result_rows.asked_line(answer.result, probe=answer.probe)


class Merged(Struct, frozen=True, kw_only=True):
    """A run that was merged: how many shards there were, and attempts that ended early, each with why."""

    result: RunResult
    shards: int
    left_out: tuple[str, ...]


def merge(request: Request, directories: Sequence[Path]) -> Merged:
    """Merge the directories of all shards, or directories that they lie in, into one run directory."""
    with load_inputs(request) as inputs:
        answers, shards, left_out = read(request, inputs, directories)
        for line in left_out:
            request.say(f"left out, because another attempt is complete: {line}")
        directory, merged, _ = measure.of_answers(request, inputs, answers)
        return Merged(result=RunResult(run=merged, directory=directory), shards=shards, left_out=left_out)


def read(request: Request, inputs: Inputs, directories: Sequence[Path]) -> tuple[AnswersSoFar, int, tuple[str, ...]]:
    """Read the answers of all shards, how many there are, and which attempts were left out; it raises as `merge`."""
    # one that is named by itself and lies in another that is named is one attempt, not two
    found = {place.resolve(): place for directory in directories for place in places(directory)}
    commit = sources.commit_of(request.root, request.remote)
    due = _Due(inputs, unfinished_run.means(request, inputs), commit)
    parts, left_out = due.read([_attempt_in(place) for place in found.values()])
    answers = _joined(parts)
    _refuse_missing_samples(inputs, answers)
    return answers, len(parts), left_out


def of_shard(directory: Path) -> bool:
    """Return whether a directory is one of a shard, by its name; one that was merged into a run is none."""
    return _NAME.fullmatch(directory.name) is not None and not (directory / "config.json").exists()


def places(directory: Path) -> list[Path]:
    """Return the directories of shards that one is, or that lie up to two levels below it; links lead to none."""
    levels = [directory] if directory.is_dir() else []
    found = []
    for _ in range(3):
        found += [path for path in levels if of_shard(path)]
        others = [path for path in levels if not of_shard(path)]
        below = (path for parent in others for path in sorted(parent.iterdir()))
        levels = [path for path in below if path.is_dir() and not path.is_symlink()]
    return found


class _Attempt(Struct, frozen=True, kw_only=True):
    """A directory of a shard: how it ended, or why it cannot be merged. `early`: another attempt may be whole."""

    directory: Path
    shard: Shard
    header: Asking | None = None
    problem: str = ""
    early: bool = False

    @property
    def sentence(self) -> str:
        return f"{self.directory}: {self.problem}"


def _attempt_in(directory: Path) -> _Attempt:
    match = _NAME.fullmatch(directory.name)
    assert match is not None  # noqa: S101 - `places` gives no others
    shard = Shard(int(match[1]), int(match[2]))
    attempt = _Attempt(directory=directory, shard=shard)
    if not (directory / unfinished_run.HEADER).exists():
        return replace(attempt, problem="it asked nothing", early=True)
    try:
        header = unfinished_run.read_header(directory, Path())
    except UsageError as error:
        return replace(attempt, problem=error.message)
    if header.shard != str(shard):
        return replace(attempt, problem=f"it says that it is shard {cut(header.shard)}")
    if header.ended is None:
        return replace(attempt, problem="it was killed, or is still running", early=True)
    if header.ended.stopped is not None:
        return replace(attempt, problem=f"it broke off: {cut(header.ended.stopped)}", early=True)
    return replace(attempt, header=header)


class _Part(NamedTuple):
    """What a whole attempt holds."""

    shard: Shard
    header: Asking
    ended: Ended
    results: list[Result]
    again: list[Result]
    probes: list[ProbeAnswer]


class _Due:
    """What all shards have to hold, by the inputs here."""

    def __init__(self, inputs: Inputs, means: Means, commit: str | None) -> None:
        self._inputs, self._means, self._commit = inputs, means, commit
        private = private_notes(inputs.vault, inputs.config.private)
        self._probes = Counter(probe_plan.plan(inputs.config, inputs.golden, inputs.vault, private))

    def read(self, attempts: Sequence[_Attempt]) -> tuple[list[_Part], tuple[str, ...]]:
        """Read one whole attempt of each shard, and say which attempts were left out."""
        if not attempts:
            hint = "Every job of a shard must succeed. Read the log of the one that failed."
            raise CannotTell("there is no directory of a shard", hint=hint)
        of = Counter(attempt.shard.of for attempt in attempts).most_common(1)[0][0]
        problems, left_out, by_number = list[str](), list[str](), defaultdict[int, list[_Attempt]](list)
        for attempt in attempts:
            if attempt.shard.of != of or not 1 <= attempt.shard.number <= of <= MOST_SHARDS:
                problems.append(f"{attempt.directory}: it belongs to another number of shards")
            elif attempt.problem and not attempt.early:
                problems.append(attempt.sentence)
            else:
                by_number[attempt.shard.number].append(attempt)
        parts = []
        for number in range(1, min(of, MOST_SHARDS) + 1):
            whole = [attempt for attempt in by_number[number] if not attempt.early]
            early = [attempt for attempt in by_number[number] if attempt.early]
            if len(whole) == 1:
                # by the name of its directory alone: where a machine has it is nobody's
                left_out += [f"{attempt.directory.name}: {attempt.problem}" for attempt in early]
                try:
                    parts.append(self._part(whole[0]))
                except UsageError as error:
                    problems.append(f"shard {number} of {of}: {error.message}")
            else:
                ends = "; ".join(attempt.sentence for attempt in early)
                doubled = f"doubled: {', '.join(str(attempt.directory) for attempt in whole)}" if whole else ""
                problems.append(f"shard {number} of {of}: {doubled or ends or 'missing'}")
        problems = problems or [*_other_surroundings(parts)]
        if problems:
            rest = [f"… and {len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
            raise CannotTell([*problems[:SHOWN], *rest], hint=_HINT)
        return parts, tuple(left_out)

    def _part(self, attempt: _Attempt) -> _Part:
        """Read the answers of a shard, which must be all that it has to ask, and no others."""
        place, header, asking = attempt.directory, attempt.header, self._inputs.config.ask
        assert header is not None  # noqa: S101 - only whole attempts come here
        assert header.ended is not None  # noqa: S101
        if differing := unfinished_run.differences(header.means, self._means):
            raise UsageError(f"{place}: asked with other settings: {unfinished_run.differ(differing)}")
        if self._commit and header.commit != self._commit:
            here = cut(self._commit, limit=12)
            raise UsageError(f"{place}: asked at {commit_words(header.commit)}, but merged at {here}")
        cases = cases_of(self._inputs.golden, attempt.shard)
        questions = {(mode, case.id) for case, mode in questions_of(cases, asking.modes)}
        due = {(*question, repeat) for question in questions for repeat in range(1, asking.repeat + 1)}
        probes_due = self._probes if attempt.shard.number == PROBING_SHARD else Counter()
        part = _read_rows(attempt, header, header.ended, most=len(due) + len(questions) + probes_due.total())
        answered = [(result.mode, result.case_id, result.repeat) for result in part.results]
        if len(answered) != len(due) or {*answered} != due:
            raise UsageError(f"{place}: it does not have exactly one answer to each of its questions")
        again = [(result.mode, result.case_id) for result in part.again]
        if len(again) != len({*again}) or not {*again} <= questions:
            raise UsageError(f"{place}: its repeated answers are not one to each of its questions")
        if Counter(answer.probe for answer in part.probes) != probes_due:
            raise UsageError(f"{place}: it does not have exactly one answer to each question of the invariants")
        _moments(part)
        _refuse_wild_times(part, place)
        return part


def _read_rows(attempt: _Attempt, header: Asking, ended: Ended, most: int) -> _Part:
    name, lines = result_rows.packed_lines(attempt.directory)
    part = _Part(attempt.shard, header, ended, [], [], [])
    for number, row in enumerate(result_rows.read_asked(lines, name), 1):
        if number > most:
            raise UsageError(f"{name}: more than {most} lines, which is one for each call of this shard")
        if row.probe is not None:
            part.probes.append(ProbeAnswer(probe=row.probe, result=row.whole))
        else:
            (part.again if row.again else part.results).append(row.whole)
    return part


def _refuse_wild_times(part: _Part, place: Path) -> None:
    seconds = part.ended.seconds
    for result in chain(part.results, part.again, (answer.result for answer in part.probes)):
        # not a number is in no range
        if not 0 <= result.elapsed_ms <= 1000 * (seconds + _CLOCK_SECONDS) or not 0 <= result.retries <= RETRIES:
            raise UsageError(
                f"{place}: {cut(result.case_id)} ({cut(result.mode)}): {setting(result.elapsed_ms)} ms and "
                f"{result.retries} retries, but the whole shard took {setting(seconds)} s, with at most {RETRIES} "
                "retries a call"
            )


def _moments(part: _Part) -> tuple[datetime, datetime]:
    try:
        begin = datetime.strptime(part.header.started, _STAMP).replace(tzinfo=UTC)
        if not 0 <= part.ended.seconds <= _MOST_SECONDS:
            raise ValueError
        return begin, begin + timedelta(seconds=part.ended.seconds)
    except (ValueError, OverflowError):
        raise UsageError("the start time or the duration in its asking.json is malformed") from None


def _other_surroundings(parts: Sequence[_Part]) -> Iterator[str]:
    for key in sorted({key for part in parts for key in part.ended.index}):
        told = [(part.shard.number, part.ended.index.get(key)) for part in parts]
        yield from _odd(told, f"another index: {key}")
    images = [(part.shard.number, part.ended.images[-1:] or None) for part in parts]
    yield from _odd(images, "another image of the API:")


def _odd(values: Iterable[tuple[int, Sequence[str] | None]], what: str) -> Iterator[str]:
    facts = [(shard, tuple(value)) for shard, value in values if value is not None]
    usual = Counter(value for _, value in facts).most_common(1)
    first = next((shard for shard, value in facts if value == usual[0][0]), 0)
    for shard, value in facts:
        if value != usual[0][0]:
            others = cut(", ".join(usual[0][0]))
            yield f"shard {shard}: it saw {what} {cut(', '.join(value))}, where shard {first} saw {others}"


def _joined(parts: Sequence[_Part]) -> AnswersSoFar:
    """Put the answers of shards together as if one process had them, by the order of the shards."""
    times = [_moments(part) for part in ([part for part in parts if part.results] or parts)]
    begin, end = min(first for first, _ in times), max(last for _, last in times)

    def count(key: str) -> int | None:
        values = [value for part in parts for value in part.ended.index.get(key, ()) if value.isdecimal()]
        return int(values[0][:18]) if values else None

    return AnswersSoFar(
        results=[result for part in parts for result in part.results],
        images=[image for part in parts for image in part.ended.images],
        again=[result for part in parts for result in part.again],
        probes=[answer for part in parts for answer in part.probes],
        log=next((part.ended.log for part in parts if part.ended.log), ()),
        index=IndexState(
            healthy=True,
            indexing=False,
            documents=count("documents"),
            chunks=count("chunks"),
            versions=next((told for part in parts if (told := part.ended.index.get(VERSIONS))), ()),
        ),
        started=stamp(begin),
        seconds=(end - begin).total_seconds(),
    )


def _refuse_missing_samples(inputs: Inputs, answers: AnswersSoFar) -> None:
    again = {(result.mode, result.case_id) for result in answers.again}
    missing = sum((result.mode, result.case_id) not in again for result in chosen(inputs, answers.results))
    if missing and inputs.config.asks_again:
        raise CannotTell(
            f"{missing} of the repeated calls {'was' if missing == 1 else 'were'} not repeated", hint=_HINT
        )
