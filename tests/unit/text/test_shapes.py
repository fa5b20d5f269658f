"""Types of stored values."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from raggate.text.shapes import Shape, Stored
from tables import each_row

RANK: Shape[int | None] = Shape(Annotated[int, Field(strict=True, ge=1)] | None)


def test_a_value_that_fits_is_read() -> None:
    """As what it is."""
    assert (RANK.validate_python(3), RANK.validate_python(None)) == (3, None)


@each_row("value", [0, "3", 2.5])
def test_a_value_that_does_not_fit_is_refused(value: object) -> None:
    """As pydantic refuses it."""
    with pytest.raises(ValidationError):
        RANK.validate_python(value)


@pytest.mark.parametrize("kind", [list[int], tuple[int, ...], dict[str, int], dict[str, tuple[int, ...]]])
def test_of_many_wrong_entries_the_first_is_named_alone(kind: Any) -> None:
    """Millions of problems would take gigabytes, and one is told."""
    wrong: Any = {"a": ["x"] * 3, "b": ["x"] * 3} if "dict" in str(kind) else ["x"] * 3
    with pytest.raises(ValidationError) as caught:
        Shape(kind).validate_python(wrong)
    assert caught.value.error_count() == 1


class Part(Stored, frozen=True):
    """What stands inside another value."""

    yes: bool
    number: int
    share: float


class Whole(TypedDict):
    """A value with others inside it, in every way that stored ones are."""

    one: Part
    several: tuple[Part, ...]
    by_name: dict[str, float | None]
    kind: NotRequired[Literal["a"] | bool]


WHOLE: Shape[Whole] = Shape(Whole)
PART = {"yes": True, "number": 3, "share": 1}
FITS = {"one": PART, "several": [PART], "by_name": {"x": 0.5, "y": None}}


@each_row(
    "wrong",
    [
        *({"one": {**PART, "yes": value}} for value in ("no", "yes", "true", 0, 1, 0.0, None)),
        *({"one": {**PART, "number": value}} for value in ("3", 3.0, True, None)),
        *({"one": {**PART, "share": value}} for value in ("0.5", "nan", False, None)),
        {"several": [PART, {**PART, "yes": "off"}]},
        {"by_name": {"x": "0.5"}},
        {"by_name": {"x": True}},
        {"kind": "no"},
        {"kind": 1},
    ],
)
def test_no_value_is_turned_into_another(wrong: dict[str, Any]) -> None:
    """A text that reads like false is not false, nor is 0; a number that is written as text is no number."""
    held = WHOLE.validate_python(FITS)
    assert held == {"one": Part(True, 3, 1.0), "several": (Part(True, 3, 1.0),), "by_name": {"x": 0.5, "y": None}}
    with pytest.raises(ValidationError):
        WHOLE.validate_python({**FITS, **wrong})


def test_no_check_is_made_before_there_is_a_value() -> None:
    """What is no type is not looked at until then."""
    shape: Shape[int] = Shape(object())
    with pytest.raises(Exception, match="schema"):
        shape.validate_python(1)
