"""What makes the verdict red: the section `gate`, with the metrics that are gated by default."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from raggate.config.judge_settings import IN_POINTS
from raggate.config.service_settings import SettingsModel
from raggate.config.values import Text, off_is_none

DEFAULT_TOLERANCE = 0.05
DEFAULT_GATED = (
    "hit_at_1",
    "hit_at_3",
    "hit_at_5",
    "hit_at_10",
    "mrr_at_10",
    "ndcg_at_10",
    "recall_all_at_10",
    "scope_miss_rate",
    "heading_dominance_rate",
    "abstention_accuracy",
    "false_abstention_rate",
    "groundedness",
    "correctness",
)
POINTS_TOLERANCE = 0.5
"""Of metrics that judges give points for, from 0 to 5."""
DEFAULT_COMPOSITE = ("hit_at_5", "mrr_at_10", "ndcg_at_10")

Tolerance = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]
Days = Annotated[
    int | None,
    Field(ge=1),
    BeforeValidator(off_is_none),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["off", False]}]}),
]


def _distinct_names(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("expected every metric once")
    return names


class Rule(SettingsModel):
    """How one metric is gated."""

    tolerance: Tolerance | None = None
    """How far the metric's mean may get worse (absolute). Default: `gate.tolerance`."""
    floor: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Value a higher-is-better metric must not fall below, whatever the baseline."""
    ceiling: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Value a lower-is-better metric must not rise above, whatever the baseline."""

    def limit(self, direction: Literal["higher", "lower"]) -> float | None:
        """Return the value that a metric of a direction must not be worse than, whatever the baseline."""
        return self.floor if direction == "higher" else self.ceiling


@lru_cache(maxsize=64)
def _allowing(tolerance: float) -> Rule:
    """Return the rule of a tolerance alone, which is looked up for every row of a comparison."""
    return Rule(tolerance=tolerance)


class Gate(SettingsModel):
    """What makes the verdict red."""

    policy: Literal["evidence", "threshold"] = "evidence"
    """When a loss makes the verdict red: `evidence` when a statistical test shows it, or when it is three times the
    tolerance; `threshold` whenever it exceeds the tolerance."""
    composite: Annotated[list[Text], Field(min_length=1), AfterValidator(_distinct_names)] = [*DEFAULT_COMPOSITE]  # noqa: RUF012
    """Metrics that the statistical test looks at, as one mean per question; none of them judged. A question to which
    none applies counts by abstention_accuracy."""
    min_cases: Annotated[int, Field(ge=1)] = 10
    """A metric that applies to fewer questions of the baseline is shown as a count and only warns. It is red if the
    metrics of `composite` apply to fewer too, or if it lost two questions or more and none is right any more."""
    tolerance: Tolerance = DEFAULT_TOLERANCE
    """How far a gated metric's mean may get worse (absolute). For groundedness and correctness, which judges score from
    0 to 5, it is 0.5 unless `metrics` says otherwise."""
    # left to right, as 0 is a tolerance although it equals False
    metrics: dict[str, Annotated[Rule | Tolerance | Literal[False, "off"], Field(union_mode="left_to_right")]] = {}  # noqa: RUF012
    """Per metric: a tolerance, a rule, or `off` to stop gating it. The metrics gated by default stay gated."""
    slices: Literal["warn", "fail", "off"] = "warn"
    """What happens when a slice (category, difficulty, tag, vault, …) gets worse."""
    min_slice: Annotated[int, Field(ge=1)] = 10
    """Slices with fewer cases are shown as counts and never fail the gate."""
    flip_at: Annotated[int, Field(ge=1)] = 5
    """A question counts as found up to this rank, for the list of questions that broke."""
    max_error_rate: Annotated[float, Field(ge=0, lt=1)] = 0.02
    """Share of calls that may fail before the run counts as not measured. Failed calls are misses."""
    min_overlap: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Share of the baseline's cases that the golden set must still contain unchanged."""
    on_removed_cases: Literal["refuse", "warn"] = "refuse"
    """What happens when baseline cases are missing from the golden set."""
    on_vault_change: Literal["refuse", "warn"] = "warn"
    """What happens when the vault differs from the baseline's."""
    stale_after_days: Days = 90
    """Warn when the baseline was measured more than this many days before the run; or `off`."""
    ratchet: Literal["warn", "fail", "off"] = "warn"
    """What happens when small accepted drops add up to more than the tolerance."""

    def rules(self) -> dict[str, Rule]:
        """Return every gated metric with its rule, defaults filled in."""
        rules = {name: self.rule(name) for name in dict.fromkeys((*DEFAULT_GATED, *self.metrics))}
        return {name: rule for name, rule in rules.items() if rule is not None}

    def rule(self, name: str) -> Rule | None:
        """Return the rule of one metric, defaults filled in; None when it is not gated."""
        given = self.metrics.get(name, None if name in DEFAULT_GATED else "off")
        if given is False or given == "off":
            return None
        tolerance = POINTS_TOLERANCE if name in IN_POINTS else self.tolerance
        if not isinstance(given, Rule):
            return _allowing(tolerance if given is None else float(given))
        return given if given.tolerance is not None else given.model_copy(update={"tolerance": tolerance})
