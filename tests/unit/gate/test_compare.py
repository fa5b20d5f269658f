"""Comparing: deltas over the same cases only, what moved, and what else is not the same on both sides."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_golden,
    make_labelled,
    make_metric,
    make_result,
    make_run,
    make_scorecard,
)
from raggate.gate.compare import compare
from raggate.models.comparison import Comparison, Delta, GoldenChanges
from raggate.models.golden import Case
from raggate.models.scorecard import OVERALL, Scorecard
from tables import each_row


def compared(before: Scorecard, now: Scorecard, *, golden: tuple[Case, ...] | None = None, **rest: Any) -> Comparison:
    """Compare two scorecards; the run behind the second asked just its cases, each in the modes it has there."""
    modes = {name: tuple(case.mode for case in now.cases if case.case_id == name) for name in _ids(now)}
    cases = {case.case_id: make_case(case.case_id, hash=case.hash, modes=modes[case.case_id]) for case in now.cases}
    results = (make_labelled(cases[case.case_id], make_result(case.case_id, mode=case.mode)) for case in now.cases)
    run = make_run(*results, golden=make_golden(*(cases.values() if golden is None else golden)))
    return compare(run, now, make_baseline(before), **rest)


def _ids(scorecard: Scorecard) -> set[str]:
    return {case.case_id for case in scorecard.cases}


def delta(comparison: Comparison, metric: str = "hit_at_5", name: str = OVERALL, mode: str = "hybrid") -> Delta:
    (row,) = [row for row in comparison.deltas if (row.metric, row.slice, row.mode) == (metric, name, mode)]
    return row


def scores(*values: float | None, metric: str = "hit_at_5", **fields: Any) -> Scorecard:
    return make_scorecard(
        *(make_case_score(f"q{number}", {metric: value}, **fields) for number, value in enumerate(values))
    )


def test_mean_over_the_same_cases() -> None:
    """Means are taken over the cases whose hash is the same on both sides, and over no others."""
    before = make_scorecard(
        make_case_score("same", {"hit_at_5": 1.0}),
        make_case_score("relabelled", {"hit_at_5": 0.0}, hash="old"),
        make_case_score("removed", {"hit_at_5": 0.0}),
    )
    now = make_scorecard(
        make_case_score("same", {"hit_at_5": 0.5}),
        make_case_score("relabelled", {"hit_at_5": 1.0}, hash="new"),
        make_case_score("added", {"hit_at_5": 1.0}),
    )
    comparison = compared(before, now)
    row = delta(comparison)
    assert (row.baseline.value, row.current.value, row.delta) == (1.0, 0.5, -0.5)
    assert (row.baseline.n, row.current.n, comparison.compared) == (1, 1, 1)
    assert comparison.golden == GoldenChanges(added=("added",), removed=("removed",), relabelled=("relabelled",))


def test_own_value_over_all_cases() -> None:
    """A row of all cases tells the run's own value but for waived cases, where that is over more than were compared."""
    now = scores(1.0, 0.0, 0.0, 0.0)
    comparison = compared(scores(1.0), now, waived=frozenset({("hybrid", "q3")}))
    row = delta(comparison)
    assert (row.current, row.full_run, row.run_value) == (make_metric(1.0, 1), make_metric(1 / 3, 3), row.full_run)
    same = delta(compared(scores(1.0, 0.0), scores(1.0, 0.0)))
    assert (same.full_run, same.run_value) == (None, same.current)


def test_slices_are_those_of_the_run() -> None:
    """Which slice a case is in is up to the golden set of the run, whatever the baseline says."""
    before = make_scorecard(
        make_case_score("q0", {"hit_at_5": 1.0}, slices=()), make_case_score("q1", {"hit_at_5": 0.0})
    )
    now = make_scorecard(
        make_case_score("q0", {"hit_at_5": 0.0}, slices=(OVERALL, "tag=x")), make_case_score("q1", {"hit_at_5": 0.0})
    )
    row = delta(compared(before, now), name="tag=x")
    assert (row.baseline.value, row.current.value, row.baseline.n) == (1.0, 0.0, 1)


@each_row("paired", [True, False])
@each_row(
    ("fields", "mode", "name"),
    [
        pytest.param({"mode": "bm25"}, "bm25", OVERALL, id="mode"),
        pytest.param({"slices": (OVERALL, "tag=x")}, "hybrid", "tag=x", id="slice"),
    ],
)
def test_mode_or_slice_that_vanished(fields: dict[str, Any], mode: str, name: str, paired: bool) -> None:
    """A mode or slice that is gone keeps a row with what the baseline measured and with no case now."""
    gone = make_case_score("q9", {"hit_at_5": 0.25}, **fields)
    before = make_scorecard(make_case_score(), gone)
    stored = before if paired else replace(before, cases=())
    row = delta(compared(stored, make_scorecard(make_case_score())), mode=mode, name=name)
    assert (row.baseline, row.current, row.delta) == (make_metric(0.25, 1), make_metric(None, 0), None)
    assert not row.binary


def test_refiled_and_released_cases() -> None:
    """A case in other slices, in whatever order, is refiled, and one that need not pass any more is released."""
    slices = {"q1": (OVERALL, "tag=x"), "q2": (OVERALL, "tag=x", "tag=y")}
    before = make_scorecard(*(make_case_score(name, slices=names) for name, names in slices.items()))
    now = make_scorecard(
        make_case_score("q1", slices=(OVERALL, "tag=y")), make_case_score("q2", slices=("tag=y", "tag=x", OVERALL))
    )
    assert compared(before, now).golden == GoldenChanges(refiled=("q1",))
    must, free = (make_scorecard(make_case_score(must_pass=is_must)) for is_must in (True, False))
    assert compared(must, free).golden == GoldenChanges(released=("q1",))
    assert compared(free, must).golden == GoldenChanges()


