"""The rows of `results.jsonl`, plain while they are asked and packed once all are there: one per answer.

A row names question and mode; one of a later answer to the same question also has `repeat`, 2 for the second. The rows
of a run have labels. Those of a shard, or of a run that is being asked, have none and whole texts; beside them may
stand second answers (`again`) and answers to questions for invariants (`probe`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from raggate.base.errors import UsageError
from raggate.base.files import MOST_LINE_BYTES, stored_lines, write_atomic, zipped, zipped_lines
from raggate.base.jsonio import dump_line, dumps
from raggate.base.numbers import setting
from raggate.base.quote import cut, quoted
from raggate.models.golden import Case, Golden, by_id
from raggate.models.judging import Judgement, highest
from raggate.models.run import (
    CUT,
    Chunk,
    Failure,
    LabelledResult,
    Labels,
    Leak,
    Probe,
    ProbeAnswer,
    Response,
    Result,
    Run,
    Whole,
)
from raggate.scoring.repeats import MAX_TIMES
from raggate.service.answer_limits import bounded

T = TypeVar("T")

RESULTS = "results.jsonl.gz"
PLAIN = "results.jsonl"
"""The same, not packed: while a run is asked, and where an artifact was unpacked."""
PROBES = "probes.jsonl"
"""The answers to questions for invariants, in the directory of a run."""

MOST_LISTS = 200_000
"""Lists and objects in a line: a thousand chunks have less than a tenth of that."""
STORED_TEXT = 200
"""Characters of a chunk's text that are kept on disk."""
HASH_LENGTH = 32
"""Characters of the hash of a text that is not kept whole."""
_TRACE_ID = re.compile(r"[0-9a-f]{32}")


class Answer(Struct, frozen=True, kw_only=True):
    """A result without the question, the mode and the repeat, which its row names."""

    response: Response | None
    failure: Failure | None
    retries: Whole
    elapsed_ms: float
    trace_id: str | None = None


class Row(Struct, frozen=True, kw_only=True):
    """What every row has."""

    test_case_id: str
    mode: str
    result: Answer
    repeat: int = 1

    @property
    def whole(self) -> Result:
        """The result."""
        answer = self.result
        return Result(
            case_id=self.test_case_id,
            mode=self.mode,
            response=answer.response,
            failure=answer.failure,
            retries=answer.retries,
            elapsed_ms=answer.elapsed_ms,
            repeat=self.repeat,
            trace_id=answer.trace_id,
        )


class AskedRow(Row, frozen=True, kw_only=True):
    """A row without labels."""

    again: bool = False
    probe: Probe | None = None


class LabelledRow(Row, frozen=True, kw_only=True):
    """A row of a run."""

    labels: Labels
    judgements: tuple[Judgement, ...] = ()


@cache
def _decoder(kind: Any) -> Decoder[Any]:
    # making one takes milliseconds, and most commands read no such row
    return Decoder(kind)


def _decoded(line: bytes, place: str, kind: type[T], noun: str) -> T:
    """Read a line as a row. Nothing in it is trusted, and no value is turned into another."""
    if len(line) > MOST_LINE_BYTES:
        raise UsageError(f"{place}: a line of more than {MOST_LINE_BYTES} bytes")
    if len(line) > MOST_LISTS and line.count(b"[") + line.count(b"{") > MOST_LISTS:
        raise UsageError(f"{place}: more than {MOST_LISTS} lists in a line")
    try:
        row: T = _decoder(kind).decode(line)  # type: ignore[arg-type]
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{place}: not {noun}: {cut(error)}") from None
    return row


def exists(directory: Path) -> bool:
    """Return whether there are answers in a directory, or what stands in their place and cannot be read."""
    return any(os.path.lexists(directory / name) for name in (RESULTS, PLAIN))


def write_packed(directory: Path, rows: Iterable[bytes]) -> None:
    """Write the rows, each with its end, in place of any that are there."""
    write_atomic(directory / RESULTS, zipped(rows))


