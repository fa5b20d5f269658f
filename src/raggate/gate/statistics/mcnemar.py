"""McNemar's test, exact and unconditional: n questions, so many lost and so many gained.

Sources: Suissa & Shuster 1991 (the statistic and the unconditional p), Berger & Boos 1994 (the interval), Fagerland,
Lydersen & Laake 2013 (why not the conditional test: with few questions that move it spends a fraction of its 5%).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import asin, ceil, exp, fsum, isqrt, lgamma, log, log1p, sin, sqrt

from raggate.gate.statistics.distributions import beta_quantile

GAMMA = 1e-4
"""What Berger and Boos leave outside the interval for the share of questions that move; added to p."""

_LARGEST_SHARE = 1.0 - 1e-15
_STEP = 0.5
_NARROWINGS = 14
_NEAR_TOP = 0.9  # share of the highest point from which on another top may be higher between two points
_GOLDEN = (sqrt(5.0) - 1.0) / 2.0
_MOST_LOSSES = 64


@lru_cache(maxsize=4096)
def unconditional(n: int, lost: int, gained: int) -> float:
    """Return the one-sided p-value of "losses are no likelier than gains"; 1 when not more were lost than gained.

    Formula: z(b, c) = (b - c) / sqrt(b + c). p = max over psi in C of sum over m of Binomial(m; n, psi) P(X >= k_m),
    plus gamma, where X ~ Binomial(m, 1/2), k_m is the fewest losses of m that make z as large as observed, and C is
    the Clopper-Pearson interval at 1 - gamma for psi, the share of questions that move, from those that moved.
    """
    moved = lost + gained
    if lost <= gained:
        return 1.0
    low, high = _likely_angles(n, moved)
    first, last = _reach(n, low)[0], _reach(n, high)[1]
    choices = (lgamma(n + 1) - lgamma(m + 1) - lgamma(n - m + 1) for m in range(first, last + 1))
    rows = [*zip(range(first, last + 1), choices, _tails(first, last, lost - gained, moved), strict=True)]

    def chance(angle: float) -> float:
        share = min(sin(angle) ** 2, _LARGEST_SHARE)
        begin, end = _reach(n, angle)
        odds, none = log(share) - log1p(-share), n * log1p(-share)
        near = rows[max(begin - first, 0) : end - first + 1]
        return fsum([exp(choice + m * odds + none) * tail for m, choice, tail in near])

    return min(1.0, _largest(chance, low, high, _STEP / (2.0 * sqrt(n))) + GAMMA)


def fewest_losses(n: int, alpha: float = 0.05) -> int | None:
    """Return the fewest losses, with no gain, that make p smaller than alpha; None when n questions cannot."""
    return next((lost for lost in range(1, min(n, _MOST_LOSSES) + 1) if unconditional(n, lost, 0) < alpha), None)


def _likely_angles(n: int, moved: int) -> tuple[float, float]:
    """Return the ends of C as asin(sqrt(psi)): on that scale the spread of a share is the same everywhere."""
    low = beta_quantile(moved, n - moved + 1, GAMMA / 2.0)
    high = 1.0 if moved == n else 1.0 - beta_quantile(n - moved, moved + 1, GAMMA / 2.0)
    return asin(sqrt(low)), asin(sqrt(high))


def _reach(n: int, angle: float) -> tuple[int, int]:
    """The least and the largest number of moves that count at a share; the chance of any other is below 1e-10."""
    share = sin(angle) ** 2
    half = 7.0 * sqrt(n * share * (1.0 - share)) + 7.0
    return max(0, int(n * share - half)), min(n, ceil(n * share + half))


def _tails(first: int, last: int, lead: int, moved: int) -> Sequence[float]:
    """Return P(X >= k_m), X ~ Binomial(m, 1/2), for every m from first to last."""
    needed = _needed(first, lead, moved)
    tail = fsum(_point(first, k) for k in range(needed, first + 1))
    tails = [tail]
    for m in range(first + 1, last + 1):
        # with one more question that moves, half of those who lacked one loss have it
        tail += _point(m - 1, needed - 1) / 2.0
        while needed < _needed(m, lead, moved):
            tail -= _point(m, needed)
            needed += 1
        tails.append(max(tail, 0.0))
    return tails


def _needed(m: int, lead: int, moved: int) -> int:
    """The fewest losses of m moves with (2k - m) / sqrt(m) >= lead / sqrt(moved), in whole numbers: ties count."""
    square = -(-lead * lead * m // moved)
    margin = isqrt(square - 1) + 1 if square else 1
    return (m + margin + 1) // 2


def _point(m: int, k: int) -> float:
    """Return P(X = k), X ~ Binomial(m, 1/2)."""
    if not 0 <= k <= m:
        return 0.0
    return exp(lgamma(m + 1) - lgamma(k + 1) - lgamma(m - k + 1) - m * log(2.0))


def _largest(chance: Callable[[float], float], low: float, high: float, step: float) -> float:
    """Return the largest value between two angles: over a grid half a standard error wide, each top narrowed down."""
    points = max(2, ceil((high - low) / step))
    width = (high - low) / points
    values = [chance(low + i * width) for i in range(points + 1)]
    tops = [i for i, value in enumerate(values) if value == max(values[max(i - 1, 0) : i + 2])]
    highest = max(values)
    near = [i for i in tops if values[i] >= _NEAR_TOP * highest]
    sides = [(low + max(i - 1, 0) * width, low + min(i + 1, points) * width) for i in near]
    return max(highest, *(_narrowed(chance, left, right) for left, right in sides))


def _narrowed(chance: Callable[[float], float], left: float, right: float) -> float:
    """Return the largest value seen while the top between two angles is closed in on."""
    inner = (right - _GOLDEN * (right - left), left + _GOLDEN * (right - left))
    below, above = chance(inner[0]), chance(inner[1])
    largest = max(below, above)
    for _ in range(_NARROWINGS):
        if below < above:
            left, inner, below = inner[0], (inner[1], inner[0] + _GOLDEN * (right - inner[0])), above
            above = chance(inner[1])
        else:
            right, inner, above = inner[1], (inner[1] - _GOLDEN * (inner[1] - left), inner[0]), below
            below = chance(inner[0])
        largest = max(largest, below, above)
    return largest
