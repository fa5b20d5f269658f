"""What configured headers need of raggate's own environment. Values are never part of a message."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raggate.config.header_settings import ENVIRONMENT, names
from raggate.errors import UsageError

_SENDABLE = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")


def variables(headers: Mapping[str, str], environment: Mapping[str, str], key: str) -> dict[str, str]:
    """Return the variables that headers name, by placeholder.

    Args:
        key: where the headers stand in the configuration, for messages.

    Raises:
        UsageError: for a variable that is not set, or that no header can hold.
    """
    values: dict[str, str] = {}
    for header, template in headers.items():
        for name in names(template):
            if not name.startswith(ENVIRONMENT):
                continue
            variable = name.removeprefix(ENVIRONMENT)
            # a final line end is easily stored with a secret
            value = environment.get(variable, "").strip()
            if not value:
                raise UsageError(
                    f"the environment variable {variable}, which {key}.{header} needs, is not set",
                    hint=f"Set it, on GitHub as `env: {{{variable}: ...}}` of the step. "
                    "Pull requests from forks get no secrets.",
                )
            if not _SENDABLE.fullmatch(value):
                raise UsageError(f"the environment variable {variable} has characters that no header can have")
            values[name] = value
    return values
