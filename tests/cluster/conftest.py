"""A real Kubernetes, which `make cluster` builds; with RAGGATE_REQUIRE_CLUSTER=1 it must be there."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cluster.cluster import Cluster, missing, running


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start the cluster once."""
    if why := missing():
        if os.environ.get("RAGGATE_REQUIRE_CLUSTER") == "1":
            pytest.fail(f"{why} (RAGGATE_REQUIRE_CLUSTER=1)")
        pytest.skip(why)
    with running(tmp_path_factory.mktemp("kubernetes")) as cluster:
        yield cluster
