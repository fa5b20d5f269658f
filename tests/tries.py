"""How many random inputs a property is tried on: few in every run, which differ, and many in a long one."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

USUALLY = 20
LONG = 1000


def register_profiles() -> None:
    """Let `--hypothesis-profile long` try more; a busy machine is no failure, and pytest-timeout bounds every test."""
    settings.register_profile("raggate", deadline=None, max_examples=USUALLY)
    settings.register_profile("long", deadline=None, max_examples=LONG)
    settings.load_profile("raggate")


def tried(times: int, **others: Any) -> settings:
    """Try a property so many times instead of the usual number, and as many times more often in a long run."""
    return settings(max_examples=times * settings().max_examples // USUALLY, **others)
