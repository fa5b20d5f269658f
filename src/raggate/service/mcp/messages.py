"""JSON-RPC as MCP speaks it: what is said becomes a message, bytes become checked messages. Pure."""

from __future__ import annotations

from typing import Any

from raggate.service.misses import Missed, miss
from raggate.text.jsonio import loads
from raggate.text.quote import cut, quoted

Message = dict[str, Any]

METHOD_NOT_FOUND = -32601
MAX_BATCH = 1_000
"""Messages that may come at once, which one revision of the protocol allows."""


class RpcError(Missed):
    """A JSON-RPC error in place of a result. Its words are the server's, and untrusted."""

    def __init__(self, error: object, status: int | None = None) -> None:
        raw = error if isinstance(error, dict) else {}
        code, words = raw.get("code"), raw.get("message")
        self.code = code if type(code) is int else None
        number = f" {self.code}" if self.code is not None else ""
        detail = f": {cut(words, limit=200)}" if isinstance(words, str) and words.strip() else ""
        super().__init__(miss("status", f"the server answers with error{number}{detail}", status=status))


def request(number: int, method: str, params: Message) -> Message:
    """Return a message that is answered."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def notification(method: str, params: Message | None = None) -> Message:
    """Return a message that is not."""
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def parsed(raw: bytes) -> list[Message]:
    """Read a message, or a batch of them.

    Raises:
        ValueError: when it is none, with how it begins. Untrusted text.
    """
    try:
        value = loads(raw)
    except ValueError as error:
        raise ValueError(f"{_beginning(raw)}: {error}") from None
    messages = value if isinstance(value, list) else [value]
    if not 0 < len(messages) <= MAX_BATCH:
        raise ValueError(f"a batch of {len(messages)} messages")
    for message in messages:
        if not isinstance(message, dict) or not _is_message(message):
            raise ValueError(_beginning(raw))
    return messages


def asks(message: Message) -> bool:
    """Return whether a message is the server's own, a request or a notification, and no reply."""
    return message.get("method") is not None


def is_answered(message: Message) -> bool:
    """Return whether a message is a request, which gets a reply."""
    return asks(message) and message.get("id") is not None


def reply_to(message: Message) -> Message | None:
    """Answer what a server asks its client: that it is alive, and nothing else; None for a notification."""
    if not is_answered(message):
        return None
    answer: Message = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return {**answer, "result": {}}
    return {**answer, "error": {"code": METHOD_NOT_FOUND, "message": "Method not found"}}


def answers(message: Message, number: int) -> bool:
    """Return whether a reply is to the request of that number; an error may leave out what it is about."""
    named = message.get("id")
    return (type(named) is int and named == number) or (named is None and message.get("error") is not None)


def result_of(reply: Message) -> Message:
    """Return the result of a reply.

    Raises:
        RpcError: when there is an error in its place.
        ValueError: when it is no mapping.
    """
    if reply.get("error") is not None:
        raise RpcError(reply["error"])
    result = reply.get("result")
    if not isinstance(result, dict):
        raise ValueError("the result: expected a mapping")
    return result


def _is_message(value: Message) -> bool:
    return isinstance(value.get("method"), str) or not {"result", "error"}.isdisjoint(value)


def _beginning(raw: bytes) -> str:
    return quoted(raw[:400].decode("utf-8", "replace"), limit=60)
