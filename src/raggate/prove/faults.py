"""The known faults of answers, of graded sizes: results without a fault in, the same with it out. Pure.

Add one line to FAULTS. A fault acts on parsed responses, so that it is the same whatever the API speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set as AbstractSet
from functools import partial
from hashlib import sha256
from math import floor
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from raggate.base.numbers import percent
from raggate.models.golden import Vault
from raggate.models.run import Chunk, Failure, Response, Result

Note = tuple[str, str]
"""A note: vault and path in it."""


_SEPARATOR = " > "
Change = Callable[[Response], Response]
T = TypeVar("T")


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
    """Shuffle the first `depth` chunks; what is drawn depends on the question."""
    chunks = response.chunks
    return ranked(response, (*shuffled(chunks[:depth], "shuffled", depth, case_id), *chunks[depth:]))


def reversed_list(response: Response) -> Response:
    """Sort the wrong way round."""
    return ranked(response, response.chunks[::-1])


def first_demoted(response: Response, by: int) -> Response:
    """Let the first chunk stand `by` ranks lower; those between move up."""
    first, rest = response.chunks[:1], response.chunks[1:]
    return ranked(response, (*rest[:by], *first, *rest[by:]))


def cut_list(response: Response, depth: int) -> Response:
    """Return no more than `depth` chunks."""
    return ranked(response, response.chunks[:depth])


def emptied(response: Response) -> Response:
    """Return nothing, and cite nothing."""
    return replace(response, chunks=(), references=())


def duplicated(response: Response, times: int) -> Response:
    """Return every chunk so many times, each under an id of its own; the list is as long as before."""
    copies = [
        replace(chunk, chunk_id=f"{chunk.chunk_id}-{copy}" if copy and chunk.chunk_id else chunk.chunk_id)
        for chunk in response.chunks
        for copy in range(times)
    ]
    return ranked(response, copies[: len(response.chunks)])


def without(response: Response, lost: Callable[[Chunk], bool], cited: AbstractSet[Note] = frozenset()) -> Response:
    """Return no chunk that is lost; those below move up. Nothing cites the notes `cited` any more."""
    kept = tuple(place for place in response.references if (place.vault, place.rel_path) not in cited)
    return replace(ranked(response, [chunk for chunk in response.chunks if not lost(chunk)]), references=kept)


def of_notes(notes: AbstractSet[Note]) -> Callable[[Chunk], bool]:
    """Return whether a chunk is from one of these notes; of a chunk without a vault its path alone decides."""
    paths = {path for _, path in notes}

    def holds(chunk: Chunk) -> bool:
        return chunk.rel_path in paths if chunk.vault is None else (chunk.vault, chunk.rel_path) in notes

    return holds


def with_chunks(response: Response, change: Callable[[Chunk], Chunk]) -> Response:
    """Change every chunk, in its place."""
    return replace(response, chunks=tuple(map(change, response.chunks)))


def first_half(chunk: Chunk) -> Chunk:
    """Return a chunk as it was before the second half of its text was written."""
    words = chunk.text.split(" ")
    return replace(chunk, text=" ".join(words[: (len(words) + 1) // 2]))


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


def answering(response: Response) -> Response:
    """Do not abstain."""
    return replace(response, abstained=False, abstain_reason=None)


class AnswerFault(Struct, frozen=True, kw_only=True):
    """A fault of answers.

    Attributes:
        name: what is wrong.
        size: how much of it, in words.
        apply: gives results with the fault, in the same order; those of failed calls stay as they are.
        notes: gives the notes it is about, where it is about some.
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


def _of_all(name: str, size: str, change: Change) -> AnswerFault:
    return AnswerFault(
        name=name, size=size, apply=lambda results, _: _answered(results, lambda _, response: change(response))
    )


def _of_questions(name: str, change: Change, *shares: float) -> Iterator[AnswerFault]:

    def apply(share: float, results: Sequence[Result], _: Vault) -> list[Result]:
        hit = struck((result.case_id for result in results), share, name)
        return _answered(results, lambda result, response: change(response) if result.case_id in hit else response)

    for share in shares:
        yield AnswerFault(name=name, size=f"{percent(share)} of the questions", apply=partial(apply, share))


def _of_notes(
    name: str, change: Callable[[Response, frozenset[Note]], Response], *shares: float
) -> Iterator[AnswerFault]:

    def chosen(share: float, vault: Vault) -> frozenset[Note]:
        by_name = {"/".join(note): note for note in vault.texts}
        return frozenset(by_name[key] for key in struck(by_name, share, name))

    def apply(share: float, results: Sequence[Result], vault: Vault) -> list[Result]:
        notes = chosen(share, vault)
        return _answered(results, lambda _, response: change(response, notes))

    for share in shares:
        yield AnswerFault(
            name=name,
            size=f"{percent(share)} of the notes",
            apply=partial(apply, share),
            notes=partial(chosen, share),
        )


