"""How to reproduce a verdict: all of it, and what broke alone, where a command really asks for that."""

from __future__ import annotations

from msgspec.structs import replace

from raggate.models.verdict import Review
from raggate.reports.parts.footer import broken_alone, reproduce
from reviews import reproduced_by, review
from tables import each_row


def with_ids(name: str, *ids: str) -> Review:
    """Give a review whose first questions that broke have these ids, and no others."""
    ordinary = review(name)
    broke = [flip for flip in ordinary.comparison.flips if flip.kind == "broke"]
    flips = tuple(replace(broke[0], case_id=case) for case in ids)
    return replace(ordinary, comparison=replace(ordinary.comparison, flips=flips), fallen=())


def test_what_broke_alone() -> None:
    """A regression names every question that counts against it, once and quoted, in a command of its own."""
    given = reproduced_by(with_ids("regression", "q 1", "q2", "q2"), "raggate check --suite notes")
    text = reproduce(given).variants[0]
    assert text.endswith("```sh\nraggate check --suite notes\nraggate check --suite notes --case 'q 1' --case q2\n```")


@each_row("ids", [(), tuple(map(str, range(21))), ("x" * 700,), ("a\x1b[31mb",), ("a\u202eb",)])
def test_no_command_that_asks_for_something_else(ids: tuple[str, ...]) -> None:
    """None, too many to name, or an id that could not be copied as it is: the whole command stands alone."""
    assert broken_alone(with_ids("regression", *ids)) == ""


@each_row("name", ["pass", "cannot-tell", "first-run"])
def test_only_a_regression_has_one(name: str) -> None:
    """Nothing else is reproduced by asking single questions."""
    assert broken_alone(review(name)) == ""
