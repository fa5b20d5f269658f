"""Faults of what an answer says: of its texts, headings and vaults, and of whether it abstains. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from raggate.models.run import Chunk, Response
from raggate.prove.rankings import ranked

_SEPARATOR = " > "


def with_chunks(response: Response, change: Callable[[Chunk], Chunk]) -> Response:
    """Change every chunk, in its place."""
    return replace(response, chunks=tuple(map(change, response.chunks)))


def first_half(chunk: Chunk) -> Chunk:
    """Give a chunk as it was before the second half of its text was written."""
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
    """Tell the next vault of the configuration in place of the chunk's own; one that is not told stays so."""
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
