"""Where the trace of a question is seen, by the address that the configuration says."""

from __future__ import annotations

from raggate.config.ask_settings import TRACE_ID
from raggate.config.schema import Config
from raggate.models.verdict import Review


def address(review: Review, trace_id: str | None) -> str:
    """Return the address of a trace, which holds nothing of the run but the trace's 32 hex digits; empty without one.

    A first run takes its settings from the change itself, which leads nobody anywhere.
    """
    settings = review.run.config
    if not trace_id or not isinstance(settings, Config) or settings.ask.trace_url is None or review.context.first_run:
        return ""
    return settings.ask.trace_url.replace(TRACE_ID, trace_id)
