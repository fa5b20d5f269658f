"""How far the answers of a run come, to the notes, their sections, a match, and what stops most of them. Pure.

A run in which nothing matches is seldom bad retrieval: the API tells places otherwise than the golden set does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from raggate.gate.causes.passages import Ranked, of_path, ranked
from raggate.gate.heading_separators import unsplit
from raggate.gate.heading_spellings import ends_alike
from raggate.models.golden import Support
from raggate.models.reach import Reach
from raggate.models.run import LabelledResult, Run
from raggate.text.anchors import covers, elements, is_end_of
from raggate.text.quote import quoted
from raggate.text.titles import rule, same_letters

Stage = tuple[LabelledResult, Support, Ranked]
"""An answer, a support that it does not match, and the chunk that comes nearest to it."""


def reaches(run: Run, modes: Collection[str]) -> tuple[Reach, ...]:
    """Return how far the answers come, mode by mode, by the first answer to each question that was asked."""
    steps = {mode: _Steps() for mode in modes}
    for item in run.results if steps else ():
        # what was never asked, as the run stopped before it, was lost at no step
        asked = item.result.failure is None or item.result.failure.kind != "aborted"
        if asked and item.result.mode in steps and item.case.gold_supports:
            steps[item.result.mode].add(item)
    return tuple(its.reach(mode) for mode, its in steps.items() if its.asked)


class _Steps:
    """The answers of a mode by how far they come.

    Attributes:
        asked: all of them.
    """

    def __init__(self) -> None:
        self.asked: list[LabelledResult] = []
        self._noted: list[LabelledResult] = []
        self._placed: list[LabelledResult] = []
        self._right: list[LabelledResult] = []

    def add(self, item: LabelledResult) -> None:
        """Take an answer."""
        self.asked.append(item)
        right = matched(item)
        if right or any(_of_note(item)):
            self._noted.append(item)
            if right or any(_of_section(item)):
                self._placed.append(item)
                if right:
                    self._right.append(item)

    def reach(self, mode: str) -> Reach:
        """How far they come, and what the largest loss has in common if it is half of what came so far or more."""
        steps = (
            (self.asked, self._noted, _why_no_note),
            (self._noted, self._placed, _why_no_section),
            (self._placed, self._right, _why_no_match),
        )
        before, after, find = max(steps, key=lambda step: len(step[0]) - len(step[1]))
        lost, why = len(before) - len(after), ""
        if lost and 2 * lost >= len(before):
            kept = {id(item) for item in after}
            why = find([item for item in before if id(item) not in kept], self.asked)
        return Reach(
            mode=mode,
            questions=len(self.asked),
            notes=len(self._noted),
            sections=len(self._placed),
            matches=len(self._right),
            why=why,
        )


def matched(item: LabelledResult) -> bool:
    """Return whether some chunk of an answer matches a gold support."""
    return any(item.labels.matches)


def _of_note(item: LabelledResult) -> Iterator[Stage]:
    """Yield what came back of the right notes."""
    chunks = ranked(item)
    for support in item.case.gold_supports:
        for place in of_path(support, chunks):
            if item.case.may_be_in(place[2].vault, support):
                yield item, support, place


def _of_section(item: LabelledResult) -> Iterator[Stage]:
    """Yield what came back of the right sections; of a support without snippets a match says whether it did."""
    same = rule(as_read=item.labels.as_read)
    for _, support, place in _of_note(item):
        heading = support.heading_path
        own = place[1] not in item.labels.ambiguous
        if heading is None or (own and support.snippets and covers(heading, place[2].heading_path, same)):
            yield item, support, place


def _most(cases: Collection[object], of: Collection[object]) -> bool:
    return 2 * len(cases) > len(of)


def _why_no_note(left: Sequence[LabelledResult], items: Sequence[LabelledResult]) -> str:
    failed = [item for item in left if item.result.response is None]
    if _most(failed, left):
        failure = failed[0].result.failure
        which = "the calls failed" if len(failed) == len(items) else "most of the other calls failed"
        return f"{which}: {failure.message}" if failure is not None else ""
    answered = [item for item in left if item.result.response is not None]
    empty = [item for item in answered if not ranked(item)]
    if _most(empty, left):
        return "nothing comes back at all" if len(empty) == len(items) else "nothing comes back for most of the others"
    if len(failed) + len(empty) == len(left):
        return "nothing comes back for half of the others, and the calls of the other half failed"
    if all(support.rel_path == "" for item in left for support in item.case.gold_supports):
        return "the API returns other ids" + _example(*_first_ids(left))
    if not any(chunk.rel_path for item in answered for _, _, chunk in ranked(item)):
        return "the API returns no path of a note"
    known = {support.rel_path for item in items for support in item.case.gold_supports}
    for words, differ in (("returns another vault", _other_vault), ("writes paths differently", _other_path)):
        pairs = [next(differ(item, known), None) for item in answered]
        examples = [pair for pair in pairs if pair is not None]
        # a note of the same name elsewhere may come back to any question
        if _most(examples, answered):
            return f"the API {words}" + _example(*examples[0])
    return "other notes come back"


def _other_vault(item: LabelledResult, _known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the vaults that a gold note may be in, and the one that a chunk of its path is said to be from."""
    for support in item.case.gold_supports:
        for _, _, chunk in of_path(support, ranked(item)):
            yield " or ".join(item.case.vaults_of(support)), chunk.vault or ""


