"""The text of a comment, which is anybody's -> the command that it is, or why it is none. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

ADDRESS = "/raggate"
"""What a comment begins with that asks for something."""

MOST_CHARACTERS = 300
"""The longest command."""

TAKES: dict[str, str] = {
    "recheck": "",
    "explain": "q17",
    "waive": "q17 until 2026-12-31 because …",
    "help": "",
}
"""Command -> an example of what follows it, empty for nothing."""

OWN_JOB = frozenset(("waive",))
"""Commands for which a workflow may have a job with more rights, which it chooses by how the comment begins."""

_ADDRESSED = re.compile(rf"{ADDRESS}(?=\s|\Z)")
_COMMAND = re.compile(rf"{ADDRESS} +([a-z]{{1,20}})(?: +(\S.*))?")


class Command(Struct, frozen=True, kw_only=True):
    """What a comment asks for: a name in `TAKES`, and what follows it, which is foreign text on one line."""

    name: str
    argument: str = ""


class Unclear(Struct, frozen=True, kw_only=True):
    """A comment that is addressed to raggate and is no command. `why` is a sentence without foreign text."""

    why: str


def parse(body: str) -> Command | Unclear | None:
    """Read a comment.

    A command is the whole comment, one line of at most `MOST_CHARACTERS` printable characters with spaces between
    words: whoever reads it sees all that it does.

    Args:
        body: the comment as GitHub gives it.

    Returns:
        The command; why there is none; None for a comment that is not addressed to raggate.
    """
    if not _ADDRESSED.match(body):
        return None
    text = body.rstrip(" \t\r\n")
    if text == ADDRESS:
        return Command(name="help")
    if len(text) > MOST_CHARACTERS:
        return Unclear(why=f"A command has at most {MOST_CHARACTERS} characters.")
    if not text.isprintable():
        return Unclear(why="A command is the whole comment, on one line without characters that do not show.")
    match = _COMMAND.fullmatch(text)
    if match is None or match[1] not in TAKES:
        return Unclear(why="There is no such command.")
    name, argument = match[1], match[2] or ""
    if name in OWN_JOB and not text.startswith(f"{ADDRESS} {name} "):
        return Unclear(why=f"`{name}` is written with one space before it: a workflow chooses its job by that.")
    if bool(argument) != bool(TAKES[name]):
        return Unclear(why=f"Nothing follows `{name}`." if argument else f"`{name}` is followed by what it is about.")
    return Command(name=name, argument=argument)
