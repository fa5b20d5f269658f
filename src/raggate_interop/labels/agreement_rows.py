"""Judgments -> those by which agreement is told: of the calibration set, of some annotators, of some time. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from raggate.errors import UsageError
from raggate.labels.models import Judgment
from raggate.text.dates import moment
from raggate.text.quote import cut, quoted


class Selection(Struct, frozen=True, kw_only=True):
    """Which judgments count: none by those in `without`, none earlier than `after` or later than `before`.

    Both times are ISO 8601, in UTC where they name no zone. Where some rows are of the calibration set, others only
    count with `production`.
    """

    without: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    production: bool = False


def selected(judgments: Sequence[Judgment], selection: Selection) -> tuple[Judgment, ...]:
    """Return the judgments of one task that count.

    The calibration set is what several people were asked to judge, to see how far they agree. Where no judgment is
    marked as belonging to it, all count.

    Raises:
        UsageError: when a time is needed that a row does not tell.
    """
    calibrated = not selection.production and any(judgment.calibration for judgment in judgments)
    return tuple(
        judgment
        for judgment in judgments
        if (judgment.calibration or not calibrated)
        and judgment.annotator not in selection.without
        and within(judgment.created, selection, f"{judgment.place}: column created_at")
    )


def check_names(annotators: Collection[str], without: Sequence[str]) -> None:
    """Refuse an annotator to leave out who is not there: a misspelled name would leave out nobody.

    Raises:
        UsageError: naming those who are.
    """
    unknown = next((name for name in without if name not in annotators), None)
    if unknown is not None:
        raise UsageError(
            f"--exclude-annotator: no row is by {quoted(unknown)}",
            hint=f"Annotators here are {cut(', '.join(sorted(annotators)), limit=400) or 'not named'}.",
        )


def within(made: str, selection: Selection, place: str) -> bool:
    """Return whether what was judged at a time counts; `place` is where the time stands, for messages.

    Raises:
        UsageError: when a time is needed, and that is none.
    """
    if selection.after is None and selection.before is None:
        return True
    created = moment(made)
    if created is None:
        raise UsageError(
            f"{place}: is {quoted(made)}, expected an ISO 8601 time",
            hint="--after and --before need the time of every row.",
        )
    first, last = moment(selection.after), moment(selection.before)
    return (first is None or first <= created) and (last is None or created <= last)
