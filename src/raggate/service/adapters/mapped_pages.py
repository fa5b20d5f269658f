"""How an answer of a mapped API goes on: the next page of its chunks, and what each of them holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.config.mapped_settings import ChunkRequest, Pages
from raggate.models.run import Chunk, Response
from raggate.models.service import Call
from raggate.service.adapters.json_fields import parsed
from raggate.service.adapters.mapped_body import refuse_errors
from raggate.service.adapters.mapped_request import filled_json, filled_path, filled_query
from raggate.service.adapters.mapped_response import Prefixes, heading_path_at, note_at, text_at
from raggate.text.field_paths import ABSENT, Absent, Entry, WrongShape, below, find, parse

MAX_CHUNKS = 200
"""Chunks of one question that are asked for one by one."""


class Page(Struct, frozen=True, kw_only=True):
    """Which page is asked for: how many came before it, how many chunks they held, and the cursor, if there is one."""

    before: int = 0
    offset: int = 0
    cursor: str | int | Absent = ABSENT

    def values(self, pages: Pages | None) -> dict[str, Any]:
        """Give what its placeholders stand for."""
        number = self.before + (pages.first if pages is not None else 1)
        return {"page": number, "offset": self.offset, "cursor": self.cursor}


FIRST = Page()


def next_page(page: Page, pages: Pages, root: Any, *, came: int, wanted: int) -> Page | None:
    """Give the page after one; None where no other is to be asked for.

    Args:
        page: the page that came.
        pages: how they go on.
        root: the body of the page.
        came: how many chunks it held.
        wanted: how many chunks are wanted in all.

    Raises:
        ValueError: when the cursor is none, or the one before.
    """
    after = replace(page, before=page.before + 1, offset=page.offset + came)
    if not came or after.offset >= wanted or after.before >= pages.most:
        return None
    if pages.cursor is None:
        return after
    path = parse(pages.cursor)
    cursor = find(path, root)
    if cursor is ABSENT or cursor in (None, "", False):
        return None
    if type(cursor) not in (str, int):
        raise WrongShape(below("", path), "text or a whole number", cursor)
    if cursor == page.cursor:
        raise ValueError(f"{below('', path)}: expected the next page, found the one that was asked for")
    return replace(after, cursor=cursor)


def with_page(response: Response, more: Response) -> Response:
    """Put a further page behind an answer: its chunks, and the times that it took. What else it says is that again."""
    steps = {**response.latency, **more.latency}
    latency = {step: response.latency.get(step, 0.0) + more.latency.get(step, 0.0) for step in steps}
    unasked = response.unasked or more.unasked
    return replace(response, chunks=response.chunks + more.chunks, latency=latency, unasked=unasked)


def chunk_call(request: ChunkRequest, chunk: Chunk, headers: Mapping[str, str]) -> Call:
    """Give the call that asks for what a chunk holds."""
    values: dict[str, Any] = {"id": chunk.chunk_id, "rel_path": chunk.rel_path}
    values |= {"doc_id": chunk.doc_id or ABSENT, "vault": chunk.vault or ABSENT}
    return Call(
        method=request.method,
        path=filled_path(request.path, values),
        query=filled_query(request.query, values),
        json=None if request.body is None else filled_json(request.body, values),
        headers=dict(headers),
    )


def with_parts(chunk: Chunk, request: ChunkRequest, body: bytes, errors: str | None, beginnings: Prefixes) -> Chunk:
    """Put what a body tells into a chunk.

    Args:
        chunk: what the answer says of it.
        request: what stands where in the body.
        body: what was said of it.
        errors: the path where errors stand; None for those of GraphQL.
        beginnings: what is removed from paths, see `prefixes`.

    Raises:
        ValueError: when it is not there, or of another kind, and when an error is reported.
    """
    root = parsed(body, f"the body of chunk {chunk.chunk_id[:60]!r}: ")
    refuse_errors(root, errors)
    at = Entry("", root)
    if request.rel_path is not None:
        rel_path, vault = note_at(request.rel_path, at, beginnings)
        chunk = replace(chunk, rel_path=rel_path, vault=chunk.vault or vault)
    if request.text is not None:
        chunk = replace(chunk, text=text_at(request.text, at))
    if request.heading_path is not None:
        chunk = replace(chunk, heading_path=heading_path_at(request.heading_path, at))
    return chunk
