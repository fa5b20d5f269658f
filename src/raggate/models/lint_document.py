"""The nouns of `raggate lint` as programs get them. Frozen."""

from __future__ import annotations

from msgspec import Struct

from raggate.models.lint import Severity
from raggate.models.outlook import Outlook


class LintRow(Struct, frozen=True, kw_only=True):
    """A finding, as programs get it.

    Attributes:
        check: the id of the check.
        severity: how loud it is.
        path: the file.
        line: the line; 0 for the whole file.
        key: the key, or the id of the question.
        message: what was found.
        fix: what to do.
    """

    check: str
    severity: Severity
    path: str
    line: int
    key: str
    message: str
    fix: str


class LintDocument(Struct, frozen=True, kw_only=True):
    """What was found, as programs get it.

    Attributes:
        config: the configuration.
        findings: what was found, most important first.
        outlook: what the suite can show.
    """

    config: str
    findings: tuple[LintRow, ...]
    outlook: Outlook | None
