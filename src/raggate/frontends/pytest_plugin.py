"""A plugin of pytest with one fixture, `rag_gate`. Every run of pytest loads this module, so it imports nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from raggate.models.public_verdict import Verdict

_IN_PROCESS = pytest.StashKey[list["Verdict"]]()
"""The verdicts about functions of this process."""


@pytest.fixture(scope="session")
def rag_gate(pytestconfig: pytest.Config) -> Callable[..., Verdict]:
    """Return what gates a RAG service: `raggate.check`, with its configuration below the root directory of the tests.

    A test says `verdict = rag_gate(); assert verdict.passed, str(verdict)`. It takes the arguments of `raggate.check`:
    `rag_gate(retriever=search)` asks a function of this process.
    """

    def gate(config: str | Path = "raggate.yml", **options: Any) -> Verdict:
        from raggate.frontends.library import check

        verdict = check(pytestconfig.rootpath / config, **options)
        if not verdict.trusted:
            pytestconfig.stash.setdefault(_IN_PROCESS, []).append(verdict)
        return verdict

    return gate


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print which verdicts are no trusted gate, as their tests may be green."""
    verdicts = config.stash.get(_IN_PROCESS, [])
    if verdicts:
        terminalreporter.section("raggate")
    for verdict in verdicts:
        why = next(reason.message for reason in verdict.warnings if reason.code == verdict.UNTRUSTED)
        terminalreporter.line(f"suite {verdict.suite}: {verdict.outcome}; {why}")
