"""The branch a change goes into -> whether the workflow judges changes into it."""

from __future__ import annotations

import re

from raggate.base.errors import UsageError
from raggate.base.quote import cut, quoted

INPUT = "bases"
"""The action's input that names branches beside the default one."""


def check(base: str, default: str, named: str) -> None:
    """Refuse a base branch that the workflow does not name: its configuration may be another gate.

    The default branch needs no naming; GitHub always tells it. `named` are names and patterns between commas or blanks:
    `*` is any text without a slash, `**` any text.
    """
    patterns = [pattern for pattern in re.split(r"[,\s]+", named) if pattern]
    if not base or base == (default or base) or any(_fits(base, pattern) for pattern in patterns):
        return
    shown = cut(base, limit=100)
    raise UsageError(
        f"this change goes into {shown!r}, which the workflow does not name in `{INPUT}`. A weaker gate on another "
        "branch would put its check on the same commit",
        hint=f"If {shown!r} has a gate of its own, add `{INPUT}: {shown}` to the step, and the branch to `branches:` "
        f"of the workflow's events. Otherwise list only the default branch there, {quoted(default, limit=100)}.",
    )


def _fits(base: str, pattern: str) -> bool:
    expression = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
    return re.fullmatch(expression, base) is not None
