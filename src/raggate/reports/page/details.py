"""Every question of a review as data for a page: how it stands, both lists, and each passage and note once."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from itertools import chain, islice
from urllib.parse import quote

from msgspec import Struct

from raggate.base.escape import plain
from raggate.base.headings import elements
from raggate.base.jsonio import written
from raggate.base.numbers import rounded_or_none
from raggate.models.comparison import Flip
from raggate.models.golden import Support
from raggate.models.provenance import notes_of
from raggate.models.run import Chunk, LabelledResult, Run
from raggate.models.scorecard import CaseScore, ListEntry
from raggate.models.verdict import Review
from raggate.reports.parts import questions, reasons
from raggate.scoring.score import first_answers, heading_hash, short_hash

LONGEST_NAME = 300
"""Characters of a name of a note, and of a heading."""

LONGEST_ADDRESS = 1000
STORED_TEXT = 200
"""Characters of a passage that are shown, as a run directory keeps no more."""

_UP = re.compile(r"(\.\./){1,12}")
_FORGE = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){2,20}/(blob|src/commit)/[0-9a-f]{40,64}/"
    r"([A-Za-z0-9_~%-][A-Za-z0-9._~%-]*/)*"
)
"""A directory of a repository at a commit: no name in it begins with a dot, so that none leads up."""

MOST_LISTED = 10_000
"""Answers that a page lists in full."""
LISTED_OF_MORE = 2_000
"""Answers that it lists of more: those that changed or failed, and the first of the others."""
LONGEST_QUESTION = 500
LONGEST_ANSWER = 1500
"""Characters of an answer that are shown."""
_ROOM = ("broke", "missed", "fell", "absent", "fixed")
"""Kinds of questions that changed, those first that get room before others."""
Key = tuple[str, str]
"""Mode and case id."""


class Passages:
    """Numbers passages and notes as they are met, so that a page holds what many questions share once.

    Notes are linked on the `forge`, as a page from an artifact has none beside it, else by `root`, the way from the
    page to the directory of the configuration. `items` are the results that are shown; None for all.
    """

    def __init__(
        self, run: Run, root: str = "", forge: str = "", items: Iterable[LabelledResult] | None = None
    ) -> None:
        self.notes: list[list[str]] = []
        """Of each note its name, and where it can be read; empty where that is not known."""
        self.passages: list[list[object]] = []
        """Of each passage the number of its note, its heading, its text, and whether that is cut.

        The number is -1 where the note is not known, and the text None where the passage is not.
        """
        self._numbers: dict[object, int] = {}
        self._vaults: dict[str, set[str]] = defaultdict(set)
        self._directories: Mapping[str, str] = getattr(run.config, "vault", {})
        beside = root if _UP.fullmatch(root) else ""
        self._root = forge if len(forge) <= LONGEST_ADDRESS and _FORGE.fullmatch(forge) else beside
        for note in notes_of(run.fingerprint):
            vault, _, path = note.partition("/")
            self._vaults[path].add(vault)
        self._headings: dict[str, str] = {}
        self._by_hash = self._names(run.results if items is None else items)

    def _names(self, items: Iterable[LabelledResult]) -> dict[str, Chunk]:
        """Return passages by the short hashes that a baseline keeps of them: of their ids, headings and notes."""
        named = {short_hash(path): Chunk(chunk_id="", rel_path=path, heading_path="", text="") for path in self._vaults}
        for item in items:
            expected = (support for support in item.case.gold_supports if support.rel_path and support.heading_path)
            for support in expected:
                self._headings.setdefault(heading_hash(support.heading_path or ""), support.heading_path or "")
            for chunk in item.result.chunks:
                note = Chunk(chunk_id="", rel_path=chunk.rel_path, heading_path="", text="", vault=chunk.vault)
                named.setdefault(short_hash(chunk.rel_path), note)
                named[f"{short_hash(chunk.rel_path)}/{short_hash(chunk.chunk_id)}"] = chunk
                self._headings.setdefault(heading_hash(chunk.heading_path), chunk.heading_path)
        return named

    def of_chunk(self, chunk: Chunk) -> int:
        """Return the number of a chunk's passage."""
        text = chunk.text[:STORED_TEXT]
        key = (chunk.chunk_id, chunk.vault, chunk.rel_path, chunk.heading_path, text)
        if key in self._numbers:
            return self._numbers[key]
        whole = chunk.text_hash is None and len(chunk.text) <= STORED_TEXT
        note = self.of_note(chunk.vault, chunk.rel_path or chunk.doc_id or chunk.chunk_id)
        return self._number(key, [note, heading(chunk.heading_path), plain(text, limit=STORED_TEXT), not whole])

    def of_entry(self, entry: ListEntry) -> int:
        """Return the number of the passage that a baseline's list names by hashes: as far as any answer shows it."""
        chunk = self._by_hash.get(f"{entry.note}/{entry.chunk}") if entry.chunk else None
        if chunk is not None:
            return self.of_chunk(chunk)
        note = self._by_hash.get(entry.note)
        number = -1 if note is None else self.of_note(note.vault, note.rel_path)
        shown = heading(self._headings.get(entry.heading, ""))
        return self._number((entry.note, entry.chunk, entry.heading), [number, shown, None, False])

    def of_note(self, vault: str | None, path: str) -> int:
        """Return the number of a note."""
        holders = {vault} if vault else self._vaults.get(path, set())
        known = next(iter(holders)) if len(holders) == 1 else None
        key = ("note", known, path)
        if key not in self._numbers:
            name = plain(f"{known}/{path}" if known else path, limit=LONGEST_NAME)
            self._numbers[key] = len(self.notes)
            self.notes.append([name, self._address(known, path)])
        return self._numbers[key]

    def _number(self, key: object, passage: list[object]) -> int:
        if key not in self._numbers:
            self._numbers[key] = len(self.passages)
            self.passages.append(passage)
        return self._numbers[key]

    def _address(self, vault: str | None, path: str) -> str:
        """Return the way to a note of the vault; what the API alone says of a note is no way to anywhere."""
        directory = self._directories.get(vault or "")
        if not self._root or directory is None or vault not in self._vaults.get(path, ()):
            return ""
        segments = [*directory.split("/"), *path.split("/")]
        if {"", ".", ".."} & set(segments):
            return ""
        return self._root + "/".join(quote(segment, safe="", errors="replace") for segment in segments)


