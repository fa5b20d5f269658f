"""A stored file of another schema is refused."""

from __future__ import annotations

from raggate.text import versions
from tables import each_row


@each_row("named", ["raggate/run/0", "raggate/run/10", "raggate/plan/2", 2, None])
def test_another_schema(named: object) -> None:
    """One sentence names both schemas."""
    assert versions.problem(named, "raggate/run/1") == f"schema is '{named}', and this raggate reads 'raggate/run/1'"


def test_the_same_schema() -> None:
    """A file of the schema has no problem."""
    assert versions.problem("raggate/run/1", "raggate/run/1") is None
