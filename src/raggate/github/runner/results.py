"""A run directory, or the lack of one -> outputs, step summary and file owners, for the steps that follow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from raggate.base.errors import FileError, RaggateError, UsageError
from raggate.base.escape import markdown as safe
from raggate.base.files import read_file
from raggate.base.jsonio import fields, loads
from raggate.models.answer import EXIT_CODES

KILLED = (
    "\n## ⏹️ raggate: killed\n\n> [!WARNING]\n> The step was killed before it ended, so there is no verdict. "
    "What it had started was removed.\n"
)


class _Row(Struct, frozen=True):
    """What counts of a row of results."""

    test_case_id: str = ""


_ROW = Decoder(_Row)


def name_of(code: int) -> str:
    """Name an exit code as the verdict of the step."""
    if code == UsageError.exit_code:
        return UsageError.label
    # of two with one code the first: what a whole run can end with
    return next((outcome for outcome, known in EXIT_CODES.items() if known == code), "internal error")


def outputs(directory: Path | None, code: int, workspace: Path) -> dict[str, str]:
    """Return every output of the action; paths are relative to the workspace where they lie in it."""
    decision = _decision(directory)
    # a question that moved in several modes is one question
    flips = {(flip.get("kind"), str(flip.get("case_id"))) for flip in decision.get("flips", ())}
    kinds = [kind for kind, _ in flips]
    return {
        "verdict": name_of(code),
        "exit-code": str(code),
        "run-directory": path_from_workspace(directory, workspace),
        "suites": "",
        "cases": str(_cases(directory)),
        "broke": str(kinds.count("broke")),
        "fixed": str(kinds.count("fixed")),
        "warnings": str(len(decision.get("warnings", ()))),
        **dict.fromkeys(("comment-url", "pull-request-url"), ""),
    }


def summary(directory: Path | None, error: RaggateError | None, code: int) -> str:
    """Return the report of the run for the step summary; the reason when there is none."""
    report = _content(directory, "summary.md").decode("utf-8", "replace")
    if report and _decision(directory).get("exit_code") == code:
        return report
    parts = [f"## ❔ raggate: {name_of(code)}"]
    if error is not None:
        parts.append("<br>\n".join(f"> {safe(line, limit=1500, middle=True)}" for line in error.lines))
        parts += [safe(error.hint, limit=600, middle=True)] if error.hint else []
    elif not report:
        parts.append("There is no report. The log of the step says more.")
    else:
        parts += ["It ended like this after it had written its report. That report does not count:", report]
    return "\n\n".join(parts) + "\n"


def give_back(directory: Path | None, workspace: Path) -> None:
    """Make the workspace's owner the owner of what a run as root left in it. Links are changed, never followed."""
    owner = workspace.stat()
    if os.geteuid() != 0 or owner.st_uid == 0:
        return
    top = workspace.resolve()
    for root in (directory, top / ".raggate"):
        if root is None or root.is_symlink() or not root.is_dir() or not root.resolve().is_relative_to(top):
            continue
        above = [parent for parent in root.resolve().parents if parent != top and parent.is_relative_to(top)]
        for path in [*above, *_tree(root)]:
            if path.lstat().st_uid == 0:
                os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _tree(root: Path) -> Iterator[Path]:
    yield root
    for folder, folders, files in os.walk(root):
        yield from (Path(folder, name) for name in (*folders, *files))


def _content(directory: Path | None, name: str) -> bytes:
    try:
        return read_file(directory / name, follow=False) if directory else b""
    except FileError:
        return b""


def _cases(directory: Path | None) -> int:
    """Count the questions with a result; none if they cannot be read."""
    try:
        from raggate.pipeline import result_rows

        lines = result_rows.packed_lines(directory)[1] if directory else iter(())
        return len({_ROW.decode(line).test_case_id for line in lines})
    except (RaggateError, DecodeError):
        return 0


def _decision(directory: Path | None) -> dict[str, Any]:
    try:
        return fields(loads(_content(directory, "verdict.json")))
    except ValueError:
        return {}


def path_from_workspace(path: Path | None, workspace: Path) -> str:
    """Name a path for the steps that follow: relative to the workspace where it lies in it, empty where it is not."""
    if path is None or not path.exists():
        return ""
    resolved, top = path.resolve(), workspace.resolve()
    return str(resolved.relative_to(top) if resolved.is_relative_to(top) else resolved)
