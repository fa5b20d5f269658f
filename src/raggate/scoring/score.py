"""A run -> a scorecard: labels per chunk, values per case, means per slice with n and what was not scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from functools import lru_cache, partial
from itertools import chain
from math import fsum
from operator import attrgetter
from sys import intern
from typing import NamedTuple
from zlib import crc32

from msgspec import Struct, ValidationError, convert

from raggate.base.headings import contains_snippet, covers, elements, fold, in_scope, inside_folder
from raggate.base.unicode import words
from raggate.config.imported import ImportedConfig
from raggate.models.golden import Case, Support
from raggate.models.judging import judged_scores
from raggate.models.metric_names import at_depth
from raggate.models.run import Chunk, LabelledResult, Labels, Response, Result, Run
from raggate.models.scorecard import EPSILON, OVERALL, CaseScore, Direction, ListEntry, MetricValue, Scorecard, Values
from raggate.scoring import noise, repeats
from raggate.scoring.metrics import METRICS, PerCase
from raggate.scoring.metrics.documents import lengths_of
from raggate.scoring.metrics.operations import Calls
from raggate.scoring.metrics.ranking import complete_at, first_hit, ranking

ModeCounts = dict[str, dict[str, int]]
_COUNTED = ("answers", "selected", "several", "served", "outside")
"""By mode: `answers` that tell what they selected and the `selected` folders of all; `several` that have chunks and
more than one folder, if the first overlaps no other, and those of them that are `served` from that first one."""
_PASSAGE_COUNTS = ("passages", "copies", "characters", "own")
"""By mode: `passages` with a text within the deepest cut-off, `copies` of a text above them in their list, all their
`characters`, and those that are their note's `own`."""
_HEADING_COUNTS = ("passages", "matches")
"""By mode: `passages` within the deepest cut-off whose headings raggate found, and `matches` that need those."""
METRICS_VERSION = 1
"""Raised when a definition changes, so that scores by different definitions are never compared."""
_MOST_KNOWN = 1 << 14
_STOP_WORDS = frozenset(
    "a an and are as at be but by do does did for from had has have how i in is it me my of on or our should so that "
    "the their then there these they this to was we were what when where which who why will with would you your".split()
)
Counts = dict[str, dict[str, list[int]]]
"""By mode and field: how many answers told it, of how many that could have."""
# what a chunk is: one that does not tell could be any
_OF_EACH_CHUNK: dict[str, Callable[[Chunk], object]] = {
    "chunk_id": attrgetter("chunk_id"),
    "doc_id": attrgetter("doc_id"),
    "vault": lambda chunk: chunk.vault is not None,
}
_OF_CHUNKS: dict[str, Callable[[Chunk], object]] = {
    "heading_path": lambda chunk: chunk.heading_path.strip(),
    "rank": lambda chunk: chunk.rank is not None,
    "score_final": lambda chunk: chunk.score_final is not None,
    "score_lexical": lambda chunk: chunk.score_lexical is not None,
    "score_vector": lambda chunk: chunk.score_vector is not None,
}
_OF_COVERAGE = {
    f"indexing_coverage.{name}": name
    for name in ("chunker_version", "chunks_embedded", "docs_processed", "docs_with_0_chunks", "index_version")
}
_OF_ANSWERS: dict[str, Callable[[Response], object]] = {
    "available_folders": lambda response: response.available_folders is not None,
    "grounded": lambda response: response.grounded is not None,
    "selected_folders": lambda response: response.selected_folders is not None,
}


def filed_elsewhere(chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case) -> tuple[int, ...]:
    """Return the positions of chunks that are of a gold note and hold the gold section, but under another heading.

    Merged sections and headings that are written otherwise look so. A support without snippets is looked for
    by its own heading as a line of the text.
    """
    return tuple(
        position
        for position, (chunk, matched) in enumerate(zip(chunks, matches, strict=True))
        if not matched and any(_holds_section(chunk, support, case) for support in case.gold_supports)
    )


def _holds_section(chunk: Chunk, support: Support, case: Case) -> bool:
    heading = support.heading_path
    if not support.rel_path or chunk.rel_path != support.rel_path or heading is None:
        return False
    if not case.may_be_in(chunk.vault, support) or covers(heading, chunk.heading_path):
        return False
    if support.snippets:
        return contains_snippet(chunk.text, support.snippets)
    return elements(heading)[-1:] != () and elements(heading)[-1] in _lines(chunk.text)


