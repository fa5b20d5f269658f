"""Who must not get which notes: private and deleted ones nobody, others only the principals that may see them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from raggate.config.probe_settings import Principal
from raggate.config.schema import Config
from raggate.gate import note_places
from raggate.models.fingerprint import notes_of
from raggate.models.run import Chunk, Reference, Response, Run
from raggate.text.anchors import inside_place
from raggate.text.quote import cut, quoted


def principals_of(run: Run) -> Mapping[str, Principal]:
    """Give the principals of the configuration that the run was made with."""
    return run.config.ask.probes.principals if isinstance(run.config, Config) else {}


def _answers(run: Run) -> Iterator[tuple[str, Response]]:
    """Give every answer there is, of the suite and of probes, with who was asked what."""
    for item in (*run.results, *run.repeats):
        if item.result.response is not None:
            yield f"{item.case.id} ({item.result.mode})", item.result.response
    for answer in run.probes.answers:
        if answer.result.response is not None:
            who = f" as {answer.probe.principal}" if answer.probe.principal else ""
            yield f"{quoted(answer.probe.question, limit=80)} ({answer.probe.mode}{who})", answer.result.response


def _places(response: Response) -> Iterator[tuple[str, Chunk | Reference]]:
    for rank, chunk in enumerate(response.chunks, 1):
        yield f"rank {rank}", chunk
    for number, reference in enumerate(response.references, 1):
        yield f"cited place {number}", reference


def _private_withheld(run: Run) -> Iterator[str]:
    private, known = set(run.probes.private), note_places.holders(run)
    notes_told = set(notes_of(run.fingerprint))
    suite = sum(item.result.response is not None for item in (*run.results, *run.repeats))
    for number, (place, response) in enumerate(_answers(run) if private else ()):
        for where, chunk in _places(response):
            notes = note_places.possible(chunk, known)
            # where the API does not tell the vault, a public note of the same path gets the benefit of the doubt
            if notes and private.issuperset(notes):
                yield f"{place}: {where} is {cut(notes[0])}"
                break
            # of the suite `notes_exist` says so; a private note under another spelling of its path is private still
            if number >= suite and notes_told and chunk.rel_path and notes_told.isdisjoint(notes):
                yield f"{place}: {where} is {cut(chunk.rel_path)}, a path that no vault holds, so it may be any note"
                break


def _principals_isolated(run: Run) -> Iterator[str]:
    principals, known = principals_of(run), note_places.holders(run)
    for answer in run.probes.of("principal"):
        probe, response, principal = answer.probe, answer.result.response, principals.get(answer.probe.principal)
        if response is None or principal is None:
            continue
        for where, chunk in _places(response):
            # of a path that no vault holds nobody knows who may see it, and so nobody may
            if not any(inside_place(note, principal.sees) for note in note_places.possible(chunk, known)):
                path = cut(f"{chunk.vault}/{chunk.rel_path}" if chunk.vault else chunk.rel_path)
                yield f"{probe.case_id} ({probe.mode}) as {probe.principal}: {where} is {path}"
                break


CHECKS: dict[str, Callable[[Run], Iterator[str]]] = {
    "private_withheld": _private_withheld,
    "principals_isolated": _principals_isolated,
}
"""By invariant: gives where it does not hold."""
