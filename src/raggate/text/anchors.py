"""Anchors: where in a vault an answer stands, as rel_path and heading path, and how a chunk is matched to one.

Heading paths are written `# H1 > ## H2`. They are compared element by element, as people read them (see `titles`), so
that `# Summary` covers `# Summary > ## Costs` but not `# Summary of X`. Levels do not count, only the order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from operator import eq

from raggate.text.stream_safe import stream_safe
from raggate.text.titles import Same, same_title

Elements = tuple[str, ...]

_MARKED_DELIMITER = re.compile(r"\s*>\s*(?=#{1,6}(?:\s|$))")
_ANY_DELIMITER = re.compile(r"\s*>\s*")
_LEVEL_MARK = re.compile(r"^#{1,6}(?:\s+|$)")
_CLOSE_MARK = re.compile(r"(^|> ?)(#{1,6})(?=[^#\s])")


MAX_LENGTH = 5
"""Characters of the longest separator, with the blanks around it."""


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


def written(path: Elements, levels: Sequence[int] = ()) -> str:
    """Write a heading path with level marks, as `# A > ## B`: of these levels, else one level deeper each."""
    depths = levels or range(1, len(path) + 1)
    return " > ".join(f"{'#' * min(depth, 6)} {title}" for depth, title in zip(depths, path, strict=True))


def as_read(place: str, heading_path: str | None) -> str:
    """Name a section of a place as people read it, as `Note.md › A › B`: no level marks; the place alone for none."""
    return " › ".join([place, *elements(heading_path or "")])


def covers(gold: str, retrieved: str, same: Same = same_title) -> bool:
    """Return whether the section at `retrieved` is the section at `gold` or lies inside it, as people read headings.

    Marks of `gold` may lack their space: `#A > ##B` is `# A > ## B`, where it is not the heading `#A` itself.

    Args:
        same: when two headings are one, where that is not how people read them.
    """
    return any(_begins(path, retrieved, same) for path in _with_spaced_marks(gold))


def covers_as_written(gold: str, retrieved: str) -> bool:
    """Say the same letter by letter, but for white space and Unicode's composition."""
    return covers(gold, retrieved, eq)


def last_headings(path: str) -> frozenset[str]:
    """Return the innermost heading of a path, and what that may be where nobody knows which `>` is a delimiter."""
    paths = map(elements, _with_spaced_marks(path))
    return frozenset(end for headings in paths if headings for end in (headings[-1], *_flat(headings)[-1:]))


def is_path(wanted: Elements, path: Elements, same: Same) -> bool:
    """Return whether two paths are of the same headings, one by one."""
    return len(wanted) == len(path) and all(map(same, wanted, path))


def is_end_of(gold: str, cited: str, same: Same) -> bool:
    """Return whether a path names the last headings of `gold`, all or some of them."""
    wanted, last = elements(gold), elements(cited)
    return 0 < len(last) <= len(wanted) and all(map(same, wanted[-len(last) :], last))


@lru_cache(maxsize=4096)
def _with_spaced_marks(gold: str) -> tuple[str, ...]:
    spaced = _CLOSE_MARK.sub(r"\1\2 ", fold(gold)) if "#" in gold else gold
    return (gold,) if spaced == gold else (gold, spaced)


def _begins(gold: str, retrieved: str, same: Same) -> bool:
    wanted, got = elements(gold), elements(retrieved)
    if gold.lstrip().startswith("#") != retrieved.lstrip().startswith("#"):
        # one side has no level marks, so a `>` inside a heading cannot be told from a delimiter: compare flat
        wanted, got = _flat(wanted), _flat(got)
    return 0 < len(wanted) <= len(got) and all(map(same, wanted, got))


def fold(text: str) -> str:
    """Normalise to NFC and collapse white space: what matching ignores everywhere. Linear, whatever the text."""
    return " ".join(unicodedata.normalize("NFC", stream_safe(text)).split())


def contains_snippet(text: str, snippets: Iterable[str]) -> bool:
    """Return whether at least one snippet stands in the text, ignoring case and white space."""
    haystack = _folded(text)
    return any(_folded(snippet) in haystack for snippet in snippets)


@lru_cache(maxsize=256)
def _folded(text: str) -> str:
    return fold(text).casefold()


def inside_folder(folder: str, selected: str) -> bool:
    """Return whether `folder` is `selected` or below it, by path elements (`docs` does not cover `docs-old`).

    Folders are written `vault/path`; the root of a vault is `vault/`, which covers only notes at the root.
    """
    if selected.endswith("/"):
        return folder == selected
    return folder == selected or folder.startswith(selected + "/")


def inside_place(note: str, places: Iterable[str]) -> bool:
    """Return whether a note, `vault/rel_path`, lies in one of some places: vaults, folders, or notes themselves."""
    return any(note == place or note.startswith(f"{place}/") for place in places)


def in_scope(rel_path: str, vaults: Iterable[str], selected: Iterable[str]) -> bool:
    """Whether a note's folder lies in a selected folder, in any of the vaults (in all of them when none is named).

    Args:
        rel_path: the note, relative to its vault.
        selected: folders as `vault/path`.
    """
    folder = rel_path.rpartition("/")[0]
    names = tuple(selected)
    possible = tuple(vaults) or {name.split("/", 1)[0] for name in names}
    return any(inside_folder(f"{vault}/{folder}", name) for vault in possible for name in names)


def _flat(parts: Elements) -> Elements:
    return tuple(piece for part in parts for piece in _ANY_DELIMITER.split(part) if piece)


def separator_of(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Return what sets headings apart, where that is one thing in all texts and not what raggate splits at anyway.

    Args:
        texts: what the API returned as the headings of a chunk, each with the heading paths of its note.
    """
    separator = set_apart_by(texts)
    return separator if separator is not None and ">" not in separator else None


def set_apart_by(texts: Iterable[tuple[str, Collection[Elements]]]) -> str | None:
    """Return what sets headings apart, where that is one thing in all texts that are put together from headings."""
    separators = {between for text, paths in texts for path in paths if (between := _between(fold(text), path))}
    separator = separators.pop() if len(separators) == 1 else ""
    return separator if separator.strip() else None


def _between(text: str, path: Elements) -> str:
    """What stands between the headings of a path, if the text begins with these, and then with one below them."""
    titles = [fold(title) for title in path]
    if len(titles) < 2 or not text.startswith(titles[0]):
        return ""
    # one heading may stand within what sets two apart, as `-` does in ` - `
    first = len(titles[0])
    lengths = (size for size in range(1, MAX_LENGTH + 1) if text.startswith(titles[1], first + size))
    joined = ((between := text[first : first + size], between.join(titles)) for size in lengths)
    return next((between for between, whole in joined if text == whole or text.startswith(f"{whole}{between}")), "")