def _lines(text: str) -> Iterator[str]:
    return (fold(line).lstrip("#").strip() for line in text.splitlines())


def count_folders(item: LabelledResult, counted: ModeCounts) -> None:
    """Count one more answer. A failed call, and an answer that tells no selection, counts for nothing."""
    response = item.result.response
    if response is None or not response.selected_folders:
        return
    counts = counted.setdefault(item.result.mode, dict.fromkeys(_COUNTED, 0))
    counts["answers"] += 1
    counts["selected"] += len(response.selected_folders)
    counts["outside"] += _leaves(response, response.selected_folders)
    if response.chunks and _stands_alone(response.selected_folders):
        counts["several"] += 1
        counts["served"] += _served(response, response.selected_folders[:1])


def count_passages(item: LabelledResult, depth: int, counted: ModeCounts) -> None:
    """Count the first passages of one more answer. A failed call, and one without any text, counts for nothing."""
    lengths = lengths_of(item)
    if not lengths:
        return
    counts = counted.setdefault(item.result.mode, dict.fromkeys(_PASSAGE_COUNTS, 0))
    # of a text that was cut the hash is that of all of it
    texts = [(chunk.text, chunk.text_hash) for chunk in item.result.chunks[:depth] if chunk.text]
    characters = sum(lengths[:depth])
    counts["passages"] += len(texts)
    counts["copies"] += len(texts) - len(set(texts))
    counts["characters"] += characters
    foreign = (lengths[place] * (1 - share) for place, share in item.labels.partly if place < depth)
    counts["own"] += round(characters - fsum(foreign))


def count_found_headings(item: LabelledResult, depth: int, counted: ModeCounts) -> None:
    """Count the first passages whose headings raggate found, and the matches that need them, of one more answer."""
    response = item.result.response
    if response is None or not response.found_headings:
        return
    counts = counted.setdefault(item.result.mode, dict.fromkeys(_HEADING_COUNTS, 0))
    by_heading = {index for index, support in enumerate(item.case.gold_supports) if support.heading_path is not None}
    found = [position for position in response.found_headings if position < depth]
    counts["passages"] += len(found)
    counts["matches"] += sum(not by_heading.isdisjoint(item.labels.matches[position]) for position in found)


def found_headings(stored: object) -> dict[str, tuple[int, int]]:
    """Read by mode how many passages and matches have headings that raggate found, from counts of a file."""
    read = _read_counts(stored, _HEADING_COUNTS)
    return {mode: (passages, matches) for mode, (passages, matches) in read if 0 < passages >= matches}


def _read_counts(stored: object, keys: Sequence[str]) -> Iterator[tuple[str, list[int]]]:
    for mode, counts in stored.items() if isinstance(stored, dict) else ():
        told = [counts.get(key) for key in keys] if isinstance(counts, dict) else []
        numbers = [number for number in told if type(number) is int and number >= 0]
        if len(numbers) == len(keys):
            yield str(mode), numbers


class PassageShares(NamedTuple):
    """Which share of the text is of other notes, which of the passages are copies, and their mean characters."""

    foreign: float
    copies: float
    length: float


def passage_shares(stored: object) -> dict[str, PassageShares]:
    """Read by mode what the passages of a run were like, from counts of a file."""
    return {
        mode: PassageShares(1 - own / characters, copies / passages, characters / passages)
        for mode, (passages, copies, characters, own) in _read_counts(stored, _PASSAGE_COUNTS)
        if 0 < passages >= copies and 0 < characters >= own
    }


def _stands_alone(folders: tuple[str, ...]) -> bool:
    first, *others = folders
    apart = not any(inside_folder(first, other) or inside_folder(other, first) for other in others)
    return bool(others) and "/" in first and apart


def _served(response: Response, folder: tuple[str, ...]) -> bool:
    return any(_is_from(chunk, folder) for chunk in response.chunks)


def _leaves(response: Response, folders: tuple[str, ...]) -> bool:
    """Return whether a chunk is from outside these folders; never if they are not of the vaults that chunks are of."""
    vaults = {name.partition("/")[0] for name in folders}
    told = [chunk for chunk in response.chunks if chunk.rel_path and chunk.vault]
    return any(chunk.vault in vaults for chunk in told) and not all(_is_from(chunk, folders) for chunk in told)


def _is_from(chunk: Chunk, folders: tuple[str, ...]) -> bool:
    return in_scope(chunk.rel_path, (chunk.vault,) if chunk.vault else (), folders)


