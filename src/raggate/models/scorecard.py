"""The nouns of a scored run: values per case, means per slice, operations. Frozen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

from raggate.base.jsonio import JsonObject
from raggate.models.provenance import Fingerprint

Values = Mapping[str, float | None]
"""The values of one question by metric, in their order; None for a metric that does not apply."""

Direction = Literal["higher", "lower"]
"""Which way is better. Every metric has one."""


EPSILON = 1e-9
"""A boundary is crossed only beyond this, so that sums of floats cannot decide."""
OVERALL = "overall"
"""The slice of all cases. The others are written `<dimension>=<value>`, such as `difficulty=hard`."""
UNANSWERABLE = "answerable=false"
"""The slice of the cases that no note answers."""
Key = tuple[str, str]
"""Mode and case id."""


def oriented(direction: Direction, value: float) -> float:
    """Return a value, or a change of one, on a scale on which more is better."""
    return value if direction == "higher" else -value


def improvement(direction: Direction, before: float, after: float) -> float:
    """Return by how much a value got better from `before` to `after`; negative if it got worse."""
    return oriented(direction, after - before)


def mostly(value: float | None) -> bool:
    """Return whether something held of a question; of one that was asked several times, in more than half of them."""
    return value is not None and value > 1 / 2


class MetricValue(Struct, frozen=True, kw_only=True):
    """A mean over the cases it applies to. `value` is None when it applies to none; `unscored` counts the rest."""

    value: float | None
    n: int
    unscored: int
    direction: Direction

    def without_cases(self) -> MetricValue:
        """Return the same metric over no case at all."""
        return MetricValue(value=None, n=0, unscored=0, direction=self.direction)


class ListEntry(Struct, frozen=True, gc=False):
    """One place of a retrieved list without its text: short hashes, and scores.

    The hashes are of its note's path, its chunk's id and its heading path. A hash is empty, and a score None, if the
    API does not tell it. `supports` are the gold supports it matches.
    """

    note: str
    chunk: str
    final: float | None = None
    vector: float | None = None
    lexical: float | None = None
    supports: tuple[int, ...] = ()
    heading: str = ""


class CaseScore(Struct, frozen=True):
    """One case in one mode: metric values (None = does not apply) and the ranks that decide flips.

    `rank` is the position of the first chunk that matches a gold support, `rank_all` the depth at which every
    required support has been seen; None when that never happens within the list. `slices`, `must_pass` and `group` say
    how the golden set files the case; a baseline file does not keep the group. `entries`
    are the first places of the list, by rank; empty where none was retrieved, and in baselines that do not keep them.
    `answers` are the scores of all answers to a must-pass question that was asked several times, the first first; a
    baseline does not keep them.
    """

    case_id: str
    mode: str
    hash: str
    values: Values
    rank: int | None = None
    rank_all: int | None = None
    failure: str | None = None
    slices: tuple[str, ...] = ()
    must_pass: bool = False
    group: str | None = None
    entries: tuple[ListEntry, ...] = ()
    answers: tuple[CaseScore, ...] = ()


def by_question(cases: Iterable[CaseScore]) -> dict[Key, CaseScore]:
    """Return scores by mode and case id."""
    return {(case.mode, case.case_id): case for case in cases}


def same_questions(before: Iterable[CaseScore], now: Iterable[CaseScore]) -> Iterator[tuple[CaseScore, CaseScore]]:
    """Yield the questions that are the same on both sides, of any modes, each with its past."""
    known = by_question(before)
    for new in now:
        old = known.get((new.mode, new.case_id))
        if old is not None and old.hash == new.hash:
            yield old, new


class Operations(Struct, frozen=True, kw_only=True):
    """How the calls went, whatever they found. Rates are shares of all calls; times are milliseconds.

    `latency` maps a step to its percentiles: `{"total_ms": {"p50": 12.0, "p95": 30.0}}`. `failures` counts the failed
    calls by kind; `most_common_error` is empty when none failed. `document_types` counts `documents` and
    `chunks` that came back by file extension; `cost` has `sum`, `mean` and `n` of what responses say they cost.
    """

    calls: int
    failed: int
    rates: dict[str, MetricValue]
    retries: int
    latency: dict[str, dict[str, float]]
    coverage: JsonObject | None
    failures: dict[str, int]
    most_common_error: str = ""
    document_types: dict[str, dict[str, int]] = field(default_factory=dict)
    cost: dict[str, dict[str, float]] = field(default_factory=dict)


class Scorecard(Struct, frozen=True, kw_only=True):
    """A scored run: per case, per slice of each mode, and the operations. `slices[mode][slice][metric]`."""

    suite: str
    run_id: str
    fingerprint: Fingerprint
    cases: Sequence[CaseScore]
    slices: dict[str, dict[str, dict[str, MetricValue]]]
    counts: dict[str, dict[str, int]]
    operations: Operations | None

    @property
    def several_modes(self) -> bool:
        """Whether reports have to say which mode a number is of."""
        return len(self.slices) > 1

    @property
    def questions(self) -> int:
        """How many questions were asked, in whatever modes."""
        # in one mode each is there once: of a long run they need not be looked at
        return len(self.cases) if len(self.slices) == 1 else len({case.case_id for case in self.cases})
