"""Labels by headings where the API tells none: those questions can never match, whatever comes back. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.gate.overview import Overview
from raggate.models.comparison import Comparison, UntoldHeadings
from raggate.models.verdict import Reason
from raggate.text.numbers import counted
from raggate.text.quote import cut


def untold_headings(overview: Overview) -> Iterator[UntoldHeadings]:
    """Yield the modes in which no chunk has a heading, with the questions that are labelled by headings alone."""
    for mode, any_heading in overview.has_heading.items():
        if not any_heading and overview.by_heading[mode]:
            yield UntoldHeadings(mode=mode, questions=overview.by_heading[mode], of=overview.labelled[mode])


def warnings(comparison: Comparison) -> Iterator[Reason]:
    """Say of how many questions nothing can match; where nothing matches at all, that is told with its cause."""
    silent = {reach.mode for reach in comparison.reach if not reach.matches}
    several = comparison.scorecard.several_modes
    for untold in comparison.untold_headings:
        if untold.mode not in silent:
            where = f" in mode {cut(untold.mode, limit=60)}" if several else ""
            message = (
                f"the API returns no heading_path{where}, so {untold.questions} of {counted(untold.of, 'question')} "
                "can never match, as their labels name headings: let it return the headings above each chunk, or "
                "leave heading_path out of the golden set, and whole notes count"
            )
            yield Reason("untold-headings", message, mode=untold.mode)