def _dropped(response: Response, notes: frozenset[Note]) -> Response:
    return without(response, of_notes(notes), notes)


def _outdated(response: Response, notes: frozenset[Note]) -> Response:
    old = of_notes(notes)
    return with_chunks(response, lambda chunk: first_half(chunk) if old(chunk) else chunk)


def _shuffled(depth: int) -> AnswerFault:
    def apply(results: Sequence[Result], _: Vault) -> list[Result]:
        return _answered(results, lambda result, response: shuffled_top(response, depth, result.case_id))

    return AnswerFault(name="ranks shuffled", size=f"the top {depth}", apply=apply)


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


def _last_vault_lost(results: Sequence[Result], vault: Vault) -> list[Result]:
    notes = _last_vault(vault)
    return _answered(results, lambda _, response: _dropped(response, notes))


def _last_vault(vault: Vault) -> frozenset[Note]:
    names = list(vault.directories)
    return frozenset(note for note in vault.texts if len(names) > 1 and note[0] == names[-1])


def _misnamed(results: Sequence[Result], vault: Vault) -> list[Result]:
    names = list(vault.directories)
    return _answered(
        results,
        lambda _, response: with_chunks(response, lambda chunk: other_vault(chunk, names)),
    )


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
    *_of_notes("notes dropped", _dropped, 0.02, 0.05, 0.1, 0.2, 0.4),
    *_of_notes("notes as they were before", _outdated, 0.05, 0.2, 1.0),
    *_of_questions("a removed note comes back", removed_note_back, 0.02, 0.2),
    AnswerFault(name="a vault is not searched", size="the last", apply=_last_vault_lost, notes=_last_vault),
    AnswerFault(name="wrong vault", size="every passage", apply=_misnamed),
    _shuffled(3),
    _shuffled(10),
    _of_all("ranks reversed", "the whole list", reversed_list),
    *(_of_all("first rank demoted", f"by {by}", partial(first_demoted, by=by)) for by in (1, 2, 5)),
    *(_of_all("list cut", f"to {depth}", partial(cut_list, depth=depth)) for depth in (5, 3, 1)),
    *(_of_all("passages duplicated", f"each {times} times", partial(duplicated, times=times)) for times in (2, 3)),
    *_of_questions("nothing returned", emptied, 0.02, 0.05, 0.1, 0.2),
    *(
        AnswerFault(
            name="answers of other questions",
            size=f"{percent(share)} of the questions",
            apply=partial(_of_other_questions, share),
        )
        for share in (0.02, 0.05, 0.1)
    ),
    *_of_questions("headings lost", lambda response: with_chunks(response, title_alone), 0.05, 0.2, 1.0),
    *(
        _of_all(
            "texts cut",
            f"to {length} characters",
            partial(with_chunks, change=partial(text_cut, length=length)),
        )
        for length in (200, 60)
    ),
    *_of_questions("abstains wrongly", abstaining, 0.05, 0.2, 1.0),
    _of_all("never abstains", "all questions", answering),
    *(
        AnswerFault(name="calls fail", size=f"{percent(share)} of the calls", apply=partial(_failed, share))
        for share in (0.01, 0.03, 0.1)
    ),
)
"""Every known fault of answers, families together and smaller sizes first."""


def lot(*parts: object) -> bytes:
    """Return a lot for what is named by these parts: as good as random, and always the same."""
    # a sign that no note or question holds stands between the parts, so that none runs into the next
    return sha256("\0".join(map(str, parts)).encode(errors="surrogatepass")).digest()


def struck(keys: Iterable[str], share: float, fault: str) -> frozenset[str]:
    """Choose a share of keys, exactly so many (half up), and at least one of some.

    A larger share of the same fault strikes all that a smaller one does, and more.

    Args:
        keys: names of questions or notes; doubles count once.
        share: from 0 to 1.
        fault: the name of the fault, without its size.
    """
    ordered = sorted(set(keys), key=lambda key: lot(fault, key))
    count = floor(share * len(ordered) + 0.5)
    return frozenset(ordered[: max(count, 1) if share > 0 else 0])


def shuffled(items: Sequence[T], *parts: object) -> list[T]:
    """Put items into another order, which is that of lots of their places."""
    return [items[place] for place in sorted(range(len(items)), key=lambda place: lot(*parts, place))]
