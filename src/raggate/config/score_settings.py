"""What is computed from the answers: the section `score`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema, model_validator

from raggate import plugins
from raggate.config.service_settings import SettingsModel


def _known_system(name: str) -> str:
    known = plugins.names(plugins.COMPAT)
    if name not in known:
        raise ValueError(f"expected one of {', '.join(known)}" if known else "no installed package knows any")
    return name


Compat = Annotated[str, AfterValidator(_known_system), WithJsonSchema({"enum": [*plugins.names(plugins.COMPAT)]})]


class Score(SettingsModel):
    """What is computed from the answers."""

    k: Annotated[list[Annotated[int, Field(ge=1, le=1000)]], Field(min_length=1)] = [1, 3, 5, 10]  # noqa: RUF012
    """Cut-offs of the ranked metrics."""
    snippets: Literal["required", "off"] = "required"
    """Whether a passage must hold a snippet of its gold support to match, if that has any. With `off` the place is
    enough, and snippets are not read at all."""
    compat: list[Compat] = []  # noqa: RUF012
    """Other systems whose numbers are written to metrics.json too, under `compat`. They are never gated."""

    @property
    def reads_snippets(self) -> bool:
        """Whether the snippets of gold supports count."""
        return self.snippets == "required"

    @model_validator(mode="after")
    def _distinct(self) -> Score:
        if sorted(set(self.k)) != self.k:
            raise ValueError("expected distinct cut-offs in ascending order")
        return self
