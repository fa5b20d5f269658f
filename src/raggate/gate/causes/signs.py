"""Signs of one change that the lists of both sides show as a whole, each with the questions that it explains. Pure.

A sign is a rule over all lists of a mode. It has to hold for nearly all of them, so that no single odd answer makes or
breaks it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import comb

from msgspec import Struct

from raggate.base.numbers import counted
from raggate.models.comparison import CauseCode, same_score
from raggate.models.provenance import notes_of
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import CaseScore, ListEntry, Scorecard, same_questions
from raggate.scoring.score import short_hash

NEARLY_ALL = 0.8
"""Share of the lists that must agree."""
FEWEST_LISTS = 10
FEWEST_PLACES = 5
"""Places that a folder or note had in the baseline's lists, so that it is no accident that it has none now."""
STEPS = range(1, 6)
"""Places by which a list can begin too late."""
SURE = 1e-3
"""Probability that the questions of a kind are lost by chance, below which that is said."""

Pair = tuple[CaseScore, CaseScore]
"""A question in the baseline and now."""


class Sign(Struct, frozen=True, kw_only=True):
    """What changed, with its numbers; `cases` are the questions it explains, None for all.

    One that is a `symptom` follows from many changes: it is named if nothing else is.
    """

    what: str
    facts: str = ""
    cases: frozenset[str] | None = None
    symptom: bool = False


class Lists(Struct, frozen=True, kw_only=True):
    """The lists of one mode: questions on both sides, the answers of now by case id, and paths by their hashes."""

    pairs: Sequence[Pair]
    answers: Mapping[str, LabelledResult]
    notes: Mapping[str, str]


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
    return {mode: Lists(pairs=both, answers=answers.get(mode, {}), notes=notes) for mode, both in pairs.items()}


def find_signs(lists: Lists, lost: Mapping[str, CauseCode]) -> Iterator[Sign]:
    """Yield the signs of a mode in which questions got worse, each by its own cause."""
    for find in (_shifted, _next_page, _reversed, _one_a_note, _copies, _few_scores):
        sign = find(lists.pairs)
        if sign is not None:
            yield sign
    yield from _shared_lists(lists.pairs)
    yield from _gone(lists)
    yield from _gone_passages(lists)
    yield from _cut_texts(lists, lost)


def _places(entries: Sequence[ListEntry]) -> list[str]:
    return [entry.chunk or f"{entry.note} {entry.heading}" for entry in entries]


def _ids(pairs: Sequence[Pair], fewest: int) -> list[tuple[list[str], list[str]]]:
    sides = [(_places(old.entries), _places(new.entries)) for old, new in pairs]
    return [(old, new) for old, new in sides if min(len(old), len(new)) >= fewest]


def _agree(number: int, of: int) -> bool:
    return of >= FEWEST_LISTS and number >= NEARLY_ALL * of


def _shifted(pairs: Sequence[Pair]) -> Sign | None:
    for step in STEPS:
        lists = _ids(pairs, step + 1)
        late = sum(old[step : step + len(new)] == new[: len(old) - step] for old, new in lists)
        if _agree(late, len(lists)):
            start = "its first result" if step == 1 else f"its first {step} results"
            facts = f"{late} of {len(lists)} lists begin with the baseline's rank {step + 1}"
            return Sign(what=f"each list lacks {start}", facts=facts)
    return None


def _next_page(pairs: Sequence[Pair]) -> Sign | None:
    lists = [(old.entries, new.entries) for old, new in pairs if old.entries and new.entries]
    below = 0
    for old, new in lists:
        last, first = old[-1].final, new[0].final
        apart = not {*_places(old)} & {*_places(new)}
        below += apart and last is not None and first is not None and first <= last
    if not _agree(below, len(lists)):
        return None
    facts = f"{below} of {len(lists)} lists hold nothing that the baseline's did, and begin below their last score"
    return Sign(what="the first page of results is skipped", facts=facts)


def _reversed(pairs: Sequence[Pair]) -> Sign | None:
    turned = total = 0
    for old, new in _ids(pairs, 3):
        at = {place: rank for rank, place in enumerate(new)}
        ranks = [at[place] for place in old if place in at]
        if len(ranks) >= 3:
            total += 1
            turned += all(upper > lower for upper, lower in pairwise(ranks))
    if not _agree(turned, total):
        return None
    return Sign(what="the lists are in reverse order", facts=f"{turned} of {total}")


