"""Why a question broke or fell: what its answer shows of the passages that were expected, and no more. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from raggate.models.golden import Case, Support
from raggate.models.metric_names import FALSE_ABSTENTION_RATE
from raggate.models.run import Chunk, Failure, LabelledResult, Response
from raggate.scoring.metrics import METRICS
from raggate.text.anchors import covers, in_scope, inside_folder
from raggate.text.numbers import counted

SHOWN_FOLDERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a cause is looked for in: a question with its answer, and how that was judged.

    `metric` is the one that got worse; `before` and `after` are the ranks by it, None for not found. `notes` names what
    is in the vaults, as `vault/rel_path`; empty when that is not known.
    """

    item: LabelledResult
    metric: str
    before: int | None
    after: int | None
    notes: Collection[str] = ()


def cause(asked: Asked) -> str:
    """Say why, in one sentence that the answer bears out; where it shows no cause, what it shows."""
    case, result, metric = asked.item.case, asked.item.result, asked.metric
    if result.failure is not None:
        return _failed(result.failure)
    response = result.response or Response(chunks=())
    if not case.answerable:
        return _did_not_abstain(response)
    if metric == FALSE_ABSTENTION_RATE:
        return _refused(response)
    if metric in METRICS and METRICS[metric].of_answer:
        return "judged by its answer, not by what was retrieved"
    retrieved = ranked(asked.item)
    if not retrieved:
        return "nothing was retrieved"
    missing = unmatched(asked.item) or case.gold_supports
    if not missing:
        return f"{counted(len(retrieved), 'chunk')} returned; no passage is expected"
    searched = asked.after is None or metric == "scope_miss_rate"
    folders = _of_folders(asked, response, missing, retrieved) if searched else None
    return folders or (_absent(asked, missing, retrieved) if asked.after is None else _at_rank(asked, len(retrieved)))


def unmatched(item: LabelledResult) -> tuple[Support, ...]:
    """Give the gold supports that no chunk matches."""
    met = {index for matches in item.labels.matches for index in matches}
    return tuple(support for index, support in enumerate(item.case.gold_supports) if index not in met)


def ranked(item: LabelledResult) -> list[tuple[int, Chunk]]:
    """Give the chunks that hold a rank, all but repeated ones, each with its position in the answer."""
    response, dropped = item.result.response, set(item.labels.duplicates)
    chunks = response.chunks if response else ()
    return [(position, chunk) for position, chunk in enumerate(chunks) if position not in dropped]


def place(support: Support, case: Case) -> str:
    """Name a gold support by vault, note and section, as far as the golden set tells them."""
    if not support.rel_path:
        return f"chunk {support.chunk_id}" if support.chunk_id is not None else f"document {support.doc_id}"
    vaults = vaults_of(support, case)
    path = f"{vaults[0]}/{support.rel_path}" if len(vaults) == 1 else support.rel_path
    return f"{path} › {support.heading_path}" if support.heading_path else path


def of_chunk(chunk: Chunk) -> str:
    """Name a chunk likewise, as far as the API tells them."""
    path = f"{chunk.vault}/{chunk.rel_path}" if chunk.vault else chunk.rel_path or chunk.doc_id or chunk.chunk_id
    return f"{path} › {chunk.heading_path}" if chunk.heading_path else path


def vaults_of(support: Support, case: Case) -> tuple[str, ...]:
    """Give the vaults a support may be in; none stands for all."""
    return (support.vault,) if support.vault else case.vaults


def _failed(failure: Failure) -> str:
    if failure.kind == "aborted":
        return "it was not asked" + (f": {failure.message}" if failure.message != "not asked" else "")
    return f"the call failed: {failure.message}"


def _refused(response: Response) -> str:
    if not response.abstained:
        return "the answer is empty, which counts as abstaining"
    return f"the API abstained{f' ({response.abstain_reason})' if response.abstain_reason else ''}"


def _did_not_abstain(response: Response) -> str:
    """Say what came in place of an abstention. Where no answer was asked for, none was given."""
    parts = []
    if response.answer:
        parts.append("answered instead of abstaining")
    if response.references:
        first = response.references[0]
        path = f"{first.vault}/{first.rel_path}" if first.vault else first.rel_path
        parts.append(f"it cites {f'{path} › {first.heading_path}' if first.heading_path else path}")
    elif response.chunks:
        parts.append(f"the first chunk retrieved is {of_chunk(response.chunks[0])}")
    return "; ".join(parts) or "nothing was retrieved, and it did not say so"


def _at_rank(asked: Asked, returned: int) -> str:
    """Say of a question whose passage is there how it stands; the ranks themselves are shown before this."""
    if asked.before is not None and asked.after is not None and asked.after > asked.before:
        return f"fell among the {returned} chunks returned"
    lacking = unmatched(asked.item)
    if lacking:
        return f"{place(lacking[0], asked.item.case)} is {_not_among(returned)}"
    return f"every expected passage is among the {counted(returned, 'chunk')} returned, the first at rank {asked.after}"


