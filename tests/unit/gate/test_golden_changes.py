"""How a golden set differs from the one that a baseline was measured on."""

from __future__ import annotations

from builders import make_baseline, make_case, make_case_score, make_golden, make_run, make_scorecard
from raggate.gate.golden_changes import golden_changes
from raggate.models.comparison import GoldenChanges


def test_each_change_has_its_name() -> None:
    """What only one side has was added or removed, what asks otherwise was relabelled; other filing is passed on."""
    golden = make_golden(make_case("kept"), make_case("new"), make_case("other"))
    kept = make_case_score("kept", hash=make_case("kept").hash)
    card = make_scorecard(kept, make_case_score("gone"), make_case_score("other", hash="before"))
    changes = golden_changes(make_run(golden=golden), card, make_baseline(card), refiled={"b", "a"}, released=["kept"])
    assert changes == GoldenChanges(
        added=("new",), removed=("gone",), relabelled=("other",), refiled=("a", "b"), released=("kept",)
    )
