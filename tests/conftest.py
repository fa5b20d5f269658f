"""What every test shares: an environment without ambient CI variables."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

# a busy machine is no failure; pytest-timeout bounds every test
settings.register_profile("raggate", deadline=None)
settings.load_profile("raggate")

# a shell that starts the suite in the background lets it ignore interrupts, and so would every process under test
signal.signal(signal.SIGINT, signal.default_int_handler)

AMBIENT = ("GITHUB_", "INPUT_", "RUNNER_", "ACTIONS_", "NOTES_", "FAKE_")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a test run inside a CI job the same as one on a laptop."""
    for name in list(os.environ):
        if name.startswith(AMBIENT) or name in {"CI", "NO_COLOR", "FORCE_COLOR", "GIT_DIR", "GIT_WORK_TREE"}:
            monkeypatch.delenv(name)
