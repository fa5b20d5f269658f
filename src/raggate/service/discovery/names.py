"""How APIs usually call what raggate asks and reads, likeliest first; compared without case, `_`, `-` and `@`."""

from __future__ import annotations

import re
from collections.abc import Iterable

QUESTION = (
    *("question", "query", "q", "querytext", "searchquery", "text", "prompt", "input", "message", "searchtext"),
    *("search", "term", "keywords"),
)
COUNT = (
    *("k", "topk", "limit", "topn", "nresults", "numresults", "maxresults", "maxnumresults", "maxchunks"),
    *("size", "top", "pagesize", "perpage", "n", "count", "hits", "rows"),
)
LISTS = (
    *("chunks", "hits", "results", "matches", "documents", "docs", "passages", "sources", "contexts", "points"),
    *("nodes", "items", "children", "citations", "references", "data", "output"),
)
FIELDS = {
    "rel_path": (
        *("relpath", "relativepath", "filepath", "path", "file", "notepath", "docpath", "documentpath", "source"),
        *("filename", "document", "note", "permalink", "uri", "url"),
    ),
    "heading_path": (
        *("headingpath", "headings", "sectionpath", "headingtrail", "breadcrumbs", "breadcrumb", "heading"),
        *("section", "headers", "header"),
    ),
    "text": (
        *("text", "content", "pagecontent", "chunktext", "body", "chunk", "passage", "matchedchunk", "snippet"),
        *("entry", "excerpt", "document"),
    ),
    "score": ("score", "scorefinal", "finalscore", "rerankscore", "relevance", "relevancescore", "similarity"),
    "id": ("chunkid", "id", "uuid", "pointid", "nodeid"),
}
"""Parts of a chunk -> their usual names."""
ANSWERS = ("answer", "response", "reply", "completion", "generatedanswer", "output")
SURELY_A_QUESTION = frozenset(QUESTION[:5])
"""Names of a question that nothing else has, so that whatever takes one can be asked."""
ENDPOINTS = ("search", "retriev", "query", "ask", "question", "find", "lookup", "rag", "answer", "chat")
HEALTH = ("health", "healthz", "ready", "readyz", "readiness", "live", "livez", "status", "ping", "heartbeat")

WRITES = frozenset(
    (
        *("add", "append", "clear", "create", "delete", "destroy", "drop", "edit", "erase", "import", "ingest"),
        *("insert", "modify", "patch", "purge", "remove", "rename", "replace", "reset", "save", "send", "submit"),
        *("truncate", "update", "upload", "upsert", "wipe", "write"),
    )
)
"""Words by which an endpoint or a tool says that it writes."""

_MARKS = re.compile(r"[_\-@\s]")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_LONG = 5  # letters of a name that no other word has in it by chance


def plain_name(name: str) -> str:
    """Write a name as the tables do."""
    return _MARKS.sub("", name[:100]).lower()


def words_in(name: str) -> list[str]:
    """Return the words of a name such as `searchNotes` or `search_notes`, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def unlikely(name: str) -> int:
    """Return how unlikely it is that something of this name or path takes a question: its place among `ENDPOINTS`.

    It is the number of these where no word says so: `tasks` does not ask.
    """
    words = words_in(name)
    return next(
        (
            place
            for place, usual in enumerate(ENDPOINTS)
            if any(usual in word if len(usual) >= _LONG else word.startswith(usual) for word in words)
        ),
        len(ENDPOINTS),
    )


def rank(name: str, usual: tuple[str, ...]) -> int | None:
    """Return the place of a name among the usual ones; None when it is none of them."""
    plain = plain_name(name)
    return usual.index(plain) if plain in usual else None


def best(candidates: Iterable[str], usual: tuple[str, ...]) -> str | None:
    """Return the candidate that is the likeliest, if any is."""
    ranked = [(place, name) for name in candidates if (place := rank(name, usual)) is not None]
    return min(ranked)[1] if ranked else None