def label(case: Case, result: Result, *, truncated: bool = False) -> LabelledResult:
    """Decide per chunk which gold supports it matches, on the text the result holds.

    Args:
        truncated: whether chunk texts were cut, so that a missing snippet proves nothing.
    """
    chunks = result.chunks
    matches = tuple(_matches(chunk, case) for chunk in chunks)
    asked = _words(case.question)
    readings = [_read(chunk.heading_path, chunk.text) for chunk in chunks]
    seen: set[str] = set()
    duplicates = []
    for position, chunk in enumerate(chunks):
        if chunk.chunk_id and chunk.chunk_id in seen:
            duplicates.append(position)
        seen.add(chunk.chunk_id)
    labels = Labels(
        matches=matches,
        heading_only=tuple(
            not asked.isdisjoint(titles) and asked.isdisjoint(_words(body_of(chunk.heading_path, chunk.text)))
            for chunk, (_, titles) in zip(chunks, readings, strict=True)
        ),
        bodiless=tuple(bodiless for bodiless, _ in readings),
        duplicates=tuple(duplicates),
        truncated=truncated,
        filed_elsewhere=filed_elsewhere(chunks, matches, case),
        judged=judged_places(chunks, matches, case),
    )
    return LabelledResult(case=case, result=result, labels=labels)


def score(run: Run, cutoffs: Sequence[int]) -> Scorecard:
    """Score a labelled run."""
    retrieval_only = run.fingerprint.get("retrieval_only") is True
    several = len(run.repeats) > 0
    seen = _Seen(max(cutoffs))
    for item in run.answers if several else ():
        seen.add(item)
    groups = repeats.groups(run)
    answers: Iterable[list[CaseScore]] = score_answers(
        groups if several else map(seen.add_all, groups),
        cutoffs,
        retrieval_only=retrieval_only,
        reads_abstention=isinstance(run.config, ImportedConfig) or run.config.ask.reads_abstention,
        judged=judged_scores(run.fingerprint),
    )
    measured = noise.measure(answers := list(answers), run.started) if several else None
    cases, slices = list[CaseScore](), SliceMeans(directions(cutoffs))
    for first, *again in answers:
        cases.append(case := repeats.averaged(first, again))
        slices.add(case)
    return Scorecard(
        suite=run.suite,
        run_id=run.run_id,
        fingerprint={
            **run.fingerprint,
            "metrics_version": METRICS_VERSION,
            "cutoffs": list(cutoffs),
            "fields": seen.fields,
            "folders": seen.folders,
            "passages": seen.passages,
            **({"found_headings": seen.headings} if seen.headings else {}),
            **({noise.KEY: measured.stored()} if measured is not None else {}),
        },
        cases=tuple(cases),
        slices=slices.means(),
        counts=slices.counts(),
        operations=seen.calls.summary(retrieval_only=retrieval_only),
    )


class _Seen:
    def __init__(self, depth: int) -> None:
        self.calls, self._depth = Calls(), depth
        self.fields: Counts = {}
        self.folders: ModeCounts = {}
        self.passages: ModeCounts = {}
        self.headings: ModeCounts = {}

    def add_all(self, items: Sequence[LabelledResult]) -> Sequence[LabelledResult]:
        """Count answers, and give them on."""
        for item in items:
            self.add(item)
        return items

    def add(self, item: LabelledResult) -> None:
        """Count an answer."""
        self.calls.add(item.result)
        if item.result.repeat == 1:
            count(item, self.fields)
            count_folders(item, self.folders)
            count_passages(item, self._depth, self.passages)
            count_found_headings(item, self._depth, self.headings)


def score_answers(
    groups: Iterable[Sequence[LabelledResult]],
    cutoffs: Sequence[int],
    *,
    retrieval_only: bool,
    reads_abstention: bool,
    judged: AbstractSet[str] = frozenset(),
) -> Iterator[list[CaseScore]]:
    """Score each answer by itself, per question and mode, one question after the other.

    Args:
        reads_abstention: whether an answer can say that the API abstained, so that its metrics apply.
    """
    families = _families(cutoffs, answers=not retrieval_only, abstention=reads_abstention, judged=judged)
    for items in groups:
        yield [_score_case(item, families, max(cutoffs)) for item in items]


def directions(cutoffs: Iterable[int]) -> dict[str, Direction]:
    """Return all metric names at these cut-offs with the direction that is better."""
    return {
        name: metric.direction
        for base, metric in METRICS.items()
        for name in ([at_depth(base, k) for k in cutoffs] if metric.ranked else [base])
    }


