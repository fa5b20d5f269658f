"""The nouns of a run in shards: the plan that all of them follow, and what one shard says it has done. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import field

from raggate.models.golden import Case, Golden
from raggate.text.jsonio import Stored

PlannedBy = Literal["hash", "latency"]
"""How questions are dealt to shards: by a hash of their ids, or the slowest first to the shard with least to do."""

PROBING_SHARD = 1
"""The shard that asks what invariants need."""

ApiKind = Literal["url", "image", "source"]


class PlannedApi(Stored, frozen=True, kw_only=True):
    """What is asked, as far as it is known before it runs.

    `url`: whatever answers there. `image`: a container image by its name, and its id where the name holds that.
    `source`: what is built here, by the tree that git has of it, with the hash of what was changed since; empty outside
    git.
    """

    kind: ApiKind
    name: str = ""
    id: str = ""


class Means(Stored, frozen=True, kw_only=True):
    """By what a run is measured. Shards of one plan have the same, and so has what merges and judges them.

    Attributes:
        raggate_version: the version of raggate.
        metrics_version: that of the definitions of its metrics.
        suite: the suite.
        golden: hash of the golden set.
        config: hash of the configuration, with what the command line says instead.
        vault: hash of the notes.
        api: what is asked.
        modes: the retrieval modes.
        repeat: how often every question is asked in each of them.
    """

    raggate_version: str
    metrics_version: int
    suite: str
    golden: str
    config: str
    vault: str
    api: PlannedApi
    modes: tuple[str, ...]
    repeat: int


class Plan(Stored, frozen=True, kw_only=True):
    """Which shard asks which questions, by what.

    `shards` holds the ids of the questions of each shard, in order; a shard may have none. `nonce` is of this plan
    alone, so that what was asked by an earlier one of the same inputs is of another plan. `hash` is of all the rest.
    """

    nonce: str
    means: Means
    by: PlannedBy
    shards: tuple[tuple[str, ...], ...]
    hash: str

    def cases(self, shard: int, golden: Golden) -> list[Case]:
        """Return the questions of a shard, from 1, in the order of the golden set."""
        ids = {*self.shards[shard - 1]}
        return [case for case in golden.cases if case.id in ids]


class ShardCounts(Stored, frozen=True, kw_only=True):
    """What became of the questions of a shard, each in each mode and as often as it is asked.

    `asked` were answered and `failed` were not; `skipped` are for other modes. They add up to `planned`, unless the
    shard broke off.
    """

    planned: int
    asked: int
    failed: int
    skipped: int

    @property
    def whole(self) -> bool:
        """Whether nothing is left to ask."""
        return self.planned == self.asked + self.failed + self.skipped

    @property
    def due(self) -> int:
        """How many calls are to be made."""
        return self.planned - self.skipped

    @property
    def sentence(self) -> str:
        """Say the counts, without an end mark."""
        return f"{self.planned} planned, {self.asked} asked, {self.failed} failed, {self.skipped} skipped"


class Receipt(Stored, frozen=True, kw_only=True):
    """What one shard says it has done.

    Attributes:
        plan: hash of the plan.
        nonce: of the plan.
        shard: which of them, from 1.
        of: how many there are.
        attempt: which attempt, from 1, as far as that is known where it ran.
        started: when asking began, UTC, ISO 8601.
        seconds: how long it took.
        counts: what became of its questions.
        again: answers to questions that were asked a second time.
        probes: answers to what was asked for invariants.
        index: what the API told of its index: each key with the values it told, as texts, in order.
        images: exact names of the images that the API ran from.
        commit: full id of the commit that was checked out; empty outside git.
        log: the API's last lines when it first said that it had failed. Untrusted text.
        stopped: why not everything was asked; None when it was.
        resumed: how often it was killed or interrupted, and went on.
        files: SHA-256 of each file beside it, by name.
    """

    plan: str
    nonce: str
    shard: int
    of: int
    attempt: int
    started: str
    seconds: float
    counts: ShardCounts
    again: int
    probes: int
    index: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    commit: str = ""
    log: tuple[str, ...] = ()
    stopped: str | None = None
    resumed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
