"""Grades of several people -> the one that counts, where they disagree, and how far they agree on the whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from msgspec import Struct

from raggate.labels.agreement import krippendorff_alpha, percent_agreement, weighted_kappa


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
    """Return how far people agree.

    Args:
        units: per passage of a question, who gave which grade.
    """
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
