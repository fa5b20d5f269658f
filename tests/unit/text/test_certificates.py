"""What a server's certificate is checked by, for its address."""

from __future__ import annotations

import ssl

import pytest

from raggate.text.certificates import checked_by


@pytest.mark.parametrize("address", ["https://api.example", "HTTPS://api.example"])
def test_a_certificate_is_checked_by_the_usual_authorities(address: str) -> None:
    """However HTTPS is spelled, the client's own authorities count."""
    assert checked_by(address) is True


def test_plain_http_trusts_nobody() -> None:
    """For plain HTTP no authority is read; were there a certificate after all, nobody would vouch for it."""
    context = checked_by("http://127.0.0.1:1")
    assert isinstance(context, ssl.SSLContext)
    assert context.cert_store_stats()["x509"] == 0
    assert context.verify_mode == ssl.CERT_REQUIRED
