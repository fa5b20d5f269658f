"""Whether folders are why a passage did not come back: not in the index, left out, or selected and not searched. Pure.

Folders are blamed only where they can be held against notes and chunks: written as `vault/path`, and with no chunk from
outside of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from raggate.gate.passages import Ranked, vaults_of
from raggate.models.cause import Cause, CauseEvidence
from raggate.models.golden import Support
from raggate.models.run import LabelledResult, Response
from raggate.text.anchors import in_scope, inside_folder

FEWEST_ANSWERS = 10
"""Answers from which on it is no accident that none holds a chunk of the folder that was selected first."""


def folder_cause(
    item: LabelledResult, missing: Sequence[Support], retrieved: Sequence[Ranked], evidence: CauseEvidence
) -> Cause | None:
    """Say that no folder with the passages was searched, or is there; None where the answer does not show that."""
    response = item.result.response or Response(chunks=())
    available, selected = response.available_folders or (), response.selected_folders or ()
    if _all_outside(item, missing, retrieved, available, evidence):
        # what a question is limited to may be all that the API tells of
        where = "asked for" if item.case.folders else "index"
        return Cause(code="folder-not-indexed", subject=_folder(item, missing[0]), folders=available, other=where)
    if _all_outside(item, missing, retrieved, selected, evidence):
        return Cause(code="folder-left-out", folders=selected, other="index" if available else "")
    return None


def unsearched_folder(
    item: LabelledResult,
    missing: Sequence[Support],
    retrieved: Sequence[Ranked],
    evidence: CauseEvidence,
    *,
    outscored: bool,
) -> Cause | None:
    """Say that a passage's folder was selected and nothing came from it, where that is no matter of rank.

    Args:
        item: the answer.
        missing: the passages that did not come back.
        retrieved: its chunks.
        evidence: what all lists show.
        outscored: whether the passage scored more than what came back, by scores that count as before.
    """
    response = item.result.response
    selected = (response.selected_folders if response else None) or ()
    if len(selected) < 2 or not _comparable(selected, evidence) or not all(_within(retrieved, selected)):
        return None
    for support in missing:
        vaults = vaults_of(support, item.case)
        own = [name for name in selected if support.rel_path and _inside(support.rel_path, vaults, [name])]
        skipped = own == [selected[0]] and first_is_skipped(evidence, item.result.mode)
        if own and not any(_within(retrieved, own)) and (outscored or skipped):
            place = selected.index(own[0]) + 1
            return Cause(code="folder-not-searched", subject=own[0], rank=place, folders=selected)
    return None


def first_is_skipped(evidence: CauseEvidence, mode: str) -> bool:
    """Say whether no answer has a chunk of the folder selected first, where most of the baseline's had one."""
    before, now = evidence.folders.get(mode, ({}, {}))
    enough = min(side.get("several", 0) for side in (before, now)) >= FEWEST_ANSWERS
    return enough and now.get("served") == 0 and 2 * before.get("served", 0) >= before["several"]


def _folder(item: LabelledResult, support: Support) -> str:
    vaults = vaults_of(support, item.case)
    folder = support.rel_path.rpartition("/")[0]
    return f"{vaults[0]}/{folder}" if len(vaults) == 1 else folder or "the top of its vault"


def _all_outside(
    item: LabelledResult,
    supports: Sequence[Support],
    retrieved: Sequence[Ranked],
    folders: Sequence[str],
    evidence: CauseEvidence,
) -> bool:
    """Say whether the passages are all in other folders than these, as far as these can be trusted to say it."""
    if not folders or not _comparable(folders, evidence) or not all(_within(retrieved, folders)):
        return False
    return all(
        support.rel_path and not _inside(support.rel_path, vaults_of(support, item.case), folders)
        for support in supports
    )


def _comparable(folders: Sequence[str], evidence: CauseEvidence) -> bool:
    """Say whether folders are written as those of the notes are, as far as these are known."""
    known = {name.partition("/")[0] for name in evidence.notes}
    return not known or bool(known & {name.partition("/")[0] for name in folders})


def _within(retrieved: Sequence[Ranked], folders: Sequence[str]) -> list[bool]:
    """Say of each chunk that tells its note whether it is from one of these folders."""
    return [
        _inside(chunk.rel_path, (chunk.vault,) if chunk.vault else (), folders)
        for _, _, chunk in retrieved
        if chunk.rel_path
    ]


def _inside(rel_path: str, vaults: Sequence[str], folders: Sequence[str]) -> bool:
    bare = rel_path.rpartition("/")[0]
    return in_scope(rel_path, vaults, folders) or any(inside_folder(bare, name) for name in folders)
