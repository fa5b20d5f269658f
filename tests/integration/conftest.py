"""What several modules of integration tests share, made once for all that one process runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from project import Project
    from promotable import Measured


@pytest.fixture
def flavour() -> str:
    """Name the server that the fake GitHub is, unless a test is for either: see `flavours`."""
    return "api.github.com"


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A repository with a baseline whose head was measured, see `promotable`: no test leaves it changed."""
    # loads nearly everything, which the process that runs no test itself would do alone while the others wait for it
    from promotable import measure

    return measure(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="session")
def promoted_few(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository with a baseline as `promoted_once`, of six of its 24 questions: where more of them mean nothing."""
    from project import make_small_project

    project = make_small_project(tmp_path_factory.mktemp("few"))
    project.promote()
    return project
