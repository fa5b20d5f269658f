"""Headers and a JSON body that somebody gives for an unknown API: checked, and filled from the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from raggate.base import jsonio
from raggate.base.errors import UsageError
from raggate.base.redact import Guarded
from raggate.config.mapped_settings import leaves
from raggate.config.service_settings import ENVIRONMENT, check_headers, names
from raggate.service.adapters.mapped import filled_text, variables

_EXAMPLE = """Such as --body '{"utterance": "{question}", "page": {"size": "{k}"}}'."""
_KNOWN = {"question", "k"}
_SECRET = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)


def body_of(text: str) -> dict[str, Any]:
    """Read what `--body` says; empty where it says nothing."""
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
            hint="Write a value that the API takes. `ask` of raggate.yml has modes, pages and scopes.",
        )
    return body


class Headers(Guarded, Struct, frozen=True, kw_only=True):
    """Headers as the configuration has them, the variables they name, and what is sent. Values stay out of messages."""

    templates: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)


def headers_of(given: Mapping[str, str], environment: Mapping[str, str]) -> Headers:
    """Fill headers from the environment; refuse what raggate may not send, and a secret that is written out."""
    try:
        check_headers(given, (), "--header")
    except ValueError as error:
        raise UsageError(str(error)) from None
    written = next((name for name, value in given.items() if _SECRET.search(name) and ENVIRONMENT not in value), None)
    if written is not None:
        raise UsageError(
            f"--header: {written}: expected the name of a variable, such as {{env.API_KEY}}",
            hint="Values given here are written into raggate.yml, which is committed.",
        )
    filled = variables(given, environment, "--header")
    values = {name: filled_text(template, filled) for name, template in given.items()}
    return Headers(templates=dict(given), values=values)
