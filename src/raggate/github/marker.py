"""The hidden first lines of raggate's comments: what they tell -> text, and any comment's text -> what it tells. Pure.

Anybody can write them. Whose comment it is decides whether they are believed, and then only for display and order.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from typing import Annotated, get_args

from msgspec import Meta, Struct, json

from raggate.base.jsonio import dumps
from raggate.models.answer import VerdictKind
from raggate.models.publication import Push

MOST_PUSHES = 10
MOST_SUITE_BYTES = 300
"""How long the name of a suite may be, as a JSON string."""

MARKER_UNITS = 3000
"""The most UTF-16 units that `encode` takes, with the line break at its end."""

VERDICTS = frozenset(get_args(VerdictKind)) | {"usage error", "internal error", "not run"}
"""How a push may have ended: with a verdict, or with the label of what came instead."""

Number = Annotated[int, Meta(ge=0, le=2**53)]
_SLUG_CHARACTERS = 40
_DIGEST_CHARACTERS = 12
_ALERT = re.compile(r"<!-- raggate:alert ([a-z0-9-]{1,80}) ([0-9]{1,16})\.([0-9]{1,7}) -->")
_STATE = re.compile(r"<!-- raggate:state ([A-Za-z0-9+/]{1,4000}={0,2}) -->")


class State(Struct, frozen=True, kw_only=True):
    """What a comment remembers: its pushes, oldest first, the last being the one it is about."""

    suite: str
    pushes: tuple[Push, ...] = ()


class _Push(Struct, array_like=True, forbid_unknown_fields=True):
    head: Annotated[str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})\Z")]
    verdict: str
    run: Number
    attempt: Annotated[int, Meta(ge=0, le=10**6)]


class _Stored(Struct, forbid_unknown_fields=True):
    suite: str
    pushes: Annotated[list[_Push], Meta(max_length=MOST_PUSHES)]


def slug(suite: str) -> str:
    """Return a suite's name in markers: a-z, 0-9 and dashes, different for any two suites."""
    words = "-".join(re.findall(r"[a-z0-9]+", suite.lower()))[:_SLUG_CHARACTERS].strip("-")
    digest = hashlib.sha256(suite.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST_CHARACTERS]
    return f"{words}-{digest}" if words else digest


def comment_line(suite: str) -> str:
    """Return the first line of a suite's comment."""
    return f"<!-- raggate:comment {slug(suite)} -->"


def alert_line(suite: str, order: tuple[int, int]) -> str:
    """Return the first line of the loud comment about the push with this order."""
    return f"<!-- raggate:alert {slug(suite)} {order[0]}.{order[1]} -->"


def alert_order(body: str, suite: str) -> tuple[int, int] | None:
    """Return the order of the push that a loud comment is about; None for any other text. Never raises."""
    match = _ALERT.fullmatch(first_line(body))
    return (int(match[2]), int(match[3])) if match and match[1] == slug(suite) else None


def first_line(body: str) -> str:
    """Return the first line of a comment, whatever ends it."""
    return re.split(r"\r|\n", body[:MARKER_UNITS], maxsplit=1)[0]


def encode(state: State) -> str:
    """Write the two lines a comment begins with; ValueError for what `decode` would not read."""
    pushes = [[push.head, push.verdict, push.run, push.attempt] for push in state.pushes]
    try:
        content = dumps({"suite": state.suite, "pushes": pushes})
    except TypeError as error:
        raise ValueError(f"not a state that JSON can hold: {state}") from error
    text = f"{comment_line(state.suite)}\n<!-- raggate:state {base64.b64encode(content).decode()} -->\n"
    if decode(text) != state:
        raise ValueError(f"not a state that can be read again: {state}")
    return text


def decode(body: str) -> State | None:
    """Read the two lines back; None when they are not there or not as `encode` writes them. Never raises."""
    lines = re.split(r"\r\n|\r|\n", body[: 2 * MARKER_UNITS], maxsplit=2)
    match = _STATE.fullmatch(lines[1]) if len(lines) > 2 else None
    if match is None:
        return None
    try:
        stored = json.decode(base64.b64decode(match[1], validate=True), type=_Stored)
    except (binascii.Error, ValueError, RecursionError):
        return None
    known = all(push.verdict in VERDICTS for push in stored.pushes)
    if not known or len(dumps(stored.suite)) > MOST_SUITE_BYTES or comment_line(stored.suite) != lines[0]:
        return None
    pushes = tuple(
        Push(head=each.head, verdict=each.verdict, run=each.run, attempt=each.attempt) for each in stored.pushes
    )
    return State(suite=stored.suite, pushes=pushes)
