"""Names and patterns of configurations -> the suites of a step. What a change takes away its base still lists."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path

from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from raggate.base import yamlio
from raggate.base.errors import RaggateError, UsageError
from raggate.base.quote import quoted
from raggate.config.schema import Config
from raggate.config.values import Name
from raggate.inputs import sources

MOST = 100
"""Configurations of one step."""

MOST_FOLDERS = 300
"""Directories that are looked into as a change has them otherwise than its base: each may be a request to the server,
and all jobs of a repository share a thousand an hour."""

_NAME: TypeAdapter[str] = TypeAdapter(Name)


class SuiteFile(Struct, frozen=True, kw_only=True):
    """One suite that is to be judged.

    Attributes:
        config: its configuration, relative to the working directory unless it was named otherwise.
        suite: its name; the configuration where that gives none that can be read.
        matched: whether a pattern names it, so that without the file there is no such suite.
    """

    config: str
    suite: str
    matched: bool = False


class OfTheChange(UsageError):
    """What is wrong with the list came with the change and not with its base: a push to the change can correct it."""


def several(names: Sequence[str]) -> bool:
    """Return whether these name a list of suites: more than one, or a pattern, however many files that matches."""
    return len(names) > 1 or any("*" in name for name in names)


def find(
    names: Sequence[str],
    *,
    against: str | None = None,
    remote: sources.Remote | None = None,
    among: Sequence[str | None] = (None,),
    merged: str | None = None,
) -> tuple[SuiteFile, ...]:
    """List the suites that paths and patterns name, in their order; those of a pattern by path.

    A pattern is matched at the trusted revision and in the change, and no link is followed: so a change can add a
    suite, and can take none away. A file that is a link is listed, for its own check to refuse.

    Args:
        among: where else a pattern is matched: revisions of the change, None for the working tree.
        merged: the revision that gets merged, whatever the working tree has: names count as they are there too.
    """
    configs: dict[str, bool] = {}
    added = set[str]()
    for name in names:
        for path, is_new in _matching(name, among, against, remote).items():
            configs[path] = "*" in name and configs.get(path, True)
            added |= {path} if is_new else set()
    if len(configs) > MOST:
        too_many = UsageError if len(configs) - len(added) > MOST else OfTheChange
        raise too_many(
            f"more than {MOST} configurations for one step: found {len(configs)}",
            hint="Split them over several jobs.",
        )
    unseen = next((path for path in configs if not path.isprintable()), None)
    if unseen is not None:
        # paths of run directories are handed on one a line
        hidden = OfTheChange if unseen in added else UsageError
        raise hidden(f"{quoted(unseen)}: expected a path of printable characters", hint="Rename it.")
    suites = []
    for config, matched in configs.items():
        place = Path(config).absolute()
        suite = name_of_unusable(place.parent, place.name, against=against, remote=remote)
        suites.append(SuiteFile(config=config, suite=suite or config, matched=matched))
    _check_names(suites)
    if against is not None:
        _check_merged(tuple(configs), (*among, *([merged] if merged is not None else [])), remote)
    return tuple(suites)


def _check_merged(configs: Sequence[str], among: Sequence[str | None], remote: sources.Remote | None) -> None:
    """Refuse names that the change gives to two suites: after its merge nobody could tell these apart."""
    for revision in among:
        paths = {config: Path(config).absolute() for config in configs}
        names = {config: _at(path.parent, path.name, revision, remote) for config, path in paths.items()}
        try:
            _check_names([SuiteFile(config=config, suite=name or config) for config, name in names.items()])
        except UsageError as error:
            raise OfTheChange(error.lines, hint=error.hint) from None


def _matching(
    name: str, among: Sequence[str | None], against: str | None, remote: sources.Remote | None
) -> dict[str, bool]:
    """Return the paths that a name or pattern stands for, and of each whether only the change has it."""
    path = posixpath.normpath(name)
    if "*" not in path:
        return {path: False}
    if "**" in path:
        raise UsageError(
            f"{quoted(name)}: `**` does not work here",
            hint="`*` stands for any text within one name. Use several patterns.",
        )
    parts = path.split("/")
    plain = next(place for place, part in enumerate(parts) if "*" in part)
    # a change can delete the directory too: its base is asked from the one above
    while plain and not Path("/".join(parts[:plain]) or "/").is_dir():
        plain -= 1
    top, wanted = "/".join(parts[:plain]), parts[plain:]
    root = Path(top or ("/" if path.startswith("/") else "."))
    listed: dict[str, bool] = {}
    revisions = tuple(dict.fromkeys([*([against] if against is not None else []), *among]))
    with ExitStack() as stack:
        base: sources.Source | None = None
        for revision in revisions:
            source = stack.enter_context(sources.at(root, revision, remote))
            opens = (lambda _: True) if base is None or revision is None else _opened(source, base)
            listed = {**dict.fromkeys(_below(source, wanted, opens), base is not None), **listed}
            base = base or source
    if not listed:
        named = " or ".join("here" if revision is None else f"at {quoted(revision)}" for revision in revisions)
        where = f" {named}" if named != "here" else ""
        raise UsageError(f"{quoted(name)}: no configuration{where} has such a path", hint="Correct the pattern.")
    return {posixpath.join(top, below): listed[below] for below in sorted(listed)}


def _opened(source: sources.Source, base: sources.Source) -> Callable[[str], bool]:
    """Return what says which directories of a change are looked into: those that its base does not list as well."""
    count = 0

    def opens(path: str) -> bool:
        nonlocal count
        differs = source.identity(path) != base.identity(path)
        count += differs
        if count > MOST_FOLDERS:
            raise OfTheChange(
                f"a pattern fits more than {MOST_FOLDERS} directories that the change edits",
                hint="Name the configurations one by one, or split the change.",
            )
        return differs

    return opens


def _below(
    source: sources.Source, wanted: Sequence[str], opens: Callable[[str], bool], folder: str = "."
) -> Iterator[str]:
    """Yield the files below a folder whose path fits, name by name."""
    pattern, *others = wanted
    for name, is_folder in source.names(folder).items():
        if is_folder != bool(others) or not _fits(name, pattern):
            continue
        path = posixpath.normpath(posixpath.join(folder, name))
        if not others:
            yield path
        elif opens(path):
            yield from _below(source, others, opens, path)


def _fits(name: str, pattern: str) -> bool:
    # as in a shell, what is hidden has to be named
    if name.startswith(".") and not pattern.startswith("."):
        return False
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), name, re.DOTALL) is not None


def _check_names(suites: Sequence[SuiteFile]) -> None:
    # some file systems take names that differ by case for one
    by_name: dict[str, list[SuiteFile]] = {}
    for suite in suites:
        by_name.setdefault(suite.suite.casefold(), []).append(suite)
    doubled = [
        f"suite {quoted(alike[0].suite)} is named by {len(alike)} configurations: "
        f"{', '.join(quoted(suite.config) for suite in alike[:5])}"
        for alike in by_name.values()
        if len(alike) > 1
    ]
    if doubled:
        raise UsageError(doubled, hint="Give each its own `suite:`, because comments are found by it.")


def name_of_unusable(root: Path, config_name: str, *, against: str | None, remote: sources.Remote | None) -> str | None:
    """Find the name a configuration gives its suite, whatever else is wrong with it: as trusted, else on disk."""
    return (against and _at(root, config_name, against, remote)) or _at(root, config_name, None, remote)


def _at(root: Path, config_name: str, revision: str | None, remote: sources.Remote | None) -> str | None:
    """Find that name at one revision alone; None for the working tree."""
    confined = nullcontext(sources.WorkTree(root, confined=True))
    try:
        with confined if revision is None else sources.at(root, revision, remote) as source:
            value = yamlio.parse(source.read(config_name), "").value
        name = value.get("suite", Config.model_fields["suite"].default) if isinstance(value, dict) else None
        return _NAME.validate_python(name)
    except (RaggateError, OSError, ValidationError):
        return None
