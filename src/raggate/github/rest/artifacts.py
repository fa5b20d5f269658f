"""A workflow run's artifact: found by what GitHub lists, and downloaded as GitHub received it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from msgspec import Struct

from raggate.errors import CannotTell
from raggate.github.rest import artifact_zip
from raggate.github.rest.client import GitHubError
from raggate.github.rest.repository import Repository
from raggate.text.dates import days_between
from raggate.text.quote import cut, quoted

_DIGEST = re.compile(r"sha256:([0-9a-f]{64})", re.IGNORECASE)
_AGAIN = "Run the workflow again: artifacts are kept for a limited time only."


class Artifact(Struct, frozen=True, kw_only=True):
    """An artifact, as GitHub lists it.

    Attributes:
        size: bytes of the archive; not known to be a number.
        expired: whether it is gone; not known to be a truth value.
        digest: of the archive, `sha256:` and hexadecimal digits; None where GitHub does not know any.
    """

    id: int
    name: str
    run: int
    size: object
    expired: object
    digest: object

    @property
    def label(self) -> str:
        """What messages call it."""
        return f"the artifact {quoted(self.name, limit=80)} of run {self.run}"


def find(repository: Repository, run: int, name: str, *, since: str = "") -> Artifact | None:
    """Find the newest artifact of a name that a workflow run left.

    Args:
        since: when the attempt started that left it, as `2026-01-01T00:00:00Z`: a run keeps those of its earlier
            attempts. Empty when that is not known, and any will do.

    Returns:
        The artifact. None when the run left none of that name since then.
    """
    path = f"{repository.path}/actions/runs/{run}/artifacts"
    listed = repository.github.pages(path, key="artifacts", name=name)
    # a server that does not know the parameter gives all of them
    named = [
        item for item in listed if isinstance(item, dict) and item.get("name") == name and type(item.get("id")) is int
    ]
    if since:
        named = [item for item in named if _not_before(item.get("created_at"), since)]
    if not named:
        return None
    newest = max(named, key=lambda item: (str(item.get("created_at") or ""), item["id"]))
    return Artifact(
        id=newest["id"],
        name=name,
        run=run,
        size=newest.get("size_in_bytes"),
        expired=newest.get("expired"),
        digest=newest.get("digest"),
    )


def download(repository: Repository, artifact: Artifact) -> tuple[Mapping[str, bytes], ...]:
    """Download an artifact as `find` gave it, and take the run directories from it; see `artifact_zip.unpack`."""
    which = artifact.label
    if artifact.expired is not False:
        raise CannotTell(f"{which} has expired", hint=_AGAIN)
    if type(artifact.size) is not int or artifact.size > artifact_zip.MOST_BYTES:
        shown = cut(repr(artifact.size), limit=40)
        raise CannotTell(f"{which} is too large: at most {artifact_zip.MOST_BYTES} bytes are taken; found {shown}")
    try:
        path = f"{repository.path}/actions/artifacts/{artifact.id}/zip"
        data = repository.github.download(path, limit=artifact_zip.MOST_BYTES)
    except GitHubError as error:
        if error.status == 410:
            raise CannotTell(f"{which} has expired", hint=_AGAIN) from error
        raise
    _verify(data, artifact.digest, which)
    return artifact_zip.unpack(data)


def _not_before(created: object, since: str) -> bool:
    elapsed = days_between(since, created)
    return elapsed is not None and elapsed >= 0


def _verify(data: bytes, digest: object, which: str) -> None:
    if digest is None:
        return
    expected = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if expected is None:
        raise CannotTell(f"{which}: expected a digest `sha256:...`; found {cut(repr(digest), limit=100)}")
    if hashlib.sha256(data).hexdigest() != expected[1].lower():
        raise CannotTell(f"{which} is not what GitHub received: its sha256 digest differs", hint=_AGAIN)
