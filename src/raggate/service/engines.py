"""Engines that raggate knows: how they tell who they are, and which indexes they have. What they tell is untrusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from raggate.base.field_paths import Entry, find, find_all, parse
from raggate.base.quote import enumerated, nearest, quoted

SIGNS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "/": {
        "elasticsearch": ("tagline", "You Know, for Search"),
        "opensearch": ("tagline", "The OpenSearch Project"),
        "qdrant": ("title", "qdrant"),
    },
    "/v1/meta": {"weaviate": ("modules", "")},
    "/solr/admin/info/system": {"solr": ("solr_home", "")},
    "/api/v2/heartbeat": {"chroma": ("nanosecond heartbeat", "")},
}
"""Path -> the presets that its answer can tell, each by a key and what its text begins with."""
NO_WORDS = (
    "This is Chroma itself. Put a service in front of it that embeds the question: "
    "the preset `chroma` is for that service. Or gate the function that asks Chroma: "
    "`raggate init --python rag.retriever:build`."
)
"""The hint at Chroma, which cannot be asked a question."""
_SHOWN = 10
_MOST = 1000
_LENGTH = 60


class _Listing(Struct, frozen=True):
    """How an engine lists its indexes: what it calls one, whose request names it, where they are, and their names."""

    what: str
    request: str
    path: str
    names: str


_LISTINGS = (
    _Listing("index", r"/([^/_?][^/?]*)/_(?:count|search)\b", "/_cat/indices?format=json&h=index", "[*].index"),
    _Listing("core", r"/solr/([^/?]+)/", "/solr/admin/cores?indexInfo=false&wt=json", "status"),
    _Listing("collection", r"/collections/([^/?]+)", "/collections", "result.collections[*].name"),
    _Listing("collection", r"/v1/graphql()$", "/v1/schema", "classes[*].class"),
    _Listing("vector store", r"/v1/vector_stores/([^/?]+)", "/v1/vector_stores", "data[*].id"),
    _Listing("project", r"/v2/projects/([^/?]+)", "/v2/projects/", "projects[*].external_id"),
)


def engine_at(path: str, root: Any) -> str:
    """Return the preset whose engine answers so at a path; an empty text where it is none of them."""
    answer = root if isinstance(root, dict) else {}
    for preset, (key, begin) in SIGNS[path].items():
        if key in answer and (not begin or str(answer[key]).startswith(begin)):
            return preset
    return ""


def indexes_beside(path: str, get: Callable[[str], Any]) -> str:
    """Return a sentence on the indexes that an engine has, by the path of a request that it refused; empty if unknown.

    `get` asks a path and returns the parsed answer; None for no answer.
    """
    for listing in _LISTINGS:
        if (match := re.match(listing.request, path)) is not None:
            names = _names(get(listing.path), listing.names)
            return "" if names is None else _beside(unquote(match[1]), names, listing.what)
    return ""


def _beside(wanted: str, names: list[str], one: str) -> str:
    if wanted in names:
        return ""
    if not names:
        return f"it has no {one} at all"
    like = nearest(wanted, names)
    shown = sorted(names, key=lambda name: (name != like, name))[:_SHOWN]
    more = len(names) - len(shown)
    texts = [*(quoted(name, limit=_LENGTH) for name in shown), *([f"{more} more"] if more else [])]
    missing = f"it has no {one} {quoted(wanted, limit=_LENGTH)}; " if wanted else ""
    several = "indexes" if one == "index" else f"{one}s"
    return f"{missing}its {one if len(names) == 1 else several}: {enumerated(texts)}"


def _names(root: Any, written: str) -> list[str] | None:
    """Return the names in an answer, those of internal indexes left out; None if it is none."""
    path = parse(written)
    try:
        values = find_all(path, root, limit=_MOST) if path.many else find(path, root)
    except ValueError:
        return None
    if not isinstance(values, list | dict):
        return None
    names = [entry.value if isinstance(entry, Entry) else entry for entry in islice(values, _MOST)]
    return [name for name in names if isinstance(name, str) and name and not name.startswith(".")]
