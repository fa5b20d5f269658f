"""Secrets -> the log commands that make the runner mask them; texts without them are of `raggate.text.redact`."""

from __future__ import annotations

from collections.abc import Iterable

from raggate.github.runner import commands
from raggate.text.redact import SHORTEST, forms, redact

__all__ = ["SHORTEST", "forms", "mask", "redact"]


def mask(values: Iterable[str]) -> list[str]:
    """Give the log commands that make the runner hide these values, in any shape, from there on."""
    shapes = dict.fromkeys(form for value in values for form in forms(value))
    return [f"::add-mask::{commands.escaped(form)}" for form in shapes]
