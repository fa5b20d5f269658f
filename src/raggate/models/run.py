"""The nouns of measuring: what the API answered, what was labelled, and the run. Frozen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from sys import intern
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import force_setattr

from raggate.base.jsonio import JsonObject
from raggate.config.imported import RunConfig
from raggate.models.golden import Case, Golden, Selection
from raggate.models.judging import Judgement, Judging
from raggate.models.provenance import Fingerprint, Provenance

ProbeKind = Literal["private", "principal"]
"""What a probe is for: a private note, or one that the principal may not see."""


FailureKind = Literal["timeout", "connection", "status", "body", "schema", "aborted"]
Whole = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
"""A whole number that every program can read and write again."""
Length = Annotated[int, Meta(ge=0, le=1 << 28)]
"""Characters of a text: no answer is read that has more."""
Share = Annotated[float, Meta(ge=0, le=1)]

CUT = "..."
"""The mark at the end of a text that a run directory keeps in part."""
LeakPart = Literal[
    "",
    "chunk_id",
    "doc_id",
    "vault",
    "rel_path",
    "heading_path",
    "abstain_reason",
    "model",
    "references",
    "selected_folders",
    "available_folders",
    "folder_reasoning",
    "coverage",
    "latency",
    "cost",
]
"""Which part of a chunk, or of a response, holds a text; empty for the text of the chunk, or the answer, itself."""


class Probe(Struct, frozen=True):
    """A question that is asked beside the suite.

    Attributes:
        kind: what it is for.
        mode: the retrieval mode it is asked in.
        question: what is asked.
        case_id: the question of the suite that it is; empty for none.
        principal: who asks; empty for whoever asks the suite.
        note: the private note that it asks for, `vault/rel_path`; empty for none.
    """

    kind: ProbeKind
    mode: str
    question: str
    case_id: str = ""
    principal: str = ""
    note: str = ""


class Chunk(Struct, frozen=True, gc=False):
    """One retrieved chunk as the API reported it. The position in the response is its rank; `rank` is its claim.

    `text_hash` is that of the whole text where `text` was cut when the run was written, else None. Each text is in
    memory once, as the same chunks come back for many questions.
    """

    chunk_id: str
    rel_path: str
    heading_path: str
    text: str
    rank: Whole | None = None
    score_final: float | None = None
    score_vector: float | None = None
    score_lexical: float | None = None
    vault: str | None = None
    doc_id: str | None = None
    text_hash: str | None = None

    def __post_init__(self) -> None:
        # one by one, as there are very many chunks
        force_setattr(self, "chunk_id", intern(self.chunk_id))
        force_setattr(self, "rel_path", intern(self.rel_path))
        force_setattr(self, "heading_path", intern(self.heading_path))
        force_setattr(self, "text", intern(self.text))
        if self.vault is not None:
            force_setattr(self, "vault", intern(self.vault))
        if self.doc_id is not None:
            force_setattr(self, "doc_id", intern(self.doc_id))
        if self.text_hash is not None:
            force_setattr(self, "text_hash", intern(self.text_hash))

    @property
    def content(self) -> tuple[str | None, ...]:
        """What it is, whatever id an API makes up for it; of a text that was cut the hash is that of all of it."""
        return self.vault, self.rel_path, self.heading_path, self.text, self.text_hash

    @property
    def document(self) -> str:
        """The id of its document; an API without such ids names documents by their paths."""
        return self.rel_path if self.doc_id is None else self.doc_id


class Reference(Struct, frozen=True):
    """One cited place of an answer."""

    vault: str
    rel_path: str
    heading_path: str
    chunk_index: Whole


class Response(Struct, frozen=True):
    """What the API answered, whatever protocol it speaks.

    `selected_folders` is None when the API does not tell, and so is `folder_reasoning`, why it chose them. `latency`
    maps a step (`retrieval_ms`) to milliseconds. `coverage` is the API's own account of its index; `answer` is None
    when no answer was asked for. `grounded` is the API's own claim that the answer rests on the chunks, None when it
    makes none. `cost` maps what the question cost, unit last (`judge_tokens`, `judge_cost_usd`), to how much, if it is
    known. `unasked` says that an answer was generated although only retrieval was asked for; its text is not kept.
    `model` is the one that the API says generated the answer, None where it tells none. `found_headings` are the
    positions of chunks whose headings raggate found by the place of their text in the note.
    """

    chunks: tuple[Chunk, ...]
    answer: str | None = None
    references: tuple[Reference, ...] = ()
    abstained: bool = False
    abstain_reason: str | None = None
    selected_folders: tuple[str, ...] | None = None
    available_folders: tuple[str, ...] | None = None
    latency: dict[str, float] = field(default_factory=dict)
    coverage: JsonObject | None = None
    grounded: bool | None = None
    cost: dict[str, float] = field(default_factory=dict)
    unasked: bool = False
    model: str | None = None
    folder_reasoning: str | None = None
    found_headings: tuple[int, ...] = ()


class Failure(Struct, frozen=True):
    """Why a question got no answer. `status` is the HTTP status when there was one."""

    kind: FailureKind
    message: str
    status: Whole | None = None


class Result(Struct, frozen=True):
    """One question asked in one mode: a response or a failure, never both and never neither.

    `elapsed_ms` is the time of the last attempt as raggate saw it; `retries` counts the attempts before it. `repeat` is
    1 for the first answer to the question, 2 for the second, and so on. `trace_id` is the W3C trace id that all
    attempts were sent with, 32 hex digits, None where none was.
    """

    case_id: str
    mode: str
    response: Response | None
    failure: Failure | None
    retries: Whole
    elapsed_ms: float
    repeat: int = 1
    trace_id: str | None = None

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """The retrieved chunks; none for a failed call."""
        return self.response.chunks if self.response is not None else ()


class Leak(Struct, frozen=True):
    """Text of a note (`vault/rel_path`) kept from who asked, in the chunk at a rank; 0 for the rest of the response."""

    rank: int
    note: str
    part: LeakPart = ""


class Expected(Struct, frozen=True):
    """Where the snippets of a question stand in their notes: in code, in a table, in a section of so many characters.

    The section is the longest one; 0 where no snippet stands within a line of a note.
    """

    code: bool = False
    table: bool = False
    section: int = 0


class Labels(Struct, frozen=True):
    """What golden set and vault say of one result's chunks, decided on their full text.

    Attributes:
        matches: per chunk, in rank order, the indices of the gold supports it matches.
        heading_only: per chunk, whether the question meets its heading but not its body.
        bodiless: per chunk, whether it is a heading without any text below it.
        duplicates: positions of chunks whose id stood higher up already; they have no rank of their own.
        truncated: whether the text was cut before labelling, so that a missing snippet proves nothing.
        empty: positions of chunks without any text.
        strange_headings: positions of chunks whose heading path their note in the vault does not have.
        strange_texts: positions of chunks whose text does not stand in their note in the vault.
        filed_elsewhere: positions of chunks of a gold note that hold the gold section's text under another heading.
        leaks: texts of private notes that it holds, whatever note they are said to be of.
        ambiguous: positions of chunks whose heading reads as a gold one and could as well be another one of their note.
        judged: positions of chunks that match no gold support and are of a place that the golden set judges: one that
            does not answer, or a gold one without the snippet.
        lengths: characters of each chunk's whole text, if texts were cut when the run was written; else none.
        partly: pairs of a position and a share from 0 to 1, of chunks that hold text which is not of their note: the
            share of the words that is.
        expected: where the snippets of its question stand.
    """

    matches: tuple[tuple[int, ...], ...]
    heading_only: tuple[bool, ...]
    bodiless: tuple[bool, ...]
    duplicates: tuple[int, ...] = ()
    truncated: bool = False
    empty: tuple[int, ...] = ()
    strange_headings: tuple[int, ...] = ()
    strange_texts: tuple[int, ...] = ()
    filed_elsewhere: tuple[int, ...] = ()
    leaks: tuple[Leak, ...] = ()
    ambiguous: tuple[int, ...] = ()
    judged: tuple[int, ...] = ()
    lengths: tuple[Length, ...] = ()
    partly: tuple[tuple[int, Share], ...] = ()
    expected: Expected = Expected()


class LabelledResult(Struct, frozen=True, kw_only=True):
    """A case, its result and the labels of the result: all a per-case metric needs.

    `judgements` are what judges said of the answer, one for each score; empty where nothing is judged.
    """

    case: Case
    result: Result
    labels: Labels
    judgements: tuple[Judgement, ...] = ()


class ProbeAnswer(Struct, frozen=True, kw_only=True):
    """A probe and what came of it, with what `Labels` calls so; `leaks` are of notes kept from its principal too."""

    probe: Probe
    result: Result
    strange_texts: tuple[int, ...] = ()
    leaks: tuple[Leak, ...] = ()


class Probing(Struct, frozen=True, kw_only=True):
    """What was asked beside the suite, in the order it was asked, and the notes (`vault/rel_path`) that are private."""

    answers: Sequence[ProbeAnswer] = ()
    private: tuple[str, ...] = ()

    def of(self, kind: ProbeKind) -> Sequence[ProbeAnswer]:
        """Return what came of the probes of a kind."""
        return [answer for answer in self.answers if answer.probe.kind == kind]


class Run(Struct, frozen=True, kw_only=True):
    """Everything one run produced, in a stable order: by mode, then by case as in the golden set.

    `results` are the first answers, which reports show; `repeats` are all later ones to the same questions, in the same
    order, the second answers before the third. `stopped` says why a run was cut short (`interrupted`: by a signal), and
    `log` then holds the API's last lines, else those when it first failed, if any (untrusted text). `probes` is what
    was asked beside the suite, which no metric counts. `judging` is how the answers were judged; None where they were
    not. `selection` says which questions a partial run was to ask; its golden set is the whole one all the same, so
    that without this it lacks answers. None for a whole run.
    """

    run_id: str
    suite: str
    started: str
    golden: Golden
    results: Sequence[LabelledResult]
    config: RunConfig
    fingerprint: Fingerprint
    repeats: Sequence[LabelledResult] = ()
    provenance: Provenance = field(default_factory=Provenance)
    duration_s: float = 0.0
    stopped: str | None = None
    interrupted: bool = False
    log: tuple[str, ...] = ()
    probes: Probing = field(default_factory=Probing)
    judging: Judging | None = None
    selection: Selection | None = None

    @property
    def shortfall(self) -> str:
        """The sentence that not all questions were asked, and why, without an end mark; empty if all were."""
        stopped = [] if self.stopped is None else [f"not all questions were asked: {self.stopped}"]
        return "; ".join([*stopped, *([] if self.selection is None else [self.selection.sentence])])

    @property
    def answers(self) -> Iterator[LabelledResult]:
        """All answers, one by one, the first ones before the later ones."""
        return chain(self.results, self.repeats)
