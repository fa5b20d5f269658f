"""The label file, `<golden set>.labels.jsonl`: the grades that people gave to passages. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Annotated, NamedTuple

from msgspec import Struct
from pydantic import Field

from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps
from raggate.labelling.decisions import Name, Where, read_as
from raggate.scoring.agreement import krippendorff_alpha, percent_agreement, weighted_kappa

MAX_BYTES = 128 << 20


class Vote(Struct, frozen=True):
    """What one person says of a passage: a grade from 0 to 3, and whether it is misleading.

    `asked` is eight hex digits of the question's words at that time; empty where that is not known.
    """

    grade: int
    misleading: bool = False
    at: str = ""
    asked: str = ""


Votes = Mapping[str, Vote]
"""By the name of who gave it."""


class PairOfPeople(Struct, frozen=True, kw_only=True):
    """Two people: how many passages both graded, and their quadratically weighted kappa; None where nothing varies."""

    first: str
    second: str
    shared: int
    kappa: float | None


class Agreement(Struct, frozen=True, kw_only=True):
    """How far people agree on passages that several graded.

    `alpha` is Krippendorff's, and `percent` the share of agreeing pairs of people, averaged over the passages, of
    whether a passage answers at all (grade 1 or more). None where there is nothing to compare.
    """

    passages: int
    alpha: float | None
    percent: float | None
    pairs: tuple[PairOfPeople, ...]


def consensus(votes: Votes) -> int | None:
    """The grade that counts: the lower median; None without votes, and where people differ on whether it answers.

    >>> consensus({"ann": Vote(1), "bob": Vote(3)})
    1
    >>> consensus({"ann": Vote(0), "bob": Vote(3)})
    """
    grades = sorted(vote.grade for vote in votes.values())
    if not grades or (grades[0] == 0 < grades[-1]):
        return None
    return grades[(len(grades) - 1) // 2]


def of_same_words(votes: Votes) -> list[Votes]:
    """Take votes on a passage apart that were given for other words of the question; what is not known is like any."""
    several = sorted({vote.asked for vote in votes.values() if vote.asked})
    if len(several) < 2:
        return [votes]
    return [{name: vote for name, vote in votes.items() if vote.asked == words} for words in several]


def is_split(votes: Votes) -> bool:
    """Return whether people differ on whether a passage answers."""
    return bool(votes) and consensus(votes) is None


def agreement(units: Iterable[Votes]) -> Agreement:
    """Return how far people agree."""
    shared = [votes for votes in units if len(votes) > 1]
    answers = [[vote.grade > 0 for vote in votes.values()] for votes in shared]
    names = sorted({name for votes in shared for name in votes})
    pairs = []
    for first, second in combinations(names, 2):
        both = [(votes[first].grade, votes[second].grade) for votes in shared if first in votes and second in votes]
        if both:
            kappa = weighted_kappa([a for a, _ in both], [b for _, b in both])
            pairs.append(PairOfPeople(first=first, second=second, shared=len(both), kappa=kappa))
    return Agreement(
        passages=len(shared), alpha=krippendorff_alpha(answers), percent=percent_agreement(answers), pairs=tuple(pairs)
    )


class Unit(NamedTuple):
    """A passage of a question: the case's id, and the place."""

    case: str
    where: Where


Labels = dict[Unit, dict[str, Vote]]
"""Per passage of a question, the vote of each person."""


class _Row(Where):
    case: str
    by: Name
    grade: Annotated[int, Field(ge=0, le=3)]
    misleading: bool = False
    at: str = ""
    asked: Annotated[str, Field(pattern=r"^([0-9a-f]{8})?$")] = ""


def read(data: bytes, name: str) -> Labels:
    """Read a label file."""
    labels: Labels = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        row = read_as(_Row, line, f"{name}:{number}")
        place = Where(**{key: getattr(row, key) for key in Where.model_fields})
        votes = labels.setdefault(Unit(row.case, place), {})
        if row.by in votes:
            hint = "Keep one line for each person and passage; a merge of two branches may have left both."
            raise UsageError(f"{name}:{number}: {row.by!r} graded this passage in an earlier line already", hint=hint)
        votes[row.by] = Vote(row.grade, row.misleading, row.at, row.asked)
    return labels


def write(labels: Mapping[Unit, Mapping[str, Vote]]) -> bytes:
    """Write a label file: a line for each vote, in an order that the order of judging does not change."""
    rows = sorted(
        ((unit.case, dumps(unit.where.model_dump(exclude_none=True)), name), _line(unit, name, vote))
        for unit, votes in labels.items()
        for name, vote in votes.items()
    )
    return b"".join(line for _, line in rows)


def _line(unit: Unit, name: str, vote: Vote) -> bytes:
    place = {key: value for key, value in unit.where.model_dump(exclude_none=True).items() if value}
    row = {"case": unit.case, **place, "by": name, "grade": vote.grade}
    flags = {"misleading": True} if vote.misleading else {}
    words = {"asked": vote.asked} if vote.asked else {}
    return dumps({**row, **flags, "at": vote.at, **words}, in_order=True) + b"\n"