def packed_lines(directory: Path, hint: str = "", *, named: Path | None = None) -> tuple[str, Iterator[bytes]]:
    """Return what messages call the file, and its lines; `named` is what they call the directory in its place."""
    named = directory if named is None else named
    if (directory / PLAIN).exists() and not os.path.lexists(directory / RESULTS):
        return str(named / PLAIN), stored_lines(directory / PLAIN, hint, name=named / PLAIN)
    return str(named / RESULTS), zipped_lines(directory / RESULTS, hint, name=named / RESULTS)


def keeps_whole_texts(run: Run) -> bool:
    """Return whether a run that was read holds texts that would have been cut if it had not been told to keep them."""
    return any(
        len(chunk.text) > STORED_TEXT and chunk.text_hash is None
        for item in run.answers
        for chunk in item.result.chunks
    )


def read(lines: Iterable[bytes], name: str, cases: Golden) -> tuple[Sequence[LabelledResult], ...]:
    """Read the rows of a run. Returns the first answers, and all later ones, the second before the third."""
    known = by_id(cases.cases)
    items: dict[int, list[LabelledResult]] = {1: []}
    # by repeat, mode and case
    rows: dict[tuple[int, str, str], int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        place = f"{name}:{number}"
        item = _labelled(_decoded(line, place, LabelledRow, "a result row"), place, known)
        repeat, mode, case_id = item.result.repeat, item.result.mode, item.case.id
        if (first := rows.setdefault((repeat, mode, case_id), number)) != number:
            raise UsageError(f"{place}: {quoted(case_id)} is already in line {first}")
        if (1, mode, case_id) not in rows:
            raise UsageError(f"{place}: an answer of {quoted(case_id)} before its first")
        items.setdefault(repeat, []).append(item)
    return tuple(items.pop(1)), tuple(item for repeat in sorted(items) for item in items[repeat])


def _labelled(row: LabelledRow, place: str, cases: Mapping[str, Case]) -> LabelledResult:
    if (case := cases.get(row.test_case_id)) is None:
        raise UsageError(f"{place}: no question {quoted(row.test_case_id)} in golden.jsonl")
    result, labels = row.whole, row.labels
    _check(result, place)
    chunks = len(result.chunks)
    positions = (
        *(*labels.duplicates, *labels.empty, *labels.strange_headings, *labels.strange_texts),
        *(*labels.filed_elsewhere, *labels.ambiguous, *labels.judged),
        *(position for position, _ in labels.partly),
    )
    per_chunk = (labels.matches, labels.heading_only, labels.bodiless, *([labels.lengths] if labels.lengths else ()))
    if any(len(values) != chunks for values in per_chunk) or not _fit(chunks, positions, labels.leaks):
        raise UsageError(f"{place}: the labels do not fit the retrieved passages")
    supports = len(case.gold_supports)
    if not all(0 <= index < supports for matches in labels.matches for index in matches):
        raise UsageError(f"{place}: the labels name gold supports that the question does not have")
    _check_judgements(row.judgements, place)
    return LabelledResult(case=case, result=result, labels=labels, judgements=row.judgements)


def read_asked(lines: Iterable[bytes], name: str) -> Iterator[AskedRow]:
    """Yield rows without labels."""
    for number, line in enumerate(lines, 1):
        row = _decoded(line, f"{name}:{number}", AskedRow, "a result")
        _check(row.whole, f"{name}:{number}")
        yield row


def read_probes(lines: Iterable[bytes], name: str) -> Sequence[ProbeAnswer]:
    """Read the lines of a `probes.jsonl`; it raises as `read`."""
    answers = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            answer = _decoded(line, f"{name}:{number}", ProbeAnswer, "a probe")
            _check(answer.result, f"{name}:{number}")
            if not _fit(len(answer.result.chunks), answer.strange_texts, answer.leaks):
                raise UsageError(f"{name}:{number}: the labels do not fit the retrieved passages")
            answers.append(answer)
    return tuple(answers)


def _check(result: Result, place: str) -> None:
    if not 1 <= result.repeat <= MAX_TIMES:
        raise UsageError(f"{place}: repeat: expected 1 to {MAX_TIMES}, found {result.repeat}")
    if result.trace_id is not None and not _TRACE_ID.fullmatch(result.trace_id):
        raise UsageError(f"{place}: trace_id: expected 32 hex digits, found {quoted(result.trace_id)}")
    if (result.response is None) == (result.failure is None):
        raise UsageError(f"{place}: expected either a response or a failure")
    if result.response is None:
        return
    try:
        bounded(result.response)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if not _fit(len(result.chunks), result.response.found_headings, ()):
        raise UsageError(f"{place}: found_headings: expected positions of retrieved passages")
    if result.response.coverage is None:
        return
    try:
        # as deep as it lies in a row
        dumps([[[[[[result.response.coverage]]]]]])
    except TypeError as error:
        raise UsageError(f"{place}: the index coverage cannot be written: {cut(error)}") from None


def _check_judgements(judgements: Sequence[Judgement], place: str) -> None:
    if any(vote.votes for judgement in judgements for vote in judgement.votes):
        raise UsageError(f"{place}: judgements: expected votes of a panel, found votes that have votes")
    for judgement in judgements:
        most = highest(judgement.score)
        if (judgement.value is None) == (judgement.reason is None):
            raise UsageError(f"{place}: judgements: expected either a value or a reason for {quoted(judgement.score)}")
        if judgement.value is not None and not 0 <= judgement.value <= most:
            raise UsageError(
                f"{place}: judgements: expected {quoted(judgement.score)} from 0 to {setting(most)}, found "
                f"{setting(judgement.value)}"
            )


def _fit(chunks: int, positions: Iterable[int], leaks: Iterable[Leak]) -> bool:
    return all(0 <= position < chunks for position in positions) and all(0 <= leak.rank <= chunks for leak in leaks)


def lines(results: Iterable[LabelledResult], *, full_text: bool) -> Iterator[bytes]:
    """Yield the rows of a run; chunk texts are cut unless `full_text`."""
    for item in results:
        result, labels = item.result, item.labels
        if result.response is not None and not full_text:
            chunks = tuple(map(shortened, result.chunks))
            if chunks != result.chunks:
                result = replace(result, response=replace(result.response, chunks=chunks))
                lengths = labels.lengths or tuple(len(chunk.text) for chunk in item.result.chunks)
                labels = replace(labels, truncated=True, lengths=lengths)
        row = {**_row(result), "question": item.case.question, "labels": labels}
        yield dump_line({**row, "judgements": item.judgements} if item.judgements else row)


def asked_line(result: Result, *, again: bool = False, probe: Probe | None = None) -> bytes:
    """Return the row of an answer without labels."""
    row = _row(result)
    row |= {"again": True} if again else {}
    return dump_line({**row, "probe": probe} if probe is not None else row)


def _row(result: Result) -> dict[str, object]:
    return {
        "test_case_id": result.case_id,
        "mode": result.mode,
        **({"repeat": result.repeat} if result.repeat > 1 else {}),
        "result": {
            "response": result.response,
            "failure": result.failure,
            "retries": result.retries,
            "elapsed_ms": result.elapsed_ms,
            **({"trace_id": result.trace_id} if result.trace_id else {}),
        },
    }


def shortened(chunk: Chunk) -> Chunk:
    """Cut the text of a chunk, and keep the hash of all of it to tell apart texts that begin alike."""
    if len(chunk.text) <= STORED_TEXT:
        return chunk
    whole = chunk.text_hash or sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
    return replace(chunk, text=chunk.text[:STORED_TEXT] + CUT, text_hash=whole)


def write_probes(answers: Iterable[ProbeAnswer], *, full_text: bool) -> bytes:
    """Return the content of a `probes.jsonl`; chunk texts are cut unless `full_text`."""
    return b"".join(dump_line(answer if full_text else _shortened(answer)) for answer in answers)


def _shortened(answer: ProbeAnswer) -> ProbeAnswer:
    response = answer.result.response
    if response is None:
        return answer
    chunks = tuple(map(shortened, response.chunks))
    return replace(answer, result=replace(answer.result, response=replace(response, chunks=chunks)))
