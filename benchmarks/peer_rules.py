"""The decision rules of other gates, written from their description, on the changes of one metric.

Each takes a `Sample` and gives its tool's exit code as a colour: red for the one that blocks, `unsure` for another that
is not 0 (which a CI job shows as red too), green for 0. Where a rule draws random samples, the limit of infinitely many
is computed: exactly for questions scored 0 or 1, by the saddlepoint for graded ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, exp, floor, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import Literal

from raggate.gate.statistics.distributions import incomplete_beta, t_below, t_quantile
from raggate.gate.statistics.paired import sign_flip

Colour = Literal["green", "unsure", "red"]
NORMAL = NormalDist()
_STEEPEST = 500.0


@dataclass(frozen=True)
class Sample:
    """The changes of one metric, after minus before, as how often each occurs; `crossed` counts those from or to 0."""

    counts: Mapping[float, int]
    crossed: int = 0
    size: int = 1
    """How many questions share a note and move together; only a rule that is given the notes looks at it."""

    @cached_property
    def n(self) -> int:
        """How many questions there are."""
        return sum(self.counts.values())

    @cached_property
    def mean(self) -> float:
        """The mean change."""
        return sum(value * count for value, count in self.counts.items()) / self.n

    def moment(self, power: int) -> float:
        """Return a central moment."""
        return sum((value - self.mean) ** power * count for value, count in self.counts.items()) / self.n

    @cached_property
    def error(self) -> float:
        """The standard error of the mean."""
        return sqrt(self.moment(2) / (self.n - 1))

    @cached_property
    def lost(self) -> int:
        """How many questions got worse."""
        return sum(count for value, count in self.counts.items() if value < 0)

    @cached_property
    def gained(self) -> int:
        """How many questions got better."""
        return sum(count for value, count in self.counts.items() if value > 0)

    @property
    def binary(self) -> bool:
        """Whether every question is 0 or 1."""
        return set(self.counts) <= {-1.0, 0.0, 1.0}


def of_counts(n: int, lost: int, gained: int, size: int = 1) -> Sample:
    """Return the sample of a metric that is 0 or 1, of `n` notes with `size` questions each."""
    counts = {-1.0: lost * size, 1.0: gained * size, 0.0: (n - lost - gained) * size}
    return Sample({value: count for value, count in counts.items() if count}, (lost + gained) * size, size)


def of_values(before: Sequence[float], after: Sequence[float]) -> Sample:
    """Return the sample of a graded metric."""
    changes = Counter(round(new - old, 9) for old, new in zip(before, after, strict=True))
    return Sample(changes, sum((old > 0) != (new > 0) for old, new in zip(before, after, strict=True)))


def tolerance(sample: Sample, allowed: float = 0.05) -> Colour:
    """The seeds' rule: a mean may fall by 0.05."""
    return "red" if -sample.mean > allowed + 1e-9 else "green"


def rag_ci(sample: Sample) -> Colour:
    """rag-ci 0.7.1: bootstrap P(mean >= 0) < .05, and a drop of more than 2 points."""
    if -sample.mean <= 0.02 + 1e-9:
        return "green"
    return "red" if 1.0 - resampled_below(sample, 0.0, inclusive=False) < 0.05 else "green"


def nel_compare(sample: Sample) -> Colour:
    """NeMo Evaluator `nel compare` 0.4.0: McNemar or sign-flips at .05, effect of .05, inconclusive below 784 flips."""
    if not sample.crossed:
        return "green"
    if sample.binary:
        p, effect = binomial_upper(sample.lost + sample.gained, sample.lost, 0.5), abs(sample.mean)
    else:
        p, effect = one_sided_t(sample), abs(sample.mean) / sqrt(sample.moment(2) * sample.n / (sample.n - 1))
    if p < 0.05:
        return "red" if effect > 0.05 + 1e-9 else "unsure"
    return "unsure" if 2.8 / sqrt(sample.crossed) > 2 * 0.05 else "green"


def nel_gate(sample: Sample, *, by_note: bool = False) -> Colour:
    """NeMo Evaluator `nel gate`: the 95% t interval of the damage beside 1.5 points; given notes, clustered errors."""
    if sample.n < 10:
        return "unsure"
    half = t_quantile(0.975, sample.n - 1) * sample.error
    if by_note:
        # all questions of a note move alike: the error of the mean over notes
        half = NORMAL.inv_cdf(0.975) * sqrt(sample.moment(2) / (sample.n / sample.size - 1))
    if -sample.mean - half > 0.015:
        return "red"
    return "green" if -sample.mean + half < 0.015 else "unsure"


def nel_gate_by_note(sample: Sample) -> Colour:
    """`nel gate` when each record names its note."""
    return nel_gate(sample, by_note=True)


def retrieval_eval_gate(sample: Sample) -> Colour:
    """retrieval-eval-gate 0.2.1 `regression`, floors apart: two-sided sign-flips at .05."""
    if sample.mean >= 0:
        return "green"
    if sample.binary:
        p = binomial_upper(sample.lost + sample.gained, sample.lost, 0.5)
    else:
        moved = [value for value, count in sample.counts.items() for _ in range(count) if value]
        exact = sign_flip(moved) if len(moved) <= 16 else None
        p = one_sided_t(sample) if exact is None else exact
    return "red" if 2 * p < 0.05 else "green"