def _of_folders(
    asked: Asked, response: Response, missing: Sequence[Support], retrieved: Sequence[tuple[int, Chunk]]
) -> str | None:
    """Say that no folder with the passages was searched, or is there; None where the answer does not show that."""
    available, selected = response.available_folders or (), response.selected_folders or ()
    if _all_outside(asked, missing, retrieved, available):
        case = asked.item.case
        vaults = vaults_of(missing[0], case)
        folder = missing[0].rel_path.rpartition("/")[0]
        name = f"{vaults[0]}/{folder}" if len(vaults) == 1 else folder or "the top of its vault"
        count = f"the {len(available)} available folders" if len(available) > 1 else f"the one folder, {available[0]}"
        # what a question is limited to may be all that the API tells of
        return f"{name} is not {'in the index, as it is not ' if not case.folders else ''}among {count}"
    if not _all_outside(asked, missing, retrieved, selected):
        return None
    shown = ", ".join(selected[:SHOWN_FOLDERS])
    more = f" and {len(selected) - SHOWN_FOLDERS} more" if len(selected) > SHOWN_FOLDERS else ""
    outcome = "folder selection left it out" if available else "its folder is not among the selected ones"
    return f"{outcome} (selected: {shown}{more})"


def _all_outside(
    asked: Asked, supports: Sequence[Support], retrieved: Sequence[tuple[int, Chunk]], folders: Sequence[str]
) -> bool:
    """Say whether the passages are all in other folders than these, as far as these can be trusted to say it.

    They cannot when a chunk came from elsewhere, or when they are not written as `vault/path`.
    """
    known = {name.partition("/")[0] for name in asked.notes}
    if not folders or (known and not known & {name.partition("/")[0] for name in folders}):
        return False
    chunks = [(chunk.rel_path, (chunk.vault,) if chunk.vault else ()) for _, chunk in retrieved if chunk.rel_path]
    if not all(_inside(*support, folders) for support in chunks):
        return False
    case = asked.item.case
    return all(
        support.rel_path and not _inside(support.rel_path, vaults_of(support, case), folders) for support in supports
    )


def _inside(rel_path: str, vaults: Sequence[str], folders: Sequence[str]) -> bool:
    bare = rel_path.rpartition("/")[0]
    return in_scope(rel_path, vaults, folders) or any(inside_folder(bare, name) for name in folders)


def _absent(asked: Asked, missing: Sequence[Support], retrieved: Sequence[tuple[int, Chunk]]) -> str:
    case = asked.item.case
    for support in missing:
        near = [place for place in _of_path(support, retrieved) if _may_be(support, place[2], case)]
        heading = support.heading_path
        same = [place for place in near if heading is None or covers(heading, place[2].heading_path)]
        if same and support.snippets:
            return _without_snippet(asked, support, missing, same[0])
        if near:
            rank, position, chunk = near[0]
            note = _note(asked, support, missing, chunk)
            return f"{note} is at rank {rank}, but {_elsewhere(asked, position, chunk)}"
    for support in missing:
        for rank, _, chunk in _of_path(support, retrieved):
            wanted = " or ".join(vaults_of(support, case))
            return f"at rank {rank} is the note of the same path in vault {chunk.vault}, not the one in {wanted}"
    return _not_among(len(retrieved))


def _of_path(support: Support, retrieved: Sequence[tuple[int, Chunk]]) -> Iterator[tuple[int, int, Chunk]]:
    """Give rank, position and chunk of all that is of a note of the same path."""
    for rank, (position, chunk) in enumerate(retrieved, 1):
        if support.rel_path and chunk.rel_path == support.rel_path:
            yield rank, position, chunk


def _may_be(support: Support, chunk: Chunk, case: Case) -> bool:
    allowed = vaults_of(support, case)
    return not allowed or chunk.vault is None or chunk.vault in allowed


def _note(asked: Asked, support: Support, missing: Sequence[Support], chunk: Chunk) -> str:
    """Name the note: by its path where another one is shown as expected, by its vault where several have it."""
    several = sorted(name for name in asked.notes if name.partition("/")[2] == support.rel_path)
    name = "the note" if support == missing[0] else f"the note {support.rel_path}"
    if len(several) < 2:
        return name
    if chunk.vault is not None:
        return f"{name} of vault {chunk.vault}"
    vaults = " or ".join(note.partition("/")[0] for note in several)
    return f"{'a note' if name == 'the note' else name} of this path (the API does not tell of which vault: {vaults})"


def _elsewhere(asked: Asked, position: int, chunk: Chunk) -> str:
    if not chunk.heading_path:
        return "without a heading path"
    if position in asked.item.labels.strange_headings:
        return f"under a heading that it does not have ({chunk.heading_path})"
    return "with another section"


def _without_snippet(asked: Asked, support: Support, missing: Sequence[Support], same: tuple[int, int, Chunk]) -> str:
    rank, position, chunk = same
    labels, note = asked.item.labels, _note(asked, support, missing, chunk)
    section = note if support.heading_path is None else "the section" + (f" of {note}" if note != "the note" else "")
    if position in labels.empty:
        lack = "without any text"
    elif position in labels.strange_texts:
        lack = "with a text that does not stand in its note"
    elif labels.truncated and chunk.text_hash is None:
        # cut before it was looked at; a run directory cuts only what has been looked at, and keeps its hash
        lack = "with a cut text, in which the gold snippet cannot be looked for"
    else:
        lack = "without the gold snippet (another piece, or reworded)"
    return f"{section} is at rank {rank}, but {lack}"


def _not_among(count: int) -> str:
    return "not the 1 chunk returned" if count == 1 else f"not among the {count} chunks returned"
