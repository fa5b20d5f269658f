"""An empty repository -> a commented raggate.yml, an example golden set with its vault, and a workflow."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from raggate.errors import UsageError
from raggate.jsonio import write_atomic

_TARGETS = {
    "raggate.yml": "raggate.yml",
    "eval_set.jsonl": "golden/eval_set.jsonl",
    "Sourdough.md": "golden/vault/notes/Recipes/Sourdough.md",
    "rag-gate.yml": ".github/workflows/rag-gate.yml",
}


def write_example(directory: Path) -> list[Path]:
    """Write the example files below a directory. Returns what was written.

    Raises:
        UsageError: when one of them exists already; then nothing is written.
    """
    existing = [name for name in _TARGETS.values() if (directory / name).exists()]
    if existing:
        raise UsageError(
            f"{', '.join(existing)}: exists already, nothing was written",
            hint="Move it away, or run `raggate init` in an empty directory and copy what you need.",
        )
    written = []
    for template, name in _TARGETS.items():
        try:
            write_atomic(directory / name, files("raggate").joinpath("templates", template).read_bytes())
        except OSError as error:
            raise UsageError(f"{directory / name}: {error.strerror or error}") from None
        written.append(directory / name)
    return written
