"""A run -> a scorecard: labels per chunk, values per case, means per slice with n and what was not scored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from functools import lru_cache, partial

from raggate.config.imported import ImportedConfig
from raggate.models.golden import Case, Support
from raggate.models.judging_quality import judged_scores
from raggate.models.metric_names import at_depth
from raggate.models.run import Chunk, LabelledResult, Labels, Response, Result, Run
from raggate.models.scorecard import OVERALL, CaseScore, Direction, MetricValue, Scorecard
from raggate.scoring import answer_fields, noise, repeats, slice_means
from raggate.scoring.heading_reading import Reading
from raggate.scoring.judged_places import judged_places
from raggate.scoring.list_entries import list_entries
from raggate.scoring.metrics import METRICS, PerCase
from raggate.scoring.metrics.operations import Calls
from raggate.scoring.metrics.ranking import complete_at, first_hit, ranking
from raggate.scoring.slice_means import SliceMeans
from raggate.text.anchors import contains_snippet, covers, elements, fold, in_scope, inside_folder
from raggate.text.titles import Same, rule
from raggate.text.words import words

JUDGED = 5
"""Chunks above the first match that are compared with it."""

SHINGLE = 3
"""Words in a row that are compared."""

ALIKE = 0.8
"""Share of the shorter text's shingles from which on two texts say nearly the same."""

FEWEST = 8
"""Shingles below which a text is too short to be a copy of another."""


def filed_elsewhere(
    chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case, same: Same
) -> tuple[int, ...]:
    """Return the positions of chunks that are of a gold note and hold the gold section, but under another heading.

    Sections that were merged, and headings that are told otherwise, look so. A support without snippets is looked for
    by its own heading as a line of the text.
    """
    return tuple(
        position
        for position, (chunk, matched) in enumerate(zip(chunks, matches, strict=True))
        if not matched and any(_holds_section(chunk, support, case, same) for support in case.gold_supports)
    )


def copies(chunks: Sequence[Chunk], matches: Sequence[Sequence[int]], case: Case) -> tuple[int, ...]:
    """Return the positions of chunks above the first match that say the same: its gold snippet, or nearly its words."""
    first = next((position for position, matched in enumerate(matches) if matched), len(chunks))
    if not first:
        return ()
    own = frozenset(_shingles(chunks[first].text) if first < len(chunks) else ())
    snippets = [snippet for support in case.gold_supports for snippet in support.snippets]
    paths = {support.rel_path for support in case.gold_supports}
    return tuple(
        position
        for position, chunk in enumerate(chunks[: min(first, JUDGED)])
        if (chunk.rel_path not in paths and contains_snippet(chunk.text, snippets)) or _alike(own, chunk.text)
    )


def _holds_section(chunk: Chunk, support: Support, case: Case, same: Same) -> bool:
    heading = support.heading_path
    if not support.rel_path or chunk.rel_path != support.rel_path or heading is None:
        return False
    if not case.may_be_in(chunk.vault, support) or covers(heading, chunk.heading_path, same):
        return False
    if support.snippets:
        return contains_snippet(chunk.text, support.snippets)
    return elements(heading)[-1:] != () and elements(heading)[-1] in _lines(chunk.text)


def _lines(text: str) -> Iterator[str]:
    return (fold(line).lstrip("#").strip() for line in text.splitlines())


def _alike(own: frozenset[tuple[str, ...]], text: str) -> bool:
    if len(own) < FEWEST:
        return False
    shared = own.intersection(_shingles(text))
    # most texts share nothing, and what they have themselves need not be gathered
    if len(shared) < ALIKE * FEWEST:
        return False
    shorter = min(len(own), len(frozenset(_shingles(text))))
    return shorter >= FEWEST and len(shared) >= ALIKE * shorter


def _shingles(text: str) -> Iterator[tuple[str, ...]]:
    row = words(text.casefold())
    return zip(*(row[start:] for start in range(SHINGLE)), strict=False)


FolderCounts = dict[str, dict[str, int]]
"""By mode: `answers` that tell what they selected and the `selected` folders of all; `several` that have chunks and
more than one folder, the first of which overlaps no other, and those of them that are `served` from that first one."""


def count_folders(item: LabelledResult, counted: FolderCounts) -> None:
    """Count one more answer. A failed call, and an answer that tells no selection, counts for nothing."""
    response = item.result.response
    if response is None or not response.selected_folders:
        return
    counts = counted.setdefault(item.result.mode, {"answers": 0, "selected": 0, "several": 0, "served": 0})
    counts["answers"] += 1
    counts["selected"] += len(response.selected_folders)
    if response.chunks and _stands_alone(response.selected_folders):
        counts["several"] += 1
        counts["served"] += _served(response, response.selected_folders[:1])


def _stands_alone(folders: tuple[str, ...]) -> bool:
    first, *others = folders
    apart = not any(inside_folder(first, other) or inside_folder(other, first) for other in others)
    return bool(others) and "/" in first and apart


def _served(response: Response, folder: tuple[str, ...]) -> bool:
    return any(in_scope(chunk.rel_path, (chunk.vault,) if chunk.vault else (), folder) for chunk in response.chunks)


METRICS_VERSION = 1
"""Raised when a definition changes, so that scores by different definitions are never compared."""

_STOP_WORDS = frozenset(
    "a an and are as at be but by do does did for from had has have how i in is it me my of on or our should so that "
    "the their then there these they this to was we were what when where which who why will with would you your".split()
)


