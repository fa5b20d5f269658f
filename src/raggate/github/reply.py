"""What came of a command in a comment -> the text of the one comment that answers it. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

from raggate.errors import RaggateError
from raggate.github.comment_commands import ADDRESS, TAKES
from raggate.reports.parts.markup import inert

_DOES = {
    "recheck": "runs the gate again for the present commit of this pull request",
    "explain": "shows where a question's passage stood and stands, why, and both lists",
    "waive": "opens a pull request that lets a question be lost until a day, for the reason given",
    "help": "shows this list",
}
_MARK = re.compile(r"<!-- raggate:reply ([1-9][0-9]{0,18}) -->")


class Reply(Struct, frozen=True, kw_only=True):
    """What came of a command. `text` is Markdown in which nothing foreign is live; `done` is whether it was done."""

    text: str
    done: bool


def first_line(comment: int) -> str:
    """Give the first line of the reply to a comment, which does not show."""
    return f"<!-- raggate:reply {comment} -->"


def body(comment: int, reply: Reply) -> str:
    """Write the comment that replies to a comment."""
    return f"{first_line(comment)}\n{reply.text}\n"


def answers(text: str) -> int | None:
    """Give the id of the comment that a comment replies to, by its first line; None for any other text."""
    match = _MARK.match(text)
    return int(match[1]) if match else None


def usage(why: str = "") -> Reply:
    """List the commands, below why the comment was none of them."""
    rows = "\n".join(f"- `{' '.join(filter(None, (ADDRESS, name, TAKES[name])))}` {_DOES[name]}" for name in TAKES)
    return Reply(text=f"{why}\n\n{rows}" if why else rows, done=not why)


def failure(error: RaggateError) -> Reply:
    """Say why a command was not carried out."""
    lines = [inert(error.message, limit=600, middle=True), *([inert(error.hint, limit=600)] if error.hint else [])]
    return Reply(text="\n\n".join(lines), done=False)
