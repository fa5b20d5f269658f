"""The noun of where a run comes from that is to become the baseline: the workflow run, and what vouches for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

IMAGE = "api_image"
"""The key of a run's configuration that names the API's image exactly."""

_EXACT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._:/-]{0,255}@)?sha256:[0-9a-f]{64}")


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


def image_in(config: Mapping[str, object]) -> str:
    """Give the API's container image that the configuration of a run names; empty when it names none exactly."""
    found = config.get(IMAGE)
    return found if isinstance(found, str) and _EXACT.fullmatch(found) else ""
