"""raggate.yml -> one frozen Config with a slice per stage. Every error names file, line and key."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from raggate.config import config_problems, early_stop_settings, judge_places, mcp_settings, probe_settings
from raggate.config.answer_settings import Answers
from raggate.config.ask_settings import Ask
from raggate.config.early_stop_settings import EarlyStopping
from raggate.config.invariant_settings import PROBES_OFF, Invariants
from raggate.config.judge_settings import IN_POINTS, Judges
from raggate.config.probe_settings import Private, Probes
from raggate.config.proof_settings import Prove
from raggate.config.question_settings import QuestionChoice
from raggate.config.recheck_settings import Recheck
from raggate.config.service_settings import Api, SettingsModel
from raggate.config.values import Name, RelativePath, Text, off_is_none
from raggate.config.when_settings import When
from raggate.errors import FileProblems, Problem, UsageError
from raggate.text.yamlio import Document, Path, dotted, parse

PROGRAM_AND_ADAPTER = (
    "expected both `api.program` and `ask.adapter: kebab`, or neither: add what is missing or remove the other"
)

Compat = Literal["helloworld"]
Tolerance = Annotated[float, Field(strict=True, ge=0, le=1_000_000, allow_inf_nan=False)]


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


def _distinct_names(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError("expected every metric once")
    return names


Days = Annotated[
    int | None,
    Field(ge=1),
    BeforeValidator(off_is_none),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"enum": ["off", False]}]}),
]
Day = Annotated[str, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
NotBlank = Annotated[Text, AfterValidator(_not_blank)]

_HINT = "docs/configuration.md lists every key."

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


class Score(SettingsModel):
    """What is computed from the answers."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1)] = [1, 3, 5, 10]  # noqa: RUF012
    """Cut-offs of the ranked metrics."""
    compat: list[Compat] = []  # noqa: RUF012
    """Other systems whose numbers are written to metrics.json too, under `compat`. They are never gated."""

    @model_validator(mode="after")
    def _distinct(self) -> Score:
        if sorted(set(self.k)) != self.k:
            raise ValueError("expected distinct cut-offs in ascending order")
        return self


class Rule(SettingsModel):
    """How one metric is gated."""

    tolerance: Tolerance | None = None
    """How far the metric's mean may get worse (absolute). Default: `gate.tolerance`."""
    floor: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Value a higher-is-better metric must not fall below, whatever the baseline."""
    ceiling: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Value a lower-is-better metric must not rise above, whatever the baseline."""

    def limit(self, direction: Literal["higher", "lower"]) -> float | None:
        """Give the value that a metric of a direction must not be worse than, whatever the baseline."""
        return self.floor if direction == "higher" else self.ceiling


class Gate(SettingsModel):
    """What makes the verdict red."""

    policy: Literal["either", "evidence", "threshold"] = "either"
    """When a loss makes the verdict red: `either` when it exceeds the tolerance or a statistical test shows it,
    `evidence` only when a test shows it, `threshold` only when it exceeds the tolerance."""
    composite: Annotated[list[Text], Field(min_length=1), AfterValidator(_distinct_names)] = [*DEFAULT_COMPOSITE]  # noqa: RUF012
    """Metrics that the statistical test looks at, as one mean per question; none of them judged. A question to which
    none applies counts by abstention_accuracy."""
    min_cases: Annotated[int, Field(ge=1)] = 10
    """A metric that applies to fewer questions of the baseline is shown as a count and only warns, unless all gated
    ones do."""
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
    early_stop: EarlyStopping = None
    """When a run that is red already asks no further: `certain` when no answer to what is left can undo that, a share
    such as 0.01 when it is as good as certain too, or `off`. Of the runs that asking all would not make red, at most
    that share is stopped."""

    def rules(self) -> dict[str, Rule]:
        """Give every gated metric with its rule, defaults filled in."""
        rules = {name: self.rule(name) for name in dict.fromkeys((*DEFAULT_GATED, *self.metrics))}
        return {name: rule for name, rule in rules.items() if rule is not None}

    def rule(self, name: str) -> Rule | None:
        """Give the rule of one metric, defaults filled in; None when it is not gated."""
        given = self.metrics.get(name, Rule() if name in DEFAULT_GATED else "off")
        if given is False or given == "off":
            return None
        rule = given if isinstance(given, Rule) else Rule(tolerance=float(given))
        if rule.tolerance is not None:
            return rule
        return rule.model_copy(update={"tolerance": POINTS_TOLERANCE if name in IN_POINTS else self.tolerance})


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
    """Its last day, YYYY-MM-DD. From the next day on the waiver makes the gate red until it is removed or renewed."""

    @model_validator(mode="after")
    def _one_target(self) -> Waiver:
        if (self.metric is None) == (self.case is None):
            raise ValueError("expected exactly one of 'metric' and 'case'")
        return self


