"""Whether folders are why a passage did not come back: not in the index, left out, or selected and not searched. Pure.

Folders are blamed only where they can be held against notes and chunks: written as `vault/path`, and with no chunk from
outside of them in this answer, and in no more than a few others of its mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from raggate.base.headings import in_scope, inside_folder
from raggate.gate.causes.passages import vaults_with_notes
from raggate.models.comparison import Cause, CauseEvidence, FolderKind
from raggate.models.golden import Support
from raggate.models.run import Chunk, LabelledResult, Response

KINDS: tuple[FolderKind, ...] = ("available", "selected")

FEWEST_ANSWERS = 10
"""Answers from which on it is no accident that none holds a chunk of the folder that was selected first."""

ODD = 0.1
"""Share of the answers of a mode that may contradict what all others say of folders."""


def folder_cause(item: LabelledResult, missing: Sequence[Support], evidence: CauseEvidence) -> Cause | None:
    """The cause if no folder with the passages was searched, or exists; None if the answer does not show that."""
    response = item.result.response or Response(chunks=())
    available, selected = (_folders(response, kind) for kind in KINDS)
    unseen = not any(support.rel_path in evidence.retrieved for support in missing)
    if unseen and _all_outside(item, missing, "available", evidence):
        # what a question is limited to may be all that the API tells of
        where = "asked for" if item.case.folders else "index"
        return Cause(code="folder-not-indexed", subject=_folder(item, missing[0]), folders=available, other=where)
    if _all_outside(item, missing, "selected", evidence):
        there = any(_inside(support.rel_path, item.case.vaults_of(support), available) for support in missing)
        return Cause(code="folder-left-out", folders=selected, other="index" if there else "")
    return None


def unselected_folder(item: LabelledResult, evidence: CauseEvidence) -> Cause | None:
    """The cause if no folder with a passage was selected, whether or not that limits the results."""
    response, case = item.result.response or Response(chunks=()), item.case
    selected = _folders(response, "selected")
    limited = folder_cause(item, case.gold_supports, evidence)
    if limited is not None or not _comparable(selected, evidence):
        return limited
    outside = selected and not any(
        _inside(support.rel_path, case.vaults_of(support), selected) for support in case.gold_supports
    )
    return Cause(code="folder-left-out", folders=selected) if outside else None


def unsearched_folder(
    item: LabelledResult,
    missing: Sequence[Support],
    evidence: CauseEvidence,
    *,
    outscored: bool,
) -> Cause | None:
    """The cause if a passage's folder was selected and nothing came from it, unless rank explains that."""
    response, selected = item.result.response, _limit(item, "selected", evidence)
    if response is None or len(selected) < 2:
        return None
    for support in missing:
        vaults = item.case.vaults_of(support)
        own = [name for name in selected if support.rel_path and _inside(support.rel_path, vaults, (name,))]
        skipped = own == [selected[0]] and first_is_skipped(evidence, item.result.mode)
        if own and not any(_within(response.chunks, tuple(own))) and (outscored or skipped):
            place = selected.index(own[0]) + 1
            return Cause(code="folder-not-searched", subject=own[0], rank=place, folders=selected)
    return None


def first_is_skipped(evidence: CauseEvidence, mode: str) -> bool:
    """Return whether hardly an answer has a chunk of the folder selected first, and most of the baseline's had one."""
    before, now = evidence.folders.get(mode, ({}, {}))
    enough = min(side.get("several", 0) for side in (before, now)) >= FEWEST_ANSWERS
    few = enough and now.get("served", now["several"]) <= ODD * now["several"]
    return few and 2 * before.get("served", 0) >= before["several"]


def no_limit(outside: Mapping[FolderKind, int], told: Mapping[FolderKind, int]) -> set[FolderKind]:
    """Return which folders are no limit: chunks are from outside of them in more than a few of the answers with any."""
    return {kind for kind, count in outside.items() if count > ODD * told[kind]}


def _folder(item: LabelledResult, support: Support) -> str:
    vaults = item.case.vaults_of(support)
    folder = support.rel_path.rpartition("/")[0]
    return f"{vaults[0]}/{folder}" if len(vaults) == 1 else folder or "the top of its vault"


def beyond(response: Response) -> list[FolderKind]:
    """Return which of its folders the chunks of an answer came from outside of; none if it tells no folders."""
    return [kind for kind in KINDS if not all(_within(response.chunks, _folders(response, kind)))]


def told(response: Response) -> list[FolderKind]:
    """Return which folders an answer tells."""
    return [kind for kind in KINDS if _folders(response, kind)]


def _folders(response: Response, kind: FolderKind) -> tuple[str, ...]:
    folders = response.selected_folders if kind == "selected" else response.available_folders
    return folders or ()


def _limit(item: LabelledResult, kind: FolderKind, evidence: CauseEvidence) -> tuple[str, ...]:
    """Return the folders that an answer is limited to, as far as they can be trusted to say it; none where not."""
    response = item.result.response or Response(chunks=())
    known = kind not in {*beyond(response), *evidence.beyond.get(item.result.mode, ())}
    folders = _folders(response, kind)
    return folders if known and _comparable(folders, evidence) else ()


def _all_outside(item: LabelledResult, supports: Sequence[Support], kind: FolderKind, evidence: CauseEvidence) -> bool:
    folders = _limit(item, kind, evidence)
    return folders != () and all(
        support.rel_path and not _inside(support.rel_path, item.case.vaults_of(support), folders)
        for support in supports
    )


def _comparable(folders: Sequence[str], evidence: CauseEvidence) -> bool:
    """Return whether folders are written as those of the notes are, as far as these are known."""
    known = vaults_with_notes(evidence.notes)
    return not known or any(name.partition("/")[0] in known for name in folders)


def _within(chunks: Iterable[Chunk], folders: tuple[str, ...]) -> list[bool]:
    """For each chunk with a known note: whether it is from one of these folders; empty without folders."""
    return [
        _inside(chunk.rel_path, (chunk.vault,) if chunk.vault else (), folders)
        for chunk in chunks
        if folders and chunk.rel_path
    ]


@lru_cache(maxsize=1 << 14)  # the same notes come back for many questions
def _inside(rel_path: str, vaults: tuple[str, ...], folders: tuple[str, ...]) -> bool:
    bare = rel_path.rpartition("/")[0]
    return in_scope(rel_path, vaults, folders) or any(inside_folder(bare, name) for name in folders)
