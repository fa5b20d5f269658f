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


DENIED = "pull access denied for {0}, repository does not exist or may require 'docker login'"
UNKNOWN = "manifest for {0} not found: manifest unknown: manifest unknown"
NAMES = ["geoffrey/api", "acme/preset-api", "acme/reset", "acme/timeout:503", "timeout", "reset", "eof", "refused:502"]
# names of which every word is one that tells of a registry that does not answer
LASTING = [
    *((name, DENIED.format(name.partition(":")[0]), "not authorised") for name in NAMES),
    *((name, UNKNOWN.format(f"{name}:latest" if ":" not in name else name), "not found") for name in NAMES),
    ("acme/api@sha256:" + "503" * 21 + "1", UNKNOWN.format("acme/api@sha256:" + "503" * 21 + "1"), "not found"),
    (
        "ghcr.io/acme/reset:1",
        'Head "https://ghcr.io/v2/acme/reset/manifests/1": denied: denied',
        "not authorised",
    ),
    (
        "timeout:1",
        'failed to resolve reference "docker.io/library/timeout:1": docker.io/library/timeout:1: not found',
        "not found",
    ),
    ("503.example.com:503/a/b", "unauthorized: no access to 503.example.com:503/a/b", "not authorised"),
    ("a/b", "no matching manifest for linux/arm64/v8 in the manifest list entries", "processor"),
    (
        "a/b",
        "no matching manifest for linux/arm64/v8 in the manifest list entries: no match for platform in manifest: "
        "not found",
        "processor",
    ),
    ("a/b", "invalid reference format", "no name of an image"),
    ("A", "invalid reference format: repository name (A) must be lowercase", "no name of an image"),
    (
        "a/b",
        "toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and "
        "upgrading: https://www.docker.com/increase-rate-limit",
        "rate limit",
    ),
    ("a/b", "unexpected status from HEAD request to https://ghcr.io/v2/a/b: 429 Too Many Requests", "rate limit"),
]
TEMPORARY = [
    'Get "https://registry-1.docker.io/v2/": dial tcp: lookup registry-1.docker.io on 127.0.0.53:53: no such host',
    'Get "https://registry-1.docker.io/v2/": net/http: TLS handshake timeout',
    'Get "https://registry-1.docker.io/v2/": net/http: request canceled (Client.Timeout exceeded)',
    'Get "https://registry-1.docker.io/v2/": context deadline exceeded',
    'Get "https://registry-1.docker.io/v2/": EOF',
    "unexpected EOF",
    "read tcp 10.0.0.1:5000: read: connection reset by peer",
    "received unexpected HTTP status: 503 Service Unavailable",
    "unexpected status from HEAD request to https://a.example/v2/a/b/manifests/1: 502 Bad Gateway",
    "timed out",
]


@each_row(("name", "why", "problem"), LASTING)
def test_what_lasts_is_not_tried_again(name: str, why: str, problem: str) -> None:
    """A refusal is known as one, whatever words the image's own name, its host, tag and digest hold."""
    found = images.lasting(name, why)
    assert found is not None
    assert problem in found.problem
    assert found.hint
    assert not images.unanswered(name, why)


@each_row("name", ["acme/api", "timeout", "denied/forbidden:1", "eof", "ghcr.io/not/found"])
@each_row("why", TEMPORARY)
def test_a_registry_that_does_not_answer_is_asked_again(name: str, why: str) -> None:
    """What may go away by itself is tried again, and called what it is."""
    assert images.lasting(name, why) is None
    assert images.unanswered(name, why)


def test_what_is_not_known_is_not_blamed_on_the_registry() -> None:
    """Words that mean nothing here are tried again, but nobody is blamed for them."""
    assert images.lasting("a/b", "no space left on device") is None
    assert not images.unanswered("a/b", "no space left on device")
