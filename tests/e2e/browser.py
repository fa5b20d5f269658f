"""A browser for tests: Debian's Chromium, driven by Playwright, skipped loudly where there is none.

With RAGGATE_REQUIRE_BROWSER=1 a missing browser is a failure. Use it as `from e2e.browser import page`, a fixture.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CALL = "globalThis.ran=1"
VECTORS = (
    f"<script>{CALL}</script>",
    f"</script><script>{CALL}</script>",
    f"<img src=x onerror={CALL}>",
    f"<svg onload={CALL}><a href='javascript:{CALL}'>",
    '"><iframe srcdoc="<script>parent.ran=1</script>">',
    f"' autofocus onfocus={CALL} x='",
    f"javascript:{CALL}",
    f"<!--</script><script>{CALL}//-->",
    "<meta http-equiv=refresh content='0;url=https://leak.example/'>",
    "<link rel=stylesheet href=https://leak.example/x.css>",
    "<style>@import 'https://leak.example/y.css';body{background:url(https://leak.example/z)}</style>",
    "<base href=https://leak.example/><form action=https://leak.example/><input autofocus>",
    f"{{{{constructor.constructor('{CALL}')()}}}}${{{CALL}}}",
    "\u2028\u2029\u202e\u0000\x1b[2J]]>&lt;script&gt;",
    f"<template><script>{CALL}</script></template><details open ontoggle={CALL}>",
    f"<math><mtext></p><style><!--</style><img src=x onerror={CALL}>",
)
"""Texts that would run, load or send something if a page took them for markup."""


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
