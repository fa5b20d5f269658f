"""An API that somebody else runs: the address of it is checked, and it is neither started nor stopped."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from raggate.config.hosts import address_of
from raggate.errors import UsageError
from raggate.models.service import ProcessExit, Workspace
from raggate.text.quote import quoted

_LISTENING = 2.0  # seconds
_OWN_NAMES = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"))


def check(url: str, workspace: Workspace) -> None:
    """Refuse an address that is the container which raggate runs in, where nothing listens.

    Raises:
        UsageError: with how an API on the machine around it is reached.
    """
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    address = address_of(host)
    named = host in _OWN_NAMES or host.endswith(".localhost")
    own = named if address is None else address.is_loopback or address.is_unspecified
    # some runners give the action the network of the machine
    if not workspace.in_action or not own or _listening(url):
        return
    raise UsageError(
        f"api.url: {quoted(host)} is the container that raggate runs in, not the machine around it",
        hint="An API in a service container of the job is reached by the service's name, such as http://api:9000; one "
        "on the machine by the address of the network's gateway (`docker network inspect bridge`), when it listens on "
        "all addresses. Or let raggate start it: `api.container`.",
    )


def _listening(url: str) -> bool:
    parts = urlsplit(url)
    try:
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        with socket.create_connection((parts.hostname or "", port), timeout=_LISTENING):
            return True
    except (OSError, ValueError):
        return False


class Elsewhere:
    """An API that somebody else runs, at an address."""

    def __init__(self, base_url: str) -> None:
        self.base_url = base_url

    def died(self) -> ProcessExit | None:
        """Say nothing, as nobody knows."""
        return None

    def log_tail(self) -> tuple[str, ...]:
        """Return no log."""
        return ()
