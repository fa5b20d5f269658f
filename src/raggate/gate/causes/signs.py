"""Signs of one change that the lists of both sides show as a whole, each with the questions that it explains. Pure.

A sign is a rule over all lists of a mode. It has to hold for nearly all of them, so that no single odd answer makes or
breaks it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil, comb
from operator import itemgetter
from statistics import median
from typing import NamedTuple

from msgspec import Struct

from raggate.base.numbers import counted, fixed
from raggate.base.quote import listed
from raggate.inputs.notes import words
from raggate.models.comparison import Flip, same_score
from raggate.models.provenance import notes_of
from raggate.models.run import Expected, LabelledResult, Run
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard, same_questions
from raggate.scoring.score import passage_shares, short_hash

NEARLY_ALL = 0.8
"""Share of the lists that must agree."""
FEWEST_LISTS = 10
FEWEST_PLACES = 5
"""Places that a folder or note had in the baseline's lists, so that it is no accident that it has none now."""
STEPS = range(1, 6)
"""Places by which a list can begin too late."""
SHOWN_FOLDERS = 3
SHORTER = 0.1
"""Share by which passages must be shorter on average; other ranks make less of a difference."""
SURE = 1e-4
"""Probability that the questions of a kind are lost by chance, below which that is said: one of some 15 kinds."""
FREQUENT = 0.1
"""Share of the questions that hold a word which tells none of them apart."""
OTHER_SIZE = 0.8
"""How much less the smaller of two sizes must be for the larger one to be called so."""
SIZE_STEP = 10
"""Characters to which a size is rounded."""

_SNIPPETS = ("snippet-gone",)

Pair = tuple[CaseScore, CaseScore]
"""A question in the baseline and now."""


class Change(Struct, frozen=True, kw_only=True):
    """Something that changed as a whole, with its numbers, and which questions that got worse fit it.

    Attributes:
        kind: changes of one kind are parts of one change, such as other weights in two modes. Others are rivals.
        what: what changed; `facts` are the numbers of one mode.
        rank: when it is named. Signs of whole lists come first (0), and what follows from many changes last (2).
        fits: the causes that it explains, None for all.
        mode: the mode in which it was seen, None for all.
        cases: the questions that it explains, None for all.
        by_score: whether it moves passages by their scores alone, which does not put out of a list what stood clear.
    """

    kind: str
    what: str
    facts: str = ""
    rank: int = 1
    fits: Collection[str] | None = None
    mode: str | None = None
    cases: Collection[str] | None = None
    by_score: bool = False

    @property
    def words(self) -> str:
        """What changed, with its numbers."""
        return f"{self.what} ({self.facts})" if self.facts else self.what

    def fit(self, flip: Flip) -> bool:
        """Return whether a question that got worse fits it."""
        cause = flip.cause
        if cause is None or self.mode not in {None, flip.mode} or (self.by_score and cause.stood_clear):
            return False
        return (self.fits is None or cause.code in self.fits) and (self.cases is None or flip.case_id in self.cases)


class Lists(Struct, frozen=True, kw_only=True):
    """The lists of one mode: questions on both sides, the answers of now by case id, and paths by their hashes.

    `lengths` are the mean characters of a passage on both sides, None where a side does not tell them.
    """

    pairs: Sequence[Pair]
    answers: Mapping[str, LabelledResult]
    notes: Mapping[str, str]
    lengths: tuple[float, float] | None = None


def lists_by_mode(run: Run, before: Scorecard, now: Scorecard) -> dict[str, Lists]:
    """Return the lists of both sides, of the questions that are the same on both."""
    pairs: dict[str, list[Pair]] = {}
    for old, new in same_questions(before.cases, now.cases):
        pairs.setdefault(new.mode, []).append((old, new))
    answers: dict[str, dict[str, LabelledResult]] = {}
    for item in run.results:
        answers.setdefault(item.result.mode, {})[item.case.id] = item
    paths = [name.partition("/")[2] for name in notes_of(run.fingerprint)]
    notes = {short_hash(path): path for path in paths}
    was, is_now = (passage_shares(side.fingerprint.get("passages")) for side in (before, now))
    lengths = {mode: (was[mode].length, is_now[mode].length) for mode in was.keys() & is_now.keys()}
    return {
        mode: Lists(pairs=both, answers=answers.get(mode, {}), notes=notes, lengths=lengths.get(mode))
        for mode, both in pairs.items()
    }


