"""What an unknown API answered -> how it can be read, and in words where nothing can be made of it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from msgspec import Struct

from raggate.config.mapped_fields import Stream
from raggate.service.adapters.mapped_body import body_of
from raggate.service.server_events import UNNAMED
from raggate.text import jsonio, redact
from raggate.text.quote import cut

STREAMS = (
    Stream(format="sse"),
    *(Stream(format=form, by=by) for form in ("sse", "ndjson") for by in ("type", "event", "kind")),
    Stream(format="ndjson"),
)
"""How an answer that is no JSON may be read, what tells most kinds apart first."""

_EXCERPT = 120

REDIRECTED = "Redirects are not followed: give the address that they lead to."


class Reply(Struct, frozen=True, kw_only=True):
    """An answer.

    Attributes:
        asked: the request, in words.
        status: of HTTP; 0 for no answer.
        data: the body, bounded by its reader. Untrusted.
        problem: why there is no answer, or none that was read.
    """

    asked: str
    status: int
    data: bytes = b""
    problem: str = ""

    def json(self) -> Any:
        """Return the parsed body; None for one that is no JSON."""
        try:
            return jsonio.loads(self.data)
        except ValueError:
            return None

    def readings(self) -> Iterator[tuple[Stream | None, Any]]:
        """Yield every way to read the body, each with how it is a stream; nothing unless the status is 200."""
        if self.status != 200:
            return
        root = self.json()
        if root is not None:
            yield None, root
            return
        for stream in STREAMS:
            try:
                by_kind = body_of(self.data, stream)
            except ValueError:
                continue
            if stream.by is None or by_kind.keys() != {UNNAMED}:
                yield stream, by_kind

    def in_words(self, secrets: Collection[str]) -> str:
        """Say what came. No value of a secret is in it."""
        if not self.status:
            return f"no answer that can be read: {self.problem}" if self.problem else "no answer"
        text = cut(self.data[:2_000].decode("utf-8", "replace"), limit=_EXCERPT)
        form = "" if self.json() is not None or self.status != 200 else ", not JSON:" if text else ", an empty body"
        return f"HTTP {self.status}{form} {redact.redact_cut(text, secrets)}".rstrip()


def summary(replies: Sequence[Reply], secrets: Collection[str]) -> list[str]:
    """Say what each request was answered, those that were answered alike in one line."""
    alike: dict[str, list[str]] = {}
    for reply in replies:
        alike.setdefault(reply.in_words(secrets), []).append(reply.asked)
    return [f"{first}{_others(len(others))}: {words}" for words, (first, *others) in alike.items()]


def _others(number: int) -> str:
    return "" if not number else f" and {number} other request{'' if number == 1 else 's'}"


def hint(replies: Sequence[Reply]) -> str:
    """Say what helps against answers that nothing can be made of."""
    statuses = {reply.status for reply in replies}
    if statuses & {401, 403} and 200 not in statuses:
        return "The API wants a key: `--header 'Authorization: Bearer {env.API_KEY}'` sends one from the environment."
    if any(300 <= status < 400 for status in statuses) and 200 not in statuses:
        return REDIRECTED
    if 202 in statuses and 200 not in statuses:
        return "An answer that comes later is not fetched: put a service in front of it that waits (docs/adapters.md)."
    if min(statuses - {404, 405}, default=0) >= 500:
        return "The API fails at what it is asked: its log says why."
    if any(reply.data[:200].lstrip().lower().startswith((b"<!doctype html", b"<html")) for reply in replies):
        return "That is a page for people: is this the address of the API, with no login or proxy before it?"
    if any(_is_graphql(reply.json()) for reply in replies):
        return "This looks like GraphQL: give your query with `--body`, as docs/adapters.md shows under “GraphQL”."
    if statuses <= {404, 405}:
        return "Is that the path of its search? `--probe` takes all of it, such as http://localhost:8000/api/search."
    if statuses <= {400, 404, 405, 422}:
        return """`--body '{"utterance": "{question}", "size": "{k}"}'` asks with the API's own names."""
    return (
        "`--question` asks something that the index can answer, `--map list=data.hits` says where the chunks are; "
        "docs/adapters.md shows how to write it by hand."
    )


def _is_graphql(root: Any) -> bool:
    errors = root.get("errors") if isinstance(root, dict) else None
    return isinstance(errors, list) and any(isinstance(item, dict) and "message" in item for item in errors)
