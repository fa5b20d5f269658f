"""Heading paths held against helloworld's own chunker: `tests/data/helloworld_headings.json` is what it makes."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath
from typing import Any

from raggate.inputs.headings import heading_paths
from raggate.text.headings import Elements, elements, fold
from tables import each_row

NOTES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "helloworld_headings.json").read_text(encoding="utf-8")
)
# paths that raggate knows and that chunker has no chunk for
MERGED = "a section under 50 characters goes into the next one, which loses its anchor"
BOTH_READINGS = "raggate also accepts the other reading"
DIFFERENCES: dict[str, tuple[str, set[Elements]]] = {
    "bigfront.md": (MERGED, {("T", "Tiny")}),
    "emoji.md": (MERGED, {("🍎 Maple code & link em", "Ingredients", "Next")}),
    "empties.md": (MERGED, {("T", "Empty"), ("T", "Full")}),
    "rune49.md": (MERGED, {("A", "B")}),
    "tiny3.md": (MERGED, {("A", "D"), ("A", "B")}),
    "entities.md": (BOTH_READINGS, {("R&D <x> *star*",)}),
    "fm2.md": (f"{BOTH_READINGS}; {MERGED}", {("title: My Note tags: [a, b]",), ("Real Title",)}),
    "fm_comment.md": (MERGED, {("comment", "title: X")}),
    "para_then_dashes.md": (MERGED, {("T", "A paragraph followed directly by dashes")}),
}


@each_row("note", NOTES, ids=lambda note: note["filename"])
def test_every_path_of_the_chunker_is_known(note: dict[str, Any]) -> None:
    """A gold support may name every heading path that the chunker gives a chunk."""
    paths = heading_paths(note["input"], note["filename"])
    assert {elements(path) for path in note["heading_paths"]} <= paths


@each_row("note", NOTES, ids=lambda note: note["filename"])
def test_what_only_raggate_knows_is_listed(note: dict[str, Any]) -> None:
    """Beyond the chunker's paths, raggate knows the file's name, as it is and capitalised, and what is listed here."""
    stem = PurePosixPath(note["filename"]).stem
    names = {(), (stem,), (fold(" ".join(word[:1].upper() + word[1:] for word in stem.split())),)}
    own = heading_paths(note["input"], note["filename"]) - {elements(path) for path in note["heading_paths"]} - names
    assert own == DIFFERENCES.get(note["filename"], ("", set()))[1]
