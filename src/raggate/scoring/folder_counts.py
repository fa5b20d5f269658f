"""How folder selection went over all answers of a mode: how many it selects, whether the first is searched. Pure."""

from __future__ import annotations

from raggate.models.run import LabelledResult, Response
from raggate.text.anchors import in_scope, inside_folder

Counts = dict[str, dict[str, int]]
"""By mode: `answers` that tell what they selected and the `selected` folders of all; `several` that have chunks and
more than one folder, the first of which overlaps no other, and those of them that are `served` from that first one."""


def count(item: LabelledResult, counted: Counts) -> None:
    """Count one more answer. A failed call, and an answer that tells no selection, counts for nothing."""
    response = item.result.response
    if response is None or not response.selected_folders:
        return
    counts = counted.setdefault(item.result.mode, {"answers": 0, "selected": 0, "several": 0, "served": 0})
    counts["answers"] += 1
    counts["selected"] += len(response.selected_folders)
    if response.chunks and _stands_alone(response.selected_folders):
        counts["several"] += 1
        counts["served"] += _served(response, response.selected_folders[:1])


def _stands_alone(folders: tuple[str, ...]) -> bool:
    first, *others = folders
    apart = not any(inside_folder(first, other) or inside_folder(other, first) for other in others)
    return bool(others) and "/" in first and apart


def _served(response: Response, folder: tuple[str, ...]) -> bool:
    return any(in_scope(chunk.rel_path, (chunk.vault,) if chunk.vault else (), folder) for chunk in response.chunks)
