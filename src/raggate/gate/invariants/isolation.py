"""Who must not get which notes: private and deleted ones nobody, others only the principals that may see them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from raggate.config.probe_settings import Principal
from raggate.config.schema import Config
from raggate.gate.causes import note_places
from raggate.gate.invariants.answer_rules import Answer, Check, Rule, Suite, at_end
from raggate.models.fingerprint import notes_of
from raggate.models.run import Chunk, Leak, ProbeAnswer, Reference, Response, Run
from raggate.text.anchors import inside_place
from raggate.text.quote import cut, quoted


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
    known, notes = note_places.holders(run), frozenset(notes_of(run.fingerprint))

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
    known: note_places.Holders,
    notes: frozenset[str],
) -> Iterator[str]:
    """Name what of an answer is of private notes, or may be: of none of the `notes`, where any are given."""
    for where, chunk in _places(response):
        possible = note_places.possible(chunk, known)
        # where the API does not tell the vault, a public note of the same path gets the benefit of the doubt
        if possible and private.issuperset(possible):
            yield f"{where} is {cut(possible[0])}"
        # a private note under another spelling of its path is private still
        elif notes and chunk.rel_path and notes.isdisjoint(possible):
            yield f"{where} is {cut(chunk.rel_path)}, a path that is in no vault, so it may be any note"
    yield from _texts(response, (leak for leak in leaks if leak.note in private))


def _principals_isolated(suite: Suite) -> Iterator[str]:
    principals, known = principals_of(suite.run), note_places.holders(suite.run)
    for answer in suite.run.probes.of("principal"):
        probe, response, principal = answer.probe, answer.result.response, principals.get(answer.probe.principal)
        if response is not None and principal is not None:
            clues = _beyond(response, answer.leaks, principal, known)
            yield from _first(f"{probe.case_id} ({probe.mode}) as {probe.principal}", clues)


def _beyond(
    response: Response, leaks: Iterable[Leak], principal: Principal, known: note_places.Holders
) -> Iterator[str]:
    """Name what of an answer a principal may not see."""
    for where, chunk in _places(response):
        # of a path that no vault holds nobody knows who may see it, and so nobody may
        if not any(inside_place(note, principal.sees) for note in note_places.possible(chunk, known)):
            yield f"{where} is {cut(f'{chunk.vault}/{chunk.rel_path}' if chunk.vault else chunk.rel_path)}"
    yield from _texts(response, (leak for leak in leaks if not inside_place(leak.note, principal.sees)))


CHECKS: dict[str, Check] = {
    "private_withheld": _private_withheld,
    "principals_isolated": at_end(_principals_isolated),
}
"""By invariant: makes what finds where it does not hold."""
