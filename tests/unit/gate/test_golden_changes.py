"""How a golden set differs from the one that a baseline was measured on."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

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


MODES = ("bm25", "hybrid")
SIDE = st.dictionaries(
    st.sampled_from(("a", "b", "c", "d")), st.tuples(st.sampled_from(("x", "y")), st.sampled_from((None, *MODES)))
)


@given(SIDE, SIDE, st.permutations(("a", "b", "c", "d")))
def test_in_several_modes_it_is_the_difference_of_sets(
    before: dict[str, Any], now: dict[str, Any], order: list[str]
) -> None:
    """In any order, a case that one side lacks in a mode is named with it, and one that it lacks at all by its id."""

    def pairs(side: dict[str, Any]) -> set[tuple[str, str]]:
        return {(name, mode) for name, (_, only) in side.items() for mode in MODES if only in (None, mode)}

    def named(pairs: set[tuple[str, str]]) -> set[str]:
        return {f"{name} ({mode})" for name, mode in pairs if name in before and name in now}

    old = [make_case_score(name, mode=mode, hash=before[name][0]) for name, mode in sorted(pairs(before))]
    new = [make_case_score(name, mode=mode, hash=now[name][0]) for name, mode in sorted(pairs(now))]
    # both sides know the modes, whoever is asked in them
    other = [make_case_score("z", mode=mode, hash="z") for mode in MODES]
    golden = [
        make_case(name, hash=now[name][0], modes=None if now[name][1] is None else (now[name][1],))
        for name in order
        if name in now
    ]
    baseline = make_baseline(make_scorecard(*other, *old))
    run = make_run(golden=make_golden(*golden, make_case("z", hash="z")))
    changes = golden_changes(run, make_scorecard(*other, *new), baseline, refiled=(), released=())
    assert set(changes.added) == now.keys() - before.keys() | named(pairs(now) - pairs(before))
    assert set(changes.removed) == before.keys() - now.keys() | named(pairs(before) - pairs(now))
    assert set(changes.relabelled) == {name for name in before.keys() & now.keys() if before[name][0] != now[name][0]}
