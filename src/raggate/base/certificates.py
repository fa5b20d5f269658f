"""The address of a server -> what its certificate is checked by. There is no way to check none."""

from __future__ import annotations

import os
import ssl

from raggate.base.errors import UsageError
from raggate.base.quote import cut

FILE, DIRECTORY = "SSL_CERT_FILE", "SSL_CERT_DIR"
"""The variables that name who is trusted in place of the usual authorities, as for other programs."""

TRUST = f"Name a file with the certificate of its authority in {FILE}."
"""What to do about a server that nobody vouches for who is trusted."""


def authorities() -> ssl.SSLContext:
    """Return who vouches for a server: the usual authorities, or those that the environment names.

    They take 20 to 50 ms to read.
    """
    from raggate.base.http_client import httpx

    # the client reads the variables itself; here they are only named
    file = os.environ.get(FILE, "")
    name = f"{cut(file, limit=200)} ({FILE})" if file else "the usual authorities"
    try:
        context = httpx.create_ssl_context()
    except OSError as error:
        raise _unreadable(name, cut(error, limit=200)) from None
    if file and not context.cert_store_stats()["x509"]:
        # by a revocation list alone nobody would be trusted
        raise _unreadable(name, "it contains a revocation list, not a certificate")
    return context


def checked_by(base_url: str) -> ssl.SSLContext:
    """Return `verify` of an HTTP client: see `authorities`; for plain HTTP a context that trusts nobody.

    The authorities take longer to read than a whole boot of a small API, so they are read only where they are needed.
    """
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if base_url.startswith("http:") else authorities()


def distrusted(error: BaseException | None) -> bool:
    """Return whether a connection came to nothing by the certificate of the server."""
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        # clients of HTTP wrap it
        error = error.__cause__ or error.__context__
    return error is not None


def _unreadable(name: str, why: str) -> UsageError:
    return UsageError(
        f"the certificates of {name} cannot be read: {why}",
        hint="Name a PEM file, which begins with `-----BEGIN CERTIFICATE-----`.",
    )