def heading(path: str) -> str:
    """Write a heading path as people read it: its headings without their marks, the innermost last."""
    return " › ".join(plain(part, limit=LONGEST_NAME) for part in elements(path))


class Sides(Struct, frozen=True, kw_only=True):
    """What a review says of its questions, by mode and case id; relabelled ones have a past by other labels.

    `compared` says whether the baseline knows single questions. Scores are of those `listed`, None for all.
    """

    flips: Mapping[Key, Flip]
    before: Mapping[Key, CaseScore]
    now: Mapping[Key, CaseScore]
    relabelled: frozenset[str]
    compared: bool
    listed: AbstractSet[Key] | None

    @classmethod
    def of(cls, review: Review, only: AbstractSet[Key] | None = None) -> Sides:
        """Take a review apart, or `only` some questions of it; in a run that was cut short no question broke."""
        changed = () if review.run.stopped is not None else (*review.misses, *review.fallen, *review.comparison.flips)
        baseline = review.comparison.baseline
        flips = {(flip.mode, flip.case_id): flip for flip in changed}
        listed = _listed_of(review, flips) if only is None else only
        return cls(
            flips=flips,
            before=_scores(baseline.scorecard.cases if baseline else (), listed),
            now=_scores(review.scorecard.cases, listed),
            relabelled=frozenset(review.comparison.golden.relabelled),
            compared=baseline is not None and baseline.paired,
            listed=listed,
        )

    def items(self, review: Review) -> Iterable[LabelledResult]:
        """Return the answers that are listed, in the order of the run."""
        return review.run.results if self.listed is None else first_answers(review.run, self.listed)


def _listed_of(review: Review, flips: Mapping[Key, Flip]) -> AbstractSet[Key] | None:
    if len(review.run.results) <= MOST_LISTED:
        return None
    cases = review.scorecard.cases
    changed = sorted(flips, key=lambda key: _ROOM.index(flips[key].kind))
    failed = ((case.mode, case.case_id) for case in cases if case.failure is not None)
    in_order = dict.fromkeys(chain(changed, failed, ((case.mode, case.case_id) for case in cases)))
    return dict.fromkeys(islice(in_order, LISTED_OF_MORE)).keys()


def _scores(cases: Iterable[CaseScore], listed: AbstractSet[Key] | None) -> dict[Key, CaseScore]:
    keyed = (((case.mode, case.case_id), case) for case in cases)
    return dict(keyed if listed is None else islice(((key, case) for key, case in keyed if key in listed), len(listed)))


def rows(review: Review, sides: Sides, slices: Mapping[str, int]) -> list[object]:
    """Return a row for each listed question and mode, in the order of the run: what a list shows, and filters by."""
    return [written(_row(item, sides, slices)) for item in sides.items(review)]


