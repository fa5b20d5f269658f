"""Make the pictures of docs/images: `make pictures` runs the gate on the example API and photographs what it says.

The terminal is drawn by the library that prints it, the comment and the pages by Chromium, which must be on PATH.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text
from tools.label_pictures import photograph_labelling
from tools.page_pictures import photograph_report
from tools.preview_comment import page

from raggate.models.publication import Links, Publication
from raggate.pipeline.rerun import compare_directory
from raggate.reports import comment

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
WIDTH = 132
COMMENT_PIXELS = (1000, 1075)
"""Width and height: verdict, causes, table and the first questions that broke."""

TERMINAL = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>raggate check in a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; white-space: pre; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
<rect fill="#0d1117" x="1" y="1" width="{width}" height="{height}" rx="8"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""As rich has it, without the window around it and without a font from another server."""


def main() -> None:
    """Run the gate on the example API without one of its rankers, and write all pictures."""
    with tempfile.TemporaryDirectory() as folder:
        shown = gate(Path(folder))
        (run,) = Path(folder).iterdir()
        _, review = compare_directory(run, None, None)
        links = Links(server="https://github.com", repository="example/notes", head="a1b2c3d4e5f6")
        document = Path(folder) / "comment.html"
        document.write_text(page(comment.render(review, Publication(links=links))), encoding="utf-8")
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / "terminal.svg").write_text(drawn(shown), encoding="utf-8")
        photograph(document, IMAGES / "comment.png")
        photograph_report(run / "report.html", IMAGES)
        photograph_labelling(run, IMAGES)


def gate(out: Path) -> str:
    """Return what `raggate check` sends to a terminal, with its colours, and leave its run directory in `out`."""
    here, terminal = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "raggate", "check", "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "NOTES_DISABLE": "vector", "TERM": "xterm-256color", "COLUMNS": str(WIDTH)},
        stdout=terminal,
        stderr=subprocess.DEVNULL,
    )
    os.close(terminal)
    printed = b"".join(iter(lambda: read(here), b"")).decode()
    if process.wait() != 1:
        sys.exit(f"the example was expected to be red, and ended with {process.returncode}:\n{printed}")
    return printed.replace(f"{out}/", ".raggate/runs/")


def read(terminal: int) -> bytes:
    """Return the next bytes; empty at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def drawn(printed: str) -> str:
    """Draw the beginning and the end of what a terminal was sent."""
    lines = printed.splitlines()
    broken = next(at for at, line in enumerate(lines) if "Questions that broke" in line)
    parts = [*lines[:17], "…", "", *lines[broken : broken + 15], "…", "", *lines[-8:]]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in parts:
        console.print(Text.from_ansi(line))
    svg = console.export_svg(title="", code_format=TERMINAL, unique_id="raggate")
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


def chromium() -> str:
    """Find the browser on PATH."""
    names = ("chromium", "chromium-browser", "google-chrome")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        sys.exit("the picture of the comment needs Chromium: install your distribution's package `chromium`")
    return browser


def photograph(document: Path, target: Path) -> None:
    """Show a page in Chromium and keep a picture of its upper part."""
    size = ",".join(map(str, COMMENT_PIXELS))
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}", "--disable-gpu"]
    subprocess.run([chromium(), *options, f"--screenshot={target}", document.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
