"""Types of stored values."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, ValidationError

from raggate.text.shapes import Shape

RANK: Shape[int | None] = Shape(Annotated[int, Field(strict=True, ge=1)] | None)


def test_a_value_that_fits_is_read() -> None:
    """From Python and from JSON."""
    assert (RANK.validate_python(3), RANK.validate_python(None), RANK.validate_json(b"7")) == (3, None, 7)


@pytest.mark.parametrize("value", [0, "3", 2.5])
def test_a_value_that_does_not_fit_is_refused(value: object) -> None:
    """As pydantic refuses it."""
    with pytest.raises(ValidationError):
        RANK.validate_python(value)


def test_no_check_is_made_before_there_is_a_value() -> None:
    """What is no type is not looked at until then."""
    shape: Shape[int] = Shape(object())
    with pytest.raises(Exception, match="schema"):
        shape.validate_python(1)
