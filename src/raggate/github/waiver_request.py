"""What follows `/raggate waive`, which is foreign text -> which waiver is asked for, or why that is not clear. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date

from msgspec import Struct

from raggate.github.comment_commands import Unclear

FORM = "`/raggate waive q17 until 2026-12-31 because …`"
_KEYWORDS = ("in", "until", "because")
_METRIC = "metric"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class WaiverRequest(Struct, frozen=True, kw_only=True):
    """A waiver as somebody asks for it. All but `day` is foreign text on one line.

    Attributes:
        names: what is to be waived, as it was written: questions, or one metric.
        metric: whether it is a metric.
        mode: the only mode it is for; None for all.
        day: the last day, YYYY-MM-DD.
        reason: why, in one line without doubled spaces.
    """

    names: str
    metric: bool
    mode: str | None
    day: str
    reason: str

    def questions(self, known: Collection[str]) -> list[str] | None:
        """Give the names of the questions, each once, in the order they were written.

        An id may have spaces and commas in it, so what is written is one id where there is such a question.

        Args:
            known: the ids that there are.

        Returns:
            The names, known or not; None where one id or several could be meant.
        """
        several = [*dict.fromkeys(name for name in re.split(r"[, ]+", self.names) if name)]
        if self.names not in known or several == [self.names]:
            return several
        return None if set(several) <= set(known) else [self.names]


def parse(argument: str) -> WaiverRequest | Unclear:
    """Read what follows the command: `NAMES [in MODE] until DATE because REASON`, or `metric NAME` for the names.

    Args:
        argument: printable text on one line.

    Returns:
        The request; or why there is none, without foreign text.
    """
    words = argument.split()
    if "because" not in words:
        return Unclear(why=f"A waiver needs a reason: {FORM}.")
    end = words.index("because")
    head, reason = words[:end], " ".join(words[end + 1 :])
    if not reason:
        return Unclear(why="Nothing follows `because`: say why the loss is accepted.")
    if head.count("until") != 1 or len(head) < 3 or head[-2] != "until":
        return Unclear(why=f"A waiver has one last day, right before its reason: {FORM}.")
    if not _is_day(head[-1]):
        return Unclear(why="The last day is a date such as 2026-12-31.")
    return _target(head[:-2], head[-1], reason)


def _target(words: list[str], day: str, reason: str) -> WaiverRequest | Unclear:
    mode = None
    if len(words) > 2 and words[-2] == "in":
        words, mode = words[:-2], words[-1]
    metric = len(words) > 1 and words[0] == _METRIC
    names = " ".join(words[1:] if metric else words).strip(", ")
    if not names or {*words, mode} & {*_KEYWORDS}:
        return Unclear(
            why=f"It is not clear what is to be waived: {FORM}, and `in hybrid` before `until` for one mode."
        )
    return WaiverRequest(names=names, metric=metric, mode=mode, day=day, reason=reason)


def _is_day(word: str) -> bool:
    try:
        return _DAY.fullmatch(word) is not None and date.fromisoformat(word).isoformat() == word
    except ValueError:
        return False
