"""Invariants in reports: each by its name, with what to do about it."""

from __future__ import annotations

from raggate.config.invariant_settings import Invariants
from raggate.models.comparison import Finding
from raggate.reports.parts import invariants
from tables import each_row


def finding(name: str, level: str = "error", **fields: object) -> Finding:
    """Build one."""
    shared = {"message": "It holds.", "count": 1, "examples": ("q1",), **fields}
    return Finding(invariant=name, level=level, **shared)  # type: ignore[arg-type]


def test_there_is_advice_for_each() -> None:
    """Every rule that can be configured has advice, and no other."""
    assert set(invariants.REPAIRS) == set(Invariants.model_fields)


@each_row(("level", "key"), [("error", "warn"), ("warn", "off")])
def test_what_to_do(level: str, key: str) -> None:
    """The advice ends with the key that lets the rule pass, one level lower."""
    text = invariants.repair(finding("scores_ordered", level))
    assert text.startswith("Sort by the final score")
    assert text.endswith(f"set `invariants.scores_ordered: {key}`.")


def test_what_could_not_be_checked() -> None:
    """A rule that could not be checked is not called broken, and nobody is told to repair the ranking."""
    unseen = finding("private_withheld", unseen=True, count=2)
    assert invariants.kind(unseen) == "error, could not be checked, twice"
    assert invariants.repair(unseen).startswith("Let the API return what the rule needs; ")