def find_signs(lists: Lists) -> Iterator[Change]:
    """Yield the signs of a mode in which questions got worse."""
    yield from _shifted(lists.pairs)
    yield from _rule(
        "page",
        "the first page of results is skipped",
        "{} of {} lists hold nothing that the baseline's did, and begin below their last score",
        [_begins_below(old.entries, new.entries) for old, new in lists.pairs if old.entries and new.entries],
    )
    yield from _rule("order", "the lists are in reverse order", "{} of {}", [*_turned(lists.pairs)])
    for find in (_one_a_note, _copies, _few_scores, _shared_lists):
        yield from find(lists.pairs)
    yield from _gone(lists)
    yield from _gone_passages(lists)
    yield from _cut_texts(lists)
    yield from _shorter(lists)


def signs_without_loss(lists: Lists) -> Iterator[Change]:
    """Yield what is worth saying of a mode in which no question that counts got worse."""
    yield from (sign for sign in _gone(lists) if sign.rank == 0)
    yield from _shorter(lists)


def _places(entries: Sequence[ListEntry]) -> list[str]:
    return [entry.chunk or f"{entry.note} {entry.heading}" for entry in entries]


def _places_of(pairs: Sequence[Pair], fewest: int) -> list[tuple[list[str], list[str]]]:
    sides = [(_places(old.entries), _places(new.entries)) for old, new in pairs]
    return [(old, new) for old, new in sides if min(len(old), len(new)) >= fewest]


def _agree(number: int, of: int) -> bool:
    return of >= FEWEST_LISTS and number >= NEARLY_ALL * of


def _rule(kind: str, what: str, facts: str, lists: Sequence[bool]) -> Iterator[Change]:
    """Yield the sign of a rule that nearly all lists follow."""
    if _agree(sum(lists), len(lists)):
        yield Change(kind=kind, what=what, facts=facts.format(sum(lists), len(lists)), rank=0)


def _shifted(pairs: Sequence[Pair]) -> Iterator[Change]:
    for step in STEPS:
        start = "its first result" if step == 1 else f"its first {step} results"
        facts = f"{{}} of {{}} lists begin with the baseline's rank {step + 1}"
        late = [old[step : step + len(new)] == new[: len(old) - step] for old, new in _places_of(pairs, step + 1)]
        for sign in _rule("late", f"each list lacks {start}", facts, late):
            yield sign
            return


def _begins_below(old: Sequence[ListEntry], new: Sequence[ListEntry]) -> bool:
    last, first = old[-1].final, new[0].final
    apart = not {*_places(old)} & {*_places(new)}
    return apart and last is not None and first is not None and first <= last


def _turned(pairs: Sequence[Pair]) -> Iterator[bool]:
    for old, new in _places_of(pairs, 3):
        at = {place: rank for rank, place in enumerate(new)}
        ranks = [at[place] for place in old if place in at]
        if len(ranks) >= 3:
            yield all(upper > lower for upper, lower in pairwise(ranks))


def _one_a_note(pairs: Sequence[Pair]) -> Iterator[Change]:
    before, now = (sum(_repeats_note(pair[side].entries) for pair in pairs) for side in (0, 1))
    long = sum(len(new.entries) > 1 for _, new in pairs)
    if not now and before >= FEWEST_LISTS and _agree(long, len(pairs)):
        facts = f"{before} lists had several passages of one note, none has now"
        yield Change(kind="notes", what="each note comes back once", facts=facts, rank=0)


def _repeats_note(entries: Sequence[ListEntry]) -> bool:
    notes = [entry.note for entry in entries if entry.note]
    return len(set(notes)) < len(notes)


def _copies(pairs: Sequence[Pair]) -> Iterator[Change]:
    before, now = ([_same_passage(*two) for pair in pairs for two in pairwise(pair[side].entries)] for side in (0, 1))
    if len(now) >= FEWEST_LISTS and sum(now) >= len(now) / 3 and sum(before) <= sum(now) / 4:
        facts = f"{sum(now)} of {len(now)} repeat the one above, {sum(before)} before"
        yield Change(kind="copies", what="passages come back several times", facts=facts, rank=0)


