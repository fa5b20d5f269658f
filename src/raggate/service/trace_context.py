"""Trace ids and `traceparent`, as W3C Trace Context has them: by these a question is found in the API's own traces."""

from __future__ import annotations

import secrets

HEADER = "traceparent"
_SAMPLED = "01"


def new_trace_id() -> str:
    """Make a trace id, 32 hex digits. It is random: no run, machine or fork of a repository shares one with another."""
    return secrets.token_hex(16)


def traceparent(trace_id: str) -> str:
    """The value that one attempt is sent with: the question's trace, a span of its own, and a wish to be kept."""
    return f"00-{trace_id}-{secrets.token_hex(8)}-{_SAMPLED}"
