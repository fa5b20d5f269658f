"""What a health page that answers 200 may say in its body, and still mean no."""

from __future__ import annotations

UNHEALTHY = frozenset(
    {
        "degraded",
        "down",
        "error",
        "fail",
        "failed",
        "initializing",
        "loading",
        "maintenance",
        "not_ready",
        "out_of_service",
        "starting",
        "stopping",
        "unavailable",
        "unhealthy",
    }
)
"""The values of `status`, whatever their case, that mean no; blanks and dashes count as underscores."""


def is_unhealthy(status: object) -> bool:
    """Say whether the `status` of a health page clearly says no: one of `UNHEALTHY`, or false.

    Everything else is the API's own way to say yes: `ok`, `UP`, `pass`, a number, nothing at all.
    """
    if isinstance(status, str):
        return status.strip().lower().replace(" ", "_").replace("-", "_") in UNHEALTHY
    return status is False
