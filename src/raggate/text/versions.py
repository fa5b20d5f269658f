"""Whether a stored file has the schema that this raggate reads."""

from __future__ import annotations

from raggate.text.quote import quoted


def problem(named: object, schema: str) -> str | None:
    """Return why a file cannot be read; None if it has the schema.

    Args:
        schema: the one that is read, with its number at the end: `raggate/run/1`.
    """
    return None if named == schema else f"schema is {quoted(named)}, and this raggate reads {schema!r}"
