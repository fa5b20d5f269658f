"""What is not used is not loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    script = "import sys, raggate.pipeline.check, raggate.service.adapters; print(*sys.modules)"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


def test_nothing_of_mcp_is_loaded_by_who_does_not_use_it(loaded: set[str]) -> None:
    """The pipeline, and a run of another adapter, know the settings alone."""
    assert [name for name in loaded if name.startswith("raggate.service") and ".mcp" in name] == []


def test_the_library_is_loaded_only_when_it_is_used(loaded: set[str]) -> None:
    """Whoever starts no container does not wait for the engine's library to be loaded."""
    assert "raggate.pipeline.check" in loaded
    assert loaded & {"docker", "requests"} == set()


def test_no_backend_is_loaded_by_who_starts_no_api(loaded: set[str]) -> None:
    """Where an API runs already, nothing is loaded that could start one."""
    assert [name for name in loaded if name.startswith("raggate.service.backends.")] == []
