"""Smaller bounds of asking than those of every run, so that tests need not wait or send megabytes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

_ASKING = ("raggate.service.ask", "raggate_interop.kebab.adapter")
_BODIES = (
    *("http_channel", "misses", "boot", "adapters.ask", "mcp.session", "line_pipes"),
    "raggate_interop.kebab.adapter",
)


@contextmanager
def bounds(*, retries: int = 2, give_up_after: int = 1000, max_body_bytes: int = 8 << 20) -> Iterator[None]:
    """Set the bounds for as long as the context lasts."""
    values = {"RETRIES": (_ASKING[:1], retries), "GIVE_UP_AFTER": (_ASKING, give_up_after)}
    values["MAX_BODY_BYTES"] = (_BODIES, max_body_bytes)
    with ExitStack() as stack:
        for name, (modules, value) in values.items():
            for module in modules:
                full = module if module.startswith("raggate") else f"raggate.service.{module}"
                stack.enter_context(patch.object(importlib.import_module(full), name, value))
        yield
