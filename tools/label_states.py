"""Photograph every state of the page to label: `PYTHONPATH=tests python -m tools.label_states DIRECTORY`.

It is a program of its own, as another commit's raggate on PYTHONPATH may have no such page.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from tools.pictures import chromium

from labelling_project import make_label_project, served

PIXELS = (1000, 380)


def main(directory: Path) -> None:
    """Judge a small project from the first passage to the end, as wide as a desktop, and as a telephone."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for pixels in PIXELS:
            _sitting(browser, directory, pixels)
        browser.close()


def _sitting(browser: Browser, directory: Path, pixels: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        session = make_label_project(Path(folder)).open()
        with session.journal, served(session) as address:
            context = browser.new_context(viewport={"width": pixels, "height": 720})
            page = context.new_page()
            _two_people(page, address)

            def keep(state: str) -> None:
                page.wait_for_timeout(250)
                page.screenshot(path=directory / f"label-{state}-{pixels}.png", full_page=True)

            keep("graded")
            page.emulate_media(color_scheme="dark")
            keep("dark")
            page.emulate_media(color_scheme="light")
            page.keyboard.press("?")
            keep("keys")
            page.keyboard.press("Escape")
            page.keyboard.press("w")
            page.locator(".split").wait_for()
            keep("differ")
            page.locator(".split button", has_text="2").click()
            page.locator(".split").wait_for(state="detached")
            keep("review")
            page.click("#write")
            page.locator("#written", has_text="Wrote").wait_for()
            keep("written")
            page.goto(address)
            page.reload()
            for _ in range(40):
                page.keyboard.press("0")
                page.wait_for_timeout(60)
            keep("done")
            context.close()


def _two_people(page: Page, address: str) -> None:
    """Let another person grade the first passage otherwise, and come back to the next one."""
    page.goto(address)
    page.locator(".passage").wait_for()
    first = page.locator(".place b").inner_text()
    page.keyboard.press("3")
    page.locator("#saved", has_text="all kept").wait_for()
    other = page.context.new_page()
    other.goto(f"{address}#as=bob")
    other.locator(".passage").wait_for()
    for _ in range(8):
        if other.locator(".place b").inner_text() == first:
            break
        other.keyboard.press("ArrowRight")
        other.wait_for_timeout(100)
    other.keyboard.press("0")
    other.locator("#saved", has_text="all kept").wait_for()
    other.close()
    page.bring_to_front()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