def _other_path(item: LabelledResult, known: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the path of a gold note, and that of a chunk which is the end of it, or the other way round."""
    for support in item.case.gold_supports:
        for _, _, chunk in ranked(item):
            # a path that the golden set has is that of a note of its own
            if chunk.rel_path not in known and _tails(support.rel_path, chunk.rel_path):
                yield support.rel_path, chunk.rel_path


def _first_ids(left: Sequence[LabelledResult]) -> tuple[str, str]:
    item = next(item for item in left if ranked(item))
    support, chunk = item.case.gold_supports[0], ranked(item)[0][2]
    if support.chunk_id is not None:
        return support.chunk_id, chunk.chunk_id
    return support.doc_id or "", chunk.document


def _tails(gold: str, path: str) -> bool:
    """Return whether one path is the end of the other, with or without its suffix."""
    first, second = (f"/{path.removesuffix('.md').strip('/')}".casefold() for path in (gold, path))
    return first != "/" != second and (first.endswith(second) or second.endswith(first))


def _why_no_section(left: Sequence[LabelledResult], items: Sequence[LabelledResult]) -> str:
    if not any(chunk.heading_path.strip() for item in items for _, _, chunk in ranked(item)):
        return (
            "the API returns no heading_path: let it return the headings above each chunk, or leave heading_path "
            "out of the golden set, and whole notes count"
        )
    nearest = (next(filter(_told_otherwise, _of_note(item)), None) for item in left)
    headings = [(stage[1].heading_path or "", stage[2][2].heading_path) for stage in nearest if stage is not None]
    apart = unsplit((returned, [elements(gold)]) for gold, returned in headings)
    if not _most(headings, left):
        return "other sections of these notes come back, or the API writes their headings differently"
    return (apart or "the API writes headings differently") + _example(*headings[0])


def _told_otherwise(stage: Stage) -> bool:
    """Return whether a chunk is known to be of the section, or under a heading that its note has not."""
    item, support, (_, position, chunk) = stage
    gold, heading = support.heading_path or "", chunk.heading_path
    if not heading.strip():
        return False
    known = position in {*item.labels.filed_elsewhere, *item.labels.strange_headings, *item.labels.ambiguous}
    alike = is_end_of(gold, heading, same_letters) or ends_alike(gold, heading)
    return known or alike or bool(unsplit([(heading, [elements(gold)])]))


def _why_no_match(left: Sequence[LabelledResult], items: Sequence[LabelledResult]) -> str:
    if not any(chunk.text.strip() for item in items for _, _, chunk in ranked(item)):
        return "the API returns no text that could contain the snippets of the golden set"
    textless = [item for item in left if _textless(item)]
    if _most(textless, left):
        return "these chunks come back without text"
    return "the text of these chunks does not contain the snippets of the golden set"


def _textless(item: LabelledResult) -> bool:
    return any(position in item.labels.empty for _, _, (_, position, _) in _of_section(item))


def _example(wanted: str, returned: str) -> str:
    """Set what the golden set has beside what the API tells."""
    return f": golden set {quoted(wanted, limit=120)}, API {quoted(returned, limit=120)}"
