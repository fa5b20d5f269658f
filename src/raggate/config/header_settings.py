"""Headers that the configuration adds to requests: which may be set, and what their placeholders may name."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated

from pydantic import AfterValidator

from raggate.config.values import Variable
from raggate.text.nearest import nearest

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
"""A placeholder, a brace that is meant as one (`{{`, `}}`), or a brace that is a mistake."""

ENVIRONMENT = "env."

_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]{0,2000}")
# what raggate or the connection sets, and what would let one request become two
_OWN_HEADERS = frozenset(
    "host connection content-length content-type content-encoding transfer-encoding accept-encoding expect te trailer"
    " upgrade traceparent keep-alive proxy-authorization proxy-connection".split()
)
_WITHHELD = re.compile(r"(?:INPUT|ACTIONS|GITHUB|RUNNER|DOCKER)_.*|GH_TOKEN", re.IGNORECASE)


def _may_be_sent(name: str) -> str:
    if _WITHHELD.fullmatch(name):
        raise ValueError("expected a variable that is not the runner's, Docker's or raggate's")
    return name


SentVariable = Annotated[Variable, AfterValidator(_may_be_sent)]


def names(template: str) -> Iterator[str]:
    """Yield what the placeholders of a text name.

    Raises:
        ValueError: for a brace that belongs to none.
    """
    for match in PLACEHOLDER.finditer(template):
        if match[0] in {"{", "}"}:
            raise ValueError("expected {{ and }} where braces are meant as such")
        if match[1] is not None:
            yield match[1]


def check_template(template: str, allowed: Collection[str]) -> None:
    """Refuse placeholders that are not among the allowed ones.

    Raises:
        ValueError: naming it.
    """
    for name in names(template):
        if name not in allowed:
            placeholders = ", ".join(f"{{{placeholder}}}" for placeholder in allowed)
            like = nearest(name, allowed)
            meant = f"; did you mean {{{like}}}?" if like else ""
            raise ValueError(f"expected placeholders among {placeholders or 'none'}, found {{{name}}}{meant}")


def check_headers(headers: Mapping[str, str], asked: Collection[str], pass_env: Collection[str], key: str) -> None:
    """Refuse headers that raggate sets itself, that no request can have, or that name what they may not.

    Args:
        asked: the placeholders of what is asked that values may hold, beside `{env.NAME}`.
        pass_env: the variables that `{env.NAME}` may name.

    Raises:
        ValueError: naming the header.
    """
    allowed = (*asked, *(f"{ENVIRONMENT}{name}" for name in pass_env))
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _OWN_HEADERS:
            raise ValueError(f"{key}: expected the name of a header that raggate does not set, found {name!r}")
        if not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"{key}: {name}: expected printable ASCII characters")
        unlisted = [
            placeholder
            for placeholder in names(value)
            if placeholder.startswith(ENVIRONMENT) and placeholder not in allowed
        ]
        if unlisted:
            variable = unlisted[0].removeprefix(ENVIRONMENT)
            raise ValueError(f"{key}: {name}: expected {variable!r} in 'pass_env' as well")
        check_template(value, allowed)
    if len({name.lower() for name in headers}) < len(headers):
        raise ValueError(f"{key}: expected each name once, whatever its case")
