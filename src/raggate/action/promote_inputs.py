"""The inputs of the step that promotes, which somebody typed -> what is asked for, each part of a known shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Self

from msgspec import Struct

from raggate.errors import UsageError
from raggate.gate.promote import Terms
from raggate.text.quote import quoted

MOST_REASON = 500
"""Characters."""

EVERY_SUITE = "*"
"""What stands in the input `suite` for all suites of the list."""

_SUITE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUITES = (
    "the name of a suite (letters, digits, `.`, `_` and `-`, at most 64), several with commas or lines between, "
    "or `*` for all"
)
_RUN = re.compile(r"([1-9][0-9]{0,18})(?:\.([1-9][0-9]{0,8}))?")
_DAYS = re.compile(r"[1-9][0-9]{0,4}")


class PromoteInputs(Struct, frozen=True, kw_only=True):
    """What the inputs ask for, each of them of a known shape.

    Attributes:
        reason: why, one line.
        suites: the suites that are named, each once, or `*` alone for all; empty for none.
        run: the workflow run to adopt; None to measure now.
        attempt: its attempt; None for the latest.
        allow_regression: whether lower values and fewer cases are accepted.
        allow_no_match: the modes and slices that may have no match at all, by name.
        dry_run: whether nothing is written.
        direct: whether the baseline is committed onto the branch itself.
        max_age_days: the oldest run that is adopted.
    """

    reason: str
    suites: tuple[str, ...]
    run: int | None
    attempt: int | None
    allow_regression: bool
    allow_no_match: tuple[str, ...]
    dry_run: bool
    direct: bool
    max_age_days: int

    @property
    def only_suite(self) -> str:
        """The name that a configuration by itself must have; empty for any.

        Raises:
            UsageError: when several are named.
        """
        if len(self.suites) > 1:
            raise UsageError(
                f"input 'suite': {len(self.suites)} suites are named, and `config` is one configuration",
                hint="List the configurations of the suites in the input `config`.",
            )
        return "" if self.suites in {(), (EVERY_SUITE,)} else self.suites[0]

    def terms(self, by: str) -> Terms:
        """Return the terms of the promotion, for whoever promotes."""
        return Terms.of(self.reason, by, allow_regression=self.allow_regression, allow_no_match=self.allow_no_match)

    @classmethod
    def of(cls, inputs: Mapping[str, str]) -> Self:
        """Check the inputs, which somebody typed.

        Raises:
            UsageError: naming the first that cannot be used.
        """
        reason = inputs["reason"].strip()
        if not reason or len(reason) > MOST_REASON or not reason.isprintable():
            raise UsageError(
                f"input 'reason': expected one line of 1 to {MOST_REASON} printable characters; "
                f"found {len(reason)}: {quoted(reason, limit=80)}",
                hint="It says why the baseline changes, and stays in the baseline and in git.",
            )
        names = (name.strip() for name in re.split(r"[\n,]", inputs["suite"]))
        suites = tuple(dict.fromkeys(filter(None, names)))
        if suites != (EVERY_SUITE,) and not all(map(_SUITE.fullmatch, suites)):
            raise _unusable(inputs, "suite", _SUITES)
        run = _RUN.fullmatch(inputs["run-id"])
        if inputs["run-id"] and run is None:
            raise _unusable(
                inputs, "run-id", "the number of a workflow run, optionally followed by `.` and the attempt"
            )
        if not _DAYS.fullmatch(inputs["max-age-days"]):
            raise _unusable(inputs, "max-age-days", "a number of days from 1")
        return cls(
            reason=reason,
            suites=suites,
            run=int(run[1]) if run else None,
            attempt=int(run[2]) if run and run[2] else None,
            allow_regression=inputs["allow-regression"] == "true",
            allow_no_match=tuple(filter(None, (name.strip() for name in inputs["allow-no-match"].split(",")))),
            dry_run=inputs["dry-run"] == "true",
            direct=inputs["direct-commit"] == "true",
            max_age_days=int(inputs["max-age-days"]),
        )


def _unusable(inputs: Mapping[str, str], name: str, expected: str) -> UsageError:
    return UsageError(f"input {name!r}: expected {expected}; found {quoted(inputs[name], limit=80)}")
