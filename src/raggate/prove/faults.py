"""The known faults of answers, of graded sizes: results without a fault in, the same with it out. Pure.

Add one line to FAULTS. A fault acts on parsed responses, so that it is the same whatever the API speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set as AbstractSet
from functools import partial
from hashlib import sha256
from math import floor

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.numbers import percent
from raggate.models.golden import Vault
from raggate.models.run import Chunk, Failure, Response, Result

Note = tuple[str, str]
"""A note: vault and path in it."""


_SEPARATOR = " > "


def ranked(response: Response, chunks: Sequence[Chunk]) -> Response:
    """Return a response with these chunks in this order, with fitting ranks and final scores."""
    scores = sorted((chunk.score_final for chunk in chunks if chunk.score_final is not None), reverse=True)
    scored = len(scores) == len(chunks)
    placed = tuple(
        replace(
            chunk,
            rank=None if chunk.rank is None else place + 1,
            score_final=scores[place] if scored else chunk.score_final,
        )
        for place, chunk in enumerate(chunks)
    )
    return replace(response, chunks=placed)


def shuffled_top(response: Response, depth: int, case_id: str) -> Response:
    """Shuffle the first `depth` chunks by lots of their places; what is drawn depends on the question."""
    order = sorted(range(len(response.chunks[:depth])), key=lambda place: lot("shuffled", depth, case_id, place))
    return ranked(response, (*(response.chunks[place] for place in order), *response.chunks[depth:]))


def first_demoted(response: Response, by: int) -> Response:
    """Let the first chunk stand `by` ranks lower; those between move up."""
    first, rest = response.chunks[:1], response.chunks[1:]
    return ranked(response, (*rest[:by], *first, *rest[by:]))


def cut_list(response: Response, depth: int) -> Response:
    """Return no more than `depth` chunks."""
    return ranked(response, response.chunks[:depth])


def duplicated(response: Response, times: int) -> Response:
    """Return every chunk so many times, each under an id of its own; the list is as long as before."""
    copies = [
        replace(chunk, chunk_id=f"{chunk.chunk_id}-{copy}" if copy and chunk.chunk_id else chunk.chunk_id)
        for chunk in response.chunks
        for copy in range(times)
    ]
    return ranked(response, copies[: len(response.chunks)])


def without(response: Response, notes: AbstractSet[Note]) -> Response:
    """Return and cite nothing of these notes; the chunks below move up."""
    kept = tuple(place for place in response.references if (place.vault, place.rel_path) not in notes)
    gone = of_notes(notes)
    return replace(ranked(response, [chunk for chunk in response.chunks if not gone(chunk)]), references=kept)


def of_notes(notes: AbstractSet[Note]) -> Callable[[Chunk], bool]:
    """Return whether a chunk is from one of these notes; of a chunk without a vault its path alone decides."""
    paths = {path for _, path in notes}
    return lambda chunk: chunk.rel_path in paths if chunk.vault is None else (chunk.vault, chunk.rel_path) in notes


def with_chunks(response: Response, change: Callable[[Chunk], Chunk]) -> Response:
    """Change every chunk, in its place."""
    return replace(response, chunks=tuple(map(change, response.chunks)))


def outdated(response: Response, notes: AbstractSet[Note]) -> Response:
    """Return chunks of these notes as they were before the second half of their text was written."""
    old = of_notes(notes)

    def first_half(chunk: Chunk) -> Chunk:
        words = chunk.text.split(" ")
        return replace(chunk, text=" ".join(words[: (len(words) + 1) // 2])) if old(chunk) else chunk

    return with_chunks(response, first_half)


def text_cut(chunk: Chunk, length: int) -> Chunk:
    """Cut the text of a chunk to so many characters, without half a word at the end where it has several."""
    if len(chunk.text) <= length:
        return chunk
    text = chunk.text[:length]
    return replace(chunk, text=text if chunk.text[length].isspace() else text.rsplit(None, 1)[0])


def title_alone(chunk: Chunk) -> Chunk:
    """Leave of the heading path its first heading."""
    return replace(chunk, heading_path=chunk.heading_path.partition(_SEPARATOR)[0])


def other_vault(chunk: Chunk, vaults: Sequence[str]) -> Chunk:
    """Name the next vault of the configuration in place of the chunk's own; an unnamed one stays unnamed."""
    if chunk.vault not in vaults:
        return chunk
    return replace(chunk, vault=vaults[(vaults.index(chunk.vault) + 1) % len(vaults)])


