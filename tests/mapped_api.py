"""Settings of the mapped adapter for the API in `fakes/other_api.py`, as raggate.yml would say them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from raggate.base.yamlio import parse
from raggate.config.ask_settings import Ask
from raggate.service.adapters.mapped import MappedAdapter

DOCUMENT = Path(__file__).parents[1] / "docs" / "adapters.md"
VAULTS = ("personal", "work")


def example() -> dict[str, Any]:
    """Return the section `ask` of the example in docs/adapters.md, which is for that API."""
    text = DOCUMENT.read_text(encoding="utf-8").split("```yaml\n", 1)[1].split("```", 1)[0]
    found: dict[str, Any] = parse(text.encode(), "docs/adapters.md").value["ask"]
    return found


def mapped(**changes: Any) -> Ask:
    """Build the settings of the example; `changes` replace top-level keys, `response__answer=…` one further in."""
    sections = example()
    for key, value in changes.items():
        *outer, last = key.split("__")
        place = sections
        for name in outer:
            place = place[name]
        place[last] = value
        if value is ...:
            del place[last]
    return Ask.model_validate(sections, strict=True)


def adapter(settings: Ask | None = None, environment: dict[str, str] | None = None, **ask: Any) -> MappedAdapter:
    """Build an adapter for the two vaults; by default for the example, with its secret."""
    section = (settings or mapped()).model_copy(update=ask)
    return MappedAdapter(section, VAULTS, {"SEARCH_KEY": "s3cret\n"} if environment is None else environment)
