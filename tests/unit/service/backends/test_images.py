"""What names an image exactly: a digest of its own repository, or its id."""

from __future__ import annotations

from typing import Any

from raggate.config.service_settings import ContainerBackend
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
    """Name the image of settings."""
    made = ContainerBackend.model_validate({"port": 9000, **settings})
    return images.identity(Engine(digests), made, ID)  # type: ignore[arg-type]


@each_row(
    ("name", "known"),
    [
        ("notes-api", "notes-api"),
        ("notes-api:1.2", "notes-api"),
        ("ghcr.io/octo/notes-api:main", "ghcr.io/octo/notes-api"),
        ("localhost:5000/notes-api:main", "localhost:5000/notes-api"),
        ("localhost/notes-api", "localhost/notes-api"),
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


def test_named_by_digest() -> None:
    """What the configuration names by digest already is named by that."""
    assert identity([f"notes-api@{OTHER}"], image=f"notes-api@{DIGEST}") == f"notes-api@{DIGEST}"


def test_built() -> None:
    """What raggate builds has an id only."""
    assert identity([f"notes-api@{DIGEST}"], build={}) == ID
