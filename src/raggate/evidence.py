"""The noun of where a run comes from that is to become the baseline: the workflow run, and what vouches for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
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
        image: the API's container image by digest; empty when it is not known.
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