def slices_of(case: Case) -> tuple[str, ...]:
    """Name the slices a case belongs to."""
    return _slices(case.answerable, case.category, case.difficulty, case.tags, case.vaults)


@lru_cache(maxsize=10_000)
def _slices(  # many questions are filed alike, and share the names
    answerable: bool,  # noqa: FBT001
    category: str,
    difficulty: str,
    tags: tuple[str, ...],
    vaults: tuple[str, ...],
) -> tuple[str, ...]:
    tagged = (f"tag={tag}" for tag in dict.fromkeys(tags))
    placed = (f"vault={vault}" for vault in dict.fromkeys(vaults))
    answers = f"answerable={str(answerable).lower()}"
    return (OVERALL, answers, f"category={category}", f"difficulty={difficulty}", *tagged, *placed)


class _Family:
    """Metrics that see the same of a result: results that are equal in it are scored once."""

    def __init__(self, sees: Callable[[LabelledResult], Hashable] | None) -> None:
        self.functions: dict[str, PerCase] = {}
        self._sees, self._known = sees, dict[Hashable, Values]()

    def values(self, item: LabelledResult) -> Values:
        """Return the values of a result."""
        seen = self._sees(item) if self._sees is not None else None
        values = self._known.get(seen)
        if values is None:
            values = {name: function(item) for name, function in self.functions.items()}
            if self._sees is not None and len(self._known) < _MOST_KNOWN:
                self._known[seen] = values
        return values


def _families(
    cutoffs: Sequence[int], *, answers: bool, abstention: bool, judged: AbstractSet[str]
) -> Collection[_Family]:
    families: dict[object, _Family] = {}
    for base, metric in METRICS.items():
        if metric.judged and metric.judged not in judged:
            continue
        functions = families.setdefault(metric.sees, _Family(metric.sees)).functions
        if (metric.of_answer and not answers) or (metric.of_abstention and not abstention):
            functions[base] = _not_measured
        elif metric.ranked:
            functions.update({at_depth(base, k): partial(metric.function, k=k) for k in cutoffs})
        else:
            functions[base] = metric.function
    return families.values()


def _not_measured(_: LabelledResult) -> None:
    """No value: the data of this metric was not asked for, or is not read from answers."""


def _score_case(item: LabelledResult, families: Iterable[_Family], depth: int) -> CaseScore:
    ranks, case = ranking(item), item.case
    groups = case.required_support_groups
    failure = item.result.failure
    return CaseScore(
        case_id=item.case.id,
        mode=item.result.mode,
        hash=item.case.hash,
        values={name: value for family in families for name, value in family.values(item).items()},
        rank=first_hit(ranks),
        rank_all=complete_at(ranks, groups) if groups else None,
        failure=failure.kind if failure else None,
        slices=slices_of(case),
        must_pass=item.case.must_pass,
        group=item.case.group,
        entries=list_entries(item, depth),
    )


def _matches(chunk: Chunk, case: Case) -> tuple[int, ...]:
    return tuple(index for index, support in enumerate(case.gold_supports) if _is_match(chunk, support, case))


def _is_match(chunk: Chunk, support: Support, case: Case) -> bool:
    if support.chunk_id is not None:
        return chunk.chunk_id == support.chunk_id
    if support.doc_id is not None:
        return support.doc_id == chunk.document
    if chunk.rel_path != support.rel_path or not case.may_be_in(chunk.vault, support):
        return False
    if support.heading_path is not None and not covers(support.heading_path, chunk.heading_path):
        return False
    return not support.snippets or contains_snippet(chunk.text, support.snippets)


@lru_cache(maxsize=4_096)  # the same chunks come back for many questions
def _read(heading_path: str, text: str) -> tuple[bool, frozenset[str]]:
    """Whether a chunk has no text below its heading, and the words of its headings."""
    return not body_of(heading_path, text).strip(), _words(" ".join(elements(heading_path)))


def body_of(heading_path: str, text: str) -> str:
    """Return the text below the heading, which chunkers repeat as the first line of the text."""
    titles = elements(heading_path)
    first, _, rest = text.lstrip().partition("\n")
    return rest if titles and fold(first).lstrip("# ") == titles[-1] else text


def _words(text: str) -> frozenset[str]:
    return frozenset(words(text.casefold())) - _STOP_WORDS


def first_answers(run: Run, wanted: Collection[tuple[str, str]]) -> Iterator[LabelledResult]:
    """Yield the first answers to some questions of a run, by mode and case id."""
    return (item for item in (run.results if wanted else ()) if _key(item) in wanted)