def removed_note_back(response: Response) -> Response:
    """Put a chunk of a note that is not in the vault any more above the others; the list is as long as before."""
    if not response.chunks:
        return response
    first = response.chunks[0]
    # beside the note that answers, as its earlier version would be
    name = first.rel_path.removesuffix(".md")
    ghost = replace(first, chunk_id=f"{first.chunk_id}-removed", rel_path=f"{name} (removed).md", doc_id=None)
    return ranked(response, (ghost, *response.chunks[:-1]))


def abstaining(response: Response) -> Response:
    """Abstain, citing nothing; what was retrieved is still told."""
    answer = None if response.answer is None else ""
    return replace(response, abstained=True, answer=answer, references=())


class AnswerFault(Struct, frozen=True, kw_only=True):
    """A fault of answers: what is wrong and how much of it, in words.

    `apply` gives results with the fault, in the same order; those of failed calls stay as they are. `notes` gives the
    notes it is about, where it is about some.
    """

    name: str
    size: str
    apply: Callable[[Sequence[Result], Vault], list[Result]]
    notes: Callable[[Vault], frozenset[Note]] = lambda _: frozenset()


def _answered(results: Iterable[Result], change: Callable[[Result, Response], Response]) -> list[Result]:
    return [
        result if result.response is None else replace(result, response=change(result, result.response))
        for result in results
    ]


def _of_all(name: str, size: str, change: Callable[[Response], Response]) -> AnswerFault:
    def apply(results: Sequence[Result], _: Vault) -> list[Result]:
        return _answered(results, lambda _, response: change(response))

    return AnswerFault(name=name, size=size, apply=apply)


def _of_questions(name: str, change: Callable[[Response], Response], *shares: float) -> Iterator[AnswerFault]:
    def apply(share: float, results: Sequence[Result], _: Vault) -> list[Result]:
        hit = struck((result.case_id for result in results), share, name)
        return _answered(results, lambda result, response: change(response) if result.case_id in hit else response)

    return _of_shares(name, "questions", apply, *shares)


def _of_shares(
    name: str, noun: str, apply: Callable[[float, Sequence[Result], Vault], list[Result]], *shares: float
) -> Iterator[AnswerFault]:
    for share in shares:
        yield AnswerFault(name=name, size=f"{percent(share)} of the {noun}", apply=partial(apply, share))


def _of_notes(
    name: str, change: Callable[[Response, frozenset[Note]], Response], *shares: float
) -> Iterator[AnswerFault]:
    def chosen(share: float, vault: Vault) -> frozenset[Note]:
        by_name = {"/".join(note): note for note in vault.texts}
        return frozenset(by_name[key] for key in struck(by_name, share, name))

    def apply(share: float, results: Sequence[Result], vault: Vault) -> list[Result]:
        notes = chosen(share, vault)
        return _answered(results, lambda _, response: change(response, notes))

    for share, fault in zip(shares, _of_shares(name, "notes", apply, *shares), strict=True):
        yield replace(fault, notes=partial(chosen, share))


def _shuffled(depth: int, results: Sequence[Result], _: Vault) -> list[Result]:
    return _answered(results, lambda result, response: shuffled_top(response, depth, result.case_id))


def _of_other_questions(share: float, results: Sequence[Result], _: Vault) -> list[Result]:
    """Return questions that are struck the answer of the next one that is, in the same mode."""
    name = "answers of other questions"
    hit = struck((result.case_id for result in results), share, name)
    taken: dict[tuple[str, str], Response] = {}
    for mode in dict.fromkeys(result.mode for result in results):
        answered = [result for result in results if result.mode == mode and result.response is not None]
        order = sorted(answered, key=lambda result: (result.case_id not in hit, lot(name, result.case_id)))
        # a single one is given the answer of a question that keeps it
        some = [result for result in order if result.case_id in hit]
        givers = [*some[1:], *(some[:1] if len(some) > 1 else order[1:2])]
        for result, giver in zip(some, givers, strict=False):
            if giver.response is not None:
                taken[mode, result.case_id] = giver.response
    return _answered(results, lambda result, response: taken.get((result.mode, result.case_id), response))


