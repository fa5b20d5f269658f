"""The noun for questions that a baseline does not have as they are asked now. Frozen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompared:
    """How a metric stands over the cases that cannot be compared one by one, because they were relabelled or added.

    Each is held to a stand-in: a relabelled case to its own value in the baseline, another to the baseline's mean of a
    slice it is in. A `drop` is by how much the metric is worse over these and the compared cases together.

    Attributes:
        n: cases that have a value and a stand-in; `relabelled` of them were in the baseline, labelled otherwise.
        value: their mean.
        expected: the mean of their stand-ins.
        drop: over all cases, or over those that the baseline has by name, whichever is larger; 0 for a gain.
        proven: the same, as far as chance does not explain it; 0 where it may.
        retired: cases that had a value and have none as they are labelled now.
    """

    n: int
    relabelled: int
    value: float
    expected: float
    drop: float
    proven: float
    retired: tuple[str, ...] = ()
