"""How the texts read: `python -m tools.prose` prints it. With `--check` it fails on words that are barred."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).parents[1]
BARRED = re.compile(r"(?:Give|Say|Tell|Hold)s?\b")
"""A docstring says what the caller gets: "Return …", "Parse …", or a noun phrase."""

FOLDERS = ("src", "tools", "tests", "benchmarks", "examples")

RIDDLES = re.compile(r"\b(?:of which|(?:is|are) told|go(?:es)? without)\b")
"""No line of src has these: the reader must guess who does what."""


ENDINGS = ("Error", "Failed", "CannotTell", "Missed", "Unusable")
"""The names of errors end so."""


def prose(markdown: str) -> str:
    """Return the sentences of a page, without code, tables, headings and the targets of links."""
    text = re.sub(r"^```.*?^```$", "", markdown, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?:\||#|<!--|!\[).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"`[^`\n]+`", "code", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def sentences(text: str) -> list[str]:
    """Split prose at full stops, colons before a line break, and the marks of lists."""
    parts = re.split(r"(?<=[.!?])\s+|:\n|\n\s*\n|\n\s*(?:-|\d+\.) ", text)
    return [part for part in parts if part.split()]


def numbers(text: str) -> tuple[int, float, float, float]:
    """Return words, the share of sentences over 25 words in percent, and "you" and semicolons per 1,000 words."""
    words = text.split()
    parts = sentences(text)
    long = sum(len(part.split()) > 25 for part in parts)
    per = 1000 / max(len(words), 1)
    you = len(re.findall(r"\byou(?:rs?)?\b", text, re.IGNORECASE))
    return len(words), 100 * long / max(len(parts), 1), per * you, per * text.count(";")


def docstrings(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield every docstring of a folder's modules with its place: also those of variables."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Expr)
                and isinstance(node.value, ast.Constant)
                and isinstance(node.value.value, str)
            ):
                yield f"{path}:{node.lineno}", cleandoc(node.value.value)


def messages(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each error that is raised with its place: message and hint of a call whose name ends as an error's does."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and bool(node.args)
            if named and node.func.id.endswith(ENDINGS):
                for text in [node.args[0], *(keyword.value for keyword in node.keywords if keyword.arg == "hint")]:
                    parts = [item.value for item in ast.walk(text) if isinstance(item, ast.Constant)]
                    yield (
                        f"{path}:{node.lineno}",
                        "code".join(part for part in parts if isinstance(part, str) and part != "; "),
                    )


def barred() -> list[str]:
    """Name the docstrings that open with a barred word."""
    return [
        f"{place}: {text.splitlines()[0]}"
        for folder in FOLDERS
        for place, text in docstrings(ROOT / folder)
        if BARRED.match(text)
    ]


def riddles(folder: Path) -> Iterator[str]:
    """Yield the lines of a folder with a barred phrase, and the messages with a semicolon."""
    for path in sorted(folder.rglob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if RIDDLES.search(line):
                yield f"{path}:{number}: {line.strip()}"
    yield from (f"{place}: {text}" for place, text in messages(folder) if ";" in text)


def main() -> None:
    """Print the numbers of all texts, or fail on barred openings, phrases and semicolons."""
    wrong, unclear = barred(), [*riddles(ROOT / "src")]
    if "--check" in sys.argv[1:]:
        advice = (
            [f"{len(wrong)} docstrings open with Give, Say, Tell or Hold: write what the caller gets"] if wrong else []
        )
        advice += [f"{len(unclear)} lines have a barred phrase, or a semicolon in a message"] if unclear else []
        sys.exit("\n".join([*wrong, *unclear, *advice]) if advice else 0)
    pages = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    pages += sorted((ROOT / "docs").rglob("*.md"))
    print(f"{'text':<44}{'words':>7}{'over 25':>9}{'you':>7}{';':>6}")
    texts = [(str(page.relative_to(ROOT)), prose(page.read_text(encoding="utf-8"))) for page in pages]
    texts.append(("messages", ".\n\n".join(text for _, text in messages(ROOT / "src"))))
    texts.append(("docstrings", "\n\n".join(text for _, text in docstrings(ROOT / "src"))))
    for name, text in texts:
        words, long, you, semicolons = numbers(text)
        print(f"{name:<44}{words:>7}{long:>8.0f}%{you:>7.1f}{semicolons:>6.1f}")
    print(f"{len(wrong)} docstrings open with Give, Say, Tell or Hold")


if __name__ == "__main__":
    main()
