"""Foreign text made harmless: one function for each place it can end up in.

Questions, headings, answers, log lines and error bodies come from pull requests, notes and the API under test.
All of it is hostile until it has gone through the function for its destination.
"""

from __future__ import annotations

import re
import unicodedata

_INVISIBLE = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
_JOINER = "&#8288;"  # word joiner: invisible, and it keeps GitHub from seeing a mention or a reference
# mentions, references, emoji codes, alerts and task boxes are looked for after rendering, where an entity is a plain
# character again; of numbers only two are emoji codes, and a place such as raggate.yml:14: stays whole; the colon that
# ends a code may be one of ours behind the text
_LIVE = re.compile(r"@|#(?=[\w#])|:(?=(?!\d+(?::|$))[\w+-]+(?::|$)|1(?:00|234)(?::|$))|\[(?=!)|^\[(?=[ xX]\])")
# what begins a block does so before a space or alone, so that -0.03, 0.7 and eval_set.jsonl:3 are read as they are
_SPECIAL = re.compile(
    r"[\\`*\[\]|~<&$@]|#(?=[\w#\0])|(?<![^\W_])_|_(?![^\W_])|:(?=[^\s\d])|(?<=[wW]{3})\."
    r"|^[-+=](?=[-+=\s]|$)|^[!#>]|^\d+(?=[.)](?:\s|$))"
)
_COMMAND_MARK = re.compile(r":(?=:)|##(?=\[)")
# what is broken into pieces ends one word and begins another: so a reference counts wherever it stands, and a commit
# between whatever is no ASCII letter, digit or underscore
_REFERENCE = re.compile(r"gh-(?=\d)|(?<!\w)[0-9a-f]{7,40}(?!\w)", re.IGNORECASE | re.ASCII)


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
    line = _LIVE.sub("\\g<0>\0", plain(text, limit=limit))
    return _SPECIAL.sub(_entity, _REFERENCE.sub(_broken, line)).replace("\0", _JOINER)


def _broken(match: re.Match[str]) -> str:
    # seven digits in a row would already be taken for a commit
    rest = match[0][2:]
    return "\0".join([match[0][:2], *(rest[start : start + 6] for start in range(0, len(rest), 6))])


def _entity(match: re.Match[str]) -> str:
    # as GitHub has it for a dollar that is no mathematics: an element of its own, which leaves a copy as it was
    if match[0] == "$":
        return "<span>&#36;</span>"
    return "".join(f"&#{ord(character)};" for character in match[0])


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category in _INVISIBLE or category == "Cn" else character
