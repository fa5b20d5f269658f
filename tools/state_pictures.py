"""Photograph every state of comment and terminal: `PYTHONPATH=tests python -m tools.state_pictures DIRECTORY`.

The reviews are those of the tests. The comment is shown as wide as on a desktop and on a telephone, the terminal at 80
and 120 columns; Chromium must be on PATH.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console
from rich.text import Text
from tools.pictures import TERMINAL, chromium
from tools.preview_comment import page

from raggate.models.publication import Links, Publication
from raggate.models.verdict import Review
from raggate.reports import comment, terminal
from reviews import BESIDE, REVIEWS

LINKS = Links(server="https://github.com", repository="example/notes", head="a1b2c3d4e5f6")
PIXELS = (1000, 390)
COLUMNS = (80, 120)


def main(directory: Path) -> None:
    """Write the pictures of all states into a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name, make in {**REVIEWS, **BESIDE}.items():
            _photograph(browser, directory, name, make)
        browser.close()


def _photograph(browser: Browser, directory: Path, name: str, make: Callable[[], Review]) -> None:
    review = make()
    text = comment.render(review, Publication(links=LINKS))
    for pixels in PIXELS:
        _page(browser, page(text), pixels, directory / f"comment-{name}-{pixels}.png")
    for columns in COLUMNS:
        printed = terminal.render(review, width=columns, color=True, wrap=True)
        _page(browser, drawn(printed, columns), columns * 11 + 40, directory / f"terminal-{name}-{columns}.png")


def _page(browser: Browser, document: str, pixels: int, target: Path) -> None:
    shown = browser.new_page(viewport={"width": pixels, "height": 400})
    shown.set_content(document)
    shown.screenshot(path=target, full_page=True)
    shown.close()


def drawn(printed: str, columns: int) -> str:
    """Draw what a terminal was sent."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for line in printed.splitlines():
        console.print(Text.from_ansi(line), soft_wrap=True)
    return console.export_svg(title="", code_format=TERMINAL, unique_id="raggate")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