def _same_passage(upper: ListEntry, lower: ListEntry) -> bool:
    if upper.note != lower.note or upper.final is None or lower.final is None:
        return False
    parts = (upper.vector, upper.lexical, upper.heading) == (lower.vector, lower.lexical, lower.heading)
    return parts and same_score(upper.final, lower.final)


def _few_scores(pairs: Sequence[Pair]) -> Iterator[Change]:
    before, now = ([entry.final for pair in pairs for entry in pair[side].entries] for side in (0, 1))
    different = [len(set(scores)) for scores in (before, now)]
    if now and different[1] <= len(now) / 20 and different[0] >= len(before) / 4:
        facts = f"{different[1]} different scores for {counted(len(now), 'passage')}, {different[0]} before"
        yield Change(kind="rounding", what="scores are rounded", facts=facts, rank=0)


def _shared_lists(pairs: Sequence[Pair]) -> Iterator[Change]:
    lists = [(old, new) for old, new in pairs if old.entries and new.entries]
    before, now = (Counter(tuple(_places(pair[side].entries)) for pair in lists) for side in (0, 1))
    own = [new.case_id for old, new in lists if before[tuple(_places(old.entries))] == 1]
    shared = {new.case_id for _, new in lists if now[tuple(_places(new.entries))] > 1} & {*own}
    if len(shared) >= FEWEST_PLACES:
        what = "questions get the answers of other questions" if len(now) > 1 else "all questions get the same list"
        facts = f"{counted(len(now), 'different list')} for {len(lists)} questions, {len(before)} before"
        yield Change(kind="answers", what=what, facts=facts, rank=0, cases=shared)


def _gone(lists: Lists) -> Iterator[Change]:
    before, now = (
        Counter(lists.notes.get(entry.note, "") for pair in lists.pairs for entry in pair[side].entries)
        for side in (0, 1)
    )
    if now.total() - now[""] < before.total() / 2:
        # short lists and other names of notes are changes of their own
        return
    missing = {note: count for note, count in before.items() if note and note not in now}
    folders = _lost_folders(missing, now)
    within = {note for note in missing if note.startswith(tuple(f"{folder}/" for folder in folders))}
    if folders:
        what = (
            f"nothing comes from the folder{'s' if len(folders) > 1 else ''} {listed(folders, SHOWN_FOLDERS)} any more"
        )
        facts = f"{sum(missing[note] for note in within)} came from {'them' if len(folders) > 1 else 'it'} before"
        cases = _expecting(lists, lambda path: any(path.startswith(f"{folder}/") for folder in folders))
        yield Change(kind="gone folders", what=what, facts=facts, rank=0, cases=cases)
    rest = {*missing} - within
    often = [note for note in rest if missing[note] >= FEWEST_PLACES]
    if len(often) >= 2:
        facts = f"they had {sum(missing[note] for note in often)} places before"
        what = f"{counted(len(often), 'note')} come back for no question any more"
        yield Change(kind="gone", what=what, facts=facts, rank=2, cases=_expecting(lists, rest.__contains__))


def _gone_passages(lists: Lists) -> Iterator[Change]:
    """Find passages that would still rank by their scores, and come back for no question: they are not searched."""
    there = {place for _, new in lists.pairs for place in _places(new.entries)}
    notes = {entry.note for _, new in lists.pairs for entry in new.entries}
    gone: set[str] = set()
    cases = set()
    for old, new in lists.pairs:
        if not _scores_alike(old, new):
            continue
        last = new.entries[-1].final or 0.0
        for entry, place in zip(old.entries, _places(old.entries), strict=True):
            would_rank = entry.final is not None and entry.final > last and not same_score(entry.final, last)
            if would_rank and place not in there and entry.note in notes:
                gone.add(place)
                if entry.supports:
                    cases.add(old.case_id)
    before = {place for old, _ in lists.pairs for place in _places(old.entries)}
    if FEWEST_PLACES <= len(gone) < NEARLY_ALL * len(before):
        what = f"{len(gone)} of {counted(len(before), 'passage')} come back for no question any more"
        yield Change(kind="gone", what=what, facts="by their scores they would still rank", rank=2, cases=cases)


