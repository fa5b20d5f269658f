"""What must not change when a question, or the index, changes in a way that means nothing. Pure.

A question that the API answers otherwise when it is simply asked again tells nothing here, and is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter

from raggate.gate.causes import note_places
from raggate.gate.invariants.answer_rules import Check, Suite, at_end
from raggate.models.probe import ProbeKind
from raggate.models.run import Chunk, ProbeAnswer, Response
from raggate.text.anchors import covers
from raggate.text.numbers import counted
from raggate.text.quote import cut, quoted

_COUNTS = {"docs_processed": "documents", "chunks_embedded": "chunks"}
"""What of the index must be as it was, and what it is called."""

_UNANSWERED = "the question itself got no answer when asked unchanged"


def steady(suite: Suite) -> dict[tuple[str, str], Response]:
    """Return the suite's answers, by mode and case, of the questions that were asked again and ranked alike."""
    doubtful = doubts(suite)
    return {key: first for key, first in suite.probed.items() if key not in doubtful and first is not None}


def doubts(suite: Suite) -> dict[tuple[str, str], str]:
    """Say of the probes' questions, by mode and case, why nothing can be held against the suite's own answer."""
    keys = ((answer.probe.mode, answer.probe.case_id) for answer in suite.run.probes.answers)
    reasons = dict.fromkeys(keys, _UNANSWERED)
    for control in suite.run.probes.of("control"):
        key = (control.probe.mode, control.probe.case_id)
        reasons[key] = _doubt(suite.probed.get(key), control.result.response)
    return {key: reason for key, reason in reasons.items() if reason}


def _doubt(first: Response | None, second: Response | None) -> str:
    """Return why two answers to a question are no ground to stand on; empty where they are one ranking."""
    if first is None or second is None:
        return _UNANSWERED
    alike = difference(first.chunks, second.chunks) is None
    return "" if alike else "the question is ranked differently when asked again unchanged"


def difference(before: Sequence[Chunk], now: Sequence[Chunk]) -> str | None:
    """Return where two lists first differ; None where they are one ranking.

    Chunks are told apart by id or, for an API that makes ids up anew, by what they are: whichever agrees further.
    """
    ranks = [_first_other(before, now, key) for key in (_identity, attrgetter("content"))]
    if None in ranks:
        return None
    rank = max(rank for rank in ranks if rank is not None)
    return f"rank {rank + 1} is {_name(now, rank)}, before {_name(before, rank)}"


def _first_other(before: Sequence[Chunk], now: Sequence[Chunk], key: Callable[[Chunk], object]) -> int | None:
    pairs = enumerate(zip(before, now, strict=False))
    shorter = None if len(before) == len(now) else min(len(before), len(now))
    return next((rank for rank, (left, right) in pairs if key(left) != key(right)), shorter)


def _identity(chunk: Chunk) -> object:
    return chunk.chunk_id or chunk.content


def _name(chunks: Sequence[Chunk], rank: int) -> str:
    if rank >= len(chunks):
        return "nothing"
    chunk = chunks[rank]
    section = f" › {chunk.heading_path}" if chunk.heading_path else ""
    return cut(f"{chunk.rel_path or chunk.doc_id or chunk.chunk_id}{section}", limit=120)


def _pairs(suite: Suite, kind: ProbeKind) -> Iterator[tuple[str, ProbeAnswer, Response, Response]]:
    """Yield place, probe, the suite's answer and that to the probe, of questions that rank alike when asked again."""
    alike = steady(suite)
    for answer in suite.run.probes.of(kind):
        first = alike.get((answer.probe.mode, answer.probe.case_id))
        if first is not None and answer.result.response is not None:
            yield f"{answer.probe.case_id} ({answer.probe.mode})", answer, first, answer.result.response


def _top_is_prefix(suite: Suite) -> Iterator[str]:
    for place, _, full, short in _pairs(suite, "prefix"):
        # an API may tell more than it was asked for, or have less
        depth = min(len(full.chunks), len(short.chunks)) or 1
        other = difference(full.chunks[:depth], short.chunks[:depth])
        if other is not None:
            yield f"{place}, asked for fewer: {other}"


def _spelling_ignored(suite: Suite) -> Iterator[str]:
    for place, answer, first, spelled in _pairs(suite, "spelling"):
        other = difference(first.chunks, spelled.chunks)
        if other is not None:
            yield f"{place}, other {answer.probe.variant}: {other}"


def _reindex_idempotent(suite: Suite) -> Iterator[str]:
    counts: dict[str, str] = {}
    for place, _, first, again in _pairs(suite, "reindex"):
        other = difference(first.chunks, again.chunks)
        if other is not None:
            yield f"{place}, after indexing again: {other}"
        counts = dict(_recounted(first, again)) | counts
    yield from counts.values()


def _recounted(first: Response, again: Response) -> Iterator[tuple[str, str]]:
    for key, noun in _COUNTS.items():
        before, now = ((response.coverage or {}).get(key) for response in (first, again))
        if type(before) is int and type(now) is int and before != now:
            yield key, f"the index has {now} {noun} after indexing again, before {before}"


def _headings_findable(suite: Suite) -> Iterator[str]:
    known = note_places.holders(suite.run)
    for answer in suite.run.probes.of("heading"):
        probe, response = answer.probe, answer.result.response
        if response is None:
            continue
        hits = [chunk for chunk in response.chunks if probe.note in note_places.possible(chunk, known)]
        if not any(not chunk.heading_path or covers(probe.heading_path, chunk.heading_path) for chunk in hits):
            section = cut(f"{probe.note} › {probe.heading_path}", limit=160)
            returned = f"the {counted(len(response.chunks), 'chunk')} that came back"
            yield f"{quoted(probe.question, limit=80)} ({probe.mode}): {section} is not among {returned}"


def _nonsense_abstains(suite: Suite) -> Iterator[str]:
    for answer in suite.run.probes.of("nonsense"):
        response = answer.result.response
        if response is not None and response.chunks and not response.abstained:
            question = quoted(answer.probe.question, limit=80)
            chunks = counted(len(response.chunks), "chunk")
            yield f"{question} ({answer.probe.mode}): {chunks}, the first of {_name(response.chunks, 0)}"


CHECKS: dict[str, Check] = {
    "top_is_prefix": at_end(_top_is_prefix),
    "headings_findable": at_end(_headings_findable),
    "spelling_ignored": at_end(_spelling_ignored),
    "nonsense_abstains": at_end(_nonsense_abstains),
    "reindex_idempotent": at_end(_reindex_idempotent),
}
"""By invariant: makes what finds where it does not hold."""
