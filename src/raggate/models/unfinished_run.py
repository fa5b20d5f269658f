"""The nouns of a run that can go on after it was killed: by what it is asked, and each start of the API. Frozen."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import field

from raggate.models.shards import Means
from raggate.text.shapes import Stored


class Boot(Stored, frozen=True, kw_only=True):
    """One start of the API.

    Attributes:
        begins: how many lines of answers were there by then.
        images: exact names of the images that it ran from.
        index: what it told of its index: documents and chunks, as far as it did.
    """

    begins: int
    images: tuple[str, ...] = ()
    index: Mapping[str, int] = field(default_factory=dict)


class Asking(Stored, frozen=True, kw_only=True):
    """By what a run, or a shard, is asked. Who goes on has to have the same.

    Attributes:
        means: by what it is measured.
        command: the command that asks.
        plan: hash of the plan that it is a shard of; empty for a whole run.
        questions: hash of the ids of its questions.
        commit: full id of the commit that is checked out; empty outside git.
        against: full id of the commit that the trusted inputs come from; empty for the working tree.
        started: when asking began, UTC, ISO 8601.
        seconds: how long it took until it last went on.
        boots: the starts of the API, in order.
    """

    means: Means
    command: str
    plan: str
    questions: str
    commit: str
    against: str
    started: str
    seconds: float = 0.0
    boots: tuple[Boot, ...] = ()
