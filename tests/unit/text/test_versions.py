"""Whether an older raggate or a newer one wrote a file, by the schema that the file names."""

from __future__ import annotations

from raggate.text import versions
from tables import each_row


@each_row(
    ("named", "words"),
    [
        ("raggate/run/2", None),
        ("raggate/run/1", "written by an older raggate: schema is 'raggate/run/1', and this one reads"),
        ("raggate/run/10", "written by a newer raggate: schema is 'raggate/run/10'"),
        ("raggate/plan/1", "schema is 'raggate/plan/1', expected 'raggate/run/2'"),
        ("raggate/run/x", "schema is 'raggate/run/x', expected 'raggate/run/2'"),
        ("raggate/run/²", "schema is 'raggate/run/²', expected 'raggate/run/2'"),
        (f"raggate/run/{'9' * 5000}", "…', expected 'raggate/run/2'"),
        (2, "schema is '2', expected 'raggate/run/2'"),
        (None, "schema is 'None', expected 'raggate/run/2'"),
    ],
)
def test_problem(named: object, words: str | None) -> None:
    """Only the same kind of file with another number is of another raggate."""
    told = versions.problem(named, "raggate/run/2")
    assert told is words if words is None else told is not None and words in told
