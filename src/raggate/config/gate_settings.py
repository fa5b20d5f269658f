"""What makes the verdict red: the section `gate`, with the metrics that are gated by default."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from operator import lt, ne
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, WithJsonSchema, model_validator

from raggate.base import plugins
from raggate.config.effects import OTHER, Looser, fewer, other, weaker
from raggate.config.judge_settings import IN_POINTS
from raggate.config.service_settings import SettingsModel
from raggate.config.values import Name, Text, Variable, image_name, relative_path

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
FLIP_AT = 5
"""A question counts as found up to this rank, for the list of questions that broke."""
STALE_AFTER_DAYS = 90
"""A baseline that was measured more days before a run is warned of."""
MIN_CAUGHT = 0.9
"""The share of harmful faults that the gate must catch to be proved."""
MIN_OVERLAP = 0.5
"""Share of the baseline's cases that the golden set must still contain unchanged."""
DEFAULT_COMPOSITE = ("hit_at_5", "mrr_at_10", "ndcg_at_10")

Tolerance = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]


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

    # each lets something through that the other does not
    policy: Annotated[Literal["evidence", "threshold"], Looser(ne)] = "evidence"
    """When a loss is red: `evidence` if a test shows it or it is three times the tolerance, `threshold` whenever it
    exceeds the tolerance."""
    composite: Annotated[list[Text], Field(min_length=1), AfterValidator(_distinct_names), Looser(other)] = [
        *DEFAULT_COMPOSITE
    ]
    """Metrics that the statistical test looks at, as one mean per question; none of them judged. A question to which
    none applies counts by abstention_accuracy."""
    # a metric that is called small can leave the verdict, and a slice that has a mean can hold an added question to it
    min_cases: Annotated[int, Field(ge=1), Looser(ne)] = 10
    """A metric that applies to fewer questions of the baseline, and a slice with fewer questions, is shown as a count.
    Such a slice never fails the gate. Such a metric only warns, but is red if the metrics of `composite` apply to fewer
    too, or if it lost two questions or more and none is right any more."""
    tolerance: Annotated[Tolerance, Looser(lt)] = DEFAULT_TOLERANCE
    """How far a gated metric's mean may get worse (absolute). For groundedness and correctness, which judges score from
    0 to 5, it is 0.5 unless `metrics` says otherwise."""
    # left to right, as 0 is a tolerance although it equals False
    metrics: dict[str, Annotated[Rule | Tolerance | Literal[False, "off"], Field(union_mode="left_to_right")]] = {}
    """Per metric: a tolerance, a rule, or `off` to stop gating it. The metrics gated by default stay gated."""
    slices: Annotated[Literal["warn", "fail", "off"], Looser(weaker)] = "warn"
    """What happens when a slice (category, difficulty, tag, vault, …) gets worse."""
    max_error_rate: Annotated[float, Field(ge=0, lt=1), Looser(lt)] = 0.02
    """Share of calls that may fail before the run counts as not measured. Failed calls are misses."""
    on_vault_change: Annotated[Literal["refuse", "warn"], Looser(weaker)] = "warn"
    """What happens when the vault differs from the baseline's."""
    ratchet: Annotated[Literal["warn", "fail", "off"], Looser(weaker)] = "warn"
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


def _known_system(name: str) -> str:
    known = plugins.names(plugins.COMPAT)
    if name not in known:
        raise ValueError(f"expected one of {', '.join(known)}" if known else "no installed package knows any")
    return name


Compat = Annotated[str, AfterValidator(_known_system), WithJsonSchema({"enum": [*plugins.names(plugins.COMPAT)]})]


class Score(SettingsModel):
    """What is computed from the answers."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1), Looser(fewer)] = [1, 3, 5, 10]
    """Cut-offs of the ranked metrics."""
    snippets: Annotated[Literal["required", "off"], Looser(lambda before, now: before != now == "off")] = "required"
    """Whether a passage must hold a snippet of its gold support to match, if that has any. With `off` the place is
    enough, and snippets are not read at all."""
    compat: list[Compat] = []
    """Other systems whose numbers are written to metrics.json too, under `compat`. They are never gated."""

    @property
    def reads_snippets(self) -> bool:
        """Whether the snippets of gold supports count."""
        return self.snippets == "required"

    @model_validator(mode="after")
    def _distinct(self) -> Score:
        if sorted(set(self.k)) != self.k:
            raise ValueError("expected distinct cut-offs in ascending order")
        return self


AGAIN = "again"
REF = "ref"
TIMES_AGAIN = 2
"""How many times the questions that count against a change are asked again of a noisy API before the verdict is red."""


def _rechecked(written: str) -> str:
    return written if written in {AGAIN, "off", REF} else image_name(written)


Recheck = Annotated[str, AfterValidator(_rechecked), OTHER, Looser(lambda before, now: before == "off" != now)]
"""Who is asked before a verdict is red: the same build, nobody, or the build before the change too."""


def _day(value: object) -> object:
    try:
        valid = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("expected a date such as 2026-12-31")
    return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("expected some text")
    return text


Day = Annotated[str, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
NotBlank = Annotated[Text, AfterValidator(_not_blank)]


class Waiver(SettingsModel):
    """A metric or a case that may be worse until a given day, because somebody takes responsibility for it."""

    metric: Text | None = None
    """The metric that may be worse than allowed, in the whole and in slices."""
    case: Text | None = None
    """Or the case that is left out of the means; it may miss even if it is a must-pass case."""
    mode: Name | None = None
    """The only mode it applies to. Default: all."""
    owner: NotBlank
    """Who is responsible."""
    reason: NotBlank
    """Why the loss is accepted."""
    expires: Day
    """Its last day, such as 2026-12-31. After it the waiver is red until you remove or renew it."""

    @model_validator(mode="after")
    def _one_target(self) -> Waiver:
        if (self.metric is None) == (self.case is None):
            raise ValueError("expected exactly one of 'metric' and 'case'")
        return self


def _fault(written: object) -> object:
    if isinstance(written, str):
        return relative_path(written)
    if not isinstance(written, dict) or not written:
        raise ValueError("expected variables of the API, such as `{SEARCH: 'off'}`, or the path of a patch")
    for name, value in written.items():
        if type(value) is not str:
            raise ValueError(f"expected text for {name}: put {value!r} in quotes")
    return _VARIABLES.validate_python(written, strict=True)


_VARIABLES = TypeAdapter(dict[Variable, Text])
Fault = Annotated[
    dict[str, str] | str,
    BeforeValidator(_fault),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]}),
]
"""A fault of this API. It is booted again with these variables, which are added to its own or replace them; or built
from a copy of its source that a patch changes, as `git diff --relative` writes it in the directory of raggate.yml."""
