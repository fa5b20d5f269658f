"""What an answer cites: references and text in, the gold supports they name out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from raggate.models.golden import Case, Support
from raggate.models.run import LabelledResult, Reference, Response
from raggate.text.anchors import Same, covers, is_end_of
from raggate.text.titles import rule

MAX_PATH = 400
MAX_SECTION = 600
_CLOSING = {"[": "]", "(": ")"}
# every repetition is bounded, so that no answer takes more than linear time
_THEN = r",\s{0,4}section:[ \t]{0,4}"
_CITATION = re.compile(
    rf"(?P<open>[\[(]?)['\"]?(?<!\w)file:\s{{0,4}}(?P<file>[^\n]{{1,{MAX_PATH}}}?){_THEN}"
    rf"|(?P<bare>[\[(])(?P<path>[^\n\[]{{1,{MAX_PATH}}}?\.md){_THEN}",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\[(\d{1,3}(?:, ?\d{1,3}){0,20})\]", re.ASCII)
_QUOTES = " \t'\"`*"


class Citation(NamedTuple):
    """One place that a text cites, as it writes it: often without directories, and the last heading alone."""

    rel_path: str
    heading_path: str


def parse(answer: str) -> Iterator[Citation]:
    """Read `File: path, Section: heading` from an answer, in brackets, parentheses, quotes or none.

    A path may hold commas and a section brackets. In brackets `File:` may be missing before a path that ends in
    `.md`. A section ends at the bracket that closes the citation, else at the end of its line.
    """
    for match in _CITATION.finditer(answer):
        path = (match["file"] or match["path"]).strip(_QUOTES)
        section = answer[match.end() : match.end() + MAX_SECTION].partition("\n")[0]
        section = _until_closed(section, match["open"] or match["bare"] or "")
        yield Citation(path, section.strip(_QUOTES).rstrip(".").rstrip(_QUOTES))


def has_citation(response: Response) -> bool:
    """Say whether an answer's text cites anything: a place, or `[n]` with n among the references."""
    answer = response.answer or ""
    if next(parse(answer), None) is not None:
        return True
    numbers = (int(number) for match in _MARKER.finditer(answer) for number in match[1].split(","))
    return any(1 <= number <= len(response.references) for number in numbers)


def cited_supports(item: LabelledResult) -> frozenset[int]:
    """Give the indices of the gold supports that the references or the text of the answer name."""
    response = item.result.response
    if response is None or response.abstained:
        return frozenset()
    cited = tuple(parse(response.answer or ""))
    same = rule(as_read=item.labels.as_read)
    return frozenset(
        index
        for index, support in enumerate(item.case.gold_supports)
        if any(_is_of(reference, support, item.case, same) for reference in response.references)
        or any(_names(citation, support, same) for citation in cited)
    )


def _is_of(reference: Reference, support: Support, case: Case, same: Same) -> bool:
    """Say whether a reference of the API is of a support, as a retrieved chunk is: the note, and the section."""
    if not support.rel_path or reference.rel_path != support.rel_path:
        return False
    allowed = (support.vault,) if support.vault else case.vaults
    # an API that does not tell the vault gets the benefit of the doubt
    if reference.vault and allowed and reference.vault not in allowed:
        return False
    return support.heading_path is None or covers(support.heading_path, reference.heading_path, same)


def _names(citation: Citation, support: Support, same: Same) -> bool:
    """Say whether a text names a support: its note, and its section, one inside it, or the end of its path."""
    # a text may leave out the directories
    if not support.rel_path or not f"/{support.rel_path}".endswith(f"/{citation.rel_path}"):
        return False
    if support.heading_path is None or covers(support.heading_path, citation.heading_path, same):
        return True
    return is_end_of(support.heading_path, citation.heading_path, same)


def _until_closed(section: str, opening: str) -> str:
    """Cut a section at the bracket that closes its citation; brackets inside it are its own."""
    if not opening:
        return section
    depth = 1
    for position, character in enumerate(section):
        depth += (character == opening) - (character == _CLOSING[opening])
        if depth == 0:
            return section[:position]
    return section
