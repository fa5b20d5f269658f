"""Results as they came -> in the order of a run: by the time they were asked, by mode, and as in the golden set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from raggate.models.golden import Case, places_of
from raggate.models.run import Result


def in_order(cases: Sequence[Case], modes: Iterable[str], results: Sequence[Result]) -> Iterator[tuple[Case, Result]]:
    """Give each result with its case.

    Args:
        cases: the golden set.
        modes: the modes, in their order.
        results: the results, in any order.

    Raises:
        ValueError: for a second answer to a question that was asked once.
    """
    places, numbers = places_of(cases), {mode: number for number, mode in enumerate(modes)}
    known: dict[tuple[int, int, int], Result] = {}
    for result in results:
        question = result.repeat, numbers[result.mode], places[result.case_id]
        if known.setdefault(question, result) is not result:
            raise ValueError(f"two answers to {result.case_id} in mode {result.mode}")
    for question in sorted(known):
        yield cases[question[2]], known[question]
