"""Anchors: where in a vault an answer stands, as rel_path and heading path, and how a chunk is matched to one.

Heading paths are written `# H1 > ## H2`. They are compared element by element after normalising, so that
`# Summary` covers `# Summary > ## Costs` but not `# Summary of X`. Levels do not count, only the order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

Elements = tuple[str, ...]

MAX_MARKS = 30
"""Combining marks in a row, as in Unicode's stream-safe text format; no script has words with half as many."""

_JOINER = "\u034f"  # the combining grapheme joiner: invisible, and no mark is sorted past it

_MARKED_DELIMITER = re.compile(r"\s*>\s*(?=#{1,6}(?:\s|$))")
_ANY_DELIMITER = re.compile(r"\s*>\s*")
_LEVEL_MARK = re.compile(r"^#{1,6}(?:\s+|$)")
_CLOSE_MARK = re.compile(r"(^|> ?)(#{1,6})(?=[^#\s])")


@lru_cache(maxsize=4096)
def elements(heading_path: str) -> Elements:
    """Split a heading path into its normalised headings, outermost first.

    A path whose parts carry `#` marks is split only where a mark follows, so a heading may contain ` > `;
    a path without marks is split at every `>`.
    """
    path = fold(heading_path)
    delimiter = _MARKED_DELIMITER if path.startswith("#") else _ANY_DELIMITER
    parts = (_LEVEL_MARK.sub("", part).strip() for part in delimiter.split(path))
    return tuple(part for part in parts if part)


def written(path: Elements) -> str:
    """Write a heading path with level marks, one level deeper each, as `# A > ## B`."""
    return " > ".join(f"{'#' * min(depth, 6)} {title}" for depth, title in enumerate(path, 1))


def covers(gold: str, retrieved: str) -> bool:
    """Say whether the section at `retrieved` is the section at `gold` or lies inside it.

    Marks of `gold` may lack their space: `#A > ##B` is `# A > ## B`, where it is not the heading `#A` itself.
    """
    if _begins(gold, retrieved):
        return True
    spaced = _CLOSE_MARK.sub(r"\1\2 ", fold(gold)) if "#" in gold else gold
    return spaced != gold and _begins(spaced, retrieved)


def _begins(gold: str, retrieved: str) -> bool:
    wanted, got = elements(gold), elements(retrieved)
    if gold.lstrip().startswith("#") != retrieved.lstrip().startswith("#"):
        # one side has no level marks, so a `>` inside a heading cannot be told from a delimiter: compare flat
        wanted, got = _flat(wanted), _flat(got)
    return bool(wanted) and got[: len(wanted)] == wanted


def fold(text: str) -> str:
    """Normalise to NFC and collapse white space: what matching ignores everywhere. Linear, whatever the text."""
    return " ".join(unicodedata.normalize("NFC", stream_safe(text)).split())


def stream_safe(text: str) -> str:
    """Break runs of more than 30 combining marks, as Unicode's stream-safe text format (UAX 15) does.

    Normalising sorts each run, which takes the square of its length, in one call that no signal interrupts.
    """
    if text.isascii():
        return text
    marks = "".join(sorted(character for character in set(text) if _is_mark(character)))
    if not marks:
        return text
    # a function is called three times as fast as a template is filled in
    return re.sub(f"[{re.escape(marks)}]{{{MAX_MARKS}}}", lambda run: run[0] + _JOINER, text)


@lru_cache(maxsize=4096)
def _is_mark(character: str) -> bool:
    # some that are none themselves fall apart into marks
    return unicodedata.combining(unicodedata.normalize("NFD", character)[0]) > 0


def contains_snippet(text: str, snippets: Iterable[str]) -> bool:
    """Say whether at least one snippet stands in the text, ignoring case and white space."""
    haystack = _folded(text)
    return any(_folded(snippet) in haystack for snippet in snippets)


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return fold(text).casefold()


def inside_folder(folder: str, selected: str) -> bool:
    """Say whether `folder` is `selected` or below it, by path elements (`docs` does not cover `docs-old`).

    Folders are written `vault/path`; the root of a vault is `vault/`, which covers only notes at the root.
    """
    if selected.endswith("/"):
        return folder == selected
    return folder == selected or folder.startswith(selected + "/")


def inside_place(note: str, places: Iterable[str]) -> bool:
    """Say whether a note, `vault/rel_path`, lies in one of some places: vaults, folders, or notes themselves."""
    return any(note == place or note.startswith(f"{place}/") for place in places)


def in_scope(rel_path: str, vaults: Iterable[str], selected: Iterable[str]) -> bool:
    """Say whether a note's folder lies in a selected folder, in any of the vaults (in all of them when none is named).

    Args:
        rel_path: the note, relative to its vault.
        vaults: the vaults the note may be in.
        selected: folders as `vault/path`.
    """
    folder = rel_path.rpartition("/")[0]
    names = tuple(selected)
    possible = tuple(vaults) or {name.split("/", 1)[0] for name in names}
    return any(inside_folder(f"{vault}/{folder}", name) for vault in possible for name in names)


def _flat(parts: Elements) -> Elements:
    return tuple(piece for part in parts for piece in _ANY_DELIMITER.split(part) if piece)
