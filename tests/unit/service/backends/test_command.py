"""Which ports of a service are published for an API that runs as a process. No engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import docker
import pytest

from raggate.base.errors import CannotTell, UsageError
from raggate.service.backends import command, images
from tables import each_row


class FakeEngine:
    """An engine with one image."""

    def __init__(self, *exposed: str) -> None:
        self.exposed = exposed

    def inspect_image(self, name: str) -> dict[str, Any]:
        """Return the image, which says what it listens on."""
        if name != "image":
            raise docker.errors.ImageNotFound(name)
        return {"Config": {"ExposedPorts": {name: {} for name in self.exposed} or None}}


def ports(engine: FakeEngine, port: int | None = None, image: str = "image") -> tuple[int, ...]:
    made: Any = SimpleNamespace(client=engine)
    return command._ports(made, "store", port, image)


def test_ports_of_image_and_readiness() -> None:
    """What the image declares and what is looked at for readiness is published, each once."""
    assert ports(FakeEngine("6334/tcp", "6333/tcp")) == (6333, 6334)
    assert ports(FakeEngine("6333/tcp"), 6333) == (6333,)
    assert ports(FakeEngine("6333/tcp"), 80) == (80, 6333)


@each_row("name", ["53/udp", "0/tcp", "65536/tcp", "99999/tcp", "/tcp", "80", "\u0661/tcp", "1/tcp\n", "-1/tcp"])
def test_what_is_no_port(name: str) -> None:
    """Whatever else an image declares is none."""
    assert images.declared_ports(FakeEngine(name, "65535/tcp"), "image") == [65535]


def test_a_service_that_nothing_can_be_asked_of() -> None:
    """A service without a port is a mistake that says where to name one; a thousand ports are not published either."""
    with pytest.raises(UsageError, match=r"api\.services\.store: its image declares no TCP ports") as caught:
        ports(FakeEngine())
    assert "`port`" in caught.value.hint
    with pytest.raises(UsageError, match="declares 1000 TCP ports"):
        ports(FakeEngine(*(f"{port}/tcp" for port in range(1, 1001))))


def test_an_image_that_is_gone() -> None:
    """An image that vanishes after it was found is said."""
    with pytest.raises(CannotTell, match="the engine cannot look up its image"):
        ports(FakeEngine(), None, "gone")
