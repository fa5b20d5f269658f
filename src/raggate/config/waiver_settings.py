"""Losses that somebody takes responsibility for: the section `waivers`."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema, model_validator

from raggate.config.service_settings import SettingsModel
from raggate.config.values import Name, Text


def _day(value: object) -> object:
    try:
        valid = isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("expected a date such as 2026-12-31")
    return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("expected some text")
    return text


Day = Annotated[str, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
NotBlank = Annotated[Text, AfterValidator(_not_blank)]


class Waiver(SettingsModel):
    """A metric or a case that may be worse until a given day, because somebody takes responsibility for it."""

    metric: Text | None = None
    """The metric that may be worse than allowed, in the whole and in slices."""
    case: Text | None = None
    """Or the case that is left out of the means; it may miss even if it is a must-pass case."""
    mode: Name | None = None
    """The only mode it applies to. Default: all."""
    owner: NotBlank
    """Who is responsible."""
    reason: NotBlank
    """Why the loss is accepted."""
    expires: Day
    """Its last day, YYYY-MM-DD. From the next day on the waiver makes the gate red until it is removed or renewed."""

    @model_validator(mode="after")
    def _one_target(self) -> Waiver:
        if (self.metric is None) == (self.case is None):
            raise ValueError("expected exactly one of 'metric' and 'case'")
        return self
