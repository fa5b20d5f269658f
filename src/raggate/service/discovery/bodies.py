"""A JSON body that somebody gave for an unknown API -> the template that it is asked with."""

from __future__ import annotations

from typing import Any

from raggate.config.header_settings import names
from raggate.config.mapped_settings import leaves
from raggate.errors import UsageError
from raggate.text import jsonio

_EXAMPLE = """Such as --body '{"utterance": "{question}", "page": {"size": "{k}"}}'."""
_KNOWN = {"question", "k"}


def body_of(text: str) -> dict[str, Any]:
    """Read what `--body` says; empty where it says nothing.

    Raises:
        UsageError: for what is no JSON object, does not ask the question, or names what nobody knows of an API yet.
    """
    if not text:
        return {}
    try:
        body = jsonio.loads(text)
        used = {name for leaf in leaves(body) if isinstance(leaf, str) for name in names(leaf)}
    except ValueError as error:
        raise UsageError(f"--body: {error}", hint=_EXAMPLE) from None
    if not isinstance(body, dict):
        raise UsageError("--body: expected a JSON object", hint=_EXAMPLE)
    if "question" not in used:
        raise UsageError("--body: expected {question} in it", hint=_EXAMPLE)
    strange = sorted(used - _KNOWN)
    if strange:
        raise UsageError(
            f"--body: expected no {{{strange[0]}}}, only {{question}} and {{k}}",
            hint="Write a value that the API takes; `ask.mapped` of raggate.yml knows modes, pages and scopes.",
        )
    return body
