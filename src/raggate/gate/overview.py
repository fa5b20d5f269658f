"""What all answers of a run show together, in one pass. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from raggate.gate.causes.folder_causes import beyond, no_limit, told
from raggate.gate.causes.passages import Holders, first_ranks, vaults_named
from raggate.models.comparison import FolderKind
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import CaseScore


class Overview(Struct, frozen=True, kw_only=True):
    """What is gathered of a run.

    Attributes:
        retrieved: path -> headings that came back under it, in answers of probes too.
        least: mode -> the lowest final score of any chunk that came back, however far down a list.
        beyond: mode -> the kinds of folders that are no limit to what comes back; see `folder_causes`.
        filled: the modes in which any chunk came back.
        labelled: mode -> questions with gold supports.
        by_heading: mode -> those of them whose supports all name a heading.
        has_heading: mode -> whether any chunk has one; modes in which no chunk came back are left out.
        gone: the notes with passages in the baseline's lists that no answer has anything of now.
    """

    retrieved: Mapping[str, set[str]]
    least: Mapping[str, float]
    beyond: Mapping[str, set[FolderKind]]
    filled: Collection[str]
    labelled: Counter[str]
    by_heading: Counter[str]
    has_heading: Mapping[str, bool]
    gone: Holders


def overview_of(run: Run, before: Mapping[tuple[str, str], CaseScore]) -> Overview:
    """Go through the answers of a run, and of its probes; `before` are the scores of the baseline, by mode and id."""
    retrieved: dict[str, set[str]] = {}
    for result in (*(item.result for item in run.answers), *(answer.result for answer in run.probes.answers)):
        for chunk in result.chunks:
            retrieved.setdefault(chunk.rel_path, set()).add(chunk.heading_path)
    outside: dict[str, tuple[Counter[FolderKind], Counter[FolderKind]]] = {}
    for item in run.answers:
        left, having = outside.setdefault(item.result.mode, (Counter(), Counter()))
        if item.result.response is not None:
            for kind in beyond(item.result.response):
                left[kind] += 1
            for kind in told(item.result.response):
                having[kind] += 1
    labelled, by_heading = Counter[str](), Counter[str]()
    least: dict[str, float] = {}
    has_heading: dict[str, bool] = {}
    listed: set[tuple[str, str | None]] = set()
    for item in run.results:
        mode, supports = item.result.mode, item.case.gold_supports
        if supports:
            labelled[mode] += 1
            by_heading[mode] += all(support.heading_path is not None for support in supports)
        for chunk in item.result.chunks:
            has_heading[mode] = has_heading.get(mode, False) or bool(chunk.heading_path.strip())
            if chunk.score_final is not None:
                least[mode] = min(least.get(mode, chunk.score_final), chunk.score_final)
        listed.update(_listed(item, before.get((mode, item.case.id))))
    return Overview(
        retrieved=retrieved,
        least=least,
        beyond={mode: no_limit(*counts) for mode, counts in outside.items()},
        filled={item.result.mode for item in run.answers if item.result.chunks},
        labelled=labelled,
        by_heading=by_heading,
        has_heading=has_heading,
        gone=vaults_named(place for place in listed if place[0] not in retrieved),
    )


def _listed(item: LabelledResult, old: CaseScore | None) -> Iterator[tuple[str, str | None]]:
    """Yield the notes, with their vaults as far as told, of the passages that the baseline's list holds."""
    case = item.case
    if item.result.response is None or old is None or old.hash != case.hash:
        return
    for index in first_ranks(old.entries):
        if index < len(case.gold_supports) and (support := case.gold_supports[index]).rel_path:
            vaults = case.vaults_of(support)
            yield support.rel_path, vaults[0] if len(vaults) == 1 else None
