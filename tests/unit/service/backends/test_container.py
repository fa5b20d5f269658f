"""What the container backend hands to API and services, before any engine is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from raggate.config.service_settings import ContainerBackend
from raggate.errors import UsageError
from raggate.models.service import Workspace
from raggate.service.backends import container

SETTINGS = {
    "image": "x:1",
    "port": 9000,
    "command": ["serve", "{run}"],
    "env": {"COLLECTION": "notes_{run}", "STORE": "{service.store}"},
    "services": {"store": {"image": "y:1", "env": {"NAME": "{run}"}}},
}


def place() -> Workspace:
    """Return a place that no other start has."""
    return Workspace(root=Path("/r"), out=Path("/o"), vaults={"notes": Path("/v")}, environment={})


def test_run_is_one_name_for_all() -> None:
    """{run} is the same for the API and its services, and another in the next run."""
    start = place()
    parts = container._parts(ContainerBackend.model_validate(SETTINGS), start)
    api, store = parts[container._API], parts["store"]
    assert api.command == ("serve", start.run)
    assert api.environment == {"COLLECTION": f"notes_{start.run}", "STORE": "store"}
    assert store.environment == {"NAME": start.run}
    assert place().run != start.run


def test_a_service_has_no_port_of_the_api() -> None:
    """What is not a service's own is an unknown placeholder there, and {run} among the known."""
    services = {"store": {"image": "y:1", "env": {"P": "{port}"}}}
    with pytest.raises(UsageError, match=r"api\.container\.services\.store\.env\.P: unknown") as caught:
        container._parts(ContainerBackend.model_validate({**SETTINGS, "services": services}), place())
    assert "{run}" in caught.value.hint
