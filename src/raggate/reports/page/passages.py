"""The passages and notes of a run as data for a page: each once, by its number. Texts are printable, and cut."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from raggate.models.fingerprint import notes_of
from raggate.models.run import Chunk, LabelledResult, Run
from raggate.models.scorecard import ListEntry
from raggate.reports.trace_file import STORED_TEXT
from raggate.scoring.list_entries import heading_hash, short_hash
from raggate.text.anchors import elements
from raggate.text.escape import plain

LONGEST_NAME = 300
"""Characters of a name of a note, and of a heading."""

LONGEST_ADDRESS = 1000

_UP = re.compile(r"(\.\./){1,12}")
_FORGE = re.compile(
    r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){2,20}/(blob|src/commit)/[0-9a-f]{40,64}/"
    r"([A-Za-z0-9_~%-][A-Za-z0-9._~%-]*/)*"
)
"""A directory of a repository at a commit: no name in it begins with a dot, so that none leads up."""


class Passages:
    """Numbers passages and notes as they are met, so that a page holds what many questions share once.

    Args:
        run: the run whose answers are shown.
        root: the way from the page to the directory of the configuration, such as `../../../`, by which notes are
            linked; empty where that is not known.
        forge: the address of that directory on the forge, which goes before: a page that is opened elsewhere, as one
            from an artifact is, has no notes beside it.
        items: those of the run's results that are shown; None for all.
    """

    def __init__(
        self, run: Run, root: str = "", forge: str = "", items: Iterable[LabelledResult] | None = None
    ) -> None:
        self.notes: list[list[str]] = []
        """Of each note its name, and where it can be read; empty where that is not known."""
        self.passages: list[list[object]] = []
        """Of each passage the number of its note, its heading, its text, and whether that is cut.

        The number is -1 where the note is not known, and the text None where the passage is not.
        """
        self._numbers: dict[object, int] = {}
        self._vaults: dict[str, set[str]] = defaultdict(set)
        self._directories: Mapping[str, str] = getattr(run.config, "vault", {})
        beside = root if _UP.fullmatch(root) else ""
        self._root = forge if len(forge) <= LONGEST_ADDRESS and _FORGE.fullmatch(forge) else beside
        for note in notes_of(run.fingerprint):
            vault, _, path = note.partition("/")
            self._vaults[path].add(vault)
        self._headings: dict[str, str] = {}
        self._by_hash = self._names(run.results if items is None else items)

    def _names(self, items: Iterable[LabelledResult]) -> dict[str, Chunk]:
        """Return passages by the short hashes that a baseline keeps of them: of their ids, headings and notes."""
        named = {short_hash(path): Chunk(chunk_id="", rel_path=path, heading_path="", text="") for path in self._vaults}
        for item in items:
            expected = (support for support in item.case.gold_supports if support.rel_path and support.heading_path)
            for support in expected:
                self._headings.setdefault(heading_hash(support.heading_path or ""), support.heading_path or "")
            for chunk in item.result.chunks:
                note = Chunk(chunk_id="", rel_path=chunk.rel_path, heading_path="", text="", vault=chunk.vault)
                named.setdefault(short_hash(chunk.rel_path), note)
                named[_key(short_hash(chunk.rel_path), short_hash(chunk.chunk_id))] = chunk
                self._headings.setdefault(heading_hash(chunk.heading_path), chunk.heading_path)
        return named

    def of_chunk(self, chunk: Chunk) -> int:
        """Return the number of a chunk's passage."""
        text = chunk.text[:STORED_TEXT]
        key = (chunk.chunk_id, chunk.vault, chunk.rel_path, chunk.heading_path, text)
        if key not in self._numbers:
            whole = chunk.text_hash is None and len(chunk.text) <= STORED_TEXT
            note, shown = self.of_note(chunk.vault, _path(chunk)), plain(text, limit=STORED_TEXT)
            self._add(key, [note, heading(chunk.heading_path), shown, not whole])
        return self._numbers[key]

    def of_entry(self, entry: ListEntry) -> int:
        """Return the number of the passage that a baseline's list names by hashes: as far as any answer shows it."""
        chunk = self._by_hash.get(_key(entry.note, entry.chunk)) if entry.chunk else None
        if chunk is not None:
            return self.of_chunk(chunk)
        key = (entry.note, entry.chunk, entry.heading)
        if key not in self._numbers:
            note = self._by_hash.get(entry.note)
            number = -1 if note is None else self.of_note(note.vault, note.rel_path)
            self._add(key, [number, heading(self._headings.get(entry.heading, "")), None, False])
        return self._numbers[key]

    def of_note(self, vault: str | None, path: str) -> int:
        """Return the number of a note."""
        holders = {vault} if vault else self._vaults.get(path, set())
        known = next(iter(holders)) if len(holders) == 1 else None
        key = ("note", known, path)
        if key not in self._numbers:
            name = plain(f"{known}/{path}" if known else path, limit=LONGEST_NAME)
            self._numbers[key] = len(self.notes)
            self.notes.append([name, self._address(known, path)])
        return self._numbers[key]

    def _add(self, key: object, passage: list[object]) -> None:
        self._numbers[key] = len(self.passages)
        self.passages.append(passage)

    def _address(self, vault: str | None, path: str) -> str:
        """Return the way to a note of the vault; what the API alone says of a note is no way to anywhere."""
        directory = self._directories.get(vault or "")
        if not self._root or directory is None or vault not in self._vaults.get(path, ()):
            return ""
        segments = [*directory.split("/"), *path.split("/")]
        if {"", ".", ".."} & set(segments):
            return ""
        return self._root + "/".join(quote(segment, safe="", errors="replace") for segment in segments)


def heading(path: str) -> str:
    """Write a heading path as people read it: its headings without their marks, the innermost last."""
    return " › ".join(plain(part, limit=LONGEST_NAME) for part in elements(path))


def _path(chunk: Chunk) -> str:
    return chunk.rel_path or chunk.doc_id or chunk.chunk_id


def _key(note: str, chunk: str) -> str:
    return f"{note}/{chunk}"
