"""Headers that somebody gave for an unknown API -> what is sent, and the variables that the configuration passes on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field
from pydantic import TypeAdapter, ValidationError

from raggate.config.header_settings import ENVIRONMENT, SentVariable, check_headers, names
from raggate.errors import UsageError
from raggate.service.adapters.header_values import variables
from raggate.service.adapters.mapped_request import filled_text
from raggate.text.guarded import Guarded

_SECRET = re.compile(r"authorization|cookie|key|token|secret|password", re.IGNORECASE)


class Headers(Guarded, Struct, frozen=True, kw_only=True):
    """Headers as the configuration has them, the variables they name, and what is sent. Values stay out of messages."""

    templates: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)


def headers_of(given: Mapping[str, str], environment: Mapping[str, str]) -> Headers:
    """Fill headers from the environment.

    Raises:
        UsageError: for a header that raggate may not send, a secret written out, and a variable that is not set.
    """
    try:
        used = sorted({name for value in given.values() for name in names(value) if name.startswith(ENVIRONMENT)})
        pass_env = TypeAdapter(list[SentVariable]).validate_python([name.removeprefix(ENVIRONMENT) for name in used])
        check_headers(given, (), pass_env, "--header")
    except ValidationError as error:
        raise UsageError(f"--header: {error.errors(include_url=False)[0]['msg']}") from None
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
    return Headers(templates=dict(given), pass_env=tuple(pass_env), values=values)
