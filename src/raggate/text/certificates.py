"""The address of a server -> what its certificate is checked by."""

from __future__ import annotations

import ssl


def checked_by(base_url: str) -> ssl.SSLContext | bool:
    """Give `verify` of an HTTP client: the usual authorities, and for plain HTTP a context that trusts nobody.

    The authorities take 20 to 50 ms to read, longer than a whole boot of a small API, so they are read only where they
    are needed.
    """
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if base_url.startswith("http:") else True
