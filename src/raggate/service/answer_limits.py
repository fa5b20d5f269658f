"""What an API may answer at most: every text of a response has a bound, beyond which it breaks the protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from raggate.models.run import Chunk, Reference, Response

MAX_BODY_BYTES = 8 << 20
"""Bytes of one answer, which is never decompressed; a larger one is a failed call."""

MAX_ENTRIES = 1_000
"""Chunks, or references."""

MAX_FOLDERS = 10_000
"""Folders that were selected, or are available."""

MAX_NAME = 1_000
"""Characters of an id, a vault's name, a version."""

MAX_PATH = 4_096
"""Characters of a path, a heading path, a folder."""

MAX_TEXT = 1 << 18
"""Characters of a chunk's text, an answer, the reason for none."""

MAX_STEP_MS = 86_400_000
"""Milliseconds of a step, which is a day; what says that it took longer is no time."""

_LIMITS = {
    **dict.fromkeys(("chunk_id", "vault", "doc_id"), MAX_NAME),
    **dict.fromkeys(("rel_path", "heading_path"), MAX_PATH),
    "text": MAX_TEXT,
}


def bounded(response: Response) -> Response:
    """Return the response when all its texts are within their bounds."""
    for position, chunk in enumerate(response.chunks, 1):
        # told apart only when something is too long, as this is done for every chunk there is
        if (
            len(chunk.text) > MAX_TEXT
            or len(chunk.chunk_id) > MAX_NAME
            or len(chunk.rel_path) > MAX_PATH
            or len(chunk.heading_path) > MAX_PATH
            or len(chunk.vault or "") > MAX_NAME
            or len(chunk.doc_id or "") > MAX_NAME
        ):
            _check(_of_place(f"chunk {position}", chunk))
    for position, reference in enumerate(response.references, 1):
        _check(_of_place(f"reference {position}", reference))
    _check(_own(response))
    return response


def _of_place(place: str, item: Chunk | Reference) -> Iterator[tuple[str, str | None, int]]:
    for name, limit in _LIMITS.items():
        yield f"{name} of {place}", getattr(item, name, None), limit


def _own(response: Response) -> Iterator[tuple[str, str | None, int]]:
    yield "the answer", response.answer, MAX_TEXT
    yield "the reason to abstain", response.abstain_reason, MAX_TEXT
    yield "the reasoning of the folder selection", response.folder_reasoning, MAX_TEXT
    yield "the name of the model", response.model, MAX_NAME
    yield from _each("a selected folder", response.selected_folders or (), MAX_PATH)
    yield from _each("an available folder", response.available_folders or (), MAX_PATH)
    yield from _each("a step of the latency", response.latency, MAX_NAME)
    yield from _each("an item of the cost", response.cost, MAX_NAME)
    for key, value in (response.coverage or {}).items():
        yield "a key of the index coverage", key, MAX_NAME
        yield from _each(f"{key} of the index coverage", value if isinstance(value, dict) else (), MAX_NAME)
        for text in value.values() if isinstance(value, dict) else (value,):
            yield f"{key} of the index coverage", text if isinstance(text, str) else None, MAX_NAME


def _each(what: str, values: Iterable[str], limit: int) -> Iterator[tuple[str, str | None, int]]:
    return ((what, value, limit) for value in values)


def _check(texts: Iterable[tuple[str, str | None, int]]) -> None:
    for what, text, limit in texts:
        if text is not None and len(text) > limit:
            raise ValueError(f"{what}: expected at most {limit} characters, found {len(text)}")
