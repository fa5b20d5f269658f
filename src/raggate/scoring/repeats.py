"""Questions asked several times: which, whether the API ranked the same each time, and by how much not. Pure."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Annotated, Any, Self

from msgspec import Meta, Struct, field
from msgspec.structs import replace

from raggate.base.jsonio import as_dict
from raggate.base.numbers import lot
from raggate.models.metric_names import HIT, at_depth
from raggate.models.run import LabelledResult, Result, Run
from raggate.models.scorecard import CaseScore
from raggate.scoring.metrics.ranking import first_hit, labelled, ranking
from raggate.scoring.noise import Bands, Noise, Whole, read, stored_bands
from raggate.scoring.rank_overlap import rank_biased_overlap

KEY = "repeated"
"""What it is called in the fingerprint of a run, and so in its baseline."""
TIMES_KEY = "repeat"
"""What a fingerprint calls how often every question was asked, where that is more than once."""
EACH_MODE = " (counted in each mode)"
"""Follows a number of questions if one of them has several modes."""
MAX_TIMES = 20
"""How often a question can be asked at most."""
_KEPT_NAMES = 100
_HIT_NAME = f"^{at_depth(HIT, 0)[:-1]}[0-9]{{1,4}}$"


class Repeated(Struct, frozen=True, kw_only=True):
    """How the questions came out that were asked several times.

    Attributes:
        asked: how many were asked again.
        failed: how many of them were answered less than twice.
        differ: how many of the others came back with another ranking at least once.
        questions: those, as `case (mode)`; the first hundred.
        times: how often each was asked.
        modes: in how many modes these are; a question that is in several of them is counted in each.
        overlap: mean rank-biased overlap, 0 to 1, of the first ranking and the later ones of those that differ; None
            where none does.
        flips: for each `hit_at_k`, how many were a hit in one ranking and none in another.
        bands: how far the values of a sample moved, where any of it differs; of a run whose questions were all asked
            several times its noise tells that.
    """

    asked: Annotated[int, Meta(ge=1)]
    failed: Whole
    differ: Whole
    questions: tuple[str, ...] = ()
    times: Annotated[int, Meta(ge=2, le=MAX_TIMES)] = 2
    modes: Annotated[int, Meta(ge=1)] = 1
    overlap: Annotated[float, Meta(ge=0, le=1)] | None = None
    flips: Mapping[Annotated[str, Meta(pattern=_HIT_NAME)], Whole] = field(default_factory=dict)
    bands: Bands = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.failed + self.differ > self.asked or max((len(self.questions), *self.flips.values())) > self.differ:
            raise ValueError("counts that contradict each other")

    @property
    def counting(self) -> str:
        """That questions are counted in each mode, with a space before; empty where there is one mode."""
        return EACH_MODE if self.modes > 1 else ""

    @property
    def compared(self) -> int:
        """How many were answered at least twice."""
        return self.asked - self.failed

    @classmethod
    def of(cls, fingerprint: Any) -> Self | None:
        """Read it from a fingerprint, which may come from anywhere; None when it holds none that can be."""
        return read(fingerprint, KEY, cls)

    def stored(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        stored = {**as_dict(self), "questions": list(self.questions[:_KEPT_NAMES])}
        del stored["bands"]
        if self.modes == 1:
            del stored["modes"]
        return {**stored, "bands": stored_bands(self.bands)} if self.bands else stored


def noisy(fingerprint: Mapping[str, Any]) -> bool:
    """Return whether a fingerprint tells of a question that was answered otherwise when it was asked again."""
    repeated, measured = Repeated.of(fingerprint), Noise.of(fingerprint)
    return (repeated is not None and repeated.differ > 0) or (measured is not None and measured.moves)


def times_asked(fingerprint: Mapping[str, Any]) -> int:
    """Return how often every question of a run was to be asked, by its fingerprint; once where it does not say."""
    times = fingerprint.get(TIMES_KEY)
    return times if type(times) is int and 1 <= times <= MAX_TIMES else 1


def sample(results: Iterable[Result], size: int) -> tuple[Result, ...]:
    """Choose results to ask for again: the same ones in every run, and most of them when the golden set grows."""
    answered = (result for result in results if result.response is not None)
    return tuple(nsmallest(size, answered, key=lambda result: lot(result.mode, result.case_id)))


def compare(groups: Iterable[Sequence[LabelledResult]], cutoffs: Iterable[int]) -> Repeated | None:
    """Compare all answers to each question with its first."""
    asked = failed = times = 0
    names: list[str] = []
    modes: set[str] = set()
    overlaps = array("d")
    flips = dict.fromkeys(cutoffs, 0)
    for group in groups:
        if len(group) < 2:
            continue
        asked, times = asked + 1, max(times, len(group))
        modes.add(group[0].result.mode)
        answered = [item for item in group if item.result.response is not None]
        failed += len(answered) < 2
        if all(_same(answered[0], item) for item in answered[1:]):
            continue
        names.append(f"{answered[0].case.id} ({answered[0].result.mode})")
        overlaps.extend(_overlap(answered[0], item) for item in answered[1:])
        for k in flips:
            flips[k] += len({_hit(item, k) for item in answered}) > 1
    if not asked:
        return None
    return Repeated(
        asked=asked,
        failed=failed,
        differ=len(names),
        questions=tuple(names),
        times=times,
        modes=len(modes),
        overlap=sum(overlaps) / len(overlaps) if overlaps else None,
        flips={at_depth(HIT, k): count for k, count in flips.items()},
    )


def noted(run: Run) -> Run:
    """Note in the fingerprint of a run how its questions came out that were asked several times, by its answers."""
    if not run.repeats:
        return run
    repeated = compare(groups(run), run.config.score.k)
    return run if repeated is None else replace(run, fingerprint={**run.fingerprint, KEY: repeated.stored()})


def groups(run: Run) -> Iterator[Sequence[LabelledResult]]:
    """Yield the answers to one question after the other, the first first."""
    yield from answers_by_question(run).values()


def answers_by_question(run: Run) -> dict[tuple[str, str], list[LabelledResult]]:
    """Return all answers by mode and case id, the first first."""
    by_question: dict[tuple[str, str], list[LabelledResult]] = {}
    for item in run.answers:
        by_question.setdefault((item.result.mode, item.case.id), []).append(item)
    return by_question


def averaged(first: CaseScore, again: Sequence[CaseScore]) -> CaseScore:
    """Return a question that was asked several times the mean of each metric over the answers it applies to.

    Ranks and failure stay those of the first answer, which is the one that reports show. One that must pass keeps the
    scores of each: it must pass every time.
    """
    if not again:
        return first
    values: dict[str, float | None] = {}
    for name in first.values:
        known = [value for score in (first, *again) if (value := score.values.get(name)) is not None]
        values[name] = sum(known) / len(known) if known else None
    return replace(first, values=values, answers=(first, *again) if first.must_pass else ())


def _ids(item: LabelledResult) -> list[Hashable]:
    return [chunk.chunk_id for chunk in item.result.chunks]


def _contents(item: LabelledResult) -> list[Hashable]:
    return [chunk.content for chunk in item.result.chunks]


def _same(first: LabelledResult, second: LabelledResult) -> bool:
    """Return whether two lists are one ranking, by their ids or, where an API makes ids up anew, by what they are."""
    return _ids(first) == _ids(second) or _contents(first) == _contents(second)


def _overlap(first: LabelledResult, second: LabelledResult) -> float:
    return max(rank_biased_overlap(_ranks(name(first)), _ranks(name(second))) for name in (_ids, _contents))


def _ranks(items: Sequence[Hashable]) -> list[list[Hashable]]:
    # what stands in a list again, further down, has no rank
    return [[item] for item in dict.fromkeys(items)]


def _hit(item: LabelledResult, k: int) -> bool:
    rank = first_hit(ranking(item)) if labelled(item.case) else None
    return rank is not None and rank <= k
