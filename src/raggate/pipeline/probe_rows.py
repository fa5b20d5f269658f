"""The rows of a run directory's `probes.jsonl`: what was asked beside the suite, each probe with what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import ValidationError

from raggate.errors import UsageError
from raggate.models.run import ProbeAnswer
from raggate.pipeline.result_rows import check_result, labels_fit, parse_row, shortened
from raggate.text.jsonio import dump_line
from raggate.text.problems import first_problem
from raggate.text.shapes import Shape
from raggate.text.struct_fields import as_dict

FILE = "probes.jsonl"
"""What the file is called."""

_ROW: Shape[ProbeAnswer] = Shape(ProbeAnswer)


def write(answers: Iterable[ProbeAnswer], *, full_text: bool) -> bytes:
    """Return the content of a `probes.jsonl`; chunk texts are cut unless `full_text`."""
    return b"".join(dump_line(_row(answer, full_text=full_text)) for answer in answers)


def read(lines: Iterable[bytes], name: str) -> Sequence[ProbeAnswer]:
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


def _row(answer: ProbeAnswer, *, full_text: bool) -> dict[str, object]:
    row = as_dict(answer)
    response = answer.result.response
    if response is not None and not full_text:
        row["result"]["response"]["chunks"] = [as_dict(shortened(chunk)) for chunk in response.chunks]
    return row
