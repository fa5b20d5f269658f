"""What every end-to-end test shares: what it leaves unclosed fails it, and no later test; and who runs it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

# a start from this machine itself removes what a killed raggate left, of whatever test
CONTAINERS = dict.fromkeys(("test_container_backend.py", "test_recheck.py", "test_two_builds.py"), "containers")
BROWSERS = {name: name for name in ("test_page.py", "test_label.py")}
GROUPS = {**CONTAINERS, **BROWSERS, "test_gate.py": "builds in the checkout"}
"""The files whose tests must not run at the same time, by what they share; a browser would start for every test."""


class Sharing(LoadScopeScheduling):
    """One process runs all of a group, the largest first; all other tests are shared out one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return GROUPS.get(Path(nodeid.partition("::")[0]).name, nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Sharing:
    """Share the tests out; the marker of xdist for groups has no effect with pytest 9.2."""
    return Sharing(config, log)


@pytest.fixture(autouse=True)
def _nothing_left_open() -> Iterator[None]:
    yield
    gc.collect()
