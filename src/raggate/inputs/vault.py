"""The fixture vault: directories of Markdown notes in, their texts and content hashes out."""

from __future__ import annotations

import hashlib
import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from sys import getsizeof

from raggate.base.errors import CannotTell, UsageError
from raggate.base.numbers import counted
from raggate.inputs.git_objects import MOST_LEVELS
from raggate.inputs.headings import line_of
from raggate.models.golden import Malformed, Support, Vault
from raggate.models.verdict import SourceLine

MAX_NOTE_BYTES = 16 << 20
MOST_NEW_BYTES = 256 << 20
"""Bytes of memory that the notes of a change may take beyond those of its base."""

SKIPPED_DIRECTORIES = frozenset((".obsidian",))


def load(directories: dict[str, Path], beside: Vault | None = None) -> Vault:
    """Read all notes (`*.md`) of the vaults; those they would replace bound the memory they take."""
    texts: dict[tuple[str, str], str] = {}
    notes: dict[str, str] = {}
    malformed: dict[tuple[str, str], Malformed] = {}
    room = None if beside is None else MOST_NEW_BYTES + sum(map(getsizeof, beside.texts.values()))
    for name, rel_path, content in _contents(directories):
        text = texts[name, rel_path] = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        if room is not None and (room := room - getsizeof(text)) < 0:
            raise CannotTell(f"its notes take {MOST_NEW_BYTES >> 20} MiB more memory than those of the base")
        notes[f"{name}/{rel_path}"] = _hash(content)
        try:
            content.decode()
        except UnicodeDecodeError as error:
            malformed[name, rel_path] = Malformed(error.start, content.count(b"\n", 0, error.start) + 1)
    if not texts:
        raise UsageError("the vault has no note", hint="Key 'vault' names directories with *.md files.")
    whole = hashlib.sha256()
    for note in sorted(notes):
        whole.update(f"{note}\0{notes[note]}\0".encode(errors="surrogateescape"))
    return Vault(directories=directories, texts=texts, notes=notes, hash=whole.hexdigest()[:16], malformed=malformed)


def say_malformed(notes: Vault, say: Callable[[str], None]) -> None:
    """Warn of notes that are not UTF-8: an API may read such a note differently."""
    if notes.malformed:
        (name, rel_path), place = next(iter(notes.malformed.items()))
        more = len(notes.malformed) - 1
        rest = f"; {counted(more, 'more note')} likewise, as `raggate lint` lists" if more else ""
        say(f"note {name}/{rel_path} is {place}{rest}")


def changed_since(loaded: Vault) -> tuple[str, ...]:
    """Name the notes on disk that are not as they were when the vault was loaded, as `vault/rel_path`, sorted."""
    now = {f"{name}/{rel_path}": _hash(content) for name, rel_path, content in _contents(loaded.directories)}
    return tuple(sorted(note for note in loaded.notes.keys() | now.keys() if loaded.notes.get(note) != now.get(note)))


def locate(notes: Vault, support: Support, vaults: Sequence[str], folders: Mapping[str, str]) -> SourceLine | None:
    """Find the line of the note at which a gold support starts: in its own vault, else in one of its case."""
    names = (support.vault,) if support.vault else (*vaults, *notes.directories)
    name = next((name for name in names if (name, support.rel_path) in notes.texts), None)
    if name is None or name not in folders:
        return None
    line = line_of(notes.texts[name, support.rel_path], support.heading_path)
    return SourceLine(path=posixpath.normpath(f"{folders[name]}/{support.rel_path}"), line=line)


def _contents(directories: Mapping[str, Path]) -> Iterator[tuple[str, str, bytes]]:
    """Yield vault, path and content of every note but the empty ones, which no index has."""
    for name, directory in directories.items():
        for path, rel_path in _notes(directory, name):
            if content := path.read_bytes():
                yield name, rel_path, content


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _notes(directory: Path, name: str) -> Iterator[tuple[Path, str]]:
    root = directory.resolve()

    def refuse(error: OSError) -> None:
        # the notes of a folder that is gone by now are reported as removed
        if not isinstance(error, FileNotFoundError):
            folder = os.path.relpath(error.filename, directory)
            raise UsageError(f"vault {name!r}: folder {folder} cannot be read: {error.strerror}")

    for walked, subfolders, files in os.walk(directory, onerror=refuse):
        subfolders[:] = sorted(set(subfolders) - SKIPPED_DIRECTORIES)
        folder = Path(walked)
        if len(folder.parts) - len(directory.parts) > MOST_LEVELS:
            raise UsageError(f"vault {name!r}: folders lie more than {MOST_LEVELS} deep inside one another")
        inside = folder.resolve().is_relative_to(root)
        start = "" if folder == directory else f"{folder.relative_to(directory).as_posix()}/"
        for file in sorted(files):
            if file.endswith(".md") and file != ".md":
                _check(folder / file, start + file, name, root if inside else None)
                yield folder / file, start + file


def _check(path: Path, rel_path: str, name: str, root: Path | None) -> None:
    """Refuse what is no note of a vault; `root` is where the vault lies, None for a folder that lies elsewhere."""
    written = os.fsencode(rel_path)
    try:
        written.decode()
    except UnicodeDecodeError as error:
        shown = ascii(written)[2:-1]
        raise UsageError(
            f"vault {name!r}: the name of note {shown} is not UTF-8 at byte {error.start}: JSON cannot hold it",
            hint="Rename the note or its folder, for example with `convmv -f latin1 -t utf8 -r --notest`.",
        ) from None
    if not path.is_file():
        problem = "is neither a file nor a link to one"
    # a file in a folder of the vault is in it, if it is no link
    elif root is None or (path.is_symlink() and not path.resolve().is_relative_to(root)):
        problem = "is a link that leaves the vault"
    elif path.stat().st_size > MAX_NOTE_BYTES:
        problem = f"is larger than {MAX_NOTE_BYTES} bytes"
    else:
        return
    raise UsageError(f"vault {name!r}: {rel_path} {problem}")
