"""Text with `{names}` of the configuration -> the same text with their values; an unknown name is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping

from raggate.errors import UsageError
from raggate.text.nearest import nearest
from raggate.text.quote import cut

# `${NAME}` belongs to shells and `{{name}}` to templates: neither is a placeholder
_PLACEHOLDER = re.compile(r"(?<![{$])\{([A-Za-z][A-Za-z0-9._-]*)\}")


class Filler:
    """Replaces placeholders and remembers which were used.

    Args:
        values: name, without braces, -> what stands for it.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self.used: set[str] = set()

    def fill(self, key: str, text: str) -> str:
        """Replace the placeholders of one text; `key` is its place in the configuration.

        Raises:
            UsageError: for a placeholder that is not known, and for a NUL character.
        """
        if "\0" in text:
            raise UsageError(f"{key}: a NUL character cannot be handed to a process")
        return _PLACEHOLDER.sub(lambda match: self._value(key, match[1]), text)

    def _value(self, key: str, name: str) -> str:
        if name in self._values:
            self.used.add(name)
            return self._values[name]
        close = nearest(name, self._values)
        advice = f"; did you mean {{{close}}}?" if close else ""
        listed = ", ".join(f"{{{placeholder}}}" for placeholder in self._values)
        raise UsageError(f"{key}: unknown placeholder {{{cut(name)}}}{advice}", hint=f"Known here: {listed}.")