def _one_a_note(pairs: Sequence[Pair]) -> Sign | None:
    before, now = (sum(_repeats_note(pair[side].entries) for pair in pairs) for side in (0, 1))
    long = sum(len(new.entries) > 1 for _, new in pairs)
    if now or before < FEWEST_LISTS or not _agree(long, len(pairs)):
        return None
    facts = f"{before} lists had several passages of one note, none has now"
    return Sign(what="each note comes back once", facts=facts)


def _repeats_note(entries: Sequence[ListEntry]) -> bool:
    notes = [entry.note for entry in entries if entry.note]
    return len(set(notes)) < len(notes)


def _copies(pairs: Sequence[Pair]) -> Sign | None:
    counts = []
    for side in (0, 1):
        lists = [pair[side].entries for pair in pairs]
        places = sum(max(len(entries) - 1, 0) for entries in lists)
        copies = sum(_same_passage(upper, lower) for entries in lists for upper, lower in pairwise(entries))
        counts.append((copies, places))
    (before, _), (now, places) = counts
    if places < FEWEST_LISTS or now < places / 3 or before > now / 4:
        return None
    return Sign(
        what="passages come back several times", facts=f"{now} of {places} repeat the one above, {before} before"
    )


def _same_passage(upper: ListEntry, lower: ListEntry) -> bool:
    if upper.note != lower.note or upper.final is None or lower.final is None:
        return False
    parts = (upper.vector, upper.lexical, upper.heading) == (lower.vector, lower.lexical, lower.heading)
    return parts and same_score(upper.final, lower.final)


def _few_scores(pairs: Sequence[Pair]) -> Sign | None:
    before, now = ([entry.final for pair in pairs for entry in pair[side].entries] for side in (0, 1))
    different = [len(set(scores)) for scores in (before, now)]
    if not now or different[1] > len(now) / 20 or different[0] < len(before) / 4:
        return None
    facts = f"{different[1]} different scores for {counted(len(now), 'passage')}, {different[0]} before"
    return Sign(what="scores are rounded", facts=facts)


def _shared_lists(pairs: Sequence[Pair]) -> Iterator[Sign]:
    lists = [(old, new) for old, new in pairs if old.entries and new.entries]
    before, now = (Counter(tuple(_places(pair[side].entries)) for pair in lists) for side in (0, 1))
    own = [new.case_id for old, new in lists if before[tuple(_places(old.entries))] == 1]
    shared = {new.case_id for _, new in lists if now[tuple(_places(new.entries))] > 1} & {*own}
    if len(shared) >= FEWEST_PLACES:
        facts = f"{len(now)} different lists for {len(lists)} questions, {len(before)} before"
        yield Sign(what="questions get the answers of other questions", facts=facts, cases=frozenset(shared))


def _gone(lists: Lists) -> Iterator[Sign]:
    before, now = (
        Counter(lists.notes.get(entry.note, "") for pair in lists.pairs for entry in pair[side].entries)
        for side in (0, 1)
    )
    if now.total() - now[""] < before.total() / 2:
        # short lists and other names of notes are changes of their own
        return
    missing = {note: count for note, count in before.items() if note and note not in now}
    folders = _lost_folders(missing, now)
    for folder in folders:
        places = sum(count for note, count in missing.items() if note.startswith(f"{folder}/"))
        facts = f"{places} came from it before"
        what = f"nothing comes from the folder {folder} any more"
        yield Sign(what=what, facts=facts, cases=_expecting(lists, partial(_is_in, folder)))
    rest = {note for note in missing if not note.startswith(tuple(f"{folder}/" for folder in folders))}
    often = [note for note in rest if missing[note] >= FEWEST_PLACES]
    if len(often) >= 2:
        facts = f"they had {sum(missing[note] for note in often)} places before"
        what = f"{counted(len(often), 'note')} come back for no question any more"
        yield Sign(what=what, facts=facts, cases=_expecting(lists, lambda path: path in rest), symptom=True)


