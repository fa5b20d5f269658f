"""Engines that raggate knows, and how they tell who they are. What they tell is untrusted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def engine_at(path: str, root: Any) -> str:
    """Return the preset whose engine answers so at a path; an empty text where it is none of them."""
    answer = root if isinstance(root, dict) else {}
    for preset, (key, begin) in SIGNS[path].items():
        if key in answer and (not begin or str(answer[key]).startswith(begin)):
            return preset
    return ""
