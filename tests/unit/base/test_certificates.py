"""What a server's certificate is checked by: the usual authorities, and a company's own where that is given."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from raggate.base import certificates
from raggate.base.certificates import checked_by
from raggate.base.errors import UsageError
from tables import each_row

OWN = Path(__file__).parents[2] / "data" / "loopback.pem"


@pytest.fixture(autouse=True)
def nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name no certificates."""
    for name in (certificates.FILE, certificates.DIRECTORY):
        monkeypatch.delenv(name, raising=False)


def trusts(context: ssl.SSLContext) -> tuple[bool, bool]:
    """Return whether a context trusts the certificate of the tests, and whether it trusts many others."""
    names = [dict(part[0] for part in one["subject"]).get("commonName") for one in context.get_ca_certs()]  # type: ignore[misc]
    return "loopback" in names, len(names) > 50


@each_row("address", ["https://api.example", "HTTPS://api.example"])
def test_a_certificate_is_checked_by_the_usual_authorities(address: str) -> None:
    """However HTTPS is spelled, the client's own authorities count, and the name is checked."""
    context = checked_by(address)
    assert trusts(context) == (False, True)
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_own_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    """`SSL_CERT_FILE` stands in place of the usual authorities, as elsewhere."""
    monkeypatch.setenv("SSL_CERT_FILE", str(OWN))
    assert trusts(checked_by("https://api.example")) == (True, False)


@pytest.mark.parametrize("file", ["/nowhere/ca.pem", __file__, str(OWN.with_name("revocations.pem"))])
def test_what_holds_no_certificates(monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """A file that is missing or holds none is a usage error that says which one it was."""
    monkeypatch.setenv("SSL_CERT_FILE", file)
    with pytest.raises(UsageError, match=rf"{file} \(SSL_CERT_FILE\) cannot be read"):
        checked_by("https://api.example")


def test_plain_http_trusts_nobody() -> None:
    """For plain HTTP no authority is read; were there a certificate after all, nobody would vouch for it."""
    context = checked_by("http://127.0.0.1:1")
    assert context.cert_store_stats()["x509"] == 0
    assert context.verify_mode == ssl.CERT_REQUIRED