def _gone_passages(lists: Lists) -> Iterator[Sign]:
    """Find passages that would still rank by their scores, and come back for no question: they are not searched."""
    there = {place for _, new in lists.pairs for place in _places(new.entries)}
    notes = {entry.note for _, new in lists.pairs for entry in new.entries}
    steady = [(old, new) for old, new in lists.pairs if _scores_alike(old, new)]
    gone: set[str] = set()
    cases = set()
    for old, new in steady:
        last = new.entries[-1].final or 0.0
        for entry, place in zip(old.entries, _places(old.entries), strict=True):
            would_rank = entry.final is not None and entry.final > last and not same_score(entry.final, last)
            if would_rank and place not in there and entry.note in notes:
                gone.add(place)
                if entry.supports:
                    cases.add(old.case_id)
    before = {place for old, _ in lists.pairs for place in _places(old.entries)}
    if len(gone) >= FEWEST_PLACES and len(gone) < NEARLY_ALL * len(before):
        what = f"{len(gone)} of {counted(len(before), 'passage')} come back for no question any more"
        yield Sign(what=what, facts="by their scores they would still rank", cases=frozenset(cases), symptom=True)


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
    notes: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for note, count in missing.items():
        for parent in _parents(note):
            notes[parent] += 1
            places[parent] += count
    gone = [name for name in places if name not in there and places[name] >= FEWEST_PLACES and notes[name] > 1]
    return sorted(name for name in gone if not any(parent in gone for parent in _parents(name)))


def _is_in(folder: str, path: str) -> bool:
    return path.startswith(f"{folder}/")


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _expecting(lists: Lists, wanted: Callable[[str], bool]) -> frozenset[str]:
    return frozenset(
        case_id
        for case_id, item in lists.answers.items()
        if any(support.rel_path and wanted(support.rel_path) for support in item.case.gold_supports)
    )


def _cut_texts(lists: Lists, lost: Mapping[str, CauseCode]) -> Iterator[Sign]:
    chunks = [chunk for item in lists.answers.values() for chunk in item.result.chunks]
    if any(chunk.text_hash is not None for chunk in chunks):
        # a stored run keeps the beginnings of texts
        return
    texts = [chunk.text for chunk in chunks if chunk.text]
    for unit, length_of in (("character", len), ("word", lambda text: len(text.split()))):
        lengths = Counter(length_of(text) for text in texts)
        longest = max(lengths, default=0)
        if len(texts) < FEWEST_LISTS or lengths[longest] < len(texts) / 5 or len(lengths) < 3:
            continue
        facts = f"{lengths[longest]} of {len(texts)} have just so many"
        snippets = frozenset(name for name, code in lost.items() if code == "snippet-gone")
        yield Sign(what=f"texts are cut to {counted(longest, unit)}", facts=facts, cases=snippets)
        return


IN_QUESTIONS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("hold a digit", lambda text: bool(re.search(r"\d", text))),
    ("hold letters beyond ASCII", lambda text: not text.isascii()),
    ("hold a quotation mark or an apostrophe", lambda text: any(mark in text for mark in "\"'’“”«»")),
    ("hold a capital letter after the first word", lambda text: bool(re.search(r"\s[^\W\d_a-zà-ÿ]", text))),
    ("have more than 80 characters", lambda text: len(text) > 80),
)
"""What questions can have in common that a change of tokenizer or limit would lose."""
IN_PASSAGES: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("expect code", lambda text: "`" in text),
    ("expect a row of a table", lambda text: "|" in text),
    ("expect a number", lambda text: bool(re.search(r"\d\d", text))),
)
"""What gold snippets can have in common that another chunker or index would lose."""


def in_common(lists: Lists, lost: frozenset[str]) -> Iterator[str]:
    """Yield what nearly all lost questions have in common, and few others."""
    cases = [item.case for item in lists.answers.values() if item.case.gold_supports]
    questions = {case.id: case.question for case in cases}
    passages = {case.id: " ".join(text for s in case.gold_supports for text in s.snippets) for case in cases}
    for features, texts in ((IN_QUESTIONS, questions), (IN_PASSAGES, passages)):
        losers = [texts[name] for name in lost if name in texts]
        for words, holds in features:
            having, those = sum(map(holds, texts.values())), sum(map(holds, losers))
            if losers and those >= NEARLY_ALL * len(losers) and _chance(those, len(losers), having, len(texts)) < SURE:
                others = len(texts) - len(losers)
                yield f"{those} of the {len(losers)} lost questions {words}, {having - those} of the {others} others do"


def _chance(those: int, drawn: int, having: int, total: int) -> float:
    """Return the probability that at least so many of those drawn have a feature (hypergeometric)."""
    most = min(drawn, having)
    ways = sum(comb(having, count) * comb(total - having, drawn - count) for count in range(those, most + 1))
    return ways / comb(total, drawn)
