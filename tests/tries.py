"""How many random inputs a property is tried on: few in every run, which differ, and many where asked."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

VARIABLE = "RAGGATE_TRIES"
"""The variable of the environment that says how many random inputs the usual property is tried on."""

FEW = 10
NAMED_FOR = 20


def register_profile() -> None:
    """Try as many as the environment says; a busy machine is no failure, and pytest-timeout bounds every test."""
    settings.register_profile("raggate", deadline=None, max_examples=int(os.environ.get(VARIABLE, FEW)))
    settings.load_profile("raggate")


def tried(times: int, **others: Any) -> settings:
    """Try a property so many times where the usual one is tried on 20, and more or less often as all are."""
    return settings(max_examples=max(1, times * settings().max_examples // NAMED_FOR), **others)