def _scores_alike(old: CaseScore, new: CaseScore) -> bool:
    before = dict(zip(_places(old.entries), old.entries, strict=True))
    both = [
        (before[place].final, entry.final)
        for place, entry in zip(_places(new.entries), new.entries, strict=True)
        if place in before
    ]
    return bool(both) and all(a is not None and b is not None and same_score(a, b) for a, b in both)


def _lost_folders(missing: Mapping[str, int], now: Mapping[str, int]) -> list[str]:
    there = {parent for note in now for parent in _parents(note)}
    places: dict[str, list[int]] = {}
    for note, count in missing.items():
        for parent in _parents(note):
            places.setdefault(parent, []).append(count)
    gone = {
        name
        for name, counts in places.items()
        if name not in there and sum(counts) >= FEWEST_PLACES and len(counts) > 1
    }
    return sorted(name for name in gone if gone.isdisjoint(_parents(name)))


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _expecting(lists: Lists, wanted: Callable[[str], bool]) -> frozenset[str]:
    return frozenset(
        case_id
        for case_id, item in lists.answers.items()
        if any(support.rel_path and wanted(support.rel_path) for support in item.case.gold_supports)
    )


def _cut_texts(lists: Lists) -> Iterator[Change]:
    chunks = [chunk for item in lists.answers.values() for chunk in item.result.chunks]
    # a stored run keeps the beginnings of texts
    stored = any(chunk.text_hash is not None for chunk in chunks)
    texts = [chunk.text for chunk in chunks if chunk.text and not stored]
    for unit, length_of in (("character", len), ("word", lambda text: len(text.split()))):
        lengths = Counter(length_of(text) for text in texts)
        longest = max(lengths, default=0)
        if len(texts) >= FEWEST_LISTS and lengths[longest] >= len(texts) / 5 and len(lengths) >= 3:
            facts = f"{lengths[longest]} of {len(texts)} have just so many"
            yield Change(
                kind="texts", what=f"texts are cut to {counted(longest, unit)}", facts=facts, rank=0, fits=_SNIPPETS
            )
            return


def _shorter(lists: Lists) -> Iterator[Change]:
    """Find passages that hold less text: a chunker leaves some out, or cuts sections into more pieces."""
    before, now = lists.lengths or (0.0, 0.0)
    if now < (1 - SHORTER) * before:
        facts = f"mean length {fixed(before, 0)} → {fixed(now, 0)} characters"
        yield Change(kind="shorter", what="passages are shorter", facts=facts, rank=2, fits=_SNIPPETS)


class _Question(NamedTuple):
    """A question beside what is expected of it, and the words that many questions of the suite hold."""

    text: str
    passages: str
    headings: str
    expected: Expected
    frequent: Collection[str]
    group: str

    @property
    def rare(self) -> set[str]:
        """The words of the question that few others hold."""
        return {*words(self.text)} - {*self.frequent}

    @property
    def meets_heading(self) -> bool:
        """Whether one of these words is in the headings of its passage."""
        return not self.rare.isdisjoint(words(self.headings))

    @property
    def rewritten(self) -> bool:
        """Whether all the words that it shares with its passage are written in another case there."""
        own, there = (set(re.findall(r"\w+", text)) for text in (self.text, f"{self.headings} {self.passages}"))
        shared = self.rare & {*words(" ".join(there))}
        return bool(shared) and not any(word.casefold() in shared for word in own & there)


