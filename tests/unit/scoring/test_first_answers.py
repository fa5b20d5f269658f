"""Single answers of a run: the right ones, and of a run on disk no others are made again."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from builders import make_case, make_case_score, make_labelled, make_result, make_run
from raggate.models.run import LabelledResult
from raggate.models.scorecard import CaseScore
from raggate.scoring.first_answers import first_answers
from tables import each_row

NAMES = ("q1", "q2", "q3")
ITEMS = tuple(make_labelled(make_case(name), make_result(name)) for name in NAMES)
SCORES = tuple(map(make_case_score, NAMES))


class Looked(tuple[LabelledResult, ...]):
    """Results that keep which of them somebody looked at."""

    def __getitem__(self, place: int) -> LabelledResult:  # type: ignore[override]
        places.append(place)
        return super().__getitem__(place)


places: list[int] = []


@each_row(
    "scores",
    [SCORES, SCORES[::-1], SCORES[1:], ()],
    ids=["in the order of the run", "in another order", "of fewer questions", "without scores"],
)
def test_gives_those_that_are_wanted(scores: tuple[object, ...]) -> None:
    """Whatever the scores say of where answers stand, the wanted ones come, each once, and no others."""
    wanted = {("hybrid", "q1"), ("hybrid", "q3"), ("bm25", "q2")}
    assert sorted(item.case.id for item in first_answers(make_run(*ITEMS), wanted, scores)) == ["q1", "q3"]  # type: ignore[arg-type]


def test_looks_at_no_others() -> None:
    """Where scores and results stand in one order, only what is wanted is looked at."""
    places.clear()
    run = replace(make_run(*ITEMS), results=Looked(ITEMS))
    scores = iter(SCORES)

    class Passing(tuple[CaseScore, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[CaseScore]:
            return scores

    assert [*first_answers(run, {("hybrid", "q2")}, Passing(SCORES))] == [ITEMS[1]]
    assert places == [1]
    # and no score after the last that is wanted
    assert [*scores] == [SCORES[2]]
