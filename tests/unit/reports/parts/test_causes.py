"""What reports say of a question beside its own cause."""

from __future__ import annotations

from builders import make_flip, make_support
from raggate.models.cause import Cause, CauseCode
from raggate.reports.junit import about
from raggate.reports.parts.causes import instead
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
    flip = make_flip(gold=gold, displaced_by=risen, support=make_support("a.md"))
    assert instead(flip) == shown
    assert [line for line in about(flip) if line.startswith("in its place")] == [f"in its place: {shown}"] * bool(shown)


@each_row(
    ("gold", "snippets", "code", "shown"),
    [
        ("a.md › A", ("Take two.",), "not-explained", "another piece of the same section, without the snippet"),
        ("a.md › A (+1 more)", ("Take two.",), "not-listed", "another piece of the same section, without the snippet"),
        ("a.md › A", ("Take two.",), "snippet-gone", ""),
        ("a.md › A", (), "not-explained", ""),
        ("b.md › B", ("Take two.",), "not-explained", "a.md › A"),
    ],
)
def test_another_piece_of_the_expected_section(
    gold: str, snippets: tuple[str, ...], code: CauseCode, shown: str
) -> None:
    """A passage named as the expected one that lacks its snippet is called another piece, unless the cause says it."""
    support = make_support("a.md", snippets=snippets)
    flip = make_flip(gold=gold, displaced_by="a.md › A", support=support, cause=Cause(code=code))
    assert instead(flip) == shown
