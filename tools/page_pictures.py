"""Pictures of a run's page: on a desktop by day and by night, and on a phone."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

Scheme = Literal["light", "dark"]
DESKTOP, PHONE = (1180, 1000), (390, 844)


def photograph_report(document: Path, folder: Path) -> None:
    """Write `report-light.png`, `report-dark.png` and `report-phone.png`."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        sys.exit("the pictures of the page need Chromium: install your distribution's package `chromium`")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        _shown(browser, document, "dark", DESKTOP).screenshot(path=folder / "report-dark.png")
        for name, size in (("light", DESKTOP), ("phone", PHONE)):
            page = _shown(browser, document, "light", size)
            _open_question(page)
            page.screenshot(path=folder / f"report-{name}.png")
        browser.close()


def _shown(browser: Browser, document: Path, scheme: Scheme, size: tuple[int, int]) -> Page:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page.emulate_media(reduced_motion="reduce")
    page.goto(document.as_uri())
    return page


def _open_question(page: Page) -> None:
    """Open a question by its address, and bring it to the top."""
    page.goto(f"{page.url}#q={WANTED}")
    page.locator(".detail").wait_for()
    page.wait_for_timeout(300)


WANTED = "personal-037"
"""The question that is opened: its passage fell from rank 3 to 6."""
