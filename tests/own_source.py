"""The project's own source as text and as syntax trees, each module read and parsed once a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "raggate"
INTEROP = "raggate_interop"
MODULES = sorted(
    path.relative_to(folder).as_posix()
    for folder, package in ((PACKAGE, PACKAGE), (SOURCE, SOURCE / INTEROP))
    for path in package.rglob("*.py")
)
"""Every module: of the gate by its path in the package, of the other package by its path beside it."""


@cache
def source(name: str) -> str:
    folder = SOURCE if name.startswith(f"{INTEROP}/") else PACKAGE
    return (folder / name).read_text(encoding="utf-8")


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(source(name))


def dotted(name: str) -> str:
    module = name[:-3].replace("/", ".")
    return module if name.startswith(f"{INTEROP}/") else f"raggate.{module}"
