"""The trusted inputs: configuration, golden set, vault and baseline, read from one source and checked together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from raggate.base import yamlio
from raggate.base.dates import beside_notes, within
from raggate.base.errors import UsageError
from raggate.base.files import read_file
from raggate.base.numbers import fixed
from raggate.config import first_run, schema
from raggate.config.schema import Config
from raggate.inputs import golden, headings, sources, vault
from raggate.inputs.golden import check_must_pass_asked
from raggate.models.baseline import MOST_BYTES
from raggate.models.golden import Golden, Vault

Accept = Callable[[Config, str], Config]
"""Returns the configuration that counts for one that was read, or refuses it; takes it and its name for messages."""
NO_CONFIG = "Name the configuration with --config, or write a first one with `raggate init`."
_NOT_YET = (
    "That revision does not have raggate yet. Check the change that introduces it without --against, and merge it "
    "first."
)
_NO_GOLDEN = "Key 'golden' names the golden set; `raggate golden add QUESTION` writes its first line."


class StoredFile(Struct, frozen=True, kw_only=True):
    """A file as it was read: what reports call it, its content, and its commit; None for a file on disk.

    `place` is what errors call it, where that is another name.
    """

    name: str
    data: bytes
    commit: str | None = None
    place: str = ""


class Inputs(Struct, frozen=True, kw_only=True):
    """The trusted inputs, read and checked.

    `against` is the commit they came from, None for the working tree; `ignored` names the files of the working tree
    that differ from it and had no say. `first_run` says that the commit does not have a configuration yet, so that
    everything is the working tree's and nothing can be held against. `cassette` holds the replies of judges so far;
    None where nothing is judged, or nothing was yet. `canary` is what people graded; None where no such file is named.
    """

    config: Config
    golden: Golden
    vault: Vault
    baseline: StoredFile | None
    against: str | None
    ignored: tuple[str, ...] = ()
    first_run: bool = False
    brought: StoredFile | None = None
    cassette: StoredFile | None = None
    canary: StoredFile | None = None

    def fingerprint(self) -> dict[str, Any]:
        """Return what a run by these inputs is known by: runs that differ in any of it were measured by other means."""
        ask = self.config.ask
        return {
            # first, so that no name of the user's stands for what raggate knows
            **self.config.versions,
            "adapter": ask.adapter,
            "k": ask.k,
            "retrieval_only": ask.retrieval_only,
            "modes": list(ask.modes),
            **({"headings": "by text"} if ask.headings_by_text else {}),
            # left out where everything is asked once, as in baselines from before that could be chosen
            **({"repeat": ask.repeat} if ask.repeat > 1 else {}),
            "golden": self.golden.hash,
            "vault": self.vault.hash,
        }


class InputSource(Struct, frozen=True, kw_only=True):
    """Where the inputs are read from.

    Attributes:
        root: directory of the configuration.
        config_name: the configuration's name in it.
        against: git revision, None for the working tree.
        remote: opens a revision that the local repository does not have; None when nothing can.
        first_run: what a first run takes from the working tree's configuration; None where a revision without a
            configuration is an error.
        baseline_file: a baseline on disk, in place of the configured one. One in the same checkout is read from the
            revision too, if there is one.
        folder: what errors call `root`, from where people are.
    """

    root: Path
    config_name: str
    against: str | None = None
    remote: sources.Remote | None = None
    first_run: frozenset[str] | None = None
    baseline_file: Path | None = None
    folder: str = ""

    @property
    def own_baseline(self) -> str | None:
        """The path of `baseline_file` from `root`, where the checkout holds it."""
        top = sources.top_of(self.root, self.remote) if self.baseline_file is not None else None
        place = Path(os.path.normpath(Path.cwd() / (self.baseline_file or "")))
        return Path(os.path.relpath(place, self.root)).as_posix() if top and place.is_relative_to(top) else None


@contextmanager
def load_trusted(where: InputSource, accept: Accept) -> Iterator[Inputs]:
    """Read and check everything a verdict rests on."""
    with sources.at(where.root, where.against, where.remote, where.folder) as source:
        allowed = where.first_run
        if allowed is not None and not _has(source, where.config_name):
            change = sources.WorkTree(where.root, confined=True, folder=where.folder)

            def accept_first(settings: Config, name: str) -> Config:
                accepted = accept(settings, name)
                first_run.check(accepted, name, allowed)
                return accepted

            yield _read_all(change, where, accept_first, first_run_at=source.commit)
        else:
            yield _read_all(source, where, accept)


def has_configuration(where: InputSource) -> bool:
    """Return whether the trusted commit has a configuration at all."""
    with sources.at(where.root, where.against, where.remote, where.folder) as source:
        return _has(source, where.config_name)


def load_change(
    where: InputSource, accept: Accept, commit: sources.Source | None = None, *, trusted: Vault | None = None
) -> Inputs:
    """Read what a change has in place of the trusted inputs: on disk, following no link out of it, or in its commit.

    Its notes are bounded beside the trusted ones, if these are given.
    """
    source = commit or sources.WorkTree(where.root, confined=True, folder=where.folder)
    return _read_all(source, where, accept, beside=trusted)


def files_that_judge(where: InputSource, settings: Config) -> tuple[str, ...]:
    """Name the files and directories of the trusted inputs, as the configuration does, and who named a baseline."""
    *others, baseline = settings.judged_by
    named = baseline if where.baseline_file is None else where.own_baseline
    return (where.config_name, *others, *filter(None, [named]))


def load_without_notes(source: sources.Source, where: InputSource, accept: Accept, trusted: Inputs) -> Inputs:
    """Read what another commit has in place of the trusted inputs, but for the notes, which stay the trusted ones."""
    settings = _settings(source, where, accept)
    cases = _golden(source, where, settings)
    check_must_pass_asked(cases, settings.ask.modes)
    named = replace(cases, name=source.describe(settings.golden))
    return replace(trusted, config=settings, golden=named, **_files(source, settings))


def with_notes(inputs: Inputs, source: sources.Source) -> Inputs:
    """Add the notes of a commit to what was read of it without them."""
    return replace(inputs, vault=_notes(source, inputs.config, inputs.golden, inputs.vault))


def _read_all(
    source: sources.Source,
    where: InputSource,
    accept: Accept,
    first_run_at: str | None = None,
    beside: Vault | None = None,
) -> Inputs:
    settings = _settings(source, where, accept)
    cases = _golden(source, where, settings)
    notes = _notes(source, settings, cases, beside)
    check_must_pass_asked(cases, settings.ask.modes)
    files = _files(source, settings, None if first_run_at else where)
    if first_run_at:
        # what a change brings of replies, nobody has reviewed
        files |= {"baseline": None, "brought": files["baseline"], "cassette": None}
    return Inputs(
        config=settings,
        golden=replace(cases, name=source.describe(settings.golden)),
        vault=notes,
        against=first_run_at or source.commit,
        ignored=source.differing(files_that_judge(where, settings)),
        first_run=first_run_at is not None,
        **files,
    )


def _settings(source: sources.Source, where: InputSource, accept: Accept) -> Config:
    hint = NO_CONFIG if source.commit is None else _NOT_YET
    name = source.place(where.config_name)
    return accept(schema.load(_needed(source, where.config_name, hint).data, name), name)


def _notes(source: sources.Source, settings: Config, cases: Golden, beside: Vault | None) -> Vault:
    notes = vault.load({vault: _directory(source, vault, path) for vault, path in settings.vault.items()}, beside)
    seconds = beside_notes(notes.size, len(cases.cases))
    late = f"{cases.name}: comparing its questions with the notes took more than {fixed(seconds, 0)} s"
    with within(seconds, UsageError(late, hint="Some note or question takes very long to check.")):
        headings.check_anchors(cases, notes)
    return notes


def _golden(source: sources.Source, where: InputSource, settings: Config) -> Golden:

    def refuse(key: yamlio.Path, text: str) -> UsageError:
        data, name = _needed(source, where.config_name, NO_CONFIG).data, source.place(where.config_name)
        return schema.refused(data, name, key, text)

    lines, name = _lines(source, settings.golden, _NO_GOLDEN), source.place(settings.golden)
    whole = golden.load(lines, name, snippets=settings.score.reads_snippets)
    return golden.part_of(whole, settings.questions, refuse)


def _has(source: sources.Source, path: str) -> bool:
    try:
        source.read(path)
    except FileNotFoundError:
        return False
    return True


def _files(source: sources.Source, settings: Config, where: InputSource | None = None) -> dict[str, StoredFile | None]:
    """Read the baseline, or what `where` names in its place, what judges have said so far, and what people graded."""
    by_hand = _chosen_baseline(source, where) if where is not None else None
    judges = settings.judging
    replies = "Key 'judges.cassette' names the replies of the judges so far."
    graded = "Key 'judges.canary' names the answers that people graded."
    return {
        "baseline": by_hand or _stored(source, settings.baseline_path, "`raggate promote` writes it."),
        "cassette": None if judges is None else _stored(source, judges.cassette, replies),
        "canary": _needed(source, judges.canary, graded) if judges and judges.canary is not None else None,
    }


def _chosen_baseline(source: sources.Source, where: InputSource) -> StoredFile | None:
    """Read a baseline that was named by hand: from the commit that judges, if the checkout holds it."""
    named = where.baseline_file
    if named is None:
        return None
    on_disk = isinstance(source, sources.WorkTree) and not source.confined
    path = None if on_disk else where.own_baseline
    if path is None:
        return StoredFile(name=str(named), data=read_file(named, most_bytes=MOST_BYTES))
    return _needed(source, path, "A baseline in the checkout is read from the commit that judges.")


def _stored(source: sources.Source, path: str, hint: str) -> StoredFile | None:
    """Read a file that may be missing; a directory in its place is an error."""
    try:
        data = source.read(path)
    except FileNotFoundError:
        if source.directory(path).is_dir():
            raise _missing(source, path, hint) from None
        return None
    return StoredFile(name=source.describe(path), data=data, commit=source.commit, place=source.place(path))


def _needed(source: sources.Source, path: str, hint: str) -> StoredFile:
    file = _stored(source, path, hint)
    if file is None:
        raise _missing(source, path, hint)
    return file


def _lines(source: sources.Source, path: str, hint: str) -> Iterator[bytes]:
    try:
        yield from source.lines(path)
    except FileNotFoundError:
        raise _missing(source, path, hint) from None


def _missing(source: sources.Source, path: str, hint: str) -> UsageError:
    problem = "a directory, where a file is expected" if source.directory(path).is_dir() else "no such file"
    return UsageError(f"{source.place(path)}: {problem}", hint=hint)


def _directory(source: sources.Source, name: str, path: str) -> Path:
    directory = source.directory(path)
    if not directory.is_dir():
        raise UsageError(
            f"{source.place(path)}: no such directory (vault {name!r})", hint="Key 'vault' names each vault's notes."
        )
    return directory
