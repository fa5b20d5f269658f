"""The nouns of measuring, from the golden set to the run: frozen, without behaviour of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal, Protocol

FailureKind = Literal["timeout", "connection", "status", "body", "schema", "aborted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """One gold support: a place in the vault whose text answers the question.

    `heading_path` is None for the whole note; `vault` is None when the case does not say. `grade` is a graded
    relevance, 1 or more. A chunk must contain one of `snippets` when there are any. A support that a case names by
    `chunk_id` or `doc_id` alone has an empty `rel_path` and no other labels but its grade.
    """

    rel_path: str
    heading_path: str | None = None
    snippets: tuple[str, ...] = ()
    vault: str | None = None
    grade: int = 1
    chunk_id: str | None = None
    doc_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question of the golden set.

    `required_support_groups` holds indices into `gold_supports`: OR of groups, AND within a group. `hash` covers what
    a score depends on (question, labels, facts, scope), not how the case is filed (category, tags, difficulty).
    `expected_chunk_ids`, or else `expected_doc_ids`, stand in `gold_supports` too when the case has no others.
    `must_contain` and `forbidden` are texts that the answer must and must not hold, letter by letter.
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
    expected_doc_ids: tuple[str, ...] = ()
    expected_chunk_ids: tuple[str, ...] = ()
    must_contain: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    lang: str | None = None
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

    `root` is the directory of the configuration, `out` the run directory, `runs` the one that all of them are in (by
    default that of `out`), `vaults` maps a name to its directory. All are absolute and exist. `environment` is
    raggate's own; a backend passes on only what its settings name. `say` takes a line about what it does or could not
    undo. `in_action` tells whether raggate was started as the container action. No log that it keeps may hold one of
    the `secrets`. `identified` takes what names the image of the API exactly, where it runs from one:
    `name@sha256:...`, or `sha256:...` of an image that no registry knows. `run` names this start and no other, by
    letters, digits and `_`.
    """

    root: Path
    out: Path
    vaults: dict[str, Path]
    environment: Mapping[str, str]
    say: Callable[[str], None] = field(default=lambda _: None)
    in_action: bool = False
    runs: Path | None = None
    secrets: tuple[str, ...] = ()
    identified: Callable[[str], None] = field(default=lambda _: None)
    run: str = field(default_factory=lambda: f"run_{token_hex(6)}")


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
    """How far an API is: healthy, still indexing; documents, chunks and documents without chunks so far.

    A count is None when the API does not tell it.
    """

    healthy: bool
    indexing: bool
    documents: int | None = None
    chunks: int | None = None
    empty: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP request: method, path below the base URL, query, JSON body and headers beside the usual ones."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    json: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """One retrieved chunk as the API reported it. The position in the response is its rank; `rank` is its claim.

    `text_hash` is that of the whole text where `text` was cut when the run was written, else None.
    """

    chunk_id: str
    rel_path: str
    heading_path: str
    text: str
    rank: int | None = None
    score_final: float | None = None
    score_vector: float | None = None
    score_lexical: float | None = None
    vault: str | None = None
    doc_id: str | None = None
    text_hash: str | None = None


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
    `coverage` is the API's own account of its index; `answer` is None when no answer was asked for. `grounded` is the
    API's own claim that the answer rests on the chunks, None when it makes none. `cost` maps what the question cost,
    unit last (`judge_tokens`, `judge_cost_usd`), to how much, as far as it is told. `unasked` says that an answer was
    generated although only retrieval was asked for; its text is not kept.
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
    grounded: bool | None = None
    cost: dict[str, float] = field(default_factory=dict)
    unasked: bool = False


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
    """What golden set and vault say of one result's chunks, decided on their full text.

    Attributes:
        matches: per chunk, in rank order, the indices of the gold supports it matches.
        heading_only: per chunk, whether the question meets its heading but not its body.
        bodiless: per chunk, whether it is a heading without any text below it.
        duplicates: positions of chunks whose id stood higher up already; they hold no rank of their own.
        truncated: whether the text was cut before labelling, so that a missing snippet proves nothing.
        empty: positions of chunks without any text.
        strange_headings: positions of chunks whose heading path their note in the vault does not have.
        strange_texts: positions of chunks whose text does not stand in their note in the vault.
    """

    matches: tuple[tuple[int, ...], ...]
    heading_only: tuple[bool, ...]
    bodiless: tuple[bool, ...]
    duplicates: tuple[int, ...] = ()
    truncated: bool = False
    empty: tuple[int, ...] = ()
    strange_headings: tuple[int, ...] = ()
    strange_texts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """A case, its result and the labels of the result: all a per-case metric needs."""

    case: Case
    result: Result
    labels: Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything one run produced, in a stable order: by mode, then by case as in the golden set.

    `config` and `fingerprint` are plain JSON values. `stopped` says why a run was cut short (`interrupted`: by a
    signal), and `log` then holds the API's last lines, else those when it first failed, if any (untrusted text).
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
    interrupted: bool = False
    log: tuple[str, ...] = ()
