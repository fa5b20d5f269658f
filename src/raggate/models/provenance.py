"""The nouns of where a run comes from: what it says of itself, and what vouches for it when it is promoted. Frozen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from raggate.base.jsonio import JsonObject
from raggate.base.quote import cut

RunCommand = Literal["check", "run", "calibrate", "diff", "prove"]
"""A command that makes a run."""

MOST_NUMBER = 1_000_000_000

IN_PROCESS = "a function in raggate's own process"
"""The build that `raggate.check(retriever=...)` asks."""

_EXACT_IMAGE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/-]{0,255}@)?sha256:[0-9a-f]{64}")


VERSIONS = "versions"
"""The key of a fingerprint with the packages that the API told to have loaded."""

Fingerprint = JsonObject
"""JSON values by key. Which keys there are depends on what measured: few are read by name, and the rest is compared."""


class Checkout(Struct, frozen=True, kw_only=True):
    """The checkout that was measured: full id of its commit, whether tracked files were changed; None outside git."""

    commit: str | None = None
    dirty: bool | None = None


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a run comes from, as it says itself. Nothing of it decides what is measured or how it is judged.

    Attributes:
        raggate_version: the version that measured; None when it is not known, as of imported runs.
        checkout: the checkout of the configuration's directory.
        against: full id of the commit that the trusted inputs came from; None for the working tree.
        ignored: files of the working tree that differ from that commit's and had no say, relative to the configuration.
        in_build_context: files that judge and that the build of the API's image could read, likewise relative.
        in_vaults: likewise those that lie in a vault that the API's container gets a copy of.
        baseline_name: the baseline it was held against, as messages name it; None when there was none.
        baseline_commit: full id of the commit that the baseline was read from; None for a file on disk.
        reproduce: the command line that does the same; empty when none does.
        api_image: the API's container image, `name@sha256:...` or, one that no registry knows, `sha256:...`; empty when
            it is not known.
        command: the command that made it; None where that is not known, as of imported runs.
        resumed: how often it was killed or interrupted, and went on.
        build: the build that was asked, as `raggate diff` names it, such as `revision main`, or `IN_PROCESS`; empty for
            the API of the configuration.
        measured: when it was asked, ISO 8601, where it was judged later, which is when the run began then; else empty.
    """

    raggate_version: str | None = None
    checkout: Checkout = field(default_factory=Checkout)
    against: str | None = None
    ignored: tuple[str, ...] = ()
    in_build_context: tuple[str, ...] = ()
    in_vaults: tuple[str, ...] = ()
    baseline_name: str | None = None
    baseline_commit: str | None = None
    reproduce: str = ""
    api_image: str = ""
    command: RunCommand | None = None
    build: str = ""
    measured: str = ""
    resumed: Annotated[int, Meta(ge=0, le=MOST_NUMBER)] = 0


class Evidence(Struct, frozen=True, kw_only=True):
    """Where a measured run comes from, as GitHub says, never the run itself.

    Attributes:
        run: the id of the workflow run that measured.
        attempt: which of its attempts.
        event: what started it, such as `push`.
        commit: full id of the commit that was measured.
        url: address of the workflow run.
        adopted: whether an earlier workflow run measured, and not the one that promotes.
        artifact: name of the artifact the run was taken from; empty when it was measured on the spot.
        digest: of the artifact, `sha256:` and hexadecimal digits; empty when GitHub does not know it.
        image: the API's container image, as `name@sha256:...` or, one that no registry knows, by its id `sha256:...`;
            empty when it is not known.
    """

    run: int
    attempt: int
    event: str
    commit: str
    url: str
    adopted: bool = False
    artifact: str = ""
    digest: str = ""
    image: str = ""


def commit_words(commit: str | None) -> str:
    """Name a commit, which may be anybody's text, in a sentence; or say that none is known."""
    return f"commit {cut(commit, limit=12)}" if commit else "no known commit"


def exact_image(name: str) -> str:
    """Return the name of a container image back when it names one image and no other; else nothing."""
    return name if _EXACT_IMAGE.fullmatch(name) else ""


def modes_of(fingerprint: Fingerprint) -> tuple[str, ...]:
    """Return the retrieval modes that were asked, in order; none where that is not known."""
    return tuple(mode for mode in _values(fingerprint, "modes") if isinstance(mode, str))


def cutoffs_of(fingerprint: Fingerprint) -> tuple[int, ...]:
    """Return the cut-offs that were scored; none where that is not known."""
    return tuple(k for k in _values(fingerprint, "cutoffs") if type(k) is int)


def notes_of(fingerprint: Fingerprint) -> dict[str, str]:
    """Return the notes of the vault, `vault/rel_path` to hash; none where they are not known."""
    notes = fingerprint.get("notes")
    return {str(name): str(digest) for name, digest in notes.items()} if isinstance(notes, Mapping) else {}


def versions_of(fingerprint: Fingerprint) -> tuple[str, ...]:
    """Return the packages that the API told to have loaded, each as `name version`; none where it told none."""
    return tuple(text for text in _values(fingerprint, VERSIONS) if isinstance(text, str))


def _values(fingerprint: Fingerprint, key: str) -> tuple[object, ...]:
    values = fingerprint.get(key)
    return tuple(values) if isinstance(values, list | tuple) else ()
