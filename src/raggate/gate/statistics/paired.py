"""One test for the changes of the same questions: the data alone picks it. And intervals of a mean change."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from math import fsum, isfinite, sqrt
from statistics import NormalDist

from msgspec import Struct

from raggate.gate.statistics.distributions import NEGLIGIBLE, mean_and_error, paired_t, t_quantile
from raggate.gate.statistics.mcnemar import unconditional
from raggate.models.scorecard import EPSILON

MOST_MOVES = 24
"""Changes that are enumerated: two halves of 2^12 sums each."""


MCNEMAR = "exact unconditional McNemar"
SIGN_FLIP_AND_T = "exact sign-flip and paired t"
PAIRED_T = "paired t"
UNTESTED = "not tested, as the mean did not fall"
"""What stands in place of a name where p is 1 by definition."""
FEW = 30
"""Below so many units the t alone is not trusted."""


def sign_flip(changes: Sequence[float]) -> float | None:
    """Return the exact one-sided p-value of "before and after could be swapped for any unit".

    Formula: the share of the 2^k sign patterns of the k changes that are not 0 whose sum is at most the observed one.
    It is 1 where the sum is not negative, and None when more than 24 units changed.
    """
    sizes = [abs(change) for change in changes if abs(change) > NEGLIGIBLE]
    total = fsum(changes)
    if total >= -NEGLIGIBLE:
        return 1.0
    if len(sizes) > MOST_MOVES:
        return None
    half = len(sizes) // 2
    ordered = sorted(_signed_sums(sizes[half:]))
    patterns = sum(bisect_right(ordered, total - part + NEGLIGIBLE) for part in _signed_sums(sizes[:half]))
    return float(patterns / 2 ** len(sizes))


def _signed_sums(sizes: Sequence[float]) -> list[float]:
    sums = [0.0]
    for size in sizes:
        sums = [signed for part in sums for signed in (part - size, part + size)]
    return sums


class PairedTest(Struct, frozen=True):
    """The result of a test of "the questions did not get worse on average"."""

    p: float
    """One-sided, from 0 to 1."""
    test: str
    """The name of the test that gave it, or that none did."""
    units: int
    """How many independent units it is over: questions, or groups of them."""


def paired_test(changes: Sequence[float], groups: Sequence[Hashable | None] | None = None) -> PairedTest:
    """Test whether the questions got worse on average, by their changes: after minus before.

    Changes that all have one size are counted (exact unconditional McNemar). Otherwise, with fewer than 30 units, p is
    the larger of the exact sign-flip and the paired t; with more, or more than 24 that changed, the paired t. Where the
    mean did not fall p is 1, and nothing is computed. Questions of one group, such as a note, move together, so that
    the group is the unit; a question without one stands alone.
    """
    units = unit_changes(changes, groups)
    if counts := _counts(units):
        lost, gained = counts
        return PairedTest(unconditional(len(units), *counts), MCNEMAR if lost > gained else UNTESTED, len(units))
    p = paired_t(units)
    if p == 1.0:
        return PairedTest(p, UNTESTED, len(units))
    exact = sign_flip(units) if len(units) < FEW else None
    if exact is None:
        return PairedTest(p, PAIRED_T, len(units))
    return PairedTest(max(p, exact), SIGN_FLIP_AND_T, len(units))


def unit_sizes(groups: Iterable[Hashable | None]) -> list[int]:
    """Count the questions of each independent unit; a question belongs to a group, or stands alone (None)."""
    counts = Counter(groups)
    alone = counts.pop(None, 0)
    return [*counts.values(), *[1] * alone]


def count_units(groups: Iterable[Hashable | None]) -> int:
    """Count the independent units among questions; see `unit_sizes`."""
    return len(unit_sizes(groups))


def unit_changes(changes: Sequence[float], groups: Sequence[Hashable | None] | None = None) -> array[float]:
    """Return one change for each independent unit; their mean is the mean change of a question.

    Formula: the sum over a group, times the number of units, divided by the number of questions.
    """
    if not all(map(isfinite, changes)):
        raise ValueError("a change between two scores is a finite number")
    if groups is None:
        return array("d", changes)
    alone = array("d")
    sums: dict[Hashable, float] = {}
    for change, group in zip(changes, groups, strict=True):
        if group is None:
            alone.append(change)
        else:
            sums[group] = sums.get(group, 0.0) + change
    units = array("d", sums.values()) + alone
    scale = len(units) / len(changes) if len(changes) > 0 else 1.0
    return units if scale == 1.0 else array("d", (unit * scale for unit in units))


def _counts(units: Sequence[float]) -> tuple[int, int] | None:
    """Return how many units lost and gained where all that moved did so by the same size."""
    sizes = array("d", (abs(unit) for unit in units if abs(unit) > NEGLIGIBLE))
    if len(sizes) > 0 and max(sizes) - min(sizes) > NEGLIGIBLE:
        return None
    lost = sum(unit < -NEGLIGIBLE for unit in units)
    return lost, len(sizes) - lost


_HALVINGS = 60
_UPPER = 0.975


@lru_cache(maxsize=1024)  # many slices and metrics have the same counts
def tango(n: int, lost: int, gained: int) -> tuple[float, float]:
    """Return Tango's 95% score interval of the change of a share, where each question is 0 or 1.

    Formula: the changes D with (gained - lost - nD)^2 <= z^2 n (2q + D(1 - D)), where q is the most likely share of
    questions lost if the true change were D.
    Source: Tango 1998, Statistics in Medicine 17, 891-908. It holds where nothing moved, too.
    """
    z = NormalDist().inv_cdf(_UPPER)
    change = (gained - lost) / n

    def distance(at: float) -> float:
        b = (2 * n - gained + lost) * at - lost - gained
        root = sqrt(max(0.0, b * b + 8.0 * n * lost * at * (1.0 - at)))
        share = max(0.0, (root - b) / (4.0 * n))
        spread = n * (2.0 * share + at * (1.0 - at))
        return n * abs(change - at) - z * sqrt(max(0.0, spread))

    return _edge(distance, change, -1.0), _edge(distance, change, 1.0)


def mean_interval(changes: Sequence[float], most: float) -> tuple[float, float] | None:
    """Return the 95% t interval of a mean change, at most as wide as the scale; None with fewer than two units."""
    if len(changes) < 2:
        return None
    mean, error = mean_and_error(changes)
    half = t_quantile(_UPPER, len(changes) - 1) * error
    size = max(map(abs, changes))
    if 2.0 * half <= EPSILON:
        # all moved alike, which is no certainty that all others would
        ends = tango(len(changes), *((len(changes), 0) if mean < 0 else (0, len(changes))))
        return size * ends[0], size * ends[1]
    most = max(most, size)
    return max(mean - half, -most), min(mean + half, most)


def _edge(distance: Callable[[float], float], inside: float, outside: float) -> float:
    """Return where a distance that is negative inside turns positive, the outer end where it does not."""
    if distance(outside) <= 0.0:
        return outside
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2.0
        if distance(middle) <= 0.0:
            inside = middle
        else:
            outside = middle
    return inside
