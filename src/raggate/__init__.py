"""raggate: a regression gate for RAG services.

For programs: `check` returns a `Verdict` or raises `RunFailed`. What they need is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from raggate.base.errors import RaggateError
    from raggate.frontends.library import check
    from raggate.models.public_verdict import Metric, Question, Reason, Verdict
    from raggate.pipeline.request import RunFailed

__version__ = "0.1.0"

__all__ = [
    "Metric",
    "Question",
    "RaggateError",
    "Reason",
    "RunFailed",
    "Verdict",
    "__version__",
    "check",
]

_PLACES = {
    "check": "frontends.library",
    "RaggateError": "base.errors",
    **dict.fromkeys(("Metric", "Question", "Reason", "Verdict"), "models.public_verdict"),
    "RunFailed": "pipeline.request",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'raggate' has no attribute {name!r}")
    return getattr(import_module(f"raggate.{_PLACES[name]}"), name)
