"""One HTTP call to a judge's server, before it is sent."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from raggate.text.guarded import Guarded
from raggate.text.jsonio import JsonObject


class HttpCall(Guarded, Struct, frozen=True, kw_only=True):
    """A POST of JSON. `headers` are those of the provider, the key among them; they are never shown."""

    url: str
    json: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict)


def endpoint_url(base_url: str, version: str, path: str) -> str:
    """Return the address of an endpoint, whether or not the version is a part of the base.

    Args:
        base_url: such as `http://127.0.0.1:8081` or `https://api.openai.com/v1`.
        version: what stands before the path where the base has no path of its own, such as `v1`.
        path: such as `chat/completions`.
    """
    scheme, _, rest = base_url.rstrip("/").partition("://")
    has_path = "/" in rest
    return f"{scheme}://{rest}/{path}" if has_path else f"{scheme}://{rest}/{version}/{path}"
