"""The nouns of a baseline's history: one version of the file, and all of them. Frozen, without behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from raggate.models.baseline import Baseline


class Revision(Struct, frozen=True, kw_only=True):
    """One version of the baseline file in git.

    Attributes:
        stamp: when it was authored, as ISO 8601 in UTC; empty when the commit says something impossible.
        subject: first line of the commit message: foreign text.
        path: the file's path, from the top of the repository.
        baseline: what the file said, without its cases; None when it cannot be read.
        problem: why it cannot be read: foreign text; empty when it can.
    """

    commit: str
    stamp: str
    subject: str
    path: str
    baseline: Baseline | None = None
    problem: str = ""


class History(Struct, frozen=True, kw_only=True):
    """The versions of a baseline file, newest first.

    Attributes:
        more: whether there are older ones beyond the limit.
        shallow: whether the clone is shallow, so that older commits are not there to be asked.
    """

    path: str
    revisions: tuple[Revision, ...]
    more: bool = False
    shallow: bool = False


class TrendPoint(Struct, frozen=True, kw_only=True):
    """What was measured at one time.

    Attributes:
        kind: a version of the baseline file in git, or a run that lies beside this one.
        stamp: when, as ISO 8601 in UTC: of a baseline when it was measured, or else committed.
        name: the commit's first eight digits, or the id of the run.
        questions: the hash of the golden set; empty where it is not known.
        values: the means over all questions, by mode and metric.
    """

    kind: Literal["baseline", "run"]
    stamp: str
    name: str
    questions: str
    values: Mapping[str, Mapping[str, float]]
