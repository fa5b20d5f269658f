"""What an API answers at a path that one engine alone has -> the preset of that engine. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from raggate.service.discovery.json_schemas import mapping

SIGNS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "/": {
        "elasticsearch": ("tagline", "You Know, for Search"),
        "opensearch": ("tagline", "The OpenSearch Project"),
        "qdrant": ("title", "qdrant"),
    },
    "/v1/meta": {"weaviate": ("modules", "")},
    "/solr/admin/info/system": {"solr": ("solr_home", "")},
}
"""Path -> the presets that its answer can tell, each by a key and what its text begins with.

Chroma is none of them: its preset is for a service in front of it.
"""


def engine_at(path: str, root: Any) -> str:
    """Return the preset whose engine answers so at a path; an empty text where it is none of them."""
    answer = mapping(root)
    for preset, (key, begin) in SIGNS[path].items():
        if key in answer and (not begin or str(answer[key]).startswith(begin)):
            return preset
    return ""
