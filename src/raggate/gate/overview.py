"""What all answers of a run show together, in one pass. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Self

from raggate.gate.causes.folder_causes import KINDS, beyond
from raggate.gate.causes.passages import Holders, first_ranks, vaults_named
from raggate.models.comparison import FolderKind
from raggate.models.golden import Case, Support
from raggate.models.run import LabelledResult, Result, Run
from raggate.models.scorecard import CaseScore

Before = Mapping[tuple[str, str], CaseScore]
"""The scores of a baseline by mode and case id."""


class Overview:
    """What is gathered of a run.

    Attributes:
        retrieved: path -> headings that came back under it, in answers of probes too.
        least: mode -> the lowest final score of any chunk that came back, however far down a list.
        beyond: mode -> the kinds of folders that chunks came from outside of; see `folder_causes`.
        filled: the modes in which any chunk came back.
        labelled: mode -> questions with gold supports.
        by_heading: mode -> those of them whose supports all name a heading.
        has_heading: mode -> whether any chunk has one; modes in which no chunk came back are left out.
    """

    def __init__(self, before: Before) -> None:
        self.retrieved: dict[str, set[str]] = {}
        self.least: dict[str, float] = {}
        self.beyond: dict[str, set[FolderKind]] = {}
        self.filled: set[str] = set()
        self.labelled: Counter[str] = Counter()
        self.by_heading: Counter[str] = Counter()
        self.has_heading: dict[str, bool] = {}
        self._before = before
        self._listed: set[tuple[str, str | None]] = set()

    @classmethod
    def of(cls, run: Run, before: Before | None = None) -> Self:
        """Go through the answers of a run, and of its probes."""
        overview = cls(before or {})
        for item in run.results:
            overview._add(item.result, item)
            overview._add_first(item)
        for item in run.repeats:
            overview._add(item.result, item)
        for answer in run.probes.answers:
            overview._retrieve(answer.result)
        return overview

    @property
    def gone(self) -> Holders:
        """The notes of passages that the baseline's lists hold, and of which nothing came back in any answer."""
        return vaults_named(place for place in self._listed if place[0] not in self.retrieved)

    def _add(self, result: Result, item: LabelledResult) -> None:
        self._retrieve(result)
        outside = self.beyond.setdefault(result.mode, set())
        if result.response is not None and len(outside) < len(KINDS):
            outside.update(beyond(result.response))
        if result.chunks:
            self.filled.add(result.mode)

    def _retrieve(self, result: Result) -> None:
        for chunk in result.chunks:
            self.retrieved.setdefault(chunk.rel_path, set()).add(chunk.heading_path)

    def _add_first(self, item: LabelledResult) -> None:
        mode, case, response = item.result.mode, item.case, item.result.response
        if case.gold_supports:
            self.labelled[mode] += 1
            self.by_heading[mode] += all(support.heading_path is not None for support in case.gold_supports)
        if response is None:
            return
        for chunk in response.chunks:
            self.has_heading[mode] = self.has_heading.get(mode, False) or bool(chunk.heading_path.strip())
        scores = [chunk.score_final for chunk in response.chunks if chunk.score_final is not None]
        if scores:
            self.least[mode] = min([self.least.get(mode, scores[0]), *scores])
        old = self._before.get((mode, case.id))
        if old is not None and old.hash == case.hash:
            places = [index for index in first_ranks(old.entries) if index < len(case.gold_supports)]
            supports = [case.gold_supports[index] for index in places]
            self._listed |= {(support.rel_path, _vault_of(support, case)) for support in supports if support.rel_path}


def _vault_of(support: Support, case: Case) -> str | None:
    vaults = case.vaults_of(support)
    return vaults[0] if len(vaults) == 1 else None