def _row(item: LabelledResult, sides: Sides, slices: Mapping[str, int]) -> dict[str, object]:
    key = (item.result.mode, item.case.id)
    flip, before, now = sides.flips.get(key), sides.before.get(key), sides.now.get(key)
    row: dict[str, object] = {
        "id": plain(item.case.id),
        "mode": plain(item.result.mode),
        "asked": plain(item.case.question, limit=LONGEST_QUESTION),
        "kind": _kind(item, flip, before, sides),
        "before": before.rank if before and item.case.id not in sides.relabelled else None,
        "now": now.rank if now else None,
        "slices": [slices[name] for name in (now.slices if now else ()) if name in slices],
    }
    if flip is not None:
        row["change"] = questions.rank_change(flip)
    waived = flip is not None and flip.waived
    facts = {"must": item.case.must_pass, "waived": waived, "free": not item.case.answerable}
    return row | {name: True for name, holds in facts.items() if holds}


def _kind(item: LabelledResult, flip: Flip | None, before: CaseScore | None, sides: Sides) -> str:
    failure = item.result.failure
    if failure is not None and failure.kind == "aborted":
        return "not asked"
    if flip is not None or failure is not None:
        return "error" if flip is None else flip.kind
    if item.case.id in sides.relabelled:
        return "relabelled"
    return "new" if before is None and sides.compared else "same"


def details(review: Review, sides: Sides, passages: Passages, metrics: Sequence[str]) -> list[object]:
    """Return for each row, in the same order, what is shown when it is opened."""
    return [written(_detail(item, sides, passages, metrics)) for item in sides.items(review)]


def _detail(item: LabelledResult, sides: Sides, passages: Passages, metrics: Sequence[str]) -> dict[str, object]:
    key = (item.result.mode, item.case.id)
    flip, before, now = sides.flips.get(key), sides.before.get(key), sides.now.get(key)
    # values by other labels are no past of these
    values = (None if item.case.id in sides.relabelled else before, now)
    detail: dict[str, object] = {
        "gold": [_support(support, item, passages) for support in item.case.gold_supports],
        "new": list(_listed(item, passages)),
        "old": None if before is None else [_entry(entry, passages) for entry in before.entries],
        "values": [[side and rounded_or_none(side.values.get(metric)) for side in values] for metric in metrics],
        "ms": round(item.result.elapsed_ms),
    }
    texts = {"why": flip.why, "instead": reasons.instead(flip)} if flip else {}
    texts["trace"] = item.result.trace_id or ""
    detail |= {name: plain(text, limit=600, middle=True) for name, text in texts.items() if text}
    return {**detail, **_answer(item)}


def _support(support: Support, item: LabelledResult, passages: Passages) -> list[object]:
    """Return a gold support's note, its heading and its snippets: a passage must contain one."""
    vaults = item.case.vaults_of(support)
    path = support.rel_path or support.chunk_id or support.doc_id or ""
    note = passages.of_note(vaults[0] if len(vaults) == 1 else None, path)
    snippets = [plain(snippet, limit=LONGEST_QUESTION) for snippet in support.snippets]
    return [note, heading(support.heading_path or ""), snippets]


def _entry(entry: ListEntry, passages: Passages) -> list[object]:
    """Return a place of a list: its passage, its scores, and the gold supports it matches."""
    scores = (rounded_or_none(score) for score in (entry.final, entry.vector, entry.lexical))
    return [passages.of_entry(entry), *scores, list(entry.supports)]


def _listed(item: LabelledResult, passages: Passages) -> Iterator[list[object]]:
    """Yield the places of the new list likewise, and of each whether it repeats one above it, and so has no rank."""
    labels = item.labels
    for position, chunk in enumerate(item.result.chunks):
        scores = (rounded_or_none(score) for score in (chunk.score_final, chunk.score_vector, chunk.score_lexical))
        matches = list(labels.matches[position]) if position < len(labels.matches) else []
        yield [passages.of_chunk(chunk), *scores, matches, position in labels.duplicates]


def _answer(item: LabelledResult) -> dict[str, object]:
    """Return what the API said, or why it said nothing."""
    response, failure = item.result.response, item.result.failure
    if failure is not None:
        return {"failure": plain(f"{failure.kind}: {failure.message}", limit=600, middle=True)}
    if response is None:
        return {}
    parts: dict[str, object] = {}
    if response.answer:
        lines = (plain(line, limit=LONGEST_ANSWER) for line in response.answer[:LONGEST_ANSWER].splitlines())
        parts["answer"] = "\n".join(filter(None, lines)) + ("…" if len(response.answer) > LONGEST_ANSWER else "")
    if response.abstained:
        parts["abstained"] = plain(response.abstain_reason or "", limit=300) or True
    if response.folder_reasoning:
        folders = ", ".join(response.selected_folders or ()) or "no folder"
        parts["folders"] = plain(f"{folders}: {response.folder_reasoning}", limit=LONGEST_ANSWER, middle=True)
    judged = [[plain(judgement.score), rounded_or_none(judgement.value)] for judgement in item.judgements]
    return {**parts, **({"judged": judged} if judged else {})}
