"""The sections of Markdown notes, and a small BM25 for libraries that only cut texts or stem words."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

Hit = dict[str, Any]
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_WORD = re.compile(r"\w+")


def notes_in(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield path and text of every note."""
    for path in sorted(folder.rglob("*.md")):
        yield str(path), path.read_text(encoding="utf-8")


def sections(folder: Path) -> list[Hit]:
    """Cut every note at its headings."""
    return [section for path, text in notes_in(folder) for section in _sections_of(path, text)]


def _sections_of(path: str, text: str) -> Iterator[Hit]:
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    fenced = False
    for line in [*text.split("\n"), "# "]:
        fenced ^= line.startswith("```")
        found = None if fenced else _HEADING.fullmatch(line)
        if found or line == "# ":
            if "".join(lines).strip():
                yield {"path": path, "headings": [title for _, title in above], "text": "\n".join(lines).strip()}
            lines = []
        if found:
            level = len(found[1])
            above = [*(own for own in above if own[0] < level), (level, found[2])]
        lines.append(line)


def words_of(text: str) -> list[str]:
    """Return the words of a text, in small letters."""
    return _WORD.findall(text.lower())


def ranking(hits: list[Hit], words: Callable[[str], list[str]] = words_of) -> Callable[[str, int], list[Hit]]:
    """Return a search by BM25 over these texts."""
    counts = [Counter(words(f"{' '.join(hit.get('headings', ()))} {hit['text']}")) for hit in hits]
    lengths = [sum(count.values()) for count in counts]
    mean = sum(lengths) / len(lengths)
    holders: dict[str, list[int]] = {}
    for place, count in enumerate(counts):
        for word in count:
            holders.setdefault(word, []).append(place)

    def search(question: str, k: int) -> list[Hit]:
        scores: dict[int, float] = defaultdict(float)
        for word in words(question):
            own = holders.get(word, ())
            rarity = math.log(1 + (len(hits) - len(own) + 0.5) / (len(own) + 0.5))
            for place in own:
                times = counts[place][word]
                scores[place] += rarity * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * lengths[place] / mean))
        best = sorted(scores, key=lambda place: (-scores[place], place))[:k]
        return [{**hits[place], "score": scores[place]} for place in best]

    return search


def hashed(text: str, size: int = 512) -> list[float]:
    """Return a vector of a text without a model: its words of four letters and more, hashed."""
    vector = [0.0] * size
    for word, times in Counter(words_of(text)).items():
        if len(word) > 3:
            vector[crc32(word.rstrip("s").encode()) % size] += len(word) * (1 + math.log(times))
    length = math.sqrt(sum(value * value for value in vector)) or 1.0
    return [value / length for value in vector]
