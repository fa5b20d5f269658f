"""What answers to probes must hold, and who must not get which notes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from raggate.config.probe_settings import Principal
from raggate.config.schema import Config
from raggate.gate.causes import passages
from raggate.gate.invariants.answer_rules import Answer, Check, Rule, Suite, at_end
from raggate.models.provenance import notes_of
from raggate.models.run import Chunk, Leak, ProbeAnswer, ProbeKind, Reference, Response, Run
from raggate.text.headings import covers, inside_place
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
    known = passages.holders(suite.run)
    for answer in suite.run.probes.of("heading"):
        probe, response = answer.probe, answer.result.response
        if response is None:
            continue
        hits = [chunk for chunk in response.chunks if probe.note in passages.possible(chunk, known)]
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


def principals_of(run: Run) -> Mapping[str, Principal]:
    """Return the principals of the configuration that the run was made with."""
    return run.config.ask.probes.principals if isinstance(run.config, Config) else {}


def place_of(answer: ProbeAnswer) -> str:
    """Say what was asked, how, and as whom."""
    who = f" as {answer.probe.principal}" if answer.probe.principal else ""
    return f"{quoted(answer.probe.question, limit=80)} ({answer.probe.mode}{who})"


def _places(response: Response) -> Iterator[tuple[str, Chunk | Reference]]:
    for rank, chunk in enumerate(response.chunks, 1):
        yield f"rank {rank}", chunk
    for number, reference in enumerate(response.references, 1):
        yield f"cited place {number}", reference


def _texts(response: Response, leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield where texts of notes stand that are kept back, whatever place they are said to be of."""
    for leak in leaks:
        chunk = response.chunks[leak.rank - 1] if leak.rank else None
        if chunk is None:
            yield f"{leak.part or 'the answer'} contains text of {cut(leak.note)}"
        else:
            part = f" in its {leak.part}" if leak.part else ""
            yield f"rank {leak.rank}, {cut(chunk.rel_path or chunk.chunk_id)}, contains text of {cut(leak.note)}{part}"


def _first(place: str, clues: Iterator[str]) -> Iterator[str]:
    yield from (f"{place}: {clue}" for clue in islice(clues, 1))


def _private_withheld(suite: Suite) -> Rule:
    run, private = suite.run, frozenset(suite.run.probes.private)
    if not private:
        return Rule()
    known, notes = passages.holders(run), frozenset(notes_of(run.fingerprint))

    def see(answer: Answer) -> Iterator[str]:
        # of a path that no vault holds `notes_exist` tells here
        clues = _private_clues(answer.response, answer.item.labels.leaks, private, known, frozenset())
        return _first(answer.place, clues)

    def close() -> Iterator[str]:
        for answer in run.probes.answers:
            if answer.result.response is not None:
                clues = _private_clues(answer.result.response, answer.leaks, private, known, notes)
                yield from _first(place_of(answer), clues)

    return Rule(see, close)


def _private_clues(
    response: Response,
    leaks: Iterable[Leak],
    private: frozenset[str],
    known: passages.Holders,
    notes: frozenset[str],
) -> Iterator[str]:
    """Name what of an answer is of private notes, or may be: of none of the `notes`, where any are given."""
    for where, chunk in _places(response):
        possible = passages.possible(chunk, known)
        # where the API does not tell the vault, a public note of the same path gets the benefit of the doubt
        if possible and private.issuperset(possible):
            yield f"{where} is {cut(possible[0])}"
        # a private note under another spelling of its path is private still
        elif notes and chunk.rel_path and notes.isdisjoint(possible):
            yield f"{where} is {cut(chunk.rel_path)}, a path that is in no vault, so it may be any note"
    yield from _texts(response, (leak for leak in leaks if leak.note in private))


def _principals_isolated(suite: Suite) -> Iterator[str]:
    principals, known = principals_of(suite.run), passages.holders(suite.run)
    for answer in suite.run.probes.of("principal"):
        probe, response, principal = answer.probe, answer.result.response, principals.get(answer.probe.principal)
        if response is not None and principal is not None:
            clues = _beyond(response, answer.leaks, principal, known)
            yield from _first(f"{probe.case_id} ({probe.mode}) as {probe.principal}", clues)


def _beyond(response: Response, leaks: Iterable[Leak], principal: Principal, known: passages.Holders) -> Iterator[str]:
    """Name what of an answer a principal may not see."""
    for where, chunk in _places(response):
        # of a path that no vault holds nobody knows who may see it, and so nobody may
        if not any(inside_place(note, principal.sees) for note in passages.possible(chunk, known)):
            yield f"{where} is {cut(f'{chunk.vault}/{chunk.rel_path}' if chunk.vault else chunk.rel_path)}"
    yield from _texts(response, (leak for leak in leaks if not inside_place(leak.note, principal.sees)))


CHECKS: dict[str, Check] = {
    "top_is_prefix": at_end(_top_is_prefix),
    "headings_findable": at_end(_headings_findable),
    "spelling_ignored": at_end(_spelling_ignored),
    "nonsense_abstains": at_end(_nonsense_abstains),
    "reindex_idempotent": at_end(_reindex_idempotent),
    "private_withheld": _private_withheld,
    "principals_isolated": at_end(_principals_isolated),
}
"""By invariant: makes what finds where it does not hold."""
