"""Foreign text made harmless: one function for each place it can end up in.

Questions, headings, answers, log lines and error bodies come from pull requests, notes and the API under test.
All of it is hostile until it has gone through the function for its destination. That is called where text is shown, and
nowhere else: errors, reasons and findings hold foreign values as they came.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from raggate.base.unicode import GONE

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

_BOTH_ENDS = 300
"""Characters from which on a sentence keeps both ends: in fewer, the words of a value would be all that is left."""

_SEEN = 4
"""Times the limit: so much of a text is looked at, as most of it may vanish."""

_IN_SCRIPT = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}

_KEPT = 4096


def plain(text: str, *, limit: int = 300, middle: bool = False) -> str:
    """Make foreign text one printable line: for terminals, logs and JSON that people read.

    Control, bidirectional, zero-width and unassigned characters become spaces or vanish, white space collapses, and
    anything beyond `limit` characters is cut with an ellipsis.

    Args:
        middle: whether it is cut in the middle where there is room for both ends: for a sentence, which begins and ends
            with raggate's own words.
    """
    if middle and limit >= _BOTH_ENDS:
        return _ends(text, limit)
    line = _printable(text[: limit * _SEEN])
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def log_line(text: str, *, limit: int = 2000) -> str:
    """Make a line harmless for a CI log, cut in the middle: no escape codes, no workflow commands.

    GitHub's runner reads a line that starts with `::` or contains `##[` as a command.
    """
    return _COMMAND_MARK.sub("\\g<0>\u200b", plain(text, limit=limit, middle=True))


def markdown(text: str, *, limit: int = 300, middle: bool = False) -> str:
    """Make foreign text inert inside a Markdown paragraph or table cell; `limit` and `middle` are those of `plain`.

    The result renders as the text itself: no link, mention, image, HTML, emphasis, table break or comment marker.
    """
    return _inert(plain(text, limit=limit, middle=middle))


@lru_cache(maxsize=1024)  # a page names the same metrics and notes again and again
def _inert(line: str) -> str:
    live = _LIVE.sub(lambda match: f"{match[0]}\0", line)
    return _SPECIAL.sub(lambda match: _entity(match[0]), _REFERENCE.sub(_broken, live)).replace("\0", _JOINER)


def in_script(document: str) -> str:
    """Write JSON so that it may stand in a `<script type="application/json">`: nothing in it ends or opens an element.

    Every such character can only stand within a string of the document, where an escape of JSON says the same.
    """
    # one after the other: `translate` looks at each character by itself, and nearly none is one of these
    for character, escaped in _IN_SCRIPT.items():
        document = document.replace(character, escaped)
    return document


def _broken(match: re.Match[str]) -> str:
    # seven digits in a row would already be taken for a commit
    rest = match[0][2:]
    return "\0".join([match[0][:2], *(rest[start : start + 6] for start in range(0, len(rest), 6))])


@lru_cache(maxsize=128)  # nearly all are one of two dozen characters
def _entity(text: str) -> str:
    # as GitHub has it for a dollar that is no mathematics: an element of its own, which leaves a copy as it was
    if text == "$":
        return "<span>&#36;</span>"
    return "".join(f"&#{ord(character)};" for character in text)


def _ends(text: str, limit: int) -> str:
    whole = len(text) <= 2 * limit * _SEEN
    first = _printable(text if whole else text[: limit * _SEEN])
    if whole and len(first) <= limit:
        return first
    last = first if whole else _printable(text[-limit * _SEEN :])
    begin, end = limit // 2, (limit - 1) // 2
    return f"{first[:begin].rstrip()}…{last[max(len(last) - end, 0) :].lstrip()}"


def _printable(text: str) -> str:
    # most texts are: then no character has to be looked at by itself
    return " ".join((text if text.isprintable() else text.translate(_VISIBLE)).split())


class _Visible(dict[int, str]):
    """What is shown of each character: looked up once, as a text is made of few."""

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        shown = " " if category in {"Cc", "Zl", "Zp"} else "" if category in GONE else chr(code)
        # a text that is made of all there are does not fill the memory
        return self.setdefault(code, shown) if len(self) < _KEPT else shown


_VISIBLE = _Visible()
