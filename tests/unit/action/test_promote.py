"""What somebody types to promote a baseline: every part of a known shape, or refused by its name."""

from __future__ import annotations

import pytest

from raggate.action import promote
from raggate.base.errors import UsageError
from tables import each_row

TYPED = {
    "reason": "smaller model",
    "run-id": "",
    "allow-regression": "false",
}


def read(**typed: str) -> promote.Asked:
    """Read the inputs with some typed otherwise."""
    return promote.Asked.of({**TYPED, **{name.replace("_", "-"): text for name, text in typed.items()}}, "ada")


@each_row(
    ("typed", "run", "attempt"), [("", None, None), ("17", 17, None), ("17.2", 17, 2), ("9" * 19, int("9" * 19), None)]
)
def test_which_run(typed: str, run: int | None, attempt: int | None) -> None:
    """Nothing measures now; a number adopts that workflow run, with its attempt where one is named."""
    read_inputs = read(run_id=typed)
    assert (read_inputs.run, read_inputs.attempt) == (run, attempt)


def test_switches() -> None:
    """A switch is on for `true` alone."""
    given = [read(allow_regression=text).terms.allow_regression for text in ("true", "false", "TRUE", "")]
    assert given == [True, False, False, False]


@each_row(
    ("name", "text"),
    [
        *(("reason", text) for text in ("", "  ", "two\nlines", "x" * 501, "a\u202eb")),
        *(("run-id", text) for text in ("0", "x", "1.0", "1.", "-1", "1 ", "9" * 20)),
    ],
)
def test_what_is_refused(name: str, text: str) -> None:
    """Whatever is of another shape is refused before anything is done, by the name of its input."""
    with pytest.raises(UsageError, match=f"input '{name}': expected"):
        read(**{name: text})


def test_a_reason_is_one_line() -> None:
    """Blanks around a reason are not part of it, and its longest is accepted."""
    assert read(reason="  why ").terms.reason == "why"
    assert read(reason="x" * promote.MOST_REASON).terms.reason == "x" * 500