def _key(item: LabelledResult) -> tuple[str, str]:
    return item.result.mode, item.case.id


def judged_places(chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case) -> tuple[int, ...]:
    """Return the positions of chunks without a match that are of a judged place; see `Labels.judged`."""
    return tuple(
        position
        for position, (chunk, matched) in enumerate(zip(chunks, matches, strict=True))
        if not matched
        and (
            any(_is_of(chunk, place, case) and is_exactly(chunk, place) for place in case.not_relevant)
            or any(_is_of(chunk, support, case) and _is_within(chunk, support) for support in case.gold_supports)
        )
    )


def is_exactly(chunk: Chunk, place: Support) -> bool:
    """Return whether a chunk is under the very heading of a place: what stands deeper was not looked at."""
    if not place.rel_path:
        return True
    if place.heading_path is None:
        return not elements(chunk.heading_path)
    return covers(place.heading_path, chunk.heading_path) and covers(chunk.heading_path, place.heading_path)


def _is_within(chunk: Chunk, support: Support) -> bool:
    return support.heading_path is None or covers(support.heading_path, chunk.heading_path)


def _is_of(chunk: Chunk, place: Support, case: Case) -> bool:
    if place.chunk_id is not None:
        return chunk.chunk_id == place.chunk_id
    if place.doc_id is not None:
        return place.doc_id == chunk.document
    return chunk.rel_path == place.rel_path and case.may_be_in(chunk.vault, place)


def list_entries(item: LabelledResult, depth: int) -> tuple[ListEntry, ...]:
    """Return the first `depth` places of a list, by rank: repeated chunks hold none."""
    response, dropped = item.result.response, set(item.labels.duplicates)
    chunks = response.chunks[: depth + len(dropped)] if response else ()
    kept = [place for place in enumerate(chunks) if place[0] not in dropped]
    return tuple(
        [
            ListEntry(
                note=short_hash(chunk.rel_path),
                chunk=short_hash(chunk.chunk_id),
                final=chunk.score_final,
                vector=chunk.score_vector,
                lexical=chunk.score_lexical,
                supports=item.labels.matches[position],
                heading=heading_hash(chunk.heading_path),
            )
            for position, chunk in kept[:depth]
        ]
    )


@lru_cache(maxsize=1 << 14)
def heading_hash(path: str) -> str:
    """Return eight hex digits of a heading path, whatever marks it is written with; none of an empty one."""
    return short_hash(" > ".join(elements(path)))


@lru_cache(maxsize=1 << 14)  # an index has fewer chunks than a run has places, and each is looked at several times
def short_hash(name: str) -> str:
    """Return eight hex digits of a name, none of an empty one. It tells names apart; it hides nothing."""
    return intern(f"{crc32(name.encode('utf-8', 'surrogatepass')):08x}") if name else ""


class SliceMeans:
    """The means of questions in each slice of each mode. Questions of the same slices are summed up together."""

    def __init__(self, directions: Mapping[str, Direction]) -> None:
        self._directions = directions
        self._rows: dict[str, dict[tuple[str, ...], list[Values]]] = {}

    def add(self, case: CaseScore, slices: tuple[str, ...] | None = None) -> None:
        """Take one more question: in its slices, or in these alone."""
        groups = self._rows.setdefault(case.mode, {})
        groups.setdefault(case.slices if slices is None else slices, []).append(case.values)

    def means(self) -> dict[str, dict[str, dict[str, MetricValue]]]:
        """Return the means so far, by mode, slice and metric: modes as they came, slices by name."""
        return {mode: self._of_mode(groups) for mode, groups in self._rows.items()}

    def _of_mode(self, groups: Mapping[tuple[str, ...], Sequence[Values]]) -> dict[str, dict[str, MetricValue]]:
        members: dict[str, list[tuple[str, ...]]] = {}
        for slices in groups:
            for name in slices:
                members.setdefault(name, []).append(slices)
        averaged: dict[str, dict[str, MetricValue]] = {name: {} for name in sorted(members)}
        tables = {slices: columns_of(rows) for slices, rows in groups.items()}
        for metric, direction in self._directions.items():
            columns = {slices: _known(tables[slices], metric) for slices in groups}
            for name, of in averaged.items():
                own = [column for slices in members[name] if (column := columns[slices]) is not None]
                if own:
                    of[metric] = _mean([*chain(*own)], sum(len(groups[slices]) for slices in members[name]), direction)
        return averaged

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many questions there are so far, by mode and slice."""
        counted = {}
        for mode, groups in self._rows.items():
            counts = Counter[str]()
            for slices, rows in groups.items():
                counts.update(dict.fromkeys(slices, len(rows)))
            counted[mode] = dict(sorted(counts.items()))
        return counted


def columns_of(rows: Sequence[Values]) -> Mapping[str, tuple[float | None, ...]]:
    """Return the values of every metric that a question has, one per question in their order: None if it has none."""
    names = list(dict.fromkeys(chain.from_iterable(rows)))
    if all(list(row) == names for row in rows):
        # as nearly always, and several times as fast
        return dict(zip(names, zip(*(row.values() for row in rows), strict=True), strict=True))
    return {name: tuple([row.get(name) for row in rows]) for name in names}


def _known(columns: Mapping[str, Sequence[float | None]], metric: str) -> list[float] | None:
    """Return a metric's values of the questions it applies to; None for one of judges where there are none of these."""
    known = [value for value in columns.get(metric, ()) if value is not None]
    of_judges = metric in METRICS and METRICS[metric].judged
    return None if of_judges and metric not in columns else known


