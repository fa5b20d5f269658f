"""What names an image exactly: a digest of its own repository, or its id."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import pytest

from fakes.served import Handler, Served
from raggate.base.errors import CannotTell
from raggate.config.service_settings import Container
from raggate.models.service import Workspace
from raggate.service.backends import images
from tables import each_row

ID = f"sha256:{'1' * 64}"
DIGEST, OTHER = f"sha256:{'a' * 64}", f"sha256:{'b' * 64}"


class Engine:
    """An engine that knows one image."""

    def __init__(self, digests: list[str] | None) -> None:
        self._digests = digests

    def inspect_image(self, image: str) -> dict[str, Any]:
        """Describe the image."""
        assert image == ID
        return {"Id": ID, "RepoDigests": self._digests}


def identity(digests: list[str] | None, **settings: Any) -> str:
    made = Container.model_validate({"port": 9000, **settings})
    return images.identity(Engine(digests), made, ID)  # type: ignore[arg-type]


@each_row(
    ("name", "known"),
    [
        ("notes-api:1.2", "notes-api"),
        ("ghcr.io/octo/notes-api:main", "ghcr.io/octo/notes-api"),
        ("localhost:5000/notes-api:main", "localhost:5000/notes-api"),
        ("docker.io/library/postgres:16", "postgres"),
        ("index.docker.io/octo/notes-api", "octo/notes-api"),
    ],
)
def test_its_own_repository(name: str, known: str) -> None:
    """The digest is that of the repository that the configuration names, whatever Docker leaves out of the name."""
    assert identity([f"ghcr.io/else/where@{OTHER}", f"{known}@{DIGEST}"], image=name) == f"{known}@{DIGEST}"


@each_row("digests", [None, [], [f"ghcr.io/octo/other@{OTHER}"], [f"ghcr.io/octo/notes-api@{OTHER}"]])
def test_no_registry_knows_it(digests: list[str] | None) -> None:
    """Without a digest of that repository it is the id, which is that of an image on this machine."""
    assert identity(digests, image="notes-api") == ID


class _Silent(Handler):
    """Knows no image, takes every build and pull, and then says the events and no more."""

    def get(self) -> None:
        self.reply(404, b'{"message": "no such image"}')

    def post(self) -> None:
        if self.fake.events is not None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for event in self.fake.events:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                self.wfile.flush()
        self.fake.over.wait(60)
        self.close_connection = True


class Silent(Served):
    """An engine that falls silent."""

    handler = _Silent

    def __init__(self, events: tuple[bytes, ...] | None) -> None:
        self.events = events
        self.over = threading.Event()
        self.listen()


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    with Silent(request.param) as there:
        url = there.base_url.replace("http", "tcp")
        with closing(docker.APIClient(url, version="1.41", timeout=10)) as made:
            yield made
        there.over.set()


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    out = tmp_path / "runs" / "20260101_000000"
    out.mkdir(parents=True)
    return Workspace(root=tmp_path, out=out, vaults={}, environment={})


EVENTS = [
    pytest.param(None, id="not a byte"),
    pytest.param((), id="a header alone"),
    pytest.param((b'{"stream": "Step 1/1"}\r\n',), id="after one event"),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("client", EVENTS, indirect=True)
def test_silent_build(client: Any, place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that falls silent ends in time, and says so."""
    monkeypatch.setattr(images, "BUILD_SECONDS", 1)
    settings = Container.model_validate({"build": {}, "port": 9000}).build
    assert settings is not None
    begun = time.monotonic()
    with pytest.raises(CannotTell, match=r"was not built after 1 s"):
        images.build(client, settings, key="api.container", workspace=place)
    assert time.monotonic() - begun < 20


@pytest.mark.timeout(30)
@pytest.mark.parametrize("client", EVENTS, indirect=True)
def test_silent_pull(client: Any, place: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pull of which nothing is heard is given up, not tried again, and its registry is named as a cause."""
    monkeypatch.setattr(images, "_SILENCE", 1.0)
    settings = Container.model_validate({"image": "registry.invalid/x:1", "port": 9000})
    with pytest.raises(CannotTell, match=r"registry\.invalid/x:1.*its registry was silent for 1 s") as caught:
        images.obtain(client, settings, key="api.container", workspace=place)
    assert "registry" in caught.value.hint


@pytest.mark.parametrize(
    ("ignored", "runs", "expected"),
    [
        pytest.param(None, ".raggate/runs", [".raggate/runs"], id="no .dockerignore"),
        pytest.param(
            "a\n# b\n # c\n\n!.raggate\n", ".raggate/runs", ["a", "!.raggate", ".raggate/runs"], id="asked for"
        ),
        pytest.param(None, "out [1]", ["out??1?"], id="no pattern of its own"),
        pytest.param(None, "../elsewhere", [], id="outside"),
        pytest.param(None, ".", ["[0-9]" * 8 + "_" + "[0-9]" * 6 + "*"], id="in the context itself"),
    ],
)
def test_run_directories_are_kept_out(tmp_path: Path, ignored: str | None, runs: str, expected: list[str]) -> None:
    """What differs at every start is no part of a build, whatever .dockerignore says: its word is the last."""
    if ignored is not None:
        (tmp_path / ".dockerignore").write_text(ignored)
    assert images._kept_out(tmp_path, (tmp_path / runs).resolve()) == expected
