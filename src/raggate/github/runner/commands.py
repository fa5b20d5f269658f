"""The runner's own files and log commands: outputs, state, step summary and annotations, in its exact grammar."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from raggate.base.redact import forms

SUMMARY_BYTES = 1 << 20
"""The runner drops the summary of a step that is larger."""

_TITLE_CHARACTERS = 255
_MESSAGE_CHARACTERS = 4096
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_CUT = "_Not all of it fits into a step summary. The whole report is in the run directory._\n\n"


def set_values(path: Path, values: Mapping[str, str]) -> None:
    """Append outputs or state to the file the runner named for them; a later value replaces an earlier one.

    Every value has a delimiter of its own that nobody can foresee. Surrogates, which no file can hold, become `?`.
    ValueError for a name the runner would misread, or a value that holds its delimiter.
    """
    parts = []
    for name, value in values.items():
        delimiter = f"ghadelimiter_{secrets.token_hex(16)}"
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a name of an output: {name!r}")
        if delimiter in value:
            raise ValueError(f"the value of {name} contains its own delimiter")
        parts.append(f"{name}<<{delimiter}\n{value}\n{delimiter}\n")
    # one write, so that a reader finds whole entries only
    with path.open("ab", buffering=0) as file:
        file.write("".join(parts).encode("utf-8", "replace"))


def append_summary(path: Path, markdown: str) -> None:
    """Append Markdown to the step summary, as far as there is room for it."""
    with path.open("ab", buffering=0) as file:
        file.write(bounded(markdown, room(path)).encode("utf-8", "replace"))


def room(path: Path) -> int:
    """Return how many more bytes fit into the step summary."""
    return max(SUMMARY_BYTES - (path.stat().st_size if path.exists() else 0), 0)


def bounded(markdown: str, limit: int) -> str:
    """Cut Markdown to at most `limit` bytes of UTF-8, after a whole line, below a note; empty if that does not fit."""
    content = markdown.encode("utf-8", "replace")
    if len(content) <= limit:
        return markdown
    kept = content[: max(limit - len(_CUT), 0)].rpartition(b"\n")[0]
    # above, as what is folded out may be cut open
    return f"{_CUT}{kept.decode()}" if limit >= len(_CUT) else ""


def annotation(
    level: Literal["notice", "warning", "error"],
    title: str,
    message: str,
    *,
    path: str | None = None,
    line: int | None = None,
) -> str:
    """Build the one-line log command that makes an annotation of the step, or of a line of a file of the repository."""
    place = {} if path is None else {"file": path, "line": str(line or 1)}
    properties = {**place, "title": title[:_TITLE_CHARACTERS]}
    safe = {name: escaped(value).replace(":", "%3A").replace(",", "%2C") for name, value in properties.items()}
    written = ",".join(f"{name}={value}" for name, value in safe.items())
    return f"::{level} {written}::{escaped(message[:_MESSAGE_CHARACTERS])}"


@contextmanager
def stopped(write: Callable[[str], None]) -> Iterator[None]:
    """Keep the runner from reading commands in what is written meanwhile, with a token that nobody can foresee."""
    token = secrets.token_hex(16)
    write(f"::stop-commands::{token}")
    try:
        yield
    finally:
        write(f"::{token}::")


def mask(values: Iterable[str]) -> list[str]:
    """Return the log commands that make the runner hide these values, in any shape, from there on."""
    shapes = dict.fromkeys(form for value in values for form in forms(value))
    return [f"::add-mask::{escaped(form)}" for form in shapes]


def escaped(text: str) -> str:
    """Escape the data of a log command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