IN_COMMON: tuple[tuple[str, Callable[[_Question], bool]], ...] = (
    ("hold a digit", lambda question: bool(re.search(r"\d", question.text))),
    ("hold letters beyond ASCII", lambda question: not question.text.isascii()),
    ("hold a quotation mark or an apostrophe", lambda question: any(mark in question.text for mark in "\"'’“”«»")),
    (
        "hold a capital letter after the first word",
        lambda question: bool(re.search(r"\s[^\W\d_a-zà-ÿ]", question.text)),
    ),
    ("hold no word but those of many questions", lambda question: len(question.rare) < 2),
    ("expect code", lambda question: question.expected.code or "`" in question.passages),
    ("expect a row of a table", lambda question: question.expected.table or "|" in question.passages),
    ("expect a number", lambda question: bool(re.search(r"\d\d", question.passages))),
    ("expect letters beyond ASCII", lambda question: not question.passages.isascii()),
    ("share a word with the headings of their passage", lambda question: question.meets_heading),
    ("share no word with the headings of their passage", lambda question: not question.meets_heading),
    ("write their words in another case than their passage", lambda question: question.rewritten),
)
"""What lost questions can have in common if a tokenizer, a limit, a chunker or an index treats their kind otherwise."""
SIZES: tuple[tuple[str, Callable[[_Question], int]], ...] = (
    ("have more than {} characters", lambda question: len(question.text)),
    ("have fewer than {} characters", lambda question: -len(question.text)),
    ("expect a passage of a section of more than {} characters", lambda question: question.expected.section),
)
"""Likewise by a size: the lost questions themselves say where it begins. A negative one is an upper limit."""
SHOWN_ALIKE = 2


def in_common(lists: Lists, lost: frozenset[str]) -> list[str]:
    """Return what nearly all lost questions have in common, and few others: first what chance explains least.

    Questions of one group count once, as they are lost together.
    """
    asked = [item for item in lists.answers.values() if item.case.gold_supports]
    holding = Counter(word for item in asked for word in {*words(item.case.question)})
    frequent = frozenset(word for word, times in holding.items() if times > len(asked) * FREQUENT)
    of_case = {item.case.id: _question(item, frequent) for item in asked}
    gone = [name for name in of_case if name in lost]
    others = [question for name, question in of_case.items() if name not in lost]
    sized = [_sized(*size, [of_case[name] for name in gone], others) for size in SIZES] if gone else []
    shown = []
    for sentence, holds in (*IN_COMMON, *filter(None, sized)):
        having = [name for name, question in of_case.items() if holds(question)]
        those = len({*having} & {*gone})
        if not gone or those < NEARLY_ALL * len(gone):
            continue
        odd = {*gone} - {*having}
        groups = [{of_case[name].group for name in names} for names in (gone, having, odd, of_case)]
        drawn, own, without, every = groups
        chance = _chance(len((drawn & own) - without), len(drawn), len(own), len(every))
        if chance < SURE:
            rest = f"{len(having) - those} of the {len(others)} others do"
            shown.append((chance, f"{those} of the {len(gone)} lost questions {sentence}, {rest}"))
    return [facts for _, facts in sorted(shown, key=itemgetter(0))[:SHOWN_ALIKE]]


def _question(item: LabelledResult, frequent: Collection[str]) -> _Question:
    case, supports = item.case, item.case.gold_supports
    passages = " ".join(text for support in supports for text in support.snippets)
    headings = " ".join(f"{support.rel_path.rpartition('/')[2]} {support.heading_path or ''}" for support in supports)
    return _Question(case.question, passages, headings, item.labels.expected, frequent, case.group or case.id)


def _sized(
    sentence: str, size: Callable[[_Question], int], gone: Sequence[_Question], others: Sequence[_Question]
) -> tuple[str, Callable[[_Question], bool]] | None:
    """Return the feature of a size that nearly all lost questions have; None unless most others are far from it."""
    sizes = sorted(map(size, gone))
    limit = (sizes[len(sizes) - ceil(NEARLY_ALL * len(sizes))] - 1) // SIZE_STEP * SIZE_STEP
    middle = median(map(size, others)) if others else 0
    if not limit or (abs(middle) > OTHER_SIZE * limit if limit > 0 else abs(limit) > OTHER_SIZE * abs(middle)):
        return None
    return sentence.format(f"{abs(limit):,}"), lambda question: size(question) > limit


def _chance(those: int, drawn: int, having: int, total: int) -> float:
    """Return the probability that at least so many of those drawn have a feature (hypergeometric)."""
    most = min(drawn, having)
    ways = sum(comb(having, count) * comb(total - having, drawn - count) for count in range(those, most + 1))
    return ways / comb(total, drawn)
