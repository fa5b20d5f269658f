"""The nouns of a run that is being asked, as a file beside its answers holds them. Frozen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field


class AskedApi(Struct, frozen=True, kw_only=True):
    """The API as far as it is known before it runs.

    `url`: whatever answers there. `image`: a container image by its name, and its id where the name holds that.
    `source`: what is built here, by the tree that git has of it, with the hash of what was changed since; empty outside
    git.
    """

    kind: Literal["url", "image", "source"]
    name: str = ""
    id: str = ""


class Means(Struct, frozen=True, kw_only=True):
    """By what a run is measured: versions, hashes of golden set, configuration (with the flags) and notes, the API.

    All shards of a run have the same, and so has whoever resumes or merges them.
    """

    raggate_version: str
    metrics_version: int
    suite: str
    golden: str
    config: str
    vault: str
    api: AskedApi
    modes: tuple[str, ...]
    repeat: int


class Ended(Struct, frozen=True, kw_only=True):
    """How a shard ended.

    Attributes:
        stopped: why not everything was asked; None when it was.
        images: exact names of the images that the API ran from.
        index: what the API told of its index: each key with the values it told, as texts, in order.
        log: the API's last lines when it first said that it had failed. Untrusted text.
    """

    stopped: str | None
    seconds: float
    images: tuple[str, ...] = ()
    index: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    log: tuple[str, ...] = ()


class Asking(Struct, frozen=True, kw_only=True):
    """By what a run, or a shard, is asked. Who resumes it has to have the same.

    Attributes:
        shard: which part of a run, such as `3/8`; empty for a whole one.
        questions: hash of the ids of its questions.
        commit: full id of the commit that is checked out; empty outside git.
        against: full id of the commit that the trusted inputs come from; empty for the working tree.
        started: when asking began, UTC, ISO 8601.
        seconds: how long it took until it was last resumed.
        images: exact names of the images that the API first ran from.
        index: what the API first told of its index: documents and chunks, as far as it did.
        resumed: how often it was resumed.
        ended: how it ended, of a shard; None while it is asked or can be resumed.
    """

    means: Means
    command: str
    shard: str
    questions: str
    commit: str
    against: str
    started: str
    seconds: float = 0.0
    images: tuple[str, ...] = ()
    index: Mapping[str, int] = field(default_factory=dict)
    resumed: int = 0
    ended: Ended | None = None
