"""What must hold of the answers of a run: a function that yields where it does not, and its line in `CHECKS`. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from math import isfinite
from typing import Any

from msgspec import Struct

from raggate.base.headings import inside_place
from raggate.base.numbers import counted
from raggate.base.quote import cut, quoted
from raggate.config.probe_settings import Principal
from raggate.config.schema import Config
from raggate.gate import noise, wording
from raggate.gate.causes import passages
from raggate.models.provenance import notes_of
from raggate.models.run import Chunk, LabelledResult, Leak, ProbeAnswer, Reference, Response, Run
from raggate.scoring.repeats import Repeated


class Answer(Struct, frozen=True):
    """A response, and the labelled result that it is of."""

    item: LabelledResult
    response: Response

    @property
    def place(self) -> str:
        """What messages call it."""
        return f"{self.item.case.id} ({self.item.result.mode})"


Check = Callable[[Run, Sequence[Answer]], Iterable[str]]
"""Takes a run and its answers, which are those of all repeats."""


def answers_of(run: Run) -> list[Answer]:
    """Return the answers that a run got, without failed calls."""
    return [Answer(item, item.result.response) for item in run.answers if item.result.response is not None]


def _each(see: Callable[[Answer], Iterable[str]]) -> Check:
    return lambda _, answers: (example for answer in answers for example in see(answer))


def _lists_ordered(answer: Answer) -> Iterator[str]:
    chunks = answer.response.chunks
    ranks = [chunk.rank for chunk in chunks if chunk.rank is not None]
    if ranks and ranks != list(range(1, len(chunks) + 1)):
        yield f"{answer.place}: ranks {ranks[:12]}"
    scores = [chunk.score_final for chunk in chunks if chunk.score_final is not None]
    if not all(isfinite(score) for score in scores):
        yield f"{answer.place}: a score is not finite"
        return
    for rank, (upper, lower) in enumerate(pairwise(scores), 1):
        if lower > upper:
            yield f"{answer.place}: score rises from {upper} at rank {rank} to {lower}"
            break


def _chunk_ids_unique(answer: Answer) -> Iterator[str]:
    for first in answer.item.labels.duplicates[:1]:
        yield f"{answer.place}: rank {first + 1} repeats passage {answer.response.chunks[first].chunk_id}"


def _chunks_distinct(answer: Answer) -> Iterator[str]:
    chunks = answer.response.chunks
    seen: dict[tuple[str | None, ...], int] = {}
    for rank, chunk in enumerate(chunks, 1):
        first = seen.setdefault(chunk.content, rank)
        # a repeated id has its own finding
        again = chunk.chunk_id and chunk.chunk_id == chunks[first - 1].chunk_id
        if chunk.text and first != rank and not again:
            yield f"{answer.place}: rank {rank} has the place and text of rank {first}, {chunk.rel_path}"
            break


def _chunk_ids_stable(_: Run, answers: Sequence[Answer]) -> Iterator[str]:
    seen: dict[str, int] = {}
    for answer in answers:
        for chunk in answer.response.chunks:
            content = hash((chunk.rel_path, chunk.heading_path, chunk.text, chunk.text_hash))
            if chunk.chunk_id and seen.setdefault(chunk.chunk_id, content) != content:
                yield f"{answer.place}: passage {cut(chunk.chunk_id)} has other content than in an earlier answer"


def _scope_respected(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    holders, known = passages.holders(run), notes_of(run.fingerprint)
    for answer in answers:
        asked = set(answer.item.case.vaults)
        for rank, chunk in enumerate(answer.response.chunks if asked else (), 1):
            # where the API does not tell the vault, it is one of those that hold such a note
            possible = {chunk.vault} if chunk.vault is not None else holders.get(chunk.rel_path, asked)
            if not asked & possible:
                vaults, limits = ", ".join(sorted(possible)), ", ".join(answer.item.case.vaults)
                yield f"{answer.place}: rank {rank} is from vault {vaults}, asked of {limits}"
                break
        else:
            leaks = (leak for leak in answer.item.labels.leaks if leak.note in known and leak.rank and asked)
            others = [leak for leak in leaks if leak.note.partition("/")[0] not in asked]
            yield from _first(answer.place, _texts(answer.response, others))


def _vaults_known(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    holders = passages.holders(run)
    for answer in answers:
        for rank, chunk in enumerate(answer.response.chunks if answer.item.case.vaults else (), 1):
            possible = sorted(holders.get(chunk.rel_path, ())) if chunk.vault is None else ()
            if len(possible) > 1:
                yield f"{answer.place}: rank {rank}, {cut(chunk.rel_path)}, may be from {' or '.join(possible)}"
                break


def _vault_known(run: Run) -> bool:
    """Return whether the notes of the vault are known; they are not of a run that another tool measured."""
    return run.fingerprint.get("notes") is not None


def _notes_exist(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    notes = notes_of(run.fingerprint)
    paths = {note.split("/", 1)[1] for note in notes}
    for answer in answers if _vault_known(run) else ():
        for position, chunk in enumerate(answer.response.chunks, 1):
            # an API that does not tell the vault gets the benefit of the doubt
            if chunk.rel_path not in paths or (chunk.vault and f"{chunk.vault}/{chunk.rel_path}" not in notes):
                where = f"vault {chunk.vault}" if chunk.vault else "the vault"
                named = f"{cut(chunk.rel_path)} is not in {where}"
                yield f"{answer.place}: {named if chunk.rel_path else f'rank {position} has no path of a note'}"
                break


def _headings_exist(answer: Answer) -> Iterator[str]:
    for position in answer.item.labels.strange_headings[:1]:
        chunk = answer.response.chunks[position]
        heading = quoted(chunk.heading_path, limit=80)
        yield f"{answer.place}: rank {position + 1}, {cut(chunk.rel_path)} has no heading {heading}"


def _text_in_note(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    of_suite = ((answer.place, answer.item.labels.strange_texts, answer.response.chunks) for answer in answers)
    of_probes = ((_place_of(probe), probe.strange_texts, probe.result.chunks) for probe in run.probes.answers)
    for place, strange, chunks in (*of_suite, *of_probes):
        for position in strange[:1]:
            yield f"{place}: the text at rank {position + 1} is not in {cut(chunks[position].rel_path)}"
    # where no chunk has text, the API does not tell it
    told = any(len(answer.item.labels.empty) < len(answer.response.chunks) for answer in answers)
    for answer in answers if told else ():
        empty, of = answer.item.labels.empty, answer.response.chunks
        for first in empty[:1]:
            without = f"{len(empty)} of {len(of)} passages without text"
            yield f"{answer.place}: {without}, first rank {first + 1}, {of[first].rel_path}"


def _golden_kept_apart(run: Run, _: Sequence[Answer]) -> Iterator[str]:
    for path in run.provenance.in_build_context:
        yield f"{path} lies in the build context of the API: name it in .dockerignore"
    for path in run.provenance.in_vaults:
        yield f"{path} lies in a vault, and the API gets the whole vault: keep it elsewhere"


def _abstained_is_empty(answer: Answer) -> Iterator[str]:
    if answer.response.abstained and answer.response.references:
        yield f"{answer.place}: abstains, but cites {len(answer.response.references)} place(s)"


def _told_of_index(answers: Sequence[Answer], key: str) -> list[Any]:
    values: dict[str, Any] = {}
    for answer in answers:
        coverage = answer.response.coverage or {}
        if key in coverage:
            # a number in one answer may be a text in another
            values.setdefault(repr(coverage[key]), coverage[key])
    return list(values.values())


def _index_complete(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    growing = "if it was still growing, raise api.ready.settle"
    if _vault_known(run):
        expected = len(notes_of(run.fingerprint))
        # an API may leave private notes out of its index, or out of its answers
        without_private = expected - len(run.probes.private)
        counts = set(map(str, _told_of_index(answers, "docs_processed")))
        for count in sorted(counts - {str(expected), str(without_private)}):
            yield f"the index has {count} of the vault's {expected} notes with text; {growing}"
    versions = set(map(str, _told_of_index(answers, "index_version")))
    if len(versions) > 1:
        yield f"index versions {', '.join(sorted(versions))} in one run"
    for key, noun in (("docs_processed", "documents"), ("chunks_embedded", "passages")):
        numbers = [count for count in _told_of_index(answers, key) if type(count) is int]
        if len(numbers) > 1:
            yield f"{min(numbers)} to {max(numbers)} {noun} in one run; {growing}"


def _no_empty_documents(_: Run, answers: Sequence[Answer]) -> Iterator[str]:
    for count in sorted({str(count) for count in _told_of_index(answers, "docs_with_0_chunks") if count}):
        yield f"{count} indexed document(s) without passages"


def _list_deep_enough(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    """Find modes in which most lists end at one rank: a threshold, or an index of few chunks, ends them otherwise."""
    deepest = max(run.config.score.k)
    lengths: dict[str, Counter[int]] = {}
    seen: dict[str, set[str]] = {}
    for answer in answers:
        mode, chunks = answer.item.result.mode, answer.response.chunks
        seen.setdefault(mode, set()).update(chunk.chunk_id for chunk in chunks)
        if chunks:
            lengths.setdefault(mode, Counter())[len(chunks)] += 1
    for mode, counts in lengths.items():
        longest, total = max(counts), counts.total()
        if longest < min(deepest, len(seen[mode])) and 2 * counts[longest] > total:
            lists = f"{counts[longest]} of {counted(total, 'list')}"
            yield f"{mode}: {lists} end at rank {longest}, and none goes on; scored to depth {deepest}"


def _must_be_deterministic(run: Run, _: Sequence[Answer]) -> Iterator[str]:
    repeated = Repeated.of(run.fingerprint)
    # of what was not seen twice `coverage_gaps` tells
    if run.stopped is None and repeated is not None and repeated.differ:
        names = f": {wording.some(repeated.questions)}" if repeated.questions else ""
        yield f"{noise.other_rankings(repeated)}{names}"


def principals_of(run: Run) -> Mapping[str, Principal]:
    """Return the principals of the configuration that the run was made with."""
    return run.config.ask.principals if isinstance(run.config, Config) else {}


def _place_of(answer: ProbeAnswer) -> str:
    who = f" as {answer.probe.principal}" if answer.probe.principal else ""
    return f"{quoted(answer.probe.question, limit=80)} ({answer.probe.mode}{who})"


def _places(response: Response) -> Iterator[tuple[str, Chunk | Reference]]:
    for rank, chunk in enumerate(response.chunks, 1):
        yield f"rank {rank}", chunk
    for number, reference in enumerate(response.references, 1):
        yield f"cited place {number}", reference


def _texts(response: Response, leaks: Iterable[Leak]) -> Iterator[str]:
    for leak in leaks:
        chunk = response.chunks[leak.rank - 1] if leak.rank else None
        if chunk is None:
            yield f"{leak.part or 'the answer'} contains text of {cut(leak.note)}"
        else:
            part = f" in its {leak.part}" if leak.part else ""
            yield f"rank {leak.rank}, {cut(chunk.rel_path or chunk.chunk_id)}, contains text of {cut(leak.note)}{part}"


def _first(place: str, clues: Iterator[str]) -> Iterator[str]:
    yield from (f"{place}: {clue}" for clue in islice(clues, 1))


def _private_withheld(run: Run, answers: Sequence[Answer]) -> Iterator[str]:
    private = frozenset(run.probes.private)
    if not private:
        return
    known, notes = passages.holders(run), frozenset(notes_of(run.fingerprint))
    for answer in answers:
        # of a path that no vault holds `notes_exist` tells here
        clues = _private_clues(answer.response, answer.item.labels.leaks, private, known, frozenset())
        yield from _first(answer.place, clues)
    for probe in run.probes.answers:
        if probe.result.response is not None:
            yield from _first(
                _place_of(probe), _private_clues(probe.result.response, probe.leaks, private, known, notes)
            )


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


def _principals_isolated(run: Run, _: Sequence[Answer]) -> Iterator[str]:
    principals, known = principals_of(run), passages.holders(run)
    for answer in run.probes.of("principal"):
        probe, response, principal = answer.probe, answer.result.response, principals.get(answer.probe.principal)
        if response is not None and principal is not None:
            clues = _beyond(response, answer.leaks, principal, known)
            yield from _first(f"{probe.case_id} ({probe.mode}) as {probe.principal}", clues)


def _beyond(response: Response, leaks: Iterable[Leak], principal: Principal, known: passages.Holders) -> Iterator[str]:
    for where, chunk in _places(response):
        # of a path that no vault holds nobody knows who may see it, and so nobody may
        if not any(inside_place(note, principal.sees) for note in passages.possible(chunk, known)):
            yield f"{where} is {cut(f'{chunk.vault}/{chunk.rel_path}' if chunk.vault else chunk.rel_path)}"
    yield from _texts(response, (leak for leak in leaks if not inside_place(leak.note, principal.sees)))


CHECKS: dict[str, tuple[Check, str]] = {
    "lists_ordered": (_each(_lists_ordered), "{answers} had ranks or scores that are out of order."),
    "chunk_ids_unique": (_each(_chunk_ids_unique), "{answers} returned the same passage twice."),
    "chunks_distinct": (_each(_chunks_distinct), "{answers} returned the same text of the same place twice."),
    "chunk_ids_stable": (_chunk_ids_stable, "{passages} had other content than an earlier one with the same id."),
    "scope_respected": (_scope_respected, "{answers} returned text from a vault that the question excludes."),
    "vaults_known": (_vaults_known, "{answers} returned a path that is in several vaults, without the vault."),
    "notes_exist": (_notes_exist, "{answers} returned a passage of no note in the fixture vault."),
    "headings_exist": (_each(_headings_exist), "{answers} named a heading that the note does not have."),
    "text_in_note": (_text_in_note, "{answers} returned text that is not in the note, or none."),
    "golden_kept_apart": (
        _golden_kept_apart,
        "The API could read {paths} of the gate (golden set, baseline or .git).",
    ),
    "abstained_is_empty": (_each(_abstained_is_empty), "{answers} abstained and cited notes anyway."),
    "index_complete": (
        _index_complete,
        "The index changed during the run, or has another number of documents than the vault has notes.",
    ),
    "no_empty_documents": (_no_empty_documents, "The index has documents without passages."),
    "list_deep_enough": (_list_deep_enough, "No list reached the largest cut-off that is scored, in {modes}."),
    "must_be_deterministic": (
        _must_be_deterministic,
        "Questions got another ranking when they were asked again.",
    ),
    "private_withheld": (_private_withheld, "{answers} held a note that is private or deleted."),
    "principals_isolated": (_principals_isolated, "{answers} showed a principal a note that they may not see."),
}
"""How each rule is checked, and what is wrong where it is broken: its heading in reports, with the number of places."""


def breach(name: str, count: int) -> str:
    """Return the sentence for a rule that is broken in so many places."""
    nouns = {f"{noun}s": counted(count, noun) for noun in ("answer", "passage", "path", "mode")}
    return CHECKS[name][1].format(**nouns)
