"""What an API may answer at most: every text of a response has a bound, beyond which it breaks the protocol."""

from __future__ import annotations

from collections.abc import Iterable

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
            _check_place(f"passage {position}", chunk)
    for position, reference in enumerate(response.references, 1):
        _check_place(f"reference {position}", reference)
    _check("the answer", (response.answer,), MAX_TEXT)
    _check("the reason to abstain", (response.abstain_reason,), MAX_TEXT)
    _check("the reasoning of the folder selection", (response.folder_reasoning,), MAX_TEXT)
    _check("the name of the model", (response.model,), MAX_NAME)
    _check("a selected folder", response.selected_folders or (), MAX_PATH)
    _check("an available folder", response.available_folders or (), MAX_PATH)
    _check("a step of the latency", response.latency, MAX_NAME)
    _check("an item of the cost", response.cost, MAX_NAME)
    coverage = response.coverage or {}
    _check("a key of the index coverage", coverage, MAX_NAME)
    for key, value in coverage.items():
        texts = (*value, *value.values()) if isinstance(value, dict) else (value,)
        _check(f"{key} of the index coverage", (text for text in texts if isinstance(text, str)), MAX_NAME)
    return response


def _check_place(place: str, item: Chunk | Reference) -> None:
    for name, limit in _LIMITS.items():
        _check(f"{name} of {place}", (getattr(item, name, None),), limit)


def _check(what: str, texts: Iterable[str | None], limit: int) -> None:
    for text in texts:
        if text is not None and len(text) > limit:
            raise ValueError(f"{what}: expected at most {limit} characters, found {len(text)}")
