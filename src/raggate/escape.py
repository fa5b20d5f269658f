"""Foreign text made harmless: one function for each place it can end up in.

Questions, headings, answers, log lines and error bodies come from pull requests, notes and the API under test.
All of it is hostile until it has gone through the function for its destination.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_JOINER = "&#8288;"  # word joiner: invisible, and it keeps GitHub from seeing a mention or a reference
_SPECIAL = re.compile(
    r"[\\`*\[\]|~<&$@]|#(?=[\w#])|(?<![^\W_])_|_(?![^\W_])|:(?=\S)|\.(?=[^\W\d])|(?<=w)\.|^[-+=!#>]|^\d+(?=[.)])"
)
_COMMAND_MARK = re.compile(r":(?=:)|##(?=\[)")
_REFERENCE = re.compile(r"\b(?:[0-9a-f]{7,40}|gh-\d+)\b", re.IGNORECASE)


def plain(text: str, *, limit: int = 300) -> str:
    """Make foreign text one printable line: for terminals, logs and JSON that people read.

    Control, bidirectional, zero-width and unassigned characters become spaces or vanish, white space collapses, and
    anything beyond `limit` characters is cut with an ellipsis.
    """
    cleaned = "".join(_visible(character) for character in text[: limit * 4])
    line = " ".join(cleaned.split())
    if len(line) > limit:
        return line[: limit - 1].rstrip() + "…"
    return line


def log_line(text: str, *, limit: int = 2000) -> str:
    """Make one line of a foreign log harmless for a CI log: no escape codes, no workflow commands.

    GitHub's runner reads a line that starts with `::` or contains `##[` as a command.
    """
    line = plain(text, limit=limit)
    return _COMMAND_MARK.sub("\\g<0>\u200b", line)


def markdown(text: str, *, limit: int = 300) -> str:
    """Make foreign text inert inside a Markdown paragraph or table cell.

    The result renders as the text itself: no link, mention, image, HTML, emphasis, table break or comment marker.
    """
    line = _REFERENCE.sub(_broken, plain(text, limit=limit))
    return _SPECIAL.sub(_entity, line).replace("\0", _JOINER)


def _broken(match: re.Match[str]) -> str:
    # seven digits in a row would already be taken for a commit
    rest = match[0][2:]
    return "\0".join([match[0][:2], *(rest[start : start + 6] for start in range(0, len(rest), 6))])


def _entity(match: re.Match[str]) -> str:
    entities = "".join(f"&#{ord(character)};" for character in match[0])
    # mentions and references are looked for after rendering, where an entity is a plain character again
    return entities + _JOINER if match[0] in "@#" else entities


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category in _INVISIBLE or category == "Cn" else character
