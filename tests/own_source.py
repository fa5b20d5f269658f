"""raggate's own source as text and as syntax trees, each module read and parsed once a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "raggate"
MODULES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py"))
"""Every module, by its path in the package."""


@cache
def source(name: str) -> str:
    """Give the text of a module."""
    return (PACKAGE / name).read_text(encoding="utf-8")


@cache
def tree(name: str) -> ast.Module:
    """Give the syntax tree of a module."""
    return ast.parse(source(name))
