"""Nouns as values: what is made of them is a noun like any other."""

from __future__ import annotations

import pytest
from msgspec import Struct
from msgspec.structs import replace

from raggate.models.noun_packing import Noun


class Pair(Struct, frozen=True):
    """Two values, one of which may be left out."""

    left: str
    right: int = 0


def test_what_is_made_is_the_noun_itself() -> None:
    """One that is made of its values is equal to it, of its class, frozen, and can be replaced and hashed."""
    pair, noun = Pair(left="a", right=1), Noun(Pair)
    made = noun.made(noun.values(pair))
    assert made == pair
    assert type(made) is Pair
    assert hash(made) == hash(pair)
    assert replace(made, right=2) == Pair(left="a", right=2)
    with pytest.raises(AttributeError):
        made.left = "b"  # type: ignore[misc]


def test_a_field_too_few_is_none() -> None:
    """Values of another number of fields make no noun."""
    with pytest.raises(TypeError):
        Noun(Pair).made(("a",))
