"""What reports say of a question beside its own cause."""

from __future__ import annotations

from builders import make_flip
from raggate.reports.parts.causes import instead
from raggate.reports.parts.outcomes import about
from tables import each_row


@each_row(
    ("gold", "risen", "shown"),
    [
        ("a.md › A", "b.md › B", "b.md › B"),
        ("a.md › A", "a.md › A › B", "a.md › A › B"),
        ("a.md › A", "x/a.md › A", "x/a.md › A"),
        ("a.md › A", "a.md › A", ""),
        ("a.md › A (+2 more)", "a.md › A", ""),
        ("a.md › A", None, ""),
    ],
)
def test_what_is_in_the_place_of_a_passage(gold: str, risen: str | None, shown: str) -> None:
    """What took the place of a passage is named unless that repeats what was expected."""
    flip = make_flip(gold=gold, displaced_by=risen)
    assert instead(flip) == shown
    assert [line for line in about(flip) if line.startswith("in its place")] == [f"in its place: {shown}"] * bool(shown)
