"""Sections, each with variants from full to shortest, and a limit -> the page that fits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

SUMMARY_BYTES = 1 << 20
"""The runner drops the summary of a step that is larger."""

COMMENT_UNITS = 65_536
"""GitHub refuses a comment of more UTF-16 units."""

COMMENT_LIMIT = 62_000
"""What a comment may take: the rest is for marker lines, and for what GitHub may count otherwise."""

SMALLEST_LIMIT = 32_768
"""From here on every page fits with its verdict, its invariants, its first regressions and how to reproduce them."""

KEPT = 0
"""Rank of a section that always keeps its shortest variant."""

_GAP = "\n\n"


class Section(Struct, frozen=True, kw_only=True):
    """One part of a page.

    Attributes:
        name: what the line at the end calls it when it was shortened.
        rank: 0 (`KEPT`) is never shed; of the others the highest is shortened first.
        variants: whole blocks of Markdown from full to shortest. After the last one a section that is not kept is
            left out.
    """

    name: str
    rank: int
    variants: tuple[str, ...]

    @property
    def steps(self) -> tuple[str, ...]:
        """The variants in the order they are tried; the empty one leaves the section out."""
        shown = tuple(variant for variant in self.variants if variant)
        return shown if self.rank == KEPT else (*shown, "")


def fit(sections: Sequence[Section], limit: int, size: Callable[[str], int], *, elsewhere: str = "") -> str:
    """Join sections to a page of at most `limit`, shortening what matters least first.

    Args:
        sections: in reading order.
        limit: what the page may measure; below `SMALLEST_LIMIT` the kept sections alone may be larger.
        size: `utf16_units` or `utf8_bytes`.
        elsewhere: Markdown that says where the full report is, as in `the full report is …`; empty when there is none.
    """
    steps = [section.steps for section in sections if section.steps and section.steps[0]]
    present = [section for section in sections if section.steps and section.steps[0]]
    sizes = [[size(variant) for variant in variants] for variants in steps]
    chosen = [0] * len(steps)
    last = size(_GAP + _shortened([section.name for section in present], elsewhere) + "\n")
    total = sum(_taken(each[0]) for each in sizes)
    # the least important first, and of equals the one that stands last
    order = sorted(range(len(steps)), key=lambda place: (-present[place].rank, -place))
    room = limit - last if total > limit else limit
    while total > room:
        place = next((place for place in order if chosen[place] + 1 < len(steps[place])), None)
        if place is None:
            break
        before = sizes[place][chosen[place]]
        chosen[place] += 1
        total += _taken(sizes[place][chosen[place]]) - _taken(before)
    parts = [variants[choice] for variants, choice in zip(steps, chosen, strict=True)]
    shortened = [section.name for section, choice in zip(present, chosen, strict=True) if choice]
    if shortened:
        parts.append(_shortened(shortened, elsewhere))
    return _GAP.join(part for part in parts if part) + "\n"


def utf16_units(text: str) -> int:
    """Measure as GitHub measures a comment: characters beyond the basic plane count twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Measure as the runner measures a summary."""
    return len(text.encode("utf-8", "replace"))


def _taken(size: int) -> int:
    """Return what a part takes with the gap after it, which for the last one is the final newline."""
    return size + len(_GAP) if size else 0


def _shortened(names: Sequence[str], elsewhere: str) -> str:
    where = f" The full report is {elsewhere}." if elsewhere else ""
    return f"<sub>Shortened to fit: {', '.join(dict.fromkeys(names))}.{where}</sub>"
