"""The trusted inputs: configuration, golden set, vault and baseline, read from one source and checked together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from raggate import config, golden, sources, vault
from raggate.config import Config
from raggate.errors import UsageError
from raggate.models import Golden, Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """The trusted inputs, read and checked.

    `against` is the commit they came from, None for the working tree; `ignored` names the files of the working tree
    that differ from it and had no say.
    """

    config: Config
    golden: Golden
    vault: Vault
    baseline: tuple[str, bytes] | None
    against: str | None
    ignored: tuple[str, ...] = ()


@contextmanager
def opened(
    root: Path,
    config_name: str,
    *,
    against: str | None,
    baseline_file: Path | None,
    adjust: Callable[[Config], Config],
    check: Callable[[Config, str], None],
) -> Iterator[Inputs]:
    """Read and check everything a verdict rests on, from the working tree or from the revision `against`.

    Args:
        root: directory of the configuration.
        config_name: the configuration's name in it.
        against: git revision, None for the working tree.
        baseline_file: a baseline on disk, in place of the configured one.
        adjust: changes the configuration once it is read, or refuses it.
        check: checks the configuration further before anything else is read; takes it and its name for messages.

    Raises:
        UsageError: for the first of them that is missing or wrong. A missing baseline is no error here.
    """
    with sources.at(root, against) as source:
        hint = _NO_CONFIG if against is None else _NOT_YET
        settings = adjust(config.load(_read(source, config_name, hint), source.describe(config_name)))
        check(settings, source.describe(config_name))
        cases = golden.load(_read(source, settings.golden, _NO_GOLDEN), source.describe(settings.golden))
        notes = vault.load({name: _directory(source, name, path) for name, path in settings.vault.items()})
        golden.check_anchors(cases, notes)
        yield Inputs(
            config=settings,
            golden=cases,
            vault=notes,
            baseline=_find_baseline(source, settings, baseline_file),
            against=source.commit if isinstance(source, sources.Revision) else None,
            ignored=source.differing(_trusted(config_name, settings)),
        )


_NO_CONFIG = "Name the configuration with --config, or write a first one with `raggate init`."
_NOT_YET = (
    "That revision does not have raggate yet. The change that introduces it cannot be judged by it: check it without "
    "--against, and merge it first."
)
_NO_GOLDEN = "Key 'golden' names the golden set; `raggate init` writes an example."


def _trusted(config_name: str, settings: Config) -> tuple[str, ...]:
    return (config_name, settings.golden, settings.baseline_path, *settings.vault.values())


def _find_baseline(source: sources.Source, settings: Config, chosen: Path | None) -> tuple[str, bytes] | None:
    if chosen is not None:
        return str(chosen), read_file(chosen)
    try:
        return source.describe(settings.baseline_path), source.read(settings.baseline_path)
    except FileNotFoundError:
        return None


def _read(source: sources.Source, path: str, hint: str) -> bytes:
    try:
        return source.read(path)
    except FileNotFoundError:
        raise UsageError(f"{source.describe(path)}: no such file", hint=hint) from None


def _directory(source: sources.Source, name: str, path: str) -> Path:
    directory = source.directory(path)
    if not directory.is_dir():
        raise UsageError(
            f"{source.describe(path)}: no such directory (vault {name!r})", hint="Key 'vault' names each vault's notes."
        )
    return directory


def read_file(path: Path) -> bytes:
    """Read a file that a flag named.

    Raises:
        UsageError: when it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
