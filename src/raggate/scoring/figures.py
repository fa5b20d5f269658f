"""How metrics and their values are written for people: the field's names, units, and no more digits than tell apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from raggate.base.numbers import STORED_DECIMALS, fixed, rounded, setting
from raggate.models.comparison import Delta
from raggate.models.metric_names import CONTEXT_CHARS, at_parts, family
from raggate.models.scorecard import EPSILON, MetricValue
from raggate.models.verdict import GatedMetric
from raggate.scoring.metrics import METRICS

SMALL = 20
"""Up to this many cases a 0/1 metric is written as a count, because a rate would feign precision."""

NONE = "–"
SAME = "="
_SPELLED = {"mrr": "MRR", "ndcg": "nDCG", "ndcg_exp": "nDCG-exp", CONTEXT_CHARS: "context"}
_NO_SHARES = frozenset((*_SPELLED, "groundedness", "correctness", "faithfulness", "context_relevancy"))
"""Metrics of the registry that are no share of questions or passages, so that percent would say something else."""

_CHARACTERS = " characters"


def title(metric: str) -> str:
    """Name a metric as the field does: `hit@5`, `nDCG@10`, `false abstention rate`."""
    name, depth = at_parts(metric)
    words = _SPELLED.get(name, name.replace("_", " "))
    return f"{words}@{depth}" if depth else words


def key(name: str, known: Iterable[str]) -> str:
    """Return the metric that somebody names as reports do, `hit@5`, or by its key; the name itself where it is none."""
    keys = [*known]
    return name if name in keys else next((one for one in keys if title(one).lower() == name.lower()), name)


def is_share(metric: str) -> bool:
    """Return whether a metric is written in percent; one that is not known here is a bare number."""
    name, _ = at_parts(metric)
    return name in METRICS and name not in _NO_SHARES


def counted(delta: Delta) -> bool:
    """Whether values over few cases are written as counts: each case scores 0 or 1, and the metric is a share."""
    return delta.binary and is_share(delta.metric)


def value(metric: str, measured: MetricValue, *, beside: float | None = None) -> str:
    """Write a value with its unit, in so many digits that it looks different from one beside it; a dash for none."""
    return amount(metric, measured.value, beside=beside)


def amount(metric: str, number: float | None, *, beside: float | None = None) -> str:
    """Write the number of a metric likewise."""
    if number is None:
        return NONE
    numbers = [number] if beside is None else [number, beside]
    return f"{_number(metric, number, _digits(metric, numbers))}{_unit(metric, '%')}"


def measured(metric: str, number: MetricValue) -> str:
    """Write a value that is compared with nothing: of few questions that score 0 or 1 each, as a count."""
    name, _ = at_parts(metric)
    scored = (number.value or 0.0) * number.n
    whole = abs(scored - round(scored)) <= EPSILON and number.value is not None
    if whole and number.n <= SMALL and is_share(metric) and METRICS[name].binary:
        return f"{round(scored)} of {number.n}"
    return value(metric, number)


def change(delta: Delta) -> str:
    """Write a delta with sign and unit, percentage points for a share; `=` where nothing changed, a dash for none."""
    if delta.delta is None:
        return NONE
    return difference(delta.metric, delta.delta) if delta.differs else SAME


def difference(metric: str, number: float, *, beside: float = 0.0) -> str:
    """Write a difference of two values of a metric with its sign, in so many digits that it looks unlike another."""
    digits = _digits(metric, (0.0, number, beside))
    return f"{_number(metric, number, digits, sign=True)}{_unit(metric, ' pt')}"


def distance(metric: str, number: float, *, beside: float = 0.0) -> str:
    """Write how far two values of a metric lie apart, without sign: percentage points for a share."""
    return f"{_number(metric, number, _digits(metric, (0.0, number, beside)))}{_unit(metric, ' pt')}"


def course(delta: Delta) -> str:
    """Write both values: `87.4 → 78.7%`, of few cases `11 → 7 of 12`; one of them where they are the same."""
    before, now = delta.baseline, delta.current
    if before.value is None and now.value is None:
        return NONE
    # ranks that happen to be all first or none are no count of questions
    if counted(delta) and max(before.n, now.n) <= SMALL:
        return _counts(before, now)
    if before.value is None or now.value is None:
        return f"{value(delta.metric, before)} → {value(delta.metric, now)}"
    if not delta.differs:
        return value(delta.metric, now)
    return both(delta.metric, before.value, now.value)


def side(delta: Delta, number: MetricValue) -> str:
    """Write one of the two values of a delta by itself: of few questions as a count, else unlike the other value."""
    if counted(delta) and number.n <= SMALL and number.value is not None:
        return f"{round(number.value * number.n)} of {number.n}"
    other = delta.current if number is delta.baseline else delta.baseline
    return value(delta.metric, number, beside=other.value)


def both(metric: str, before: float | None, now: float | None) -> str:
    """Write two values, with their unit once: `87.4 → 78.7%`."""
    if before is None or now is None:
        return f"{amount(metric, before)} → {amount(metric, now)}"
    digits = _digits(metric, (before, now))
    values = " → ".join(_number(metric, number, digits) for number in (before, now))
    return f"{values}{_unit(metric, '%')}"


def _counts(before: MetricValue, now: MetricValue) -> str:
    counts = [NONE if each.value is None else f"{round(each.value * each.n)}" for each in (before, now)]
    if NONE in counts or before.n != now.n:
        sides = zip(counts, (before, now), strict=True)
        return " → ".join(count if count == NONE else f"{count} of {each.n}" for count, each in sides)
    return f"{' → '.join(dict.fromkeys(counts))} of {now.n}"


def allowed(row: GatedMetric) -> str:
    """Write what the policy allows: the tolerance, and the floor or ceiling if there is one, with their units."""
    if row.allowed is None:
        return NONE
    tolerance = limit_of(row.delta.metric, row.allowed, unit="pt")
    if row.floor is None:
        return tolerance
    sign = "≥" if row.delta.current.direction == "higher" else "≤"
    return f"{tolerance}, {sign} {limit_of(row.delta.metric, row.floor, unit='%')}"


def tolerated(metric: str, number: float) -> str:
    """Write a difference that somebody allows, of a share in percentage points."""
    return limit_of(metric, number, unit="pt")


def limit_of(metric: str, number: float, *, unit: str) -> str:
    """Write a number that somebody set, of a share in percent or points."""
    space = "" if unit == "%" else " "
    written = setting(rounded(100 * number, 10)) if is_share(metric) else setting(number)
    return f"{written}{_unit(metric, f'{space}{unit}')}"


def interval(delta: Delta) -> str:
    """Write the 95% interval of a delta; a dash where there is none."""
    if delta.interval is None:
        return NONE
    metric, digits = delta.metric, _least(delta.metric)
    ends = " to ".join(_number(metric, end, digits, sign=True) for end in delta.interval)
    return f"{ends}{_unit(metric, ' pt')}"


def moved(delta: Delta) -> str:
    """Write how many questions a value covers, and how many of them got worse and better."""
    counts = moves(delta)
    return f"{counts} of {delta.current.n}" if counts else str(delta.current.n)


def moves(delta: Delta) -> str:
    """Write how many questions got worse and better; nothing where none did."""
    counts = [f"{sign}{count}" for sign, count in (("−", delta.regressed), ("+", delta.improved)) if count]
    return " ".join(counts)


def _unit(metric: str, of_share: str) -> str:
    return of_share if is_share(metric) else _CHARACTERS if family(metric) == CONTEXT_CHARS else ""


def _least(metric: str) -> int:
    """Return the fewest decimals: of percent, of characters, and of other numbers."""
    return 1 if is_share(metric) else 0 if family(metric) == CONTEXT_CHARS else 3


def _digits(metric: str, values: Sequence[float]) -> int:
    """Return the fewest decimals with which values that differ look different."""
    scaled = [100 * number if is_share(metric) else number for number in values]
    pairs = [(left, right) for left, right in combinations(scaled, 2) if abs(left - right) > EPSILON]
    enough = (
        digits
        for digits in range(_least(metric), STORED_DECIMALS)
        if all(rounded(left, digits) != rounded(right, digits) for left, right in pairs)
    )
    return next(enough, STORED_DECIMALS)


def _number(metric: str, number: float, digits: int, *, sign: bool = False) -> str:
    scaled = 100 * number if is_share(metric) else number
    return fixed(scaled, digits, sign=sign, grouped=family(metric) == CONTEXT_CHARS).replace("-", "−")
