"""Photograph every state of comment, terminal, page and label tool.

`python -m tools.state_pictures DIRECTORY [COMMIT]`

The states are those of the tests. The pictures are in `after/`, and with a commit in `before/` too, as its own code
renders them; `index.html` shows both side by side and lists what that commit could not render. Comment and page are
shown as wide as on a desktop and on a telephone, the terminal at 80 and 120 columns. Chromium must be on PATH.
"""

from __future__ import annotations

import html
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from rich.console import Console
from rich.text import Text
from tools.pictures import ROOT, TERMINAL, chromium
from tools.preview_comment import page as as_comment

PIXELS = (1000, 380)
PAPER = 794
"""Pixels of a page of A4 across, as browsers count them."""

SPECIAL = "page-regression.html"
"""The page that is shown by night and on paper too."""

Missing = dict[str, str]
"""What could not be rendered, and why."""


def main(directory: Path, commit: str | None = None) -> None:
    """Write the pictures of all states into a directory."""
    missing: Missing = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        if commit is not None:
            with _checkout(commit, Path(folder) / "checkout") as source:
                missing = photographed(browser, source, Path(folder) / "before", directory / "before")
        unseen = photographed(browser, ROOT / "src", Path(folder) / "after", directory / "after")
        browser.close()
    (directory / "index.html").write_text(index(directory, commit, missing), encoding="utf-8")
    if unseen:
        sys.exit(f"states that today's code does not render: {unseen}")


@contextmanager
def _checkout(commit: str, folder: Path) -> Iterator[Path]:
    """Check a commit out for a while, and give its source."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder / "src"
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def photographed(browser: Browser, source: Path, texts: Path, pictures: Path) -> Missing:
    """Photograph what the raggate in a folder renders, and give what it cannot."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT / "tests", source)))}
    subprocess.run([sys.executable, "-m", "tools.states", str(texts)], cwd=ROOT, env=environment, check=True)
    pictures.mkdir(parents=True, exist_ok=True)
    for earlier in pictures.glob("*.png"):
        earlier.unlink()
    shown = browser.new_page()
    for file in sorted(texts.iterdir()):
        _photograph(shown, file, pictures)
    shown.close()
    missing: Missing = json.loads((texts / "missing.json").read_text(encoding="utf-8"))
    labelling = subprocess.run(
        [sys.executable, "-m", "tools.label_states", str(pictures.absolute())],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if labelling.returncode:
        missing["the page to label"] = labelling.stderr.strip().rpartition("\n")[2]
    return missing


def _photograph(shown: Page, file: Path, pictures: Path) -> None:
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".ansi":
        columns = int(file.stem.rpartition("-")[2])
        _shot(shown, _document(file, drawn(text, columns)), columns * 11 + 40, pictures / f"{file.stem}.png")
    elif file.suffix in {".md", ".html"}:
        document = _document(file, as_comment(text)) if file.suffix == ".md" else file
        for pixels in PIXELS:
            _shot(shown, document, pixels, pictures / f"{file.stem}-{pixels}.png")
    if file.name == SPECIAL:
        shown.emulate_media(color_scheme="dark")
        _shot(shown, file, PIXELS[0], pictures / f"{file.stem}-dark.png")
        shown.emulate_media(media="print", color_scheme="light")
        _shot(shown, file, PAPER, pictures / f"{file.stem}-paper.png")
        shown.emulate_media(media="screen")


def _document(file: Path, text: str) -> Path:
    document = file.with_suffix(f"{file.suffix}.shown.html")
    document.write_text(text, encoding="utf-8")
    return document


def _shot(shown: Page, document: Path, pixels: int, target: Path) -> None:
    shown.set_viewport_size({"width": pixels, "height": 400})
    # a page's own policy would refuse to be written into one that is open
    shown.goto(document.as_uri())
    shown.screenshot(path=target, full_page=True)


def drawn(printed: str, columns: int) -> str:
    """Draw what a terminal was sent."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for line in printed.splitlines():
        console.print(Text.from_ansi(line), soft_wrap=len(line) < columns)
    return console.export_svg(title="", code_format=TERMINAL, unique_id="raggate")


def index(directory: Path, commit: str | None, missing: Missing) -> str:
    """Write the page that shows the pictures of both sides, each state in a row."""
    sides = ["before", "after"] if commit is not None else ["after"]
    names = sorted({picture.name for side in sides for picture in (directory / side).glob("*.png")})
    rows = "".join(_row(directory, name, sides) for name in names)
    left = "".join(f"<li>{html.escape(name)}: {html.escape(why)}</li>" for name, why in sorted(missing.items()))
    listed = f"<h2>Not rendered by {html.escape(commit or '')}</h2><ul>{left}</ul>" if left else ""
    heads = "".join(f"<th>{side}</th>" for side in sides)
    style = (
        "body{font:14px sans-serif;margin:16px}table{border-collapse:collapse}td,th{vertical-align:top;padding:4px;"
        "border:1px solid #ccc;text-align:left}img{max-width:min(46vw,1100px);height:auto}caption{text-align:left}"
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>raggate: every state</title><style>{style}'
        f"</style><h1>Every state</h1><table><tr>{heads}</tr>{rows}</table>{listed}</html>\n"
    )


def _row(directory: Path, name: str, sides: list[str]) -> str:
    def cell(side: str) -> str:
        there = (directory / side / name).exists()
        return f'<td><img loading="lazy" src="{side}/{name}" alt="{name}">' if there else "<td>not rendered"

    return f'<tr><th colspan="{len(sides)}" id="{name}">{name}</th></tr><tr>{"".join(map(cell, sides))}</tr>'


if __name__ == "__main__":
    main(Path(sys.argv[1]), *filter(None, sys.argv[2:3]))