def test_cases_that_were_not_asked() -> None:
    """Cases of the golden set that a run that was cut short did not come to are neither removed nor relabelled."""
    golden = tuple(make_case(name, hash=f"hash-{name}") for name in ("q1", "q2", "q3"))
    before = make_scorecard(make_case_score("q1"), make_case_score("q2"))
    comparison = compared(before, make_scorecard(make_case_score("q1")), golden=golden)
    assert comparison.golden == GoldenChanges(added=("q3",))
    assert comparison.compared == 1


class TestBareMetricsFile:
    """A baseline without single cases, as other tools write it."""

    BEFORE = replace(scores(1.0, 1.0), cases=(), fingerprint={})

    def test_means_are_compared_as_they_are(self) -> None:
        """Without cases the stored mean is held against the mean of all cases now, and nothing is paired."""
        comparison = compared(self.BEFORE, scores(1.0, 0.0))
        row = delta(comparison)
        assert (row.baseline, row.current, row.delta) == (make_metric(1.0, 2), make_metric(0.5, 2), -0.5)
        assert (row.regressed, row.improved, row.binary, comparison.compared) == (None, None, False, 0)

    def test_metric_only_the_file_has(self) -> None:
        """A metric the run does not have keeps a row, so that it cannot vanish unseen."""
        row = delta(compared(replace(scores(1.0, metric="old"), cases=()), scores(1.0)), "old")
        assert (row.baseline.value, row.current.value, row.current.n) == (1.0, None, 0)


NOTES = {"v/same.md": "1", "v/changed.md": "1", "v/removed.md": "1"}
NEW_NOTES = {"v/same.md": "1", "v/changed.md": "2", "v/added.md": "1"}


@each_row(
    ("before", "now", "changes"),
    [
        pytest.param(NOTES, NEW_NOTES, ("added v/added.md", "changed v/changed.md", "removed v/removed.md"), id="all"),
        pytest.param(None, NOTES, (), id="not-known-before"),
        pytest.param(NOTES, "damaged", (), id="not-a-mapping"),
    ],
)
def test_vault_changes(before: Any, now: Any, changes: tuple[str, ...]) -> None:
    """Notes that were added, removed or changed since the baseline are named."""
    comparison = compared(
        replace(scores(1.0), fingerprint={"notes": before}), replace(scores(1.0), fingerprint={"notes": now})
    )
    assert tuple(map(str, comparison.vault_changes)) == changes


def test_config_changes() -> None:
    """Settings that differ are listed with both values, but not what is told elsewhere."""
    before = {"k": 5, "old": 1, "same": "x", "golden": "a", "vault": "a", "notes": {}, "chunks": 7, "probes": 4}
    now = {"k": 10, "new": None, "same": "x", "golden": "b", "vault": "b", "notes": {"v/a.md": "1"}, "chunks": 8}
    now |= {"probes": 37, "empty_documents": 0}
    comparison = compared(replace(scores(1.0), fingerprint=before), replace(scores(1.0), fingerprint=now))
    assert comparison.config_changes == (("k", "5", "10"), ("old", "1", "not known"))


def test_incomparable() -> None:
    """What must not be compared, or a baseline that is itself unfit, gives no rows, only why."""
    before, now = scores(1.0), scores(0.0)
    told = compared(before, now, incomparable=("other suite",))
    assert (told.deltas, told.incomparable) == ((), ("other suite",))
    unfit = compare(make_run(), now, make_baseline(before, unfit=("run x did not finish",)))
    assert (unfit.deltas, unfit.incomparable) == ((), ("run x did not finish",))


def test_flips_come_from_the_same_cases() -> None:
    """A question flips when its rank leaves the cut-off, and only if the case is the same on both sides."""
    before = make_scorecard(make_case_score("q1", rank=1), make_case_score("q2", rank=1, hash="old"))
    now = make_scorecard(make_case_score("q1", rank=6), make_case_score("q2", rank=6))
    assert [(flip.case_id, flip.kind) for flip in compared(before, now).flips] == [("q1", "broke")]


VALUE = st.one_of(st.none(), st.floats(0, 1))


@st.composite
def scorecards(draw: st.DrawFn) -> Scorecard:
    found = []
    for mode in ("bm25", "hybrid"):
        for number in range(3):
            values = {"hit_at_5": draw(VALUE), "wrong_rate": draw(VALUE)}
            slices = (OVERALL, f"tag={number % 2}")
            rank = draw(st.one_of(st.none(), st.integers(1, 10)))
            found.append(make_case_score(f"q{number}", values, mode=mode, slices=slices, rank=rank))
    return make_scorecard(*found)


def place(row: Delta) -> tuple[str, str, str]:
    return row.mode, row.slice, row.metric


@given(scorecards(), scorecards())
def test_swapping_the_sides(one: Scorecard, other: Scorecard) -> None:
    """Swapping the sides negates every delta, swaps lost with gained and turns broke into fixed."""
    forth, back = compared(one, other), compared(other, one)
    for row, mirror in zip(sorted(forth.deltas, key=place), sorted(back.deltas, key=place), strict=True):
        assert place(row) == place(mirror)
        assert (row.regressed, row.improved) == (mirror.improved, mirror.regressed)
        assert (row.delta is None) == (mirror.delta is None)
        assert row.delta is None or row.delta == -(mirror.delta or 0.0)
    swap = {"broke": "fixed", "fixed": "broke"}
    assert {(flip.case_id, flip.mode, flip.kind) for flip in forth.flips} == {
        (flip.case_id, flip.mode, swap[flip.kind]) for flip in back.flips
    }
