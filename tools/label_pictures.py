"""Photograph the page to label, on a copy of this repository's golden set and a run of the example API."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
COPIED = ("golden", "baselines", "examples", "raggate.yml")
DESKTOP = {"width": 1200, "height": 640}
PHONE = {"width": 390, "height": 780}


def photograph_labelling(run: Path, images: Path) -> None:
    """Judge a few passages of a run, and keep pictures of what the page looks like: light, dark, and on a phone."""
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, Path(folder) / name)
        command = [sys.executable, "-m", "raggate", "label", str(run), "--as", "Ann"]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            address = next(line.strip() for line in process.stderr or () if line.startswith("http"))
            with sync_playwright() as started:
                program = shutil.which("chromium")
                browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
                _pictures(browser, address, images)
                browser.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def _pictures(browser: Browser, address: str, images: Path) -> None:
    page = _opened(browser, address, DESKTOP, "light")
    for key in "030":
        page.keyboard.press(key)
        page.wait_for_timeout(200)
    page.screenshot(path=images / "label.png")
    page.keyboard.press("w")
    page.wait_for_selector("#write")
    page.screenshot(path=images / "label-review.png")
    _opened(browser, address, DESKTOP, "dark").screenshot(path=images / "label-dark.png")
    _opened(browser, address, PHONE, "light").screenshot(path=images / "label-phone.png")


def _opened(browser: Browser, address: str, size: dict[str, int], scheme: str) -> Page:
    context = browser.new_context(viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".passage")
    page.wait_for_timeout(200)
    return page
