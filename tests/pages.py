"""Pages as tests read them: the tags of a document, the texts in each, and the data for its script."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from raggate.base.jsonio import loads

Attributes = dict[str, str | None]


class Elements(HTMLParser):
    """The tags of a document with their attributes, and the texts within each kind of tag."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, Attributes]] = []
        self.texts: dict[str, list[str]] = {}
        self.within = ""
        self._shown: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.within = tag

    def handle_endtag(self, tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        """Keep a text by the tag it stands in."""
        self.texts.setdefault(self.within, []).append(data)
        if self.within not in {"script", "style", "title"}:
            self._shown.append(data)

    @property
    def visible(self) -> str:
        """The text that a reader sees without script, in one line."""
        return " ".join(" ".join(self._shown).split())


def data_of(document: str, name: str) -> Any:
    """Read the data that a page holds for its script."""
    (written,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', document, re.DOTALL)
    return loads(written)
