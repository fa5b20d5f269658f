"""A browser for tests: Debian's Chromium, driven by Playwright, skipped loudly where there is none.

With RAGGATE_REQUIRE_BROWSER=1 a missing browser is a failure. Use it as `from e2e.browser import page`, a fixture.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium, shared by the tests of one file; while it is there, its event loop runs in this process."""
    program = shutil.which("chromium")
    if program is None:
        why = "no Chromium on PATH: the tests of pages need Debian's package chromium"
        if os.environ.get("RAGGATE_REQUIRE_BROWSER") == "1":
            pytest.fail(f"{why} (RAGGATE_REQUIRE_BROWSER=1)")
        pytest.skip(why)
    with sync_playwright() as started:
        # its sandbox needs rights that a container of CI does not have; the pages are ours
        chromium = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """An empty page without cookies of other tests; a request beyond loopback and files fails the test."""
    context = browser.new_context()
    opened = context.new_page()
    outside: list[str] = []
    opened.on("request", lambda request: outside.append(request.url) if _leaves(request.url) else None)
    yield opened
    context.close()
    assert outside == []


def _leaves(url: str) -> bool:
    """Whether a URL leads to another machine."""
    return not url.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:", "http://localhost:"))
