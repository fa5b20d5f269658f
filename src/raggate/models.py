"""The nouns that cross a stage: frozen, without behaviour beyond what can be read off their own fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Direction = Literal["higher", "lower"]
"""Which way is better. Every metric has one."""

FailureKind = Literal["timeout", "connection", "status", "body", "schema", "aborted"]

OVERALL = "overall"
"""The slice of all cases. The others are written `<dimension>=<value>`, such as `difficulty=hard`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """One gold support: a place in the vault whose text answers the question.

    `heading_path` is None for the whole note; `vault` is None when the case does not say. `grade` is a graded
    relevance, 1 or more. A chunk must contain one of `snippets` when there are any.
    """

    rel_path: str
    heading_path: str | None = None
    snippets: tuple[str, ...] = ()
    vault: str | None = None
    grade: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question of the golden set.

    `required_support_groups` holds indices into `gold_supports`: OR of groups, AND within a group. `hash` covers what
    a score depends on (question, labels, scope), not how the case is filed (category, tags, difficulty).
    """

    id: str
    question: str
    answerable: bool
    gold_supports: tuple[Support, ...] = ()
    required_support_groups: tuple[tuple[int, ...], ...] | None = None
    recency_conflict_rule: str | None = None
    expected_key_facts: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    vaults: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    category: str = "factual"
    difficulty: str = "medium"
    group: str | None = None
    modes: tuple[str, ...] | None = None
    must_pass: bool = False
    k: int | None = None
    detail: str | None = None
    hash: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """A golden set: the cases in file order, the file's name for messages, and the hash of its content."""

    name: str
    cases: tuple[Case, ...]
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """The fixture notes: the directory of each vault, the text of each note, and what identifies the content.

    `texts` is keyed by (vault, rel_path); notes without any text are left out, as an index has no document for them.
    `notes` maps `vault/rel_path` to a short hash of the text; `hash` covers all of them.
    """

    directories: dict[str, Path]
    texts: dict[tuple[str, str], str]
    notes: dict[str, str]
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a backend works: directories, and the environment it may hand on from.

    `root` is the directory of the configuration, `out` the run directory, `vaults` maps a name to its directory. All
    are absolute and exist. `environment` is raggate's own; a backend passes on only what its settings name.
    """

    root: Path
    out: Path
    vaults: dict[str, Path]
    environment: Mapping[str, str]


class Started(Protocol):
    """An API that a backend has started. It may not be ready yet, and it may die at any time."""

    @property
    def base_url(self) -> str:
        """Scheme, host and port, without a final slash."""

    def died(self) -> str | None:
        """Say how it ended (`exited with code 3`, `was killed by SIGKILL`), or None while it runs. Cheap to poll."""

    def log_tail(self, lines: int = 20) -> tuple[str, ...]:
        """Give the last lines of its output, oldest first. Untrusted text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """How far an API is: healthy, still indexing, documents and chunks so far (None when it does not tell)."""

    healthy: bool
    indexing: bool
    documents: int | None = None
    chunks: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP request: method, path below the base URL, query and JSON body."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    json: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One retrieved chunk as the API reported it. The position in the response is its rank; `rank` is its claim."""

    chunk_id: str
    rel_path: str
    heading_path: str
    text: str
    rank: int | None = None
    score_final: float | None = None
    score_vector: float | None = None
    score_lexical: float | None = None
    vault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One cited place of an answer."""

    vault: str
    rel_path: str
    heading_path: str
    chunk_index: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What the API answered, whatever protocol it speaks.

    `selected_folders` is None when the API does not tell. `latency` maps a step (`retrieval_ms`) to milliseconds.
    `coverage` is the API's own account of its index; `answer` is None when no answer was asked for.
    """

    chunks: tuple[Chunk, ...]
    answer: str | None = None
    references: tuple[Reference, ...] = ()
    abstained: bool = False
    abstain_reason: str | None = None
    selected_folders: tuple[str, ...] | None = None
    available_folders: tuple[str, ...] | None = None
    latency: dict[str, float] = field(default_factory=dict)
    coverage: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a question got no answer. `status` is the HTTP status when there was one."""

    kind: FailureKind
    message: str
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One question asked in one mode: a response or a failure, never both and never neither.

    `elapsed_ms` is the time of the last attempt as raggate saw it; `retries` counts the attempts before it.
    """

    case_id: str
    mode: str
    response: Response | None
    failure: Failure | None
    retries: int
    elapsed_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What the golden set says of one result's chunks, decided on their full text.

    Attributes:
        matches: per chunk, in rank order, the indices of the gold supports it matches.
        heading_only: per chunk, whether the question meets its heading but not its body.
        duplicates: positions of chunks whose id stood higher up already; they hold no rank of their own.
        truncated: whether the text was cut before labelling, so that a missing snippet proves nothing.
    """

    matches: tuple[tuple[int, ...], ...]
    heading_only: tuple[bool, ...]
    duplicates: tuple[int, ...] = ()
    truncated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A case, its result and the labels of the result: all a per-case metric needs."""

    case: Case
    result: Result
    labels: Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything one run produced, in a stable order: by mode, then by case as in the golden set.

    `config` and `fingerprint` are plain JSON values. `stopped` says why a run was cut short, and `log` then holds the
    API's last lines (untrusted text).
    """

    run_id: str
    suite: str
    started: str
    golden: Golden
    results: tuple[Labelled, ...]
    config: dict[str, Any]
    fingerprint: dict[str, Any]
    duration_s: float = 0.0
    stopped: str | None = None
    log: tuple[str, ...] = ()


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
    required support has been seen; None when that never happens within the list. `slices` and `must_pass` come from
    the golden set and are empty in a stored baseline.
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

    `latency` maps a step to its percentiles: `{"total_ms": {"p50": 12.0, "p95": 30.0}}`.
    """

    calls: int
    failed: int
    rates: dict[str, MetricValue]
    retries: int
    latency: dict[str, dict[str, float]]
    coverage: dict[str, Any] | None
    failures: dict[str, int]


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
    """A stored scorecard with where it came from. `cases` is empty for a bare metrics file of another tool."""

    source: str
    scorecard: Scorecard
    provenance: dict[str, Any]

    @property
    def paired(self) -> bool:
        """Whether single cases can be compared, not only means."""
        return bool(self.scorecard.cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One metric of one slice and mode on both sides, over the same cases. `delta` is current minus baseline.

    `lost` and `gained` count the cases that got worse or better, when cases can be paired. A side's value is None when
    the metric applies to none of its cases. `binary` says that every case scores 0 or 1, so that counts tell more.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A question that broke or was fixed: what was expected, where it was, where it is, and why.

    `metric` is the metric that flipped; `before` and `after` are ranks, None for not in the list. `displaced_by` names
    what stands now where the gold chunk stood.
    """

    case_id: str
    mode: str
    kind: Literal["broke", "fixed"]
    metric: str
    question: str
    gold: str
    before: int | None
    after: int | None
    why: str
    displaced_by: str | None
    must_pass: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenChanges:
    """How the golden set differs from the one the baseline was measured on, by case id."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    relabelled: tuple[str, ...] = ()


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
    at all; then `deltas` and `flips` are empty.
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


Status = Literal["worse", "below floor", "better", "same", "within", "vanished", "not gated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A delta with what the policy says of it. `allowed` is the tolerance and `floor` the limit, None where unset."""

    delta: Delta
    status: Status
    allowed: float | None
    floor: float | None
    gated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One clause of a verdict: a stable code for programs and a sentence for people."""

    code: str
    message: str


Outcome = Literal["pass", "regression", "cannot tell", "invariant broken", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The decision, its reasons (empty for a pass), the warnings and the judged rows."""

    outcome: Outcome
    exit_code: int
    headline: str
    reasons: tuple[Reason, ...] = ()
    warnings: tuple[Reason, ...] = ()
    rows: tuple[Judged, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Everything a report tells: the run, its scores, what it was held against, and the decision.

    `against` is the commit the trusted inputs came from, None for the working tree; `reproduce` is a shell line.
    """

    run: Run
    scorecard: Scorecard
    comparison: Comparison
    findings: tuple[Finding, ...]
    verdict: Verdict
    reproduce: str
    against: str | None = None
