"""The rows of a run directory's `results.jsonl.gz`: one per answer, labels beside it.

A row names question and mode; one of a later answer to the same question also has `repeat`, 2 for the second.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.models.golden import Case, Golden, by_id
from raggate.models.judging import Judgement, highest
from raggate.models.run import CUT, Chunk, LabelledResult, Labels, Leak, ProbeAnswer, Result, Run
from raggate.scoring.repeats import MAX_TIMES
from raggate.service.answer_limits import bounded
from raggate.text.files import MOST_LINE_BYTES, stored_lines, write_atomic, zipped, zipped_lines
from raggate.text.jsonio import JsonObject, Shape, as_dict, dump_line, holds_more, parse_object
from raggate.text.numbers import setting
from raggate.text.quote import cut, first_problem, quoted

RESULTS = "results.jsonl.gz"
PLAIN = "results.jsonl"
"""What versions wrote that did not pack it."""


MOST_VALUES = 200_000
"""Values in a line: a thousand chunks have less than a tenth of that."""
STORED_TEXT = 200
"""Characters of a chunk's text that are kept on disk."""
HASH_LENGTH = 32
"""Characters of the hash of a text that is not kept whole."""
_RESULT: Shape[Result] = Shape(Result)
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_LABELS: Shape[Labels] = Shape(Labels)
_JUDGEMENTS: Shape[tuple[Judgement, ...]] = Shape(tuple[Judgement, ...])
FILE = "probes.jsonl"
"""What the file is called."""
_ROW: Shape[ProbeAnswer] = Shape(ProbeAnswer)


def exists(directory: Path) -> bool:
    """Return whether there are answers in a directory, or what stands in their place and cannot be read."""
    return any(os.path.lexists(directory / name) for name in (RESULTS, PLAIN))


def write_packed(directory: Path, rows: Iterable[bytes]) -> None:
    """Write the rows, each with its end, in place of any that are there."""
    write_atomic(directory / RESULTS, zipped(rows))
    (directory / PLAIN).unlink(missing_ok=True)