class Config(SettingsModel):
    """The whole of raggate.yml. Paths are relative to the directory of the file."""

    version: Literal[1] = 1
    """Version of this file's format."""
    suite: Name = "default"
    """Name of the suite; its baseline is baselines/<suite>.json."""
    golden: RelativePath = "golden/eval_set.jsonl"
    """The golden set, one case per line."""
    questions: QuestionChoice | None = None
    """Which questions of the golden set the suite asks; null for all."""
    vault: Annotated[dict[Name, RelativePath], Field(min_length=1)]
    """The fixture vaults: name -> directory of Markdown notes. The order numbers them from 1."""
    private: Private = Private()
    """Which notes are private or deleted and must never be returned: for `invariants.private_withheld`."""
    baseline: RelativePath | None = None
    """The baseline file. Default: baselines/<suite>.json."""
    out: RelativePath = ".raggate/runs"
    """Where run directories go."""
    trace: bool = False
    """Also write every retrieved chunk into the run directory, as trace.jsonl.gz in the trace schema of substrate."""
    when: When = When()
    """Which changes concern the suite."""
    api: Api
    """How to bring the API up."""
    ask: Ask = Ask()
    """How the questions are asked."""
    score: Score = Score()
    """What is computed from the answers."""
    gate: Gate = Gate()
    """What makes the verdict red."""
    invariants: Invariants = Invariants()
    """What must hold of the API's answers."""
    judges: Judges | None = None
    """Models that grade the answers; null for none. Needs `ask.retrieval_only: false`."""
    recheck: Recheck = Recheck()
    """How a regression is checked on the build before the change."""
    answers: Answers = Answers()
    """Which answers of earlier runs may be taken in place of asking."""
    waivers: list[Waiver] = []  # noqa: RUF012 - pydantic copies it
    """Metrics and cases that may be worse until a given day. A change cannot waive itself."""
    prove: Prove = Prove()
    """What `raggate prove` tries and requires. It does not affect verdicts."""

    @model_validator(mode="after")
    def _program_with_its_adapter(self) -> Config:
        if (self.ask.adapter == "kebab") != (self.api.program is not None):
            raise ValueError(PROGRAM_AND_ADAPTER)
        return self

    @model_validator(mode="after")
    def _probes_can_be_asked(self) -> Config:
        probe_settings.check(self)
        return self

    @model_validator(mode="after")
    def _all_is_asked_where_it_must_be(self) -> Config:
        early_stop_settings.check(self)
        return self

    @model_validator(mode="after")
    def _stdio_can_be_spoken(self) -> Config:
        mcp_settings.check(self)
        return self

    def asking_once(self) -> Config:
        """Give the same configuration, by which the questions are asked, each once, and nothing else is done."""
        ask = self.ask.model_copy(update={"repeat": 1, "repeat_sample": 0, "probes": Probes()})
        off = {**PROBES_OFF, "must_be_deterministic": "off"}
        invariants = self.invariants.model_copy(update=off)
        return self.model_copy(update={"ask": ask, "invariants": invariants, "judges": None})

    def asking(self, **keys: int) -> Config:
        """Give the same configuration with other keys of its section `ask`."""
        return self.model_copy(update={"ask": self.ask.model_copy(update=keys)})

    @property
    def asks_again(self) -> bool:
        """Whether a whole run asks a few questions a second time: where all are asked once, and of no program."""
        return self.ask.repeat == 1 and self.ask.repeat_sample > 0 and self.api.program is None

    @property
    def judging(self) -> Judges | None:
        """Who grades the answers of a run; None where nobody does, or no answers are asked for."""
        return None if self.ask.retrieval_only else self.judges

    @property
    def baseline_path(self) -> str:
        """The baseline file, its default filled in."""
        return self.baseline or default_baseline(self.suite)


def default_baseline(suite: str) -> str:
    """Give the baseline file of a suite whose configuration names none."""
    return f"baselines/{suite}.json"


def load(data: bytes, name: str) -> Config:
    """Read a configuration; `name` is that of its file for messages.

    Raises:
        UsageError: naming file, line and key, what was found, what was expected, and the nearest known key.
    """
    document = parse(data, name)
    if not isinstance(document.value, dict):
        raise UsageError(
            f"{name}: expected a mapping with at least 'vault' and 'api'",
            hint="`raggate init` writes a commented example.",
        )
    try:
        config = Config.model_validate(document.value, strict=True)
    except ValidationError as error:
        problems, more = config_problems.of(error, document, Config)
    else:
        file = judge_places.misplaced(config)
        if file is None:
            return config
        key, text = file
        problems, more = [_problem(document, key, text)], 0
    raise FileProblems("invalid-config", problems, more=more, hint=_HINT)


def refused(data: bytes, name: str, key: Path, text: str) -> FileProblems:
    """Make the error of a key that fits the schema, and not the files that the configuration names.

    Args:
        data: the configuration.
        name: that of its file for messages.
        key: where the key stands.
        text: what is wrong with it.
    """
    return FileProblems("invalid-config", [_problem(parse(data, name), key, text)], hint=_HINT)


def _problem(document: Document, key: Path, text: str) -> Problem:
    return Problem(document.name, document.line(key), f"{dotted(key)}: {text}", dotted(key))
