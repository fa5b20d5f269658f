"""What an answer cites: references and text in, the gold supports they name out."""

from __future__ import annotations

import re

from raggate.base.headings import Citation, covers, is_end_of, parse
from raggate.models.golden import Case, Support
from raggate.models.run import LabelledResult, Reference, Response

_MARKER = re.compile(r"\[(\d{1,3}(?:, ?\d{1,3}){0,20})\]", re.ASCII)


def has_citation(response: Response) -> bool:
    """Return whether an answer's text cites anything: a place, or `[n]` with n among the references."""
    answer = response.answer or ""
    if next(parse(answer), None) is not None:
        return True
    numbers = (int(number) for match in _MARKER.finditer(answer) for number in match[1].split(","))
    return any(1 <= number <= len(response.references) for number in numbers)


def cited_supports(item: LabelledResult) -> frozenset[int]:
    """Return the indices of the gold supports that the references or the text of the answer name."""
    response = item.result.response
    if response is None or response.abstained:
        return frozenset()
    places: tuple[Reference | Citation, ...] = (*response.references, *parse(response.answer or ""))
    return frozenset(
        index
        for index, support in enumerate(item.case.gold_supports)
        if any(_cites(place, support, item.case) for place in places)
    )


def _cites(place: Reference | Citation, support: Support, case: Case) -> bool:
    return _is_of(place, support, case) if isinstance(place, Reference) else _names(place, support)


def _is_of(reference: Reference, support: Support, case: Case) -> bool:
    """Return whether a reference of the API is of a support, as a retrieved chunk is: the note, and the section."""
    if not support.rel_path or reference.rel_path != support.rel_path:
        return False
    if not case.may_be_in(reference.vault or None, support):
        return False
    return support.heading_path is None or covers(support.heading_path, reference.heading_path)


def _names(citation: Citation, support: Support) -> bool:
    """Return whether a text names a support: its note, and its section, one inside it, or the end of its path."""
    # a text may leave out the directories
    if not support.rel_path or not f"/{support.rel_path}".endswith(f"/{citation.rel_path}"):
        return False
    if support.heading_path is None or covers(support.heading_path, citation.heading_path):
        return True
    return is_end_of(support.heading_path, citation.heading_path)
