"""What one question filled, for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.base.errors import ExitCode
from raggate.base.escape import log_line
from raggate.base.numbers import counted, fixed
from raggate.models.smoke_test import FilledField, SmokeTest

_NOTHING = "-"
_OUTCOMES = {
    ExitCode.PASS: "this configuration can be measured",
    ExitCode.CANNOT_TELL: "cannot tell",
    ExitCode.INVARIANT: "the answer breaks what must always hold, and `raggate check` would say so",
}


def render(test: SmokeTest, *, width: int = 100) -> str:
    """Render it: the question, a table of fields, what is missing, and the outcome with its exit code."""
    lines = [*_question(test), "", *_table(test.fields, width), *_sentences(test)]
    lines += [f"{_OUTCOMES[test.exit_code]} (exit {int(test.exit_code)})"]
    # a table's blanks are its own, so its cells are made harmless one by one
    return "\n".join(lines) + "\n"


def _question(test: SmokeTest) -> Iterator[str]:
    yield f"asked:    {log_line(test.case.question, limit=200)} ({log_line(test.case.id)}, {test.result.mode})"
    response = test.result.response
    if response is not None:
        place = "" if not test.case.gold_supports else "; what is expected is "
        place += "" if not place else f"at rank {test.rank}" if test.rank else "not among them"
        yield f"answered: {counted(len(response.chunks), 'chunk')} in {fixed(test.result.elapsed_ms, 0)} ms{place}"


def _table(fields: tuple[FilledField, ...], width: int) -> Iterator[str]:
    # what is neither configured nor told, and costs nothing, is no news
    shown = [field for field in fields if field.source or field.filled or field.cost]
    if not shown:
        return
    rows = [("field", "read from", "filled", "first")]
    rows += [
        (field.name, log_line(field.source, limit=60) or _NOTHING, _share(field), log_line(field.first, limit=width))
        for field in shown
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        begin = "  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=False))
        yield f"{begin}  {log_line(row[3], limit=max(width - len(begin) - 2, 20))}".rstrip()
    yield ""


def _share(field: FilledField) -> str:
    if field.filled is None:
        return _NOTHING
    if field.of == 1 or not field.of:
        return "yes" if field.filled else "no"
    return f"{field.filled} of {field.of}"


def _sentences(test: SmokeTest) -> Iterator[str]:
    costs = [
        f"no {field.name} is {'returned' if field.source else 'mapped'}: {field.cost}"
        for field in test.fields
        if field.cost
    ]
    groups = [("cannot tell", test.unknown), ("broken", test.broken), ("missing", costs), ("note", test.hints)]
    lines = [f"{word}: {log_line(text, limit=500)}" for word, texts in groups for text in texts]
    yield from lines
    if lines:
        yield ""
