"""Types of stored values."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Any, Literal, NotRequired

import pytest
from msgspec import Struct, field
from pydantic import Field, ValidationError
from typing_extensions import TypedDict

from raggate.text import shapes
from raggate.text.shapes import Shape, Stored, as_dict
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


class Leaf(Struct, frozen=True):
    """A noun within others."""

    name: str
    score: float | None = None


class Tree(Struct):
    """One that holds all that ours hold."""

    leaf: Leaf
    leaves: tuple[Leaf, ...] = ()
    by_name: dict[str, list[Leaf]] = field(default_factory=dict)
    rows: list[tuple[int, bool]] = field(default_factory=list)


def test_all_the_way_down() -> None:
    """Nouns in lists, tuples and mappings become dicts, their fields in order; lists and tuples stay what they are."""
    given = as_dict(Tree(Leaf("a", 0.5), (Leaf("b"), Leaf("c")), {"d": [Leaf("d")]}, [(1, True)]))
    assert repr(given) == repr(
        {
            "leaf": {"name": "a", "score": 0.5},
            "leaves": ({"name": "b", "score": None}, {"name": "c", "score": None}),
            "by_name": {"d": [{"name": "d", "score": None}]},
            "rows": [(1, True)],
        }
    )


def test_containers_are_copies() -> None:
    """What is changed in the dict does not change the noun."""
    tree = Tree(Leaf("a"), rows=[(1, True)])
    as_dict(tree)["rows"].clear()
    assert tree.rows == [(1, True)]


def test_any_mapping_becomes_a_dict() -> None:
    """Mappings that are no dicts, which JSON does not know, become some."""
    assert as_dict(Tree(Leaf("a"), by_name=MappingProxyType({"b": [Leaf("b")]})))["by_name"] == {  # type: ignore[arg-type]
        "b": [{"name": "b", "score": None}]
    }


@each_row("named", ["raggate/run/0", "raggate/run/10", "raggate/plan/2", 2, None])
def test_another_schema(named: object) -> None:
    """One sentence names both schemas."""
    assert shapes.problem(named, "raggate/run/1") == f"schema is '{named}', and this raggate reads 'raggate/run/1'"


def test_the_same_schema() -> None:
    """A file of the schema has no problem."""
    assert shapes.problem("raggate/run/1", "raggate/run/1") is None
