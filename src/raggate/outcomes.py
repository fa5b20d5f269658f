"""The nouns of judging, from the scorecard to the review: frozen, without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from raggate.accepted import Accepted
from raggate.models import Run, Support
from raggate.uncompared import Uncompared
from raggate.waived import Waived

Direction = Literal["higher", "lower"]
"""Which way is better. Every metric has one."""

EPSILON = 1e-9
"""A boundary is crossed only beyond this, so that sums of floats cannot decide."""

OVERALL = "overall"
"""The slice of all cases. The others are written `<dimension>=<value>`, such as `difficulty=hard`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """A mean over the cases it applies to. `value` is None when it applies to none; `unscored` counts the rest."""

    value: float | None
    n: int
    unscored: int
    direction: Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseScore:
    """One case in one mode: metric values (None = does not apply) and the ranks that flips are told by.

    `rank` is the position of the first chunk that matches a gold support, `rank_all` the depth at which every
    required support has been seen; None when that never happens within the list. `slices` and `must_pass` say how
    the golden set files the case.
    """

    case_id: str
    mode: str
    hash: str
    values: dict[str, float | None]
    rank: int | None = None
    rank_all: int | None = None
    failure: str | None = None
    slices: tuple[str, ...] = ()
    must_pass: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """How the calls went, whatever they found. Rates are shares of all calls; times are milliseconds.

    `latency` maps a step to its percentiles: `{"total_ms": {"p50": 12.0, "p95": 30.0}}`. `failures` counts the failed
    calls by kind, and `said` is what most of them said; empty when none failed. `document_types` counts `documents` and
    `chunks` that came back by file extension; `cost` has `sum`, `mean` and `n` of what responses say they cost.
    """

    calls: int
    failed: int
    rates: dict[str, MetricValue]
    retries: int
    latency: dict[str, dict[str, float]]
    coverage: dict[str, Any] | None
    failures: dict[str, int]
    said: str = ""
    document_types: dict[str, dict[str, int]] = field(default_factory=dict)
    cost: dict[str, dict[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard:
    """A scored run: per case, per slice of each mode, and the operations. `slices[mode][slice][metric]`."""

    suite: str
    run_id: str
    fingerprint: dict[str, Any]
    cases: tuple[CaseScore, ...]
    slices: dict[str, dict[str, dict[str, MetricValue]]]
    counts: dict[str, dict[str, int]]
    operations: Operations | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A stored scorecard with where it came from. `cases` is empty for a bare metrics file of another tool.

    `accepted` maps mode and gated metric to what was accepted of it; empty for files from before that was kept. `unfit`
    says why nothing must be held against it: it is a run directory that no promotion would take, not a baseline file.
    `early` files are from before case hashes covered the expected key facts.
    """

    source: str
    scorecard: Scorecard
    provenance: dict[str, Any]
    unfit: tuple[str, ...] = ()
    early: bool = False
    accepted: Mapping[str, Mapping[str, Accepted]] = field(default_factory=dict)

    @property
    def paired(self) -> bool:
        """Whether single cases can be compared, not only means."""
        return bool(self.scorecard.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One metric of one slice and mode on both sides, over the same cases. `delta` is current minus baseline.

    Where cases can be paired, both values are over those with a value on both sides, of which `lost` got worse and
    `gained` better; `lapsed` more had one in the baseline only. Where no pair is left, the current value is None if the
    baseline has one: the metric vanished. `binary` says that every case scores 0 or 1, so that counts tell more.
    `whole` is the run's own value over all its cases but those waived, where those are more than were compared, and
    `uncompared` how the others among them stand. `fell` names the cases that got worse, compared or held to a stand-in.
    """

    mode: str
    slice: str
    metric: str
    baseline: MetricValue
    current: MetricValue
    delta: float | None
    lost: int | None = None
    gained: int | None = None
    binary: bool = False
    lapsed: int = 0
    whole: MetricValue | None = None
    uncompared: Uncompared | None = None
    fell: tuple[str, ...] = ()

    @property
    def own(self) -> MetricValue:
        """The run's own value, whatever it was compared with."""
        return self.whole or self.current


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A question that broke, was fixed, got worse without breaking, or must pass and does not though it did not break.

    `metric` is the metric that flipped; `before` and `after` are ranks, None for not in the list. `displaced_by` names
    what stands now where the gold chunk stood. `support` is what `gold` names, None for a question to abstain from.
    """

    case_id: str
    mode: str
    kind: Literal["broke", "fixed", "fell", "missed"]
    metric: str
    question: str
    gold: str
    before: int | None
    after: int | None
    why: str
    displaced_by: str | None
    must_pass: bool
    support: Support | None = None
    waived: bool = False
    since: Literal["same", "relabelled", "added"] = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenChanges:
    """How the golden set differs from the one the baseline was measured on, by case id.

    `relabelled` cases ask or expect something else and are not compared; `refiled` ones stand in other slices, and
    `released` ones are no longer must-pass.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()
    refiled: tuple[str, ...] = ()
    released: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An invariant that does not hold. `level` error breaks the gate; `examples` name where, shortest first."""

    invariant: str
    level: Literal["error", "warn"]
    message: str
    count: int
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A scorecard held against a baseline: deltas, flips and what is not the same on both sides.

    `compared` counts the cases that are the same on both sides. `incomparable` lists why the two must not be compared
    at all; then `deltas` and `flips` are empty. `not_asked` names the questions the run has no result for, as mode and
    case id; `idle` those for modes that are not asked at all, and `idle_modes` the modes that no question is for.
    `uncommitted` is the baseline's file where the working tree has one and the commit that judges has none.
    """

    baseline: Baseline | None
    scorecard: Scorecard
    deltas: tuple[Delta, ...] = ()
    flips: tuple[Flip, ...] = ()
    golden: GoldenChanges = GoldenChanges()
    vault_changes: tuple[str, ...] = ()
    config_changes: tuple[tuple[str, str, str], ...] = ()
    compared: int = 0
    incomparable: tuple[str, ...] = ()
    not_asked: tuple[tuple[str, str], ...] = ()
    idle: tuple[str, ...] = ()
    idle_modes: tuple[str, ...] = ()
    uncommitted: str = ""


Status = Literal["worse", "below floor", "better", "same", "within", "vanished", "no baseline", "not gated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A delta and its policy: tolerance `allowed`, limit `floor`, None where unset. A waiver excuses a `waived` row.

    A row is worse `by_others` where the cases that could not be compared make it so, and not those that could.
    """

    delta: Delta
    status: Status
    allowed: float | None
    floor: float | None
    gated: bool
    waived: bool = False
    by_others: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One clause of a verdict: a stable code for programs and a sentence for people."""

    code: str
    message: str


Outcome = Literal["pass", "regression", "cannot tell", "invariant broken", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision, its reasons (empty for a pass), warnings, judged rows and waivers.

    `fell` names the cases that got worse in a metric that makes it red: by mode and case id, the first such metric.
    `missed` names those that must pass and do not, likewise.
    """

    outcome: Outcome
    exit_code: int
    headline: str
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[Reason, ...] = ()
    rows: tuple[Judged, ...] = ()
    waivers: tuple[Waived, ...] = ()
    fell: Mapping[tuple[str, str], str] = field(default_factory=dict)
    missed: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of a file: path relative to the directory of the configuration, with `/`, and the line from 1."""

    path: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What the change's own configuration, golden set, vault and baseline would mean if merged. It decides nothing.

    Attributes:
        settings: configuration key, value that counted, value in the change. `loosened`: those that let more through.
        golden: how the change's golden set differs from the one that counted.
        vault: notes it adds, removes and changes, as `added work/a.md`.
        baseline: what it does to the baseline file.
        values: metric over all cases, in the stored baseline and in the change's own, for a replaced baseline.
        rows: the change's golden set and vault measured too: metrics over all its cases, beside those that counted.
        breaks: why its files cannot be used: once it is merged, nothing is measured any more.
        problems: what of it could not be looked at or measured.
    """

    settings: tuple[tuple[str, str, str], ...] = ()
    loosened: tuple[str, ...] = ()
    golden: GoldenChanges = GoldenChanges()
    vault: tuple[str, ...] = ()
    baseline: Literal["same", "added", "removed", "replaced"] = "same"
    values: tuple[tuple[str, float | None, float | None], ...] = ()
    rows: tuple[Delta, ...] = ()
    breaks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether the change leaves everything that decides as it is."""
        return self == Preview()


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What is told of a run beside its scores.

    Attributes:
        places: by case id, where in the vault its gold support stands, for cases that flipped.
        preview: what the change's own files would mean; None where they are what counted.
        first_run: whether the trusted commit does not have raggate yet, so that the change's own files counted.
        waivers_settled: whether the change itself removes or renews every waiver that has expired.
    """

    places: Mapping[str, SourceLine] = field(default_factory=dict)
    preview: Preview | None = None
    first_run: bool = False
    waivers_settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Everything a report tells: the run, its scores, what it was held against, and the decision.

    `against` is the commit the trusted inputs came from, None for the working tree; `reproduce` is a shell line.
    `places`, `preview` and `first_run` are those of `Aside`, `waivers` those of the verdict. `fallen` are the questions
    that got worse in a red metric, or must pass and do not, and did not break. `lowers` says of a pass what promoting
    it would need permission for.
    """

    run: Run
    scorecard: Scorecard
    comparison: Comparison
    findings: tuple[Finding, ...]
    verdict: Verdict
    reproduce: str
    against: str | None = None
    places: Mapping[str, SourceLine] = field(default_factory=dict)
    preview: Preview | None = None
    first_run: bool = False
    waivers: tuple[Waived, ...] = ()
    fallen: tuple[Flip, ...] = ()
    lowers: tuple[str, ...] = ()
