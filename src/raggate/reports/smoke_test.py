"""What one question filled, for a terminal. Pure."""

from __future__ import annotations

from raggate.base.errors import ExitCode
from raggate.base.numbers import counted, fixed
from raggate.models.smoke_test import FilledField, SmokeTest
from raggate.reports.terminal import Screen

_NOTHING = "-"
_OUTCOMES = {
    ExitCode.PASS: "this configuration can be measured",
    ExitCode.CANNOT_TELL: "cannot tell",
    ExitCode.INVARIANT: "the answer breaks what must always hold, and `raggate check` would say so",
}


def render(test: SmokeTest, *, width: int = 100) -> str:
    """Render it: the question, a table of fields, what is missing, and the outcome with its exit code."""
    screen = Screen(width=width, color=False, wrap=False)
    screen.line(f"{test.case.question} ({test.case.id}, {test.result.mode})", first="asked:    ", limit=300)
    response = test.result.response
    if response is not None:
        found = f"at rank {test.rank}" if test.rank else "not among them"
        place = f"; what is expected is {found}" if test.case.gold_supports else ""
        passages, took = counted(len(response.chunks), "passage"), fixed(test.result.elapsed_ms, 0)
        screen.line(f"answered: {passages} in {took} ms{place}")
    # what is neither configured nor told, and costs nothing, is no news
    shown = [field for field in test.fields if field.source or field.filled or field.cost]
    head = ("field", "read from", "filled", "first")
    rows = [((field.name, field.source or _NOTHING, _share(field), field.first), None) for field in shown]
    screen.line()
    screen.table(head, rows, names=head, words=head[3:])
    costs = [
        f"`{field.name}` is not {'returned' if field.source else 'mapped'}: {field.cost}"
        for field in test.fields
        if field.cost
    ]
    groups = (("cannot tell", test.unknown), ("broken", test.broken), ("missing", costs), ("note", test.hints))
    lines = [f"{word}: {text}" for word, texts in groups for text in texts]
    for text in (*([""] if rows else []), *lines, *([""] if lines else [])):
        screen.line(text, limit=600)
    screen.line(f"{_OUTCOMES[test.exit_code]} (exit {int(test.exit_code)})")
    return screen.text()


def _share(field: FilledField) -> str:
    if field.filled is None:
        return _NOTHING
    once = "yes" if field.filled else "no"
    return f"{field.filled} of {field.of}" if field.of > 1 else once
