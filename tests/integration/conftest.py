"""What several modules of integration tests share, made once for all that one process runs."""

from __future__ import annotations

import pytest

from promotable import Measured, measure


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A repository with a baseline whose head was measured, see `promotable`: no test leaves it changed."""
    return measure(tmp_path_factory.mktemp("repository"))