def packed_lines(directory: Path, hint: str = "", *, named: Path | None = None) -> tuple[str, Iterator[bytes]]:
    """Return what messages call the file, and its lines, each with its end.

    Args:
        directory: the run directory; nothing in it is trusted.
        named: what messages call the directory in its place.

    Raises:
        UsageError: when there are two such files; with the lines, when there is none or it cannot be read.
    """
    named = directory if named is None else named
    if all((directory / name).exists() for name in (RESULTS, PLAIN)):
        raise UsageError(
            f"{named / PLAIN}: {RESULTS} is there too, and both may hold the answers", hint="Remove one of the two."
        )
    if (directory / PLAIN).exists():
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
    """Read the lines of a `results.jsonl.gz`. Nothing in it is trusted.

    Returns:
        The first answers, and all later ones, the second before the third.

    Raises:
        UsageError: naming file and line, for a row that does not hold what it should.
    """
    known = by_id(cases.cases)
    items: dict[int, list[LabelledResult]] = {1: []}
    # by repeat, mode and case
    rows: dict[tuple[int, str, str], int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item = _read_row(line, f"{name}:{number}", known)
        repeat, mode, case_id = item.result.repeat, item.result.mode, item.case.id
        if (first := rows.setdefault((repeat, mode, case_id), number)) != number:
            raise UsageError(f"{name}:{number}: {quoted(case_id)} is already in line {first}")
        if (1, mode, case_id) not in rows:
            raise UsageError(f"{name}:{number}: an answer of {quoted(case_id)} before its first")
        items.setdefault(repeat, []).append(item)
    return tuple(items.pop(1)), tuple(item for repeat in sorted(items) for item in items[repeat])


def _read_row(line: bytes, place: str, cases: Mapping[str, Case]) -> LabelledResult:
    row = parse_row(line, place)
    if (case := cases.get(str(row.get("test_case_id")))) is None:
        raise UsageError(f"{place}: no case {quoted(row.get('test_case_id'))} in golden.jsonl")
    try:
        labels = _LABELS.validate_python(row.get("labels"))
        known = {"case_id": case.id, "mode": row["mode"], "repeat": row.get("repeat", 1)}
        result = _RESULT.validate_python({**row["result"], **known})
    except ValidationError as error:
        raise UsageError(f"{place}: not a result row: {first_problem(error, whole='labels')}") from None
    except (KeyError, TypeError) as error:
        raise UsageError(f"{place}: not a result row: {cut(repr(error))}") from None
    check_result(result, place)
    chunks = result.chunks
    indices = [index for matches in labels.matches for index in matches]
    positions = (
        *(*labels.duplicates, *labels.empty, *labels.strange_headings, *labels.strange_texts),
        *(*labels.filed_elsewhere, *labels.copies, *labels.ambiguous, *labels.judged),
    )
    per_chunk = (labels.matches, labels.heading_only, labels.bodiless)
    fit = labels_fit(len(chunks), positions, labels.leaks)
    if any(len(values) != len(chunks) for values in per_chunk) or not fit:
        raise UsageError(f"{place}: the labels do not fit the retrieved chunks")
    if any(not 0 <= index < len(case.gold_supports) for index in indices):
        raise UsageError(f"{place}: the labels name gold supports the case does not have")
    return LabelledResult(case=case, result=result, labels=labels, judgements=_judgements(row, place))


def parse_row(line: bytes, place: str) -> dict[str, Any]:
    """Parse a row that was read, of at most `MOST_LINE_BYTES`: parsed, hostile JSON takes up to thirty times its size.

    One that is not checked any further takes no more; to be checked, many small values take a thousand times theirs.

    Raises:
        UsageError: naming the place.
    """
    if len(line) > MOST_LINE_BYTES:
        raise UsageError(f"{place}: a line of more than {MOST_LINE_BYTES} bytes")
    row = parse_object(line, place)
    if len(line) > MOST_VALUES and holds_more(row, MOST_VALUES):
        raise UsageError(f"{place}: more than {MOST_VALUES} values in a line")
    return row


def check_result(result: Result, place: str) -> None:
    """Refuse a result that was read and that no API gives.

    Args:
        result: the result; nothing in it is trusted.

    Raises:
        UsageError: naming the place.
    """
    if not 1 <= result.repeat <= MAX_TIMES:
        raise UsageError(f"{place}: repeat: expected 1 to {MAX_TIMES}, found {result.repeat}")
    if result.trace_id is not None and not _TRACE_ID.fullmatch(result.trace_id):
        raise UsageError(f"{place}: trace_id: expected 32 hex digits, found {quoted(result.trace_id)}")
    try:
        if result.response is not None:
            bounded(result.response)
    except ValueError as error:
        raise UsageError(f"{place}: {error}") from None
    if (result.response is None) == (result.failure is None):
        raise UsageError(f"{place}: expected either a response or a failure")


def _judgements(row: JsonObject, place: str) -> tuple[Judgement, ...]:
    """Read what judges say of an answer.

    Raises:
        UsageError: for what is no judgement, has neither value nor reason, or a value that its scale does not have.
    """
    try:
        judgements = _JUDGEMENTS.validate_python(row.get("judgements", ()))
    except ValidationError as error:
        raise UsageError(f"{place}: not a result row: {first_problem(error, 'judgements')}") from None
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
    return judgements


def labels_fit(chunks: int, positions: Iterable[int], leaks: Iterable[Leak]) -> bool:
    """Return whether labels are of so many chunks: none names one that is not there."""
    return all(0 <= position < chunks for position in positions) and all(0 <= leak.rank <= chunks for leak in leaks)


def lines(results: Iterable[LabelledResult], *, full_text: bool) -> Iterator[bytes]:
    """Yield the lines of a `results.jsonl.gz` one by one; chunk texts are cut unless `full_text`."""
    for item in results:
        yield dump_line(_row(item, full_text=full_text))


def _row(item: LabelledResult, *, full_text: bool) -> dict[str, object]:
    result, labels = item.result, item.labels
    response = result.response
    if response is not None and not full_text:
        chunks = tuple(shortened(chunk) for chunk in response.chunks)
        if chunks != response.chunks:
            response, labels = replace(response, chunks=chunks), replace(labels, truncated=True)
    return {
        "test_case_id": item.case.id,
        "mode": result.mode,
        # left out of first answers, whose rows are those of versions that ask once
        **({"repeat": result.repeat} if result.repeat > 1 else {}),
        "question": item.case.question,
        "result": {
            "response": response,
            "failure": result.failure,
            "retries": result.retries,
            "elapsed_ms": result.elapsed_ms,
            **({"trace_id": result.trace_id} if result.trace_id else {}),
        },
        "labels": labels,
        **({"judgements": item.judgements} if item.judgements else {}),
    }


def shortened(chunk: Chunk) -> Chunk:
    """Cut the text of a chunk; the hash of all of it stays, by which two texts that begin alike are told apart."""
    if len(chunk.text) <= STORED_TEXT:
        return chunk
    whole = chunk.text_hash or sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]
    return replace(chunk, text=chunk.text[:STORED_TEXT] + CUT, text_hash=whole)


def write(answers: Iterable[ProbeAnswer], *, full_text: bool) -> bytes:
    """Return the content of a `probes.jsonl`; chunk texts are cut unless `full_text`."""
    return b"".join(dump_line(_probe_row(answer, full_text=full_text)) for answer in answers)


def read_probes(lines: Iterable[bytes], name: str) -> Sequence[ProbeAnswer]:
    """Read the lines of a `probes.jsonl`. Nothing in it is trusted.

    Raises:
        UsageError: naming file and line, for a row that does not hold what it should.
    """
    rows = enumerate(lines, 1)
    return tuple(_answer(line, f"{name}:{number}") for number, line in rows if line.strip())


def _answer(line: bytes, place: str) -> ProbeAnswer:
    try:
        answer = _ROW.validate_python(parse_row(line, place))
    except ValidationError as error:
        raise UsageError(f"{place}: not a probe: {first_problem(error)}") from None
    check_result(answer.result, place)
    chunks = answer.result.chunks
    if not labels_fit(len(chunks), answer.strange_texts, answer.leaks):
        raise UsageError(f"{place}: the labels do not fit the retrieved chunks")
    return answer


def _probe_row(answer: ProbeAnswer, *, full_text: bool) -> dict[str, object]:
    row = as_dict(answer)
    response = answer.result.response
    if response is not None and not full_text:
        row["result"]["response"]["chunks"] = [as_dict(shortened(chunk)) for chunk in response.chunks]
    return row
