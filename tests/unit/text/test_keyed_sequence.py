"""Long sequences of items that have names: a name leads to its item, wherever that lies."""

from __future__ import annotations

import marshal

import pytest
from hypothesis import given, strategies as st

from raggate.text import long_sequence
from raggate.text.keyed_sequence import KeyedSequence
from raggate.text.long_sequence import Packing

PAIRS: Packing[tuple[str, int]] = Packing(marshal.dumps, marshal.loads)


def named(names: list[str]) -> KeyedSequence[tuple[str, int]]:
    """Give a sequence of names with their positions, all but two of it on disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_sequence, "FEW", 2)
        return KeyedSequence(PAIRS, lambda pair: pair[0], [(name, place) for place, name in enumerate(names)])


@given(st.lists(st.sampled_from([str(number) for number in range(90)]), max_size=120))
def test_a_name_leads_to_its_first_item(names: list[str]) -> None:
    """Every name leads to the first item that has it, and any other to none."""
    sequence = named(names)
    assert [name for name, _ in sequence] == names
    for name in (*names, "90"):
        place = names.index(name) if name in names else None
        assert sequence.find(name) == (None if place is None else (place, (name, place)))
        if place is None:
            with pytest.raises(KeyError):
                sequence.named(name)
        else:
            assert sequence.named(name) == (name, place)


def test_names_that_share_a_hash_are_told_apart() -> None:
    """Where two names have one hash, the item says which it is."""

    class Same(str):
        __slots__ = ()

        def __hash__(self) -> int:
            return 7

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_sequence, "FEW", 0)
        sequence = KeyedSequence(PAIRS, lambda pair: Same(pair[0]), [("a", 0), ("b", 1), ("c", 2)])
    assert [sequence.find(Same(name)) for name in "cbad"] == [(2, ("c", 2)), (1, ("b", 1)), (0, ("a", 0)), None]
