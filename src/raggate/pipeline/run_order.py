"""Results as they came -> in the order of a run: by the time they were asked, by mode, and as in the golden set."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

from raggate.models.case_packing import by_id
from raggate.models.golden import Case
from raggate.models.run import Result


def in_order(cases: Sequence[Case], modes: Iterable[str], results: Sequence[Result]) -> Iterator[tuple[Case, Result]]:
    """Give each result with its case. Of very many results, one number each is kept.

    Args:
        cases: the golden set.
        modes: the modes, in their order.
        results: the results, in any order, which are looked at twice.

    Raises:
        ValueError: for a second answer to a question that was asked once.
    """
    known, numbers = by_id(cases), {mode: number for number, mode in enumerate(modes)}
    places = array("i")  # by question and time; -1 where there is no result
    for place, result in enumerate(results):
        case = known.find(result.case_id)
        if case is None:
            raise KeyError(result.case_id)
        question = ((result.repeat - 1) * len(numbers) + numbers[result.mode]) * len(known) + case[0]
        if question >= len(places):
            places.extend(array("i", [-1]) * (question + 1 - len(places)))
        if places[question] >= 0:
            raise ValueError(f"two answers to {result.case_id} in mode {result.mode}")
        places[question] = place
    for question, place in enumerate(places):
        if place >= 0:
            yield known[question % len(known)], results[place]