def label(case: Case, result: Result, *, truncated: bool = False, as_read: bool = True) -> LabelledResult:
    """Decide per chunk which gold supports it matches, on the text the result holds.

    Args:
        truncated: whether chunk texts were cut, so that a missing snippet proves nothing.
        as_read: whether headings are compared as people read them, not letter by letter.
    """
    chunks = result.chunks
    same = rule(as_read=as_read)
    matches = tuple(_matches(chunk, case, same) for chunk in chunks)
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
        filed_elsewhere=filed_elsewhere(chunks, matches, case, same),
        copies=copies(chunks, matches, case),
        as_read=as_read,
        judged=judged_places(chunks, matches, case, same),
    )
    return LabelledResult(case=case, result=result, labels=labels)


def score(run: Run, cutoffs: Sequence[int]) -> Scorecard:
    """Score a labelled run.

    Args:
        run: the run; its results keep their order. A question that was asked several times has the mean of its answers.
        cutoffs: the k of the ranked metrics, ascending.
    """
    retrieval_only = run.fingerprint.get("retrieval_only") is True
    several = len(run.repeats) > 0
    seen = _Seen()
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
            **seen.reading.stored(),
            **({noise.KEY: measured.stored()} if measured is not None else {}),
        },
        cases=tuple(cases),
        slices=slices.means(),
        counts=slices.counts(),
        operations=seen.calls.summary(retrieval_only=retrieval_only),
    )


class _Seen:
    """What is counted over all answers, on the way to their scores."""

    def __init__(self) -> None:
        self.calls = Calls()
        self.fields: answer_fields.Counts = {}
        self.folders: FolderCounts = {}
        self.reading = Reading()

    def add_all(self, items: Sequence[LabelledResult]) -> Sequence[LabelledResult]:
        """Count answers, and give them on."""
        for item in items:
            self.add(item)
        return items

    def add(self, item: LabelledResult) -> None:
        """Count an answer."""
        self.calls.add(item.result)
        self.reading.add(item)
        if item.result.repeat == 1:
            answer_fields.count(item, self.fields)
            count_folders(item, self.folders)


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
        cutoffs: the k of the ranked metrics, ascending.
        retrieval_only: whether no answers in words were asked for, so that their metrics do not apply.
        reads_abstention: whether an answer can say that the API abstained, so that its metrics apply.
    """
    metrics = _functions(
        tuple(cutoffs), answers=not retrieval_only, abstention=reads_abstention, judged=frozenset(judged)
    )
    for items in groups:
        yield [_score_case(item, metrics, max(cutoffs)) for item in items]


def means(cases: Sequence[CaseScore], cutoffs: Iterable[int]) -> dict[str, MetricValue]:
    """Average every metric over the cases it applies to; those of judges only where there are any."""
    return slice_means.means([case.values for case in cases], directions(cutoffs))


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


@lru_cache(maxsize=8)
def _functions(
    cutoffs: tuple[int, ...], *, answers: bool, abstention: bool, judged: frozenset[str]
) -> dict[str, PerCase]:
    functions: dict[str, PerCase] = {}
    for base, metric in METRICS.items():
        if metric.judged and metric.judged not in judged:
            continue
        if (metric.of_answer and not answers) or (metric.of_abstention and not abstention):
            functions[base] = _not_measured
        elif metric.ranked:
            functions.update({at_depth(base, k): partial(metric.function, k=k) for k in cutoffs})
        else:
            functions[base] = metric.function
    return functions


def _not_measured(_: LabelledResult) -> None:
    """Give no value: what the metric is about was not asked for, or is not read from answers."""


def _score_case(item: LabelledResult, metrics: dict[str, PerCase], depth: int) -> CaseScore:
    ranks, case = ranking(item), item.case
    groups = case.required_support_groups
    failure = item.result.failure
    return CaseScore(
        case_id=item.case.id,
        mode=item.result.mode,
        hash=item.case.hash,
        values={name: function(item) for name, function in metrics.items()},
        rank=first_hit(ranks),
        rank_all=complete_at(ranks, groups) if groups else None,
        failure=failure.kind if failure else None,
        slices=slices_of(case),
        must_pass=item.case.must_pass,
        group=item.case.group,
        entries=list_entries(item, depth),
    )


def _matches(chunk: Chunk, case: Case, same: Same) -> tuple[int, ...]:
    return tuple(index for index, support in enumerate(case.gold_supports) if _is_match(chunk, support, case, same))


def _is_match(chunk: Chunk, support: Support, case: Case, same: Same) -> bool:
    if support.chunk_id is not None:
        return chunk.chunk_id == support.chunk_id
    if support.doc_id is not None:
        return support.doc_id == chunk.document
    if chunk.rel_path != support.rel_path or not case.may_be_in(chunk.vault, support):
        return False
    if support.heading_path is not None and not covers(support.heading_path, chunk.heading_path, same):
        return False
    return not support.snippets or contains_snippet(chunk.text, support.snippets)


@lru_cache(maxsize=4_096)  # the same chunks come back for many questions
def _read(heading_path: str, text: str) -> tuple[bool, frozenset[str]]:
    """Say of a chunk whether it has no text below its heading, and give the words of its headings."""
    return not body_of(heading_path, text).strip(), _words(" ".join(elements(heading_path)))


def body_of(heading_path: str, text: str) -> str:
    """Return the text below the heading, which chunkers repeat as the first line of the text."""
    titles = elements(heading_path)
    first, _, rest = text.lstrip().partition("\n")
    return rest if titles and fold(first).lstrip("# ") == titles[-1] else text


def _words(text: str) -> frozenset[str]:
    return frozenset(words(text.casefold())) - _STOP_WORDS
