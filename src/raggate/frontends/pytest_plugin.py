"""A plugin of pytest with one fixture, `rag_gate`. Every run of pytest loads this module, so it imports nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from raggate.models.public_verdict import Verdict


@pytest.fixture(scope="session")
def rag_gate(pytestconfig: pytest.Config) -> Callable[..., Verdict]:
    """Return what gates a RAG service: `raggate.check`, with its configuration below the root directory of the tests.

    A test says `verdict = rag_gate(); assert verdict.passed, str(verdict)`. It takes the arguments of `raggate.check`.
    """

    def gate(config: str | Path = "raggate.yml", **options: Any) -> Verdict:
        from raggate.frontends.library import check

        return check(pytestconfig.rootpath / config, **options)

    return gate