def _mean(known: Sequence[float], questions: int, direction: Direction) -> MetricValue:
    # whatever the order, the sum is the same
    mean = fsum(known) / len(known) if known else None
    return MetricValue(value=mean, n=len(known), unscored=questions - len(known), direction=direction)


class Lost(Struct, frozen=True, kw_only=True):
    """A field that all but a few answers behind the baseline told, and too many do not now."""

    mode: str
    field: str
    before: tuple[int, int]
    now: tuple[int, int]


def count(item: LabelledResult, counted: Counts) -> None:
    """Count by mode and field whether an answer tells it, and whether it could. A failed call counts for neither.

    An answer with chunks can fill a field of chunks. One chunk with the field is enough, but what identifies a chunk
    must be in all of them.
    """
    if item.result.response is None:
        return
    fields = counted.setdefault(item.result.mode, {})
    for name, is_told in _fields_of(item, item.result.response):
        entry = fields.setdefault(name, [0, 0])
        entry[0] += is_told
        entry[1] += 1


def lost(before: object, now: object, allowed: float) -> Iterator[Lost]:
    """Name the fields that are no longer filled.

    Args:
        allowed: the share of answers in which a field may be missing and still count as told.
    """
    earlier = _counts_in(before)
    for mode, fields in _counts_in(now).items():
        for name, (filled_now, answers) in fields.items():
            filled_before, answers_before = earlier.get(mode, {}).get(name, (0, 0))
            missing = answers - filled_now
            if _all_filled(filled_before, answers_before, allowed) and missing > allowed * answers + EPSILON:
                yield Lost(mode=mode, field=name, before=(filled_before, answers_before), now=(filled_now, answers))


def known(stored: object, allowed: float) -> frozenset[tuple[str, str]]:
    """Name by mode the fields that the baseline's answers fill, so that a missing one is noticed."""
    return frozenset(
        (mode, name)
        for mode, fields in _counts_in(stored).items()
        for name, (filled, answers) in fields.items()
        if _all_filled(filled, answers, allowed)
    )


def never_told(stored: object, field: str) -> bool:
    """Return whether a field was told by no answer of any mode, though there were some that could have."""
    counts = [fields[field] for fields in _counts_in(stored).values() if field in fields]
    return any(answers for _, answers in counts) and not any(filled for filled, _ in counts)


def _all_filled(filled: int, answers: int, allowed: float) -> bool:
    return answers > 0 and answers - filled <= allowed * answers + EPSILON


def _fields_of(item: LabelledResult, response: Response) -> Iterator[tuple[str, bool]]:
    if response.chunks:
        for name, value in _OF_EACH_CHUNK.items():
            yield name, all(map(value, response.chunks))
        for name, value in _OF_CHUNKS.items():
            yield name, any(map(value, response.chunks))
        # what is on disk is cut, and may look otherwise
        yield "text", len(item.labels.empty) < len(response.chunks)
    coverage = response.coverage or {}
    for name, key in _OF_COVERAGE.items():
        yield name, key in coverage
    for name, of_answer in _OF_ANSWERS.items():
        yield name, bool(of_answer(response))


def _counts_in(stored: object) -> dict[str, dict[str, tuple[int, int]]]:
    """Read counts that may come from a file; none where they are no counts."""
    try:
        return convert(stored, dict[str, dict[str, tuple[int, int]]])
    except ValidationError:
        return {}
