"""The places that the text of an answer cites: `File: path, Section: heading`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
