"""A run directory left as an artifact by the protocol of upload-artifact's version 3: whole, by this job's token."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from raggate.errors import CannotTell
from raggate.github.runner import artifact_upload
from raggate.github.runner.artifact_upload import ArtifactService, is_needed, upload
from raggate.text.http_client import httpx
from raggate.text.jsonio import loads
from tables import each_row

RUNTIME = "https://forge.example/_services/pipelines/abc"
TOKEN = "of-this-job"  # noqa: S105 - nobody else's
SERVICE = ArtifactService(url=RUNTIME, token=TOKEN, run="7")


@dataclass
class Storage:
    """The service as a server has it: parts of files come in order, and the size of all ends the artifact."""

    container: str = "https://forge.example/_services/pipelines/abc/_apis/resources/Containers/12"
    fail: list[int | Exception] = field(default_factory=list)
    files: dict[str, bytearray] = field(default_factory=dict)
    name: str = ""
    ended: int | None = None
    requests: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.requests.append(request)
        if self.fail:
            fault = self.fail.pop(0)
            if isinstance(fault, Exception):
                raise fault
            return httpx.Response(fault)
        if request.headers["authorization"] != f"Bearer {TOKEN}":
            return httpx.Response(401)
        return {"POST": self.begin, "PUT": self.put, "PATCH": self.end}[request.method](request)

    def begin(self, request: httpx.Request) -> httpx.Response:
        """Name a place for files."""
        assert request.url.path.endswith("/_apis/pipelines/workflows/7/artifacts")
        self.name = loads(request.content)["Name"]
        return httpx.Response(201, json={"containerId": 12, "fileContainerResourceUrl": self.container})

    def put(self, request: httpx.Request) -> httpx.Response:
        """Take a part of a file, that of a place a second time too."""
        start, end, total = map(int, re.findall(r"\d+", request.headers["content-range"]))
        content = request.content
        digest = base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()
        if len(content) != end - start + 1 or digest != request.headers["x-actions-results-md5"]:
            return httpx.Response(400)
        kept = self.files.setdefault(request.url.params["itemPath"], bytearray(total))
        kept[start : end + 1] = content
        return httpx.Response(200, json={"message": "success"})

    def end(self, request: httpx.Request) -> httpx.Response:
        """End the artifact."""
        assert request.url.params["artifactName"] == self.name
        self.ended = loads(request.content)["Size"]
        return httpx.Response(200, json={"size": self.ended})


def left(storage: Storage, directory: Path, name: str = "raggate-run") -> int:
    """Leave a directory on a stand-in."""
    return upload(SERVICE, name, directory, transport=httpx.MockTransport(storage))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Make a directory with files in a folder, an empty one and a link."""
    (tmp_path / "inner").mkdir()
    (tmp_path / "results.jsonl").write_bytes(b"0123456789" * 10)
    (tmp_path / "inner" / "ü &?.json").write_bytes(b"{}")
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to("/etc/passwd")
    return tmp_path


def test_every_file_arrives_whole_and_in_its_place(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files come in parts below the artifact's name, without links and empty ones; the end tells the size of all."""
    monkeypatch.setattr(artifact_upload, "PART_BYTES", 33)
    storage = Storage()
    assert left(storage, directory) == 2
    assert storage.files == {
        "raggate-run/results.jsonl": b"0123456789" * 10,
        "raggate-run/inner/ü &?.json": b"{}",
    }
    assert (storage.name, storage.ended) == ("raggate-run", 102)


def test_a_place_with_a_query_of_its_own(directory: Path) -> None:
    """Gitea's addresses have a query, which stays."""
    storage = Storage(container="https://forge.example/upload?retentionDays=3")
    left(storage, directory)
    assert {str(request.url.params["retentionDays"]) for request in storage.requests if request.method == "PUT"} == {
        "3"
    }
    assert len(storage.files) == 2


def test_what_fails_for_a_moment_is_sent_again(directory: Path) -> None:
    """A server's own failure and a lost connection are tried again; what is refused is not."""
    storage = Storage(fail=[503, httpx.ConnectError("gone")])
    assert left(storage, directory) == 2
    for fault, count, words in (
        ([403], 1, "answers with 403"),
        ([500, 500, 500], 3, "answers with 500"),
        ([httpx.ReadTimeout("slow")] * 3, 3, "did not answer: ReadTimeout slow"),
    ):
        storage = Storage(fail=list(fault))
        with pytest.raises(CannotTell, match=words) as told:
            left(storage, directory)
        assert len(storage.requests) == count
        assert TOKEN not in str(told.value)


def test_the_token_stays_behind_https(directory: Path) -> None:
    """A place that is named without https, with a password in it, or not at all, gets nothing."""
    for container in ("http://forge.example/x", "https://me:secret@forge.example/x", "/relative", "file:///etc"):
        storage = Storage(container=container)
        with pytest.raises(CannotTell, match="names no place"):
            left(storage, directory)
        assert [request.method for request in storage.requests] == ["POST"]


def test_a_name_that_would_lead_elsewhere(directory: Path) -> None:
    """The name is the first part of every path, so it has no slash and nothing else that servers refuse."""
    for name in ("a/b", "..\\x", "", 'a"b', "x\n"):
        storage = Storage()
        with pytest.raises(CannotTell, match="was not left"):
            left(storage, directory, name)
        assert not storage.requests


@each_row(
    "server, needed",
    [
        ("https://github.com", False),
        ("https://team.ghe.com", False),
        ("https://github.example.com", True),
        ("https://github.com.evil.example", True),
        ("https://notghe.com", True),
        ("http://127.0.0.1:3000", True),
    ],
)
def test_where_it_is_needed(server: str, *, needed: bool) -> None:
    """Only github.com and its own domains take the newer action, and a name that only looks like theirs does not."""
    assert is_needed(server) is needed


def test_a_runner_without_a_place() -> None:
    """Without address, token or number there is nowhere to leave anything; the token is in no representation."""
    full = {"ACTIONS_RUNTIME_URL": RUNTIME + "/", "ACTIONS_RUNTIME_TOKEN": TOKEN, "GITHUB_RUN_ID": "7"}
    assert ArtifactService.of(full) == SERVICE
    assert TOKEN not in repr(SERVICE)
    for name in full:
        assert ArtifactService.of({key: value for key, value in full.items() if key != name}) is None
    assert ArtifactService.of({**full, "ACTIONS_RUNTIME_URL": "file:///x"}) is None
