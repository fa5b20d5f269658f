"""Which base branches are judged."""

from __future__ import annotations

import pytest

from raggate.base.errors import UsageError
from raggate.github import bases
from tables import each_row


@each_row(
    ("base", "named"),
    [
        ("main", ""),
        ("lenient", "lenient"),
        ("b", "a, b"),
        ("b", "a b"),
        ("release/1", "release/*"),
        ("release/1/x", "release/**"),
        ("", ""),
    ],
)
def test_bases_that_are_judged(base: str, named: str) -> None:
    """The default branch is always judged, another one where a name or a pattern fits, and what goes nowhere too."""
    bases.check(base, "main", named)


@each_row(
    ("base", "named"),
    [
        ("lenient", ""),
        ("lenient", "len"),
        ("lenient", "Lenient, main"),
        ("release/1/x", "release/*"),
        ("releaseX1", "release.1"),
        ("xmain", "main"),
    ],
)
def test_bases_that_are_refused(base: str, named: str) -> None:
    """Another branch is refused by its name, with the input that would allow it."""
    with pytest.raises(UsageError, match=f"goes into '{base}', which the workflow does not name") as caught:
        bases.check(base, "main", named)
    assert f"`bases: {base}`" in caught.value.hint
    assert "branches:" in caught.value.hint
