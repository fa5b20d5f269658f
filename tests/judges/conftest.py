"""Real weights on a real server, and real human labels: all that `make judges` installs and nobody commits.

With RAGGATE_REQUIRE_JUDGES=1 what is missing is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from judges import real_server
from judges.real_server import RealServer, serving
from judges.trec_rag import ARCHIVE


def missing(what: str) -> None:
    """Skip the test for want of something that is installed, or fail it where nothing may be missing."""
    why = f"{what}, SO NO JUDGE WITH REAL WEIGHTS IS TESTED HERE: run make judges"
    if os.environ.get("RAGGATE_REQUIRE_JUDGES") == "1":
        pytest.fail(f"{why} (RAGGATE_REQUIRE_JUDGES=1)")
    pytest.skip(why)


@pytest.fixture(scope="session")
def weights() -> Path | None:
    """SmolLM2-135M-Instruct, which is far too small to judge well."""
    file = real_server.weights()
    if file is None:
        missing("NO WEIGHTS OR NO SERVER")
    return file


@pytest.fixture(scope="session")
def archive() -> Path:
    """The archive that holds the human labels."""
    if not ARCHIVE.exists():
        missing("NO HUMAN LABELS")
    return ARCHIVE


@pytest.fixture(scope="session")
def small_model(weights: Path) -> Iterator[RealServer]:
    """A server with the small model."""
    with serving(weights) as server:
        yield server
