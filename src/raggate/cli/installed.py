"""What raggate's own distribution says that it needs, and what to install for a command that needs more."""

from __future__ import annotations

import re

from raggate.errors import UsageError

DISTRIBUTION = "raggate-ci"
_EXTRA = re.compile(r"""extra == ['"]([\w-]+)['"]""")
_NAME = re.compile(r"[\w.-]+")


_MISSING = "missing"


def requirements(extra: str = "") -> tuple[str, ...]:
    """Return the requirements of an extra, such as `starlette>=1.0`; of no extra, those that are always installed."""
    # it loads much that `--help` does without
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(DISTRIBUTION) or ()
    except PackageNotFoundError:
        return ()
    marked = ((line.partition(";")[0].strip(), _EXTRA.search(line)) for line in lines)
    return tuple(line for line, mark in marked if (mark[1] if mark else "") == extra)


def versions(*extras: str) -> dict[str, str]:
    """Return the version of every library that raggate and these extras name; `missing` for one that is not there."""
    names = [match[0] for extra in ("", *extras) for line in requirements(extra) if (match := _NAME.match(line))]
    return {name: _version(name) for name in names}


def check_extra(extra: str, what: str) -> None:
    """Refuse to go on if a library of an extra is missing.

    Raises:
        UsageError: with the command that installs it; `what` is the command or flag that needs it.
    """
    missing = [line for line in requirements(extra) if (match := _NAME.match(line)) and _version(match[0]) == _MISSING]
    if missing:
        raise UsageError(
            f"{what} needs {' and '.join(missing)}, which the basic installation leaves out",
            hint="Install it: python3 -m pip install " + " ".join(f"'{line}'" for line in missing),
        )


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return _MISSING