def statgate(sample: Sample) -> Colour:
    """The rule of statgate 0.1.1: the 95% BCa interval beside a margin of 2 points."""
    if not sample.moment(2):
        return "green" if sample.mean > -0.02 else "red"
    halves = [resampled_below(sample, sample.mean, inclusive=inclusive) for inclusive in (False, True)]
    bias = NORMAL.inv_cdf(min(max(sum(halves) / 2, 1e-9), 1 - 1e-9))
    skew = sample.moment(3) / (6 * sqrt(sample.n) * sample.moment(2) ** 1.5)
    below = resampled_below(sample, -0.02, inclusive=False)
    upto = resampled_below(sample, -0.02, inclusive=True)
    # the interval's upper end lies below the margin where enough resamples do; likewise its lower end
    if below >= _bca_share(0.975, bias, skew):
        return "red"
    return "green" if upto < _bca_share(0.025, bias, skew) else "unsure"


def _bca_share(share: float, bias: float, skew: float) -> float:
    z = bias + NORMAL.inv_cdf(share)
    return NORMAL.cdf(bias + z / (1 - skew * z))


def kibana(sample: Sample) -> Colour:
    """Kibana kbn-evals: marks a two-sided paired t below .05; it blocks nothing."""
    return "red" if sample.mean < 0 and sample.moment(2) > 0 and 2 * one_sided_t(sample) < 0.05 else "green"


def dokimos(sample: Sample) -> Colour:
    """The gate of dokimos (PR 133): any question that falls by more than .15."""
    return "red" if any(value < -0.15 for value in sample.counts) else "green"


RULES: Mapping[str, Callable[[Sample], Colour]] = {
    "seeds: a mean may fall by 0.05": tolerance,
    "rag-ci 0.7.1": rag_ci,
    "NeMo `nel compare`": nel_compare,
    "NeMo `nel gate`": nel_gate,
    "retrieval-eval-gate 0.2.1 `regression`": retrieval_eval_gate,
    "statgate 0.1.1": statgate,
    "kibana kbn-evals (marks, never blocks)": kibana,
    "dokimos gate": dokimos,
}

UNSURE = ("NeMo `nel compare`", "NeMo `nel gate`", "statgate 0.1.1")
"""Rules with a second exit code that is not 0."""


def one_sided_t(sample: Sample) -> float:
    """Return the p-value of a loss by the paired t; 1 without spread."""
    return t_below(sample.mean / sample.error, sample.n - 1) if sample.error > 1e-12 else 1.0


def binomial_upper(n: int, least: int, share: float) -> float:
    """Return the chance of at least so many successes."""
    if least <= 0:
        return 1.0
    return incomplete_beta(least, n - least + 1, share) if least <= n else 0.0


def binomial(n: int, k: int, share: float) -> float:
    """Return the chance of so many successes."""
    if not 0 <= k <= n:
        return 0.0
    if share in (0.0, 1.0):
        return float(k == n * share)
    ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
    return exp(ways + k * log(share) + (n - k) * log1p(-share))


def resampled_below(sample: Sample, at: float, *, inclusive: bool) -> float:
    """Return the share of all bootstrap means below a value, or at it too."""
    if sample.binary:
        return _resampled_counts_below(sample, at, inclusive=inclusive)
    return saddlepoint_below(sample, at)


def _resampled_counts_below(sample: Sample, at: float, *, inclusive: bool) -> float:
    n, moved = sample.n, sample.lost + sample.gained
    # the least lead of losses over gains in a resample
    lead = ceil(-at * n - 1e-9) if inclusive else floor(-at * n + 1e-9) + 1
    half = 6 * sqrt(moved * (1 - moved / n)) + 6
    first, last = max(0, floor(moved - half)), min(n, ceil(moved + half))
    losing = sample.lost / max(moved, 1)
    # with every further question that is drawn and moves, the tail of the losses among them is brought up to date
    needed = ceil((first + lead) / 2)
    tail = binomial_upper(first, needed, losing)
    share = binomial(n, first, moved / n) * tail
    for m in range(first + 1, last + 1):
        tail += losing * binomial(m - 1, needed - 1, losing)
        if ceil((m + lead) / 2) > needed:
            tail -= binomial(m, needed, losing)
            needed += 1
        share += binomial(n, m, moved / n) * tail
    return share


def saddlepoint_below(sample: Sample, at: float) -> float:
    """Return P(bootstrap mean <= at) as Lugannani and Rice approximate it: Davison & Hinkley 1988, Biometrika 75."""
    if at <= min(sample.counts):
        return 0.0
    if at >= max(sample.counts):
        return 1.0
    spread = sqrt(sample.moment(2))
    tilt = _tilt(sample, at)
    generating, _, curvature = _cumulants(sample, tilt)
    distance = 2 * sample.n * (tilt * at - generating)
    if distance < 1e-6:
        return 0.5 + sample.moment(3) / (6 * sqrt(2 * pi * sample.n) * spread**3)
    w = sqrt(distance) * (1 if tilt > 0 else -1)
    u = tilt * sqrt(sample.n * curvature)
    return min(1.0, max(0.0, NORMAL.cdf(w) + NORMAL.pdf(w) * (1 / w - 1 / u)))


def _tilt(sample: Sample, at: float) -> float:
    """Solve K'(tilt) = at by Newton's steps; K' rises, so that they can be kept between two ends."""
    low, high, tilt = -_STEEPEST, _STEEPEST, 0.0
    for _ in range(80):
        _, slope, curvature = _cumulants(sample, tilt)
        if abs(slope - at) < 1e-12:
            break
        low, high = (tilt, high) if slope < at else (low, tilt)
        tilt += (at - slope) / max(curvature, 1e-12)
        if not low < tilt < high:
            tilt = (low + high) / 2
    return tilt


def _cumulants(sample: Sample, tilt: float) -> tuple[float, float, float]:
    weights = [(value, count * exp(tilt * value)) for value, count in sample.counts.items()]
    total = sum(weight for _, weight in weights)
    slope = sum(value * weight for value, weight in weights) / total
    curvature = sum((value - slope) ** 2 * weight for value, weight in weights) / total
    return log(total / sample.n), slope, curvature
