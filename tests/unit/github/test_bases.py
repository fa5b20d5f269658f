"""Which base branches are judged, and what their check runs are called."""

from __future__ import annotations

import pytest

from raggate.errors import UsageError
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
    with pytest.raises(UsageError, match=f"goes into '{base}', not into the default branch 'main'") as caught:
        bases.check(base, "main", named)
    assert f"`bases: {base}`" in caught.value.hint
    assert "branches:" in caught.value.hint


def test_a_check_run_is_named_by_its_base() -> None:
    """The default branch has the plain name, every other one a name of its own, and no name stays none."""
    names = [bases.check_name("raggate", base, "main") for base in ("main", "lenient", "")]
    assert names == ["raggate", "raggate (base lenient)", "raggate"]
    assert bases.check_name("", "lenient", "main") == ""


def test_a_check_run_of_a_branch_by_itself_has_a_name_of_its_own() -> None:
    """What a branch says of itself is never taken for what its base says of it; the default branch has no base."""
    names = [bases.check_name("raggate", "", "main", itself=own) for own in ("main", "lenient", "refs/tags/main", "")]
    assert names == ["raggate", "raggate (branch lenient)", "raggate (branch refs/tags/main)", "raggate"]
    assert bases.check_name("raggate", "main", "main", itself="lenient") == "raggate"
    assert bases.check_name("raggate", "", "", itself="main") == "raggate"
