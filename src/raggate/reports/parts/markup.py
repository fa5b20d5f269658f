"""Pieces of GitHub-flavoured Markdown: tables, folded parts, code blocks, and links that stay in the repository."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from raggate.base.escape import markdown as safe, plain
from raggate.models.publication import Links
from raggate.models.verdict import SourceLine

LONGEST_TARGET = 1500
"""A link to a longer address is left out; its text stays."""

_SENTENCE = 600  # characters of one
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_TARGET = re.compile(r"[A-Za-z0-9:/?#=&%._~+-]+")


def folded(title: str, body: str, *, opened: bool = False) -> str:
    """Fold Markdown under a title, which is Markdown without blocks."""
    return f"<details{' open' if opened else ''}><summary>{title}</summary>\n\n{body}\n\n</details>" if body else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> str:
    """Set cells, already Markdown, as a table; `numbers` names the columns set to the right."""
    lines = [f"| {' | '.join(head)} |", f"|{'|'.join('---:' if name in numbers else '---' for name in head)}|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def code_block(*texts: str) -> str:
    """Set foreign texts as one line each to copy, in a fence that nothing in them can close."""
    # a comment may carry hidden markers, and nothing foreign may look like one; a shell has no use for the joiner
    shown = [plain(text, limit=1000).replace("<!--", "<\u2060!--").replace("##[", "##\u2060[") for text in texts]
    # a log that shows the page would take a line of colons for a command
    lines = "\n".join(f"\u2060{line}" if line.startswith("::") else line for line in shown)
    longest = max((len(run) for run in re.findall(r"`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}sh\n{lines}\n{fence}"


def inert(text: str, *, limit: int = 300, middle: bool = False) -> str:
    """Make foreign text inert, with a dash where nothing is left: an empty list item underlines what is before it."""
    return safe(text, limit=limit, middle=middle) or "–"


def keyed(text: str) -> str:
    """Write a sentence of raggate's own whose commands and keys stand in backticks; what else it holds is inert."""
    parts = text.split("`")
    # without a partner the last one is no mark
    if not len(parts) % 2:
        return inert(text, limit=_SENTENCE)
    return "".join(f"`{part}`" if place % 2 else _kept(part) for place, part in enumerate(parts))


def _kept(part: str) -> str:
    """Make a piece of a sentence inert, with the spaces that part it from the next."""
    stripped = part.strip()
    left, right = (" " if part[:1] == " " else ""), (" " if part[-1:] == " " and stripped else "")
    return f"{left}{safe(stripped, limit=_SENTENCE)}{right}"


def listed(names: Sequence[str], *, most: int = 10, width: int = 120) -> str:
    """List foreign names in one line, and how many more there are."""
    shown = ", ".join(inert(name, limit=width) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def link(text: str, target: str | None, links: Links | None) -> str:
    """Link Markdown to an address of the repository; to any other address, or to none, it stays text."""
    return f"[{text}]({target})" if ours(target, links) else text


def ours(target: str | None, links: Links | None) -> bool:
    """Return whether an address is one of the repository's own, and nothing in it could leave a link."""
    if target is None or links is None or len(target) > LONGEST_TARGET or not _TARGET.fullmatch(target):
        return False
    beginning = f"{links.server}/{links.repository}/"
    return target.startswith(beginning) and not {".", ".."} & set(re.split(r"[/?#]", target[len(beginning) :]))


def source_address(links: Links | None, place: SourceLine | None) -> str | None:
    """Return the address of a line of a note at the commit it was read from, None where either is not known."""
    if links is None or place is None or links.commit is None or not _COMMIT.fullmatch(links.commit):
        return None
    path = f"{links.prefix}{place.path}"
    segments = path.split("/")
    if any(segment in {"", ".", ".."} for segment in segments):
        return None
    quoted = "/".join(quote(segment, safe="", errors="replace") for segment in segments)
    # shown as it is written: a Markdown file that is shown rendered has no anchors for lines
    return f"{links.server}/{links.repository}/blob/{links.commit}/{quoted}?plain=1#L{place.line}"


def is_commit(name: str) -> bool:
    """Return whether a text is the name of a commit: hexadecimal digits, and nothing that could leave a link."""
    return _COMMIT.fullmatch(name) is not None


def commit_address(links: Links | None, commit: str) -> str | None:
    """Return the address of a commit's page; None without a forge."""
    address = f"{links.server}/{links.repository}/commit/{commit}" if links is not None else None
    return address if ours(address, links) else None


def commit_link(links: Links | None, commit: str) -> str:
    """Write a commit by its first seven digits, linked to its page."""
    if not is_commit(commit):
        return safe(commit, limit=12)
    return link(f"`{commit[:7]}`", commit_address(links, commit), links)
