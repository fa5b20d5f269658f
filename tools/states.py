"""Write every state of comment, terminal and page as text, by whichever raggate is imported.

`PYTHONPATH=tests python -m tools.states DIRECTORY` writes `comment-NAME.md`, `terminal-NAME-COLUMNS.ansi`,
`page-NAME.html` and `missing.json`, which names what that raggate cannot render and why. The states are those of the
tests beside this file.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from typing import Any

COLUMNS = (80, 120)
REVIEWS = (("reviews", "REVIEWS"), ("reviews", "BESIDE"), ("situations", "SITUATIONS"), ("parts", "PARTS"))
"""Modules of the tests, and the tables in them of functions that make a review."""

States = Iterator[tuple[str, Callable[[], str]]]
"""File names, each with what makes the text of it."""


def main(directory: Path) -> None:
    """Write all states that can be rendered, and name the others."""
    directory.mkdir(parents=True, exist_ok=True)
    missing: dict[str, str] = {}
    for name, make in (*_of_reviews(missing), *_of_comments(missing), *_of_failures(missing)):
        try:
            text = make()
        except Exception as error:  # noqa: BLE001 - an older raggate may lack anything
            missing[name] = f"{type(error).__name__}: {error}"
        else:
            (directory / name).write_text(text, encoding="utf-8")
    (directory / "missing.json").write_text(json.dumps(missing, indent=2), encoding="utf-8")


def _table(module: str, name: str, missing: dict[str, str]) -> Mapping[str, Any]:
    try:
        return getattr(import_module(module), name)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        missing[f"all of tests/{module}.py"] = f"{type(error).__name__}: {error}"
        return {}


def _of_reviews(missing: dict[str, str]) -> States:
    for module, table in REVIEWS:
        for name, make in _table(module, table, missing).items():
            for columns in COLUMNS:
                yield f"terminal-{name}-{columns}.ansi", lambda make=make, columns=columns: _screen(make(), columns)
            yield f"page-{name}.html", lambda make=make: _page("render", make())
            if module in {"situations", "parts"}:
                yield f"comment-{name}.md", lambda make=make: _comment(make())


def _of_comments(missing: dict[str, str]) -> States:
    yield from ((f"comment-{name}.md", make) for name, make in _table("comments", "KINDS", missing).items())


def _of_failures(missing: dict[str, str]) -> States:
    for name, failure in _table("comments", "FAILURES", missing).items():
        yield f"page-{name}.html", lambda failure=failure: _page("render", failure)
        yield f"terminal-{name}-80.ansi", lambda failure=failure: _error(failure)


def _screen(review: Any, columns: int) -> str:
    render = import_module("raggate.reports.terminal").render
    return str(render(review, width=columns, color=True, wrap=True))


def _page(name: str, value: Any) -> str:
    return str(getattr(import_module("raggate.reports.page.report"), name)(value))


def _comment(review: Any) -> str:
    return str(import_module("raggate.reports.comment").render(review, import_module("comments").LINKED))


def _error(failure: Any) -> str:
    """Return what a terminal shows of a run that ended without a verdict."""
    errors = import_module("raggate.base.errors")
    kinds = {2: errors.UsageError, 3: errors.CannotTell}
    printed = io.StringIO()
    with redirect_stderr(printed):
        error = kinds[failure.exit_code](failure.lines, hint=failure.hint, log=failure.log)
        import_module("raggate.frontends.console").say_error(error)
    return printed.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
