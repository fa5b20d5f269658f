"""Which workflow file a run was of, by what GitHub says of it: a name is anybody's, the path of the file is not."""

from __future__ import annotations

import re

from raggate.base.errors import UsageError
from raggate.base.quote import quoted

INPUT = "workflow"
"""The action's input that names the file."""
DEFAULT = "rag-gate.yml"
NAME_IT = f"If the gate's workflow is another file, name it in the input `{INPUT}`."
"""What to do about a run of another workflow file."""
FOLDER = ".github/workflows/"
_FILE = re.compile(r"[^/\\\s]{1,200}\.ya?ml")
_MERGE = re.compile(r"refs/pull/[1-9][0-9]{0,18}/(?:merge|head)")


def check_name(workflow: str) -> None:
    """Refuse what cannot be the name of a workflow file."""
    if not _FILE.fullmatch(workflow.removeprefix(FOLDER)):
        raise UsageError(
            f"input {INPUT!r}: expected the name of a file in {FOLDER}, such as {DEFAULT}, found {quoted(workflow)}"
        )


def path_of(workflow: str) -> str:
    """Return the path of a workflow file, which is named by that or by its last part."""
    return f"{FOLDER}{workflow.removeprefix(FOLDER)}"


def is_of(path: str, workflow: str, branch: str) -> bool:
    """Return whether a run is of a workflow file.

    GitHub gives the path of the file, and in places the ref behind it: `.github/workflows/x.yml@refs/heads/main`. A
    file may have an `@` in its name, so what follows one counts as a ref only when it is the run's own, and never when
    it could be the end of a file's name.
    """
    expected = path_of(workflow)
    if path == expected:
        return True
    if not path.startswith(f"{expected}@"):
        return False
    ref = path.removeprefix(f"{expected}@")
    own = ref in {branch, f"refs/heads/{branch}"} or _MERGE.fullmatch(ref) is not None
    return own and not ref.endswith((".yml", ".yaml"))