def _last_vault(vault: Vault) -> frozenset[Note]:
    names = list(vault.directories)
    return frozenset(note for note in vault.texts if len(names) > 1 and note[0] == names[-1])


def _last_vault_lost(results: Sequence[Result], vault: Vault) -> list[Result]:
    notes = _last_vault(vault)
    return _answered(results, lambda _, response: without(response, notes))


def _misnamed(results: Sequence[Result], vault: Vault) -> list[Result]:
    change = partial(other_vault, vaults=list(vault.directories))
    return _answered(results, lambda _, response: with_chunks(response, change))


def _failed(share: float, results: Sequence[Result], _: Vault) -> list[Result]:
    """Fail a share of the calls, as an API does that answers with HTTP 500."""
    hit = struck((f"{result.mode} {result.case_id}" for result in results), share, "calls fail")
    failure = Failure(kind="status", message="a fault on purpose", status=500)
    return [
        replace(result, response=None, failure=failure)
        if result.response is not None and f"{result.mode} {result.case_id}" in hit
        else result
        for result in results
    ]


FAULTS: tuple[AnswerFault, ...] = (
    *_of_notes("notes dropped", without, 0.02, 0.05, 0.1, 0.2, 0.4),
    *_of_notes("notes as they were before", outdated, 0.05, 0.2, 1.0),
    *_of_questions("a removed note comes back", removed_note_back, 0.02, 0.2),
    AnswerFault(name="a vault is not searched", size="the last", apply=_last_vault_lost, notes=_last_vault),
    AnswerFault(name="wrong vault", size="every passage", apply=_misnamed),
    *(
        AnswerFault(name="ranks shuffled", size=f"the top {depth}", apply=partial(_shuffled, depth))
        for depth in (3, 10)
    ),
    _of_all("ranks reversed", "the whole list", lambda response: ranked(response, response.chunks[::-1])),
    *(_of_all("first rank demoted", f"by {by}", partial(first_demoted, by=by)) for by in (1, 2, 5)),
    *(_of_all("list cut", f"to {depth}", partial(cut_list, depth=depth)) for depth in (5, 3, 1)),
    *(_of_all("passages duplicated", f"each {times} times", partial(duplicated, times=times)) for times in (2, 3)),
    *_of_questions(
        "nothing returned", lambda response: replace(response, chunks=(), references=()), 0.02, 0.05, 0.1, 0.2
    ),
    *_of_shares("answers of other questions", "questions", _of_other_questions, 0.02, 0.05, 0.1),
    *_of_questions("headings lost", partial(with_chunks, change=title_alone), 0.05, 0.2, 1.0),
    *(
        _of_all("texts cut", f"to {length} characters", partial(with_chunks, change=partial(text_cut, length=length)))
        for length in (200, 60)
    ),
    *_of_questions("abstains wrongly", abstaining, 0.05, 0.2, 1.0),
    _of_all("never abstains", "all questions", partial(replace, abstained=False, abstain_reason=None)),
    *_of_shares("calls fail", "calls", _failed, 0.01, 0.03, 0.1),
)
"""Every known fault of answers, families together and smaller sizes first."""


def lot(*parts: object) -> bytes:
    """Return a lot for what is named by these parts: as good as random, and always the same."""
    # a sign that no note or question holds stands between the parts, so that none runs into the next
    return sha256("\0".join(map(str, parts)).encode(errors="surrogatepass")).digest()


def struck(keys: Iterable[str], share: float, fault: str) -> frozenset[str]:
    """Choose a share of keys, exactly so many (half up), and at least one of some; doubles count once.

    A larger share of the same fault, by its name without its size, strikes all that a smaller one does, and more.
    """
    ordered = sorted(set(keys), key=lambda key: lot(fault, key))
    count = floor(share * len(ordered) + 0.5)
    return frozenset(ordered[: max(count, 1) if share > 0 else 0])
