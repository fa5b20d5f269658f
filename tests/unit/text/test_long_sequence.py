"""Sequences that are too long for memory: what they give is what was put in, wherever it lies."""

from __future__ import annotations

import errno
import marshal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.text import long_sequence
from raggate.text.long_sequence import LongSequence, Packing
from tables import each_row

PAIRS: Packing[tuple[str, int]] = Packing(
    marshal.dumps,
    marshal.loads,
)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep three items in memory, write ten bytes at once and read twenty."""
    monkeypatch.setattr(long_sequence, "FEW", 3)
    monkeypatch.setattr(long_sequence, "_WINDOW", 20)
    monkeypatch.setattr(long_sequence, "_PIECE", 10)


def pairs(count: int) -> list[tuple[str, int]]:
    """Give items of several lengths."""
    return [("é" * (number % 7), number) for number in range(count)]


@each_row("count", [0, 1, 3, 4, 20, 33, 40])
def test_gives_what_was_put_in(count: int) -> None:
    """Few or many, items come back equal and in order, one by one and by position, from either end."""
    sequence = LongSequence(PAIRS, pairs(count))
    assert (list(sequence), len(sequence)) == (pairs(count), count)
    assert [sequence[place] for place in range(-count, count)] == pairs(count) * 2
    assert sequence == pairs(count)
    assert sequence != pairs(count + 1)
    with pytest.raises(IndexError):
        sequence[count]


@given(st.lists(st.integers(0, 19), max_size=30), st.slices(20))
def test_views(places: list[int], part: slice) -> None:
    """A choice of positions, in any order and repeated, and a slice give those items, and so do slices of these."""
    items = pairs(20)
    sequence = LongSequence(PAIRS, items)
    chosen = sequence.chosen(places)
    assert list(chosen) == [items[place] for place in places]
    assert tuple(items[place] for place in places) == chosen
    assert list(sequence[part]) == items[part]
    assert list(chosen[::-2]) == [items[place] for place in places][::-2]


def test_reading_and_adding_alternate() -> None:
    """What was added is there at once, also what is not on disk yet."""
    sequence = LongSequence(PAIRS)
    for place, item in enumerate(pairs(40)):
        sequence.append(item)
        assert (sequence[place], sequence[place // 2]) == (item, pairs(40)[place // 2])


def test_few_items_touch_no_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as stay in memory are the very items, and no file is opened."""
    monkeypatch.setattr(long_sequence.tempfile, "TemporaryFile", None)
    items = pairs(3)
    sequence = LongSequence(PAIRS, items)
    assert all(own is item for own, item in zip(sequence, items, strict=True))
    assert sequence[:] == tuple(items)


def test_of_many_items_none_stays_in_memory() -> None:
    """The first items leave memory once there are many times as many."""
    items = pairs(33)
    sequence = LongSequence(PAIRS, items[:32])
    assert [own is item for own, item in zip(sequence, items, strict=False)][:4] == [True, True, True, False]
    sequence.append(items[32])
    assert not any(own is item for own, item in zip(sequence, items, strict=True))


def test_none_stays_in_memory_from_when_none_shall() -> None:
    """What is added after that is on disk however few there are, and what was there before stays where it is."""
    items = pairs(40)
    sequence = LongSequence(PAIRS, items[:1])
    sequence.keep_no_more()
    sequence.extend(items[1:2])
    assert [own is item for own, item in zip(sequence, items, strict=False)] == [True, False]
    sequence.extend(items[2:])
    assert sequence == items
    assert long_sequence.on_disk(PAIRS, items[:1])[0] is not items[0]


def test_a_full_disk_names_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk without space is an error that names the directory of temporary files."""

    class Full:
        def close(self) -> None:
            pass

        def fileno(self) -> int:
            raise AssertionError

        def write(self, _data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    def files(**_: Any) -> Full:
        return Full()

    monkeypatch.setattr(long_sequence.tempfile, "TemporaryFile", files)
    monkeypatch.setattr(long_sequence.tempfile, "gettempdir", lambda: "/there")
    with pytest.raises(OSError, match="No space left") as error:
        LongSequence(PAIRS, pairs(20))
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, "/there")


def test_those_that_are_kept() -> None:
    """Items are chosen by what they are, again of those that were chosen, and stand in their order."""
    items = LongSequence(PAIRS, pairs(9))
    odd = long_sequence.those(items, lambda item: item[1] % 2)
    assert odd == [item for item in pairs(9) if item[1] % 2]
    assert long_sequence.those(odd, lambda item: item[1] > 4) == [item for item in pairs(9) if item[1] in {5, 7}]


def test_items_that_are_made_on_the_way_are_taken_one_by_one() -> None:
    """A sequence begins with whatever gives items."""

    def items() -> Iterator[tuple[str, int]]:
        yield from pairs(9)

    assert LongSequence(PAIRS, items()) == pairs(9)
