"""Who is struck by a fault: always the same ones, exactly so many, and more of them by a larger fault."""

from __future__ import annotations

from hypothesis import given, strategies as st

from raggate.prove.lots import lot, shuffled, struck

KEYS = [f"case-{number}" for number in range(40)]


def test_a_share_is_exact_and_at_least_one() -> None:
    """Of 40 questions 5% are 2, 10% are 4 and 1% is 1; no share is none, and of nothing there is none."""
    assert [len(struck(KEYS, share, "fault")) for share in (0.05, 0.1, 0.01, 0.0, 1.0)] == [2, 4, 1, 0, 40]
    assert struck([], 0.5, "fault") == frozenset()


def test_the_same_are_struck_in_every_run() -> None:
    """The draw is a hash of fault and name: it is the same whatever the order, and another for another fault."""
    assert struck(KEYS, 0.1, "a") == struck(KEYS[::-1], 0.1, "a") == struck(KEYS * 2, 0.1, "a")
    assert struck(KEYS, 0.1, "a") != struck(KEYS, 0.1, "b")
    # sha256 of the bytes 61 00 62, computed by another program
    assert lot("a", "b").hex().startswith("59b271ae1bbcb1d3")


@given(st.sets(st.text(), min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_fault_strikes_all_that_a_smaller_one_does(keys: set[str], one: float, other: float) -> None:
    """Sizes of one fault are nested, whatever the names are, lone surrogates included."""
    smaller, larger = sorted((one, other))
    assert struck(keys, smaller, "fault") <= struck(keys, larger, "fault") <= keys


@given(st.lists(st.integers()), st.text())
def test_shuffling_keeps_everything(items: list[int], question: str) -> None:
    """A shuffled list holds the same things, and the same shuffle gives the same order."""
    order = shuffled(items, "fault", question)
    assert sorted(order) == sorted(items)
    assert order == shuffled(items, "fault", question)
