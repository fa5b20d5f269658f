"""Why the questions got worse, one level up: what changed as a whole, and whether that explains most of them. Pure.

A change is named as the most likely cause if it was seen and most questions fit it. Where only what became of them is
seen, that is said, and no cause.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from msgspec.structs import replace

from raggate.base.numbers import counted, fixed
from raggate.base.quote import cut, enumerated
from raggate.gate.causes.cause_evidence import PARTS
from raggate.gate.causes.cause_wording import between, number, threshold_change, writer
from raggate.gate.causes.folder_causes import first_is_skipped
from raggate.gate.causes.index_change import IndexChange
from raggate.gate.causes.passages import count_notes, vaults_by_path, vaults_named
from raggate.gate.causes.signs import Change, Lists, find_signs, in_common, lists_by_mode, signs_without_loss
from raggate.models.comparison import GROUPS, Cause, CauseCode, CauseEvidence, Comparison, Diagnosis, Flip, ListEvidence
from raggate.models.run import Run
from raggate.models.verdict import Verdict

OTHER_WEIGHT = 0.005
"""Difference of a weight from which on it is another one."""

FEWER_FOLDERS = 0.2
"""Share by which the mean number of selected folders must be smaller."""

OUTSIDE = 0.3
"""Share of the answers by which more must have chunks from outside the folders that they select."""

SHORTER = 0.2
"""Share by which lists must be shorter on average."""

MOST_GONE = 0.05
"""Share of the notes that come back which may be gone from all answers while other scores count as a cause."""

_NOT_INDEXED: tuple[CauseCode, ...] = ("note-not-indexed", "folder-not-indexed")
_SHORT: tuple[CauseCode, ...] = ("list-cut", "nothing-retrieved")
_CROWDED: tuple[CauseCode, ...] = ("demoted", "not-listed")
_ELSEWHERE: tuple[CauseCode, ...] = (
    *_CROWDED,
    *("chunk-not-searched", "folder-not-searched", "other-section", "other-vault"),
)
_REFUSED: tuple[CauseCode, ...] = ("below-threshold", "abstained", "nothing-retrieved")
_RANKED: tuple[CauseCode, ...] = (*_CROWDED, *_REFUSED, "did-not-abstain", "other-section", "heading-first")
_CUT: tuple[CauseCode, ...] = (*_RANKED, "snippet-gone", "anchor-gone", "not-explained")

_FOLDERS = frozenset(("first folder", "folders", "outside"))
"""Changes that take a passage out of a list, whatever it scores; other scores are then their by-product."""

_UNTOLD = frozenset(("scores", "version"))
"""Changes that are not reported of a run without a loss: noise shows one of them, and a name shows the other."""

_NAMED: frozenset[CauseCode] = frozenset(
    (
        *("api-error", "note-not-in-vault", "note-not-indexed", "folder-not-indexed", "anchor-gone"),
        *("folder-left-out", "folder-not-searched", "below-threshold", "list-cut", "text-foreign"),
        *("heading-differs", "other-vault"),
    )
)
"""Causes that explain a question by themselves. The others say what became of it."""
_SEEN: dict[CauseCode, str] = {
    "judged-by-answer": "the answers score lower",
    "not-listed": "the passages were not returned",
}
"""What became of questions, where what they are called together says that nothing shows."""
_UNEXPLAINED: frozenset[CauseCode] = frozenset(("not-listed", "not-explained"))

Named = tuple[str, Sequence[Flip]]
"""A sentence on the cause, and the questions that the cause explains; none if it names no cause."""


def _overall(index: IndexChange, evidence: CauseEvidence, worse: Sequence[Flip]) -> Iterator[Change]:
    """Yield what changed as a whole: of the index first, then by mode."""
    if index.documents_words:
        what = index.documents_words + _too_few(index, evidence)
        yield Change(kind="documents", what=what, fits=_missing(index, worse), by_score=True)
    if index.chunks_words:
        yield Change(kind="chunks", what=index.chunks_words, fits=_recut(index, worse))
    for words in index.versions if not (index.documents_words or index.chunks_words) else ():
        # a name says nothing of what was changed, or by how much
        yield Change(kind="version", what=words, fits=())
    # an index that reports no size still has its notes if hardly any is gone from all answers
    as_large = index.uncounted and count_notes(evidence.gone) <= MOST_GONE * len(evidence.retrieved)
    same_size = index.same_size or ("whose size is not reported" if as_large else "")
    for mode, lists in evidence.lists.items():
        scores = _of_other_scores(lists, same_size) if same_size and lists.rescored.get("final") else ()
        changes = (*_of_lengths(lists), *scores, *_of_weights(lists), *_of_threshold(lists))
        yield from (replace(change, mode=mode) for change in (*changes, *_of_folders(evidence, mode)))


def _recut(index: IndexChange, worse: Sequence[Flip]) -> Sequence[CauseCode]:
    """Return the causes that another number of chunks explains: of no more notes than it differs by.

    As many chunks that hold other text explain that a text is gone.
    """
    others = abs(index.fewer("chunks"))
    if not others:
        return ("snippet-gone",)
    cut = [flip for flip in worse if flip.cause is not None and flip.cause.code in _CUT]
    places = ((flip.support.rel_path, flip.support.vault) if flip.support else (flip.case_id, None) for flip in cut)
    return _CUT if count_notes(vaults_named(places)) <= others else ()


def _missing(index: IndexChange, worse: Sequence[Flip]) -> Sequence[CauseCode]:
    """Return the causes that another number of documents explains: of no more notes than there are documents gone."""
    if index.lost < 0:
        return _CROWDED
    missed = [flip.support for flip in worse if flip.cause is not None and flip.cause.code in _NOT_INDEXED]
    notes = vaults_named((support.rel_path, support.vault) for support in missed if support is not None)
    return _NOT_INDEXED if count_notes(notes) <= index.lost else ()


def _too_few(index: IndexChange, evidence: CauseEvidence) -> str:
    gone = count_notes(evidence.gone)
    return (
        f", which explains at most {index.lost} of the {gone} notes that are gone from all answers"
        if 0 < index.lost < gone
        else ""
    )


def _of_lengths(lists: ListEvidence) -> Iterator[Change]:
    """Yield the change to shorter or empty lists, with the score threshold if one ends them."""
    before, now = lists.lengths
    least = lists.floors[1] if lists.steady and now < (1 - SHORTER) * lists.longest else None
    means = f"{fixed(before, 1)} → {fixed(now, 1)}"
    if lists.filled[0] and not lists.filled[1]:
        facts = f"for {counted(lists.filled[0], 'question')} before"
        what = "nothing comes back any more for any question asked"
        yield Change(kind="nothing", what=what, facts=facts, fits=_REFUSED)
    elif now < (1 - SHORTER) * before and least is not None:
        write = writer(*lists.floors)
        what = f"nothing that scores below {write(least)} comes back any more"
        facts = f"{write(lists.floors[0])} before; {means} distinct passages on average"
        yield Change(kind="length", what=what, facts=facts, fits=(*_REFUSED, *_SHORT), by_score=True)
    elif now < (1 - SHORTER) * before:
        what = "fewer distinct passages come back"
        yield Change(kind="length", what=what, facts=f"{means} on average", fits=_SHORT)


def _of_other_scores(lists: ListEvidence, same_size: str) -> Iterator[Change]:
    others = [part for part in PARTS if lists.rescored.get(part)]
    if _other_weights(lists):
        others = [part for part in others if abs((lists.weights[1] or {}).get(part, 0.0)) > OTHER_WEIGHT]
    elif not others:
        others = ["final"]
    if others:
        what = f"the same passages have other {' and '.join(others)} scores"
        facts = f"in an index {same_size}"
        yield Change(kind="scores", what=what, facts=facts, fits=_RANKED, by_score=True)


def _other_weights(lists: ListEvidence) -> list[str]:
    """Name the parts that weigh otherwise; none where that is not known, or chunks have the scores they had."""
    before, now = lists.weights
    if before is None or now is None or lists.steady:
        return []
    return [part for part in PARTS if _weighs_otherwise(part, before, now)]


def _of_weights(lists: ListEvidence) -> Iterator[Change]:
    parts = _other_weights(lists)
    if parts:
        before, now = (weights or {} for weights in lists.weights)
        gone = [part for part in parts if part in before and abs(now.get(part, 0.0)) <= OTHER_WEIGHT]
        names = " and the ".join(gone)
        words = f"the {names} score no longer counts" if gone else "the final score has other weights"
        pairs = (f"{part} {number(before.get(part))} → {number(now.get(part))}" for part in parts)
        # where the others weigh what they did, it is the scores that are gone, and not their weight
        silent = gone == parts and not set(gone) & set(now)
        empty = f"no passage has a {' or a '.join(gone)} score other than 0 any more"
        facts = "" if silent else f"weights: {', '.join(pairs)}"
        yield Change(kind="weights", what=empty if silent else words, facts=facts, fits=_RANKED, by_score=True)


def _of_threshold(lists: ListEvidence) -> Iterator[Change]:
    change = threshold_change(*lists.thresholds)
    if change:
        write = writer(*(limit for limits in lists.thresholds for limit in limits or ()))
        was, is_now = (between(limits, write) for limits in lists.thresholds)
        fits = _REFUSED if change == "higher" else ("did-not-abstain",)
        what = f"the score below which the API abstains is {change}"
        yield Change(kind="threshold", what=what, facts=f"{is_now}, {was} before", fits=fits)


def _weighs_otherwise(part: str, before: Mapping[str, float], now: Mapping[str, float]) -> bool:
    return (part in before) != (part in now) or abs(before.get(part, 0.0) - now.get(part, 0.0)) > OTHER_WEIGHT


def _of_folders(evidence: CauseEvidence, mode: str) -> Iterator[Change]:
    before, now = evidence.folders.get(mode, ({}, {}))
    if first_is_skipped(evidence, mode):
        few = f"{now['served']} of {now['several']} answers have anything from the folder that they select first"
        none = f"none of {now['several']} answers has anything from the folder that it selects first"
        what = few if now["served"] else none
        facts = f"{before['served']} of {before['several']} did before"
        yield Change(kind="first folder", what=what, facts=facts, fits=("folder-not-searched",))
    shares = [side["outside"] / side["answers"] for side in (before, now) if side.get("answers") and "outside" in side]
    if len(shares) == 2 and shares[1] - shares[0] > OUTSIDE and _are_notes(evidence):
        facts = f"{before['outside']} of {before['answers']} answers before, {now['outside']} of {now['answers']} now"
        what = "passages come from outside the selected folders"
        yield Change(kind="outside", what=what, facts=facts, fits=_ELSEWHERE)
    means = [side["selected"] / side["answers"] for side in (before, now) if side.get("answers") and "selected" in side]
    if len(means) == 2 and means[1] < (1 - FEWER_FOLDERS) * means[0]:
        facts = f"{fixed(means[0], 1)} → {fixed(means[1], 1)} in the mean"
        yield Change(kind="folders", what="fewer folders are selected", facts=facts, fits=("folder-left-out",))


def _are_notes(evidence: CauseEvidence) -> bool:
    """Return whether most of what came back names paths of notes; the rest is from no folder at all."""
    known = vaults_by_path(evidence.notes)
    return 2 * sum(path in known for path in evidence.retrieved) > len(evidence.retrieved)


def diagnose(run: Run, comparison: Comparison, decided: Verdict, fallen: Sequence[Flip]) -> Diagnosis | None:
    """Return why the questions got worse that make the verdict red; without such, what changed as a whole.

    None if nothing is compared, or nothing shows.
    """
    if comparison.evidence is None or comparison.baseline is None:
        return None
    worse = [flip for flip in (*comparison.flips, *fallen) if flip.kind in {"broke", "fell"} and decided.is_red(flip)]
    worse = [flip for flip in worse if flip.cause is not None]
    before, now = comparison.baseline.scorecard, comparison.scorecard
    lists = lists_by_mode(run, before, now)
    index = IndexChange(before.fingerprint, now.fingerprint)
    changes = [*_of_signs(lists, worse), *_overall(index, comparison.evidence, worse)]
    modes = len(comparison.evidence.lists)
    if not worse:
        told = [change for change in changes if change.kind not in _UNTOLD]
        return Diagnosis(questions=0, counts=(), changes=tuple(_in_words(told, modes)), likely="") if told else None
    these = _these(worse, red=decided.outcome in {"regression", "failed in part"})
    likely, explained = _likely_change(worse, changes, modes, these)
    if not likely:
        likely, explained = _likely_cause(worse, these)
    return Diagnosis(
        questions=len(worse),
        counts=tuple(Counter(GROUPS[cause.code] for cause in _causes(worse)).most_common()),
        changes=tuple(_in_words(changes, modes)),
        likely=" ".join(filter(None, (likely, _alike(lists, worse)))),
        explains=frozenset((flip.mode, flip.case_id) for flip in explained),
    )


def _causes(worse: Sequence[Flip]) -> list[Cause]:
    return [flip.cause for flip in worse if flip.cause is not None]


def _of_signs(lists: Mapping[str, Lists], worse: Sequence[Flip]) -> Iterator[Change]:
    lost = {flip.mode for flip in worse}
    for mode, both in lists.items():
        signs = find_signs(both) if mode in lost else () if worse else signs_without_loss(both)
        yield from (replace(sign, mode=mode) for sign in signs)


def _alike(lists: Mapping[str, Lists], worse: Sequence[Flip]) -> str:
    """Return what the lost questions have in common; empty with several modes."""
    lost = frozenset(flip.case_id for flip in worse)
    words = [words for both in lists.values() if len(lists) == 1 for words in in_common(both, lost)]
    return f"In common: {'; '.join(words)}." if words else ""


def _in_words(changes: Sequence[Change], modes: int) -> Iterator[str]:
    for words, same in _grouped(changes, attrgetter("words")):
        yield words + _where(same, modes)


def _grouped(changes: Sequence[Change], key: Callable[[Change], str]) -> Iterator[tuple[str, list[Change]]]:
    groups: dict[str, list[Change]] = {}
    for change in changes:
        groups.setdefault(key(change), []).append(change)
    yield from groups.items()


def _where(changes: Sequence[Change], modes: int) -> str:
    names = [cut(change.mode, limit=40) for change in changes if change.mode is not None]
    return f" in mode{'s' if len(names) > 1 else ''} {enumerated(names)}" if 0 < len(names) < modes else ""


def _as_one(changes: Sequence[Change], modes: int) -> str:
    parts = []
    for what, same in _grouped(changes, attrgetter("what")):
        if len({change.facts for change in same}) == 1:
            parts.append(same[0].words + _where(same, modes))
        else:
            where = _where(same, modes) or " in all modes"
            parts.append(f"{what}{where} ({cut(same[0].mode, limit=40)}: {same[0].facts})")
    return " and ".join(parts)


def _likely_change(worse: Sequence[Flip], changes: Sequence[Change], modes: int, these: str) -> Named:
    """Name the change that most questions fit, and more than fit any rival; empty where most fit none.

    A sign that most fit comes before all others: it is a rule over whole lists, and they are often its by-products.
    A symptom comes after them. Changes of one such rank are rivals.
    """
    total = len(worse)
    rivals = dict(_grouped([change for change in changes if any(map(change.fit, worse))], attrgetter("kind")))
    fits = {kind: [flip for flip in worse if _explains(kind, rivals, flip)] for kind in rivals}
    order = {kind: (same[0].rank, -len(fits[kind])) for kind, same in rivals.items()}
    most = sorted((kind for kind in fits if 2 * len(fits[kind]) > total), key=order.__getitem__)
    if not most:
        return "", ()
    named = {kind: _as_one(rivals[kind], modes) for kind in most}
    equal = [named[kind] for kind in most if order[kind] == order[most[0]]]
    if len(equal) > 1:
        return _rivals(equal), ()
    also = (
        f" Also changed: {named[kind]}, which fits {len(fits[kind])} of them."
        for kind in most[1:]
        if rivals[kind][0].rank < 2
    )
    explained = fits[most[0]]
    return f"Most likely cause: {equal[0]}; it {_share(len(explained), total)} {these}.{''.join(also)}", explained


def _rivals(named: Sequence[str]) -> str:
    return f"No single cause shows, as several changes fit equally: {'; '.join(named)}."


def _explains(kind: str, rivals: Mapping[str, Sequence[Change]], flip: Flip) -> bool:
    """Return whether changes of a kind explain a question; scores explain no absence that folders explain."""
    gone = flip.cause is not None and flip.cause.code != "demoted"
    if gone and kind in {"scores", "weights"} and any(_explains(other, rivals, flip) for other in _FOLDERS & {*rivals}):
        return False
    return any(change.fit(flip) for change in rivals[kind])


def _likely_cause(worse: Sequence[Flip], these: str) -> Named:
    """Name the cause that most questions have by themselves, else what became of most; empty for one question."""
    total = len(worse)
    if total == 1:
        return "", ()
    having: dict[str, list[Flip]] = {}
    for flip in worse:
        for words in _by_itself(flip.cause):
            having.setdefault(words, []).append(flip)
    most = max(map(len, having.values()), default=0)
    equal = [words for words, flips in having.items() if len(flips) == most]
    if 2 * most > total:
        named = f"Most likely cause: {equal[0]} ({most} of {total} {these})."
        return (named, having[equal[0]]) if len(equal) == 1 else (_rivals(equal), ())
    codes = Counter(cause.code for cause in _causes(worse))
    ((code, number_of),) = codes.most_common(1)
    if 2 * number_of > total:
        seen = f": {_SEEN.get(code, GROUPS[code])}" if code != "not-explained" else ""
        return f"What caused it does not show{seen} ({number_of} of {total} {these}).", ()
    seen_of = {code: count for code, count in codes.items() if code not in _UNEXPLAINED}
    most = max(seen_of.values(), default=0)
    if most < 2:
        return "No single cause shows.", ()
    leading = "; ".join(f"{GROUPS[code]} ({most} of {total})" for code, count in seen_of.items() if count == most)
    return f"The {these} have different causes. Most frequent: {leading}.", ()


def _by_itself(cause: Cause | None) -> Iterator[str]:
    """Yield what explains a question without what others show."""
    if cause is not None and cause.code in _NAMED:
        yield GROUPS[cause.code]
    if cause is not None and cause.newer:
        yield f"notes {cause.newer} since the baseline rose above the passages"


def _these(causes: Sequence[Flip], *, red: bool) -> str:
    """Return which questions those are: where something else decides, they make nothing red."""
    one = len(causes) == 1
    verb, end = ("makes" if one else "make", "it red") if red else ("counts" if one else "count", "against the change")
    # one that is lost in several modes can have a cause in each
    each = ", counted in each mode" if len({flip.mode for flip in causes}) > 1 else ""
    return f"question{'' if one else 's'} that {verb} {end}{each}"


def _share(fits: int, total: int) -> str:
    if total == 1:
        return "fits the"
    return f"fits {'all' if fits == total else f'{fits} of the'} {total}"
