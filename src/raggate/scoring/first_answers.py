"""Single questions of a run: answers are looked up by where their scores stand, not by going through all. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import CaseScore


def first_answers(
    run: Run, wanted: Collection[tuple[str, str]], scores: Sequence[CaseScore]
) -> Iterator[LabelledResult]:
    """Yield the first answers to some questions of a run.

    Args:
        wanted: mode and case id of the questions.
        scores: those of the run, mostly in the order of its results. What does not stand there is looked for in all.
    """
    left = set(wanted)
    for place, score in enumerate(scores if left and len(scores) == len(run.results) else ()):
        if (score.mode, score.case_id) in left and _key(item := run.results[place]) == (score.mode, score.case_id):
            left.discard(_key(item))
            yield item
            if not left:
                return
    yield from (item for item in (run.results if left else ()) if _key(item) in left)


def _key(item: LabelledResult) -> tuple[str, str]:
    return item.result.mode, item.case.id
