"""The schema that a stored file names -> whether an older or a newer raggate wrote it."""

from __future__ import annotations

from raggate.text.quote import quoted

ANOTHER = "written by an older raggate, or by a newer one"
"""What is said of a sound file that is not as this raggate writes it, where its schema does not tell why."""


def problem(named: object, schema: str) -> str | None:
    """Say why a file cannot be read by its schema; None where it can.

    Args:
        named: what the file says its schema is, whatever that is.
        schema: the one that is read, with its number at the end: `raggate/run/2`.
    """
    if named == schema:
        return None
    return writer(named, schema) or f"schema is {quoted(named)}, expected {schema!r}"


def writer(named: object, schema: str) -> str | None:
    """Say that an older raggate wrote a file, or a newer one; None where its schema is neither's."""
    kind, _, number = schema.rpartition("/")
    what, _, its = named.rpartition("/") if isinstance(named, str) else ("", "", "")
    if what != kind or not its.isascii() or not its.isdigit() or len(its) > 9 or its == number:
        return None
    age = "an older" if int(its) < int(number) else "a newer"
    return f"written by {age} raggate: schema is {quoted(named)}, and this one reads {schema!r}"
