"""A run directory -> an artifact of the job, where actions/upload-artifact from version 4 on refuses to work.

This is the protocol of that action's version 3, which GitHub Enterprise Server, Gitea and Forgejo take: a container for
the artifact, its files in parts, and the size of all of them to end it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlsplit

from msgspec import Struct

from raggate import __version__
from raggate.errors import CannotTell
from raggate.text.certificates import authorities
from raggate.text.guarded import Guarded
from raggate.text.http_client import httpx
from raggate.text.jsonio import dumps, fields, loads
from raggate.text.quote import cut, quoted

PART_BYTES = 4 << 20
"""The most bytes of a file in one request."""

MOST_FILES = 1000
_VERSION = "6.0-preview"
_TIMEOUT = httpx.Timeout(connect=10, read=60, write=60, pool=10)
_TRIES = 3
_NAME = re.compile(r"""[^"':<>|*?\\/\r\n\x00-\x1f]{1,255}""")


class ArtifactService(Guarded, Struct, frozen=True, kw_only=True):
    """Where a job leaves its artifacts: the service's address, the token of this job alone, and the run's number."""

    url: str
    token: str
    run: str

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Self | None:
        """Read the runner's variables; None where it offers no such service, as `act` does unless it is told to."""
        url, token, run = (
            environment.get(name, "") for name in ("ACTIONS_RUNTIME_URL", "ACTIONS_RUNTIME_TOKEN", "GITHUB_RUN_ID")
        )
        usable = urlsplit(url).scheme in {"http", "https"} and token and run.isdecimal()
        return cls(url=url.rstrip("/"), token=token, run=run) if usable else None


def is_needed(server_url: str) -> bool:
    """Say whether actions/upload-artifact refuses there: everywhere but on github.com and its own domains."""
    host = urlsplit(server_url).hostname or ""
    return not (host == "github.com" or host.endswith(".ghe.com"))


def name_of(name: str, suite: str) -> str:
    """Name the artifact of one of several suites."""
    return f"{name}-{suite}"


def upload(
    service: ArtifactService,
    name: str,
    directory: Path,
    *,
    transport: httpx.BaseTransport | None = None,
) -> int:
    """Leave every file below a directory in one artifact, but empty ones and links. Returns how many those are.

    Args:
        service: where.
        name: of the artifact; one that this run has left already is added to.
        directory: what is left, of at most `MOST_FILES` files.
        transport: carries the requests instead of the network.

    Raises:
        CannotTell: when the name cannot be used, or the service refuses or does not answer.
    """
    if not _NAME.fullmatch(name):
        raise CannotTell(f"the artifact {quoted(name)} was not left: expected a name without any of \"':<>|*?\\/")
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [path for path in paths if path.stat().st_size]
    if len(files) > MOST_FILES:
        raise CannotTell(f"the artifact {quoted(name)} was not left: it has {len(files)} files, more than {MOST_FILES}")
    verify = True if transport is not None else authorities()
    headers = {
        "Authorization": f"Bearer {service.token}",
        "Accept": f"application/json;api-version={_VERSION}",
        "User-Agent": f"raggate/{__version__}",
    }
    with httpx.Client(transport=transport, timeout=_TIMEOUT, verify=verify, headers=headers) as client:
        _Upload(client, service, name).carry_out(directory, files)
    return len(files)


class _Upload(Struct, frozen=True):
    client: httpx.Client
    service: ArtifactService
    name: str

    def carry_out(self, directory: Path, files: list[Path]) -> None:
        place = f"{self.service.url}/_apis/pipelines/workflows/{self.service.run}/artifacts?api-version={_VERSION}"
        container = self._begin(place)
        for path in files:
            item = f"{self.name}/{path.relative_to(directory).as_posix()}"
            # the address may have a query of its own
            joint = "&" if "?" in container else "?"
            self._put(f"{container}{joint}itemPath={quote(item, safe='')}", path)
        ended = {"Size": sum(path.stat().st_size for path in files)}
        self._json("PATCH", f"{place}&artifactName={quote(self.name, safe='')}", ended)

    def _begin(self, place: str) -> str:
        answer = self._json("POST", place, {"Type": "actions_storage", "Name": self.name})
        container = fields(answer).get("fileContainerResourceUrl")
        target = urlsplit(container) if isinstance(container, str) else urlsplit("")
        secure = urlsplit(place).scheme == "https"
        if target.scheme not in ({"https"} if secure else {"http", "https"}) or not target.hostname or target.username:
            raise self._error("the service names no place for its files that could be written to")
        return str(container)

    def _put(self, address: str, path: Path) -> None:
        total = path.stat().st_size
        for start, part in _parts(path):
            headers = {
                "Content-Type": "application/octet-stream",
                "Content-Range": f"bytes {start}-{start + len(part) - 1}/{total}",
                "x-tfs-filelength": str(total),
                # the sum that Gitea compares
                "x-actions-results-md5": base64.b64encode(hashlib.md5(part, usedforsecurity=False).digest()).decode(),
            }
            self._send(partial(self.client.put, address, content=part, headers=headers))

    def _json(self, method: str, address: str, body: object) -> Any:
        headers = {"Content-Type": "application/json"}
        answer = self._send(partial(self.client.request, method, address, content=dumps(body), headers=headers))
        try:
            return loads(answer.content)
        except ValueError as error:
            raise self._error("the service answers with what is no JSON") from error

    def _send(self, request: Callable[[], httpx.Response]) -> httpx.Response:
        """Send what may be done twice, up to three times."""
        for attempt in range(1, _TRIES + 1):
            try:
                answer = request()
            except httpx.HTTPError as error:
                if attempt == _TRIES:
                    raise self._error(f"the service did not answer: {type(error).__name__} {cut(error)}") from error
                continue
            if answer.is_success:
                return answer
            if attempt == _TRIES or answer.status_code < 500:
                raise self._error(f"the service answers with {answer.status_code}")
        raise AssertionError

    def _error(self, problem: str) -> CannotTell:
        return CannotTell(f"the artifact {quoted(self.name)} was not left: {problem}")


def _parts(path: Path) -> Iterator[tuple[int, bytes]]:
    start = 0
    with path.open("rb") as stream:
        while part := stream.read(PART_BYTES):
            yield start, part
            start += len(part)
