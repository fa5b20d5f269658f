"""Request templates of mapped APIs: path, query, headers and JSON body, filled with a question and with secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from raggate.config.ask_settings import Ask
from raggate.config.service_settings import ENVIRONMENT, PLACEHOLDER, names
from raggate.errors import UsageError
from raggate.models.golden import Case
from raggate.text.field_paths import ABSENT

Values = Mapping[str, Any]
"""What each placeholder stands for; ABSENT for what the case does not say."""


_SENDABLE = re.compile(r"[\x21-\x7e]+(?: +[\x21-\x7e]+)*")


def values_of(case: Case, mode: str, settings: Ask) -> Values:
    """Return what the placeholders of a question stand for."""
    return {
        "question": case.question,
        "k": case.k or settings.k,
        "mode": mode,
        "vaults": list(case.vaults) or ABSENT,
        "folders": list(case.folders) or ABSENT,
        "detail": case.detail or ABSENT,
        "case_id": case.id,
    }


def filled_json(template: Any, values: Values) -> Any:
    """Fill a JSON template. A text that is one placeholder becomes its value; entries without a value are left out."""
    if isinstance(template, str):
        name = _only(template)
        return filled_text(template, values) if name is None else values[name]
    if isinstance(template, list):
        return [value for item in template if (value := filled_json(item, values)) is not ABSENT]
    if isinstance(template, dict):
        pairs = ((key, filled_json(item, values)) for key, item in template.items())
        return {key: value for key, value in pairs if value is not ABSENT}
    return template


def filled_query(template: Mapping[str, str], values: Values) -> dict[str, str]:
    """Fill a query. An entry that is one placeholder without a value is left out."""
    kept = {key: text for key, text in template.items() if (name := _only(text)) is None or values[name] is not ABSENT}
    return {key: filled_text(text, values) for key, text in kept.items()}


def filled_path(template: str, values: Values) -> str:
    """Fill a path; what stands for a placeholder can be one step of it at most."""
    return _filled(template, values, _step)


def filled_text(template: str, values: Values) -> str:
    """Fill a text: lists are joined by commas, what has no value is nothing."""
    return _filled(template, values, str)


def _filled(template: str, values: Values, written: Callable[[str], str]) -> str:
    pieces: list[str] = []
    position = 0
    for match in PLACEHOLDER.finditer(template):
        name = match[1]
        pieces += template[position : match.start()], match[0][0] if name is None else written(_text(values[name]))
        position = match.end()
    return "".join((*pieces, template[position:]))


def _only(template: str) -> str | None:
    """Return the name of the placeholder that is all of a text, if that is so."""
    match = PLACEHOLDER.fullmatch(template)
    return match[1] if match else None


def _text(value: Any) -> str:
    if value is ABSENT:
        return ""
    return ",".join(value) if isinstance(value, list) else str(value)


def _step(text: str) -> str:
    # a step of dots alone would be taken for the directory above
    return "%2E" * len(text) if text in {".", ".."} else quote(text, safe="")


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
