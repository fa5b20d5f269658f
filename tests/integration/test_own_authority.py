"""A server whose certificate is by an authority of its own: trusted if SSL_CERT_FILE says so, and nowhere else."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from raggate.action import steps
from raggate.base.errors import UsageError
from raggate.github.rest.client import GitHub, GitHubError

CERTIFICATE = Path(__file__).parents[1] / "data" / "loopback.pem"
PUBLIC = ssl.DER_cert_to_PEM_cert(
    ssl.PEM_cert_to_DER_cert(CERTIFICATE.read_text()[CERTIFICATE.read_text().index("-----BEGIN CERT") :])
)


class _Handler(BaseHTTPRequestHandler):
    """Answers everything with an empty object."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """Serve over TLS with a certificate that no usual authority vouches for, and give the address."""
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    serving.socket = context.wrap_socket(serving.socket, server_side=True)
    thread = Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{serving.server_address[1]}"
    serving.shutdown()
    serving.server_close()
    thread.join()


def test_the_authority_that_the_environment_names_is_trusted(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GitHub's API behind an authority of its own is asked if SSL_CERT_FILE names that, and refused otherwise."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    given = {"api_url": f"{server}/api/v3", "token": "t" * 40, "budget_s": 0}
    with GitHub(**given) as github, pytest.raises(GitHubError, match="CERTIFICATE_VERIFY_FAILED"):
        github.get("/repos/octo/notes")
    (tmp_path / "ca.pem").write_text(PUBLIC)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with GitHub(**given) as github:
        assert github.get("/repos/octo/notes") == {}


@pytest.mark.parametrize("event", ["pull_request", "merge_group", "workflow_run", "issue_comment"])
@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_change_does_not_say_who_is_trusted(tmp_path: Path, event: str, name: str) -> None:
    """A file of the workspace is refused if a change may be checked out, also through a link in either direction."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "ca.pem").write_text(PUBLIC)
    (tmp_path / "in").symlink_to(workspace / "ca.pem")
    (workspace / "out").symlink_to(tmp_path)
    files = ["ca.pem", str(workspace / "ca.pem"), str(tmp_path / "in"), str(workspace / "out" / "other.pem")]
    for file in [*files, *([f"/etc/ssl/certs:{files[1]}"] if name == "SSL_CERT_DIR" else [])]:
        with pytest.raises(UsageError, match=f"{name}: .* lies in the workspace"):
            steps.check_authorities(event, workspace, {name: file})
        # merged code may hold them
        steps.check_authorities("push", workspace, {name: file})
    steps.check_authorities(event, workspace, {name: str(tmp_path / "ca.pem")})
    steps.check_authorities(event, workspace, {})
