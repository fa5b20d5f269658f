"""A server whose certificate is by an authority of its own: trusted where the workflow says so, and nowhere else."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from project import Project, make_project
from raggate.action import own_authority
from raggate.errors import UsageError
from raggate.github.rest.client import GitHub
from raggate.github.runner import step_inputs
from raggate.text.certificates import authorities
from raggate.text.http_client import httpx

CERTIFICATE = Path(__file__).parents[1] / "data" / "loopback.pem"
PUBLIC = ssl.DER_cert_to_PEM_cert(
    ssl.PEM_cert_to_DER_cert(CERTIFICATE.read_text()[CERTIFICATE.read_text().index("-----BEGIN CERT") :])
)


OF_A_SERVER = """\
-----BEGIN CERTIFICATE-----
MIIBfTCCASOgAwIBAgIUH1SMwUyMLi/monXxrHp4x2aij/kwCgYIKoZIzj0EAwIw
DDEKMAgGA1UEAwwBeDAgFw0yNjExMjMwNTUyNTdaGA8yMTI2MTAzMDA1NTI1N1ow
DDEKMAgGA1UEAwwBeDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABG9YcyfadvE2
pJO9TsFL0k/NpZ7oYksXLHxDchrQu3PoQOmqAh7xk38NfwmOgYW94aW58ETdHxFj
n3GNYIOp7RujYTBfMB0GA1UdDgQWBBSVOSL5HerIzLyMzLiM5c1/LAjdgjAfBgNV
HSMEGDAWgBSVOSL5HerIzLyMzLiM5c1/LAjdgjAMBgNVHRMBAf8EAjAAMA8GA1Ud
EQQIMAaHBH8AAAEwCgYIKoZIzj0EAwIDSAAwRQIhAM0el74/6u1pCE0wnvcz79kz
pSfwaGNRxjCvTvb9dG68AiB5lpuDdmpffQ53v1ATqDWylc+cymVk30LNFAe/L8Hk
hA==
-----END CERTIFICATE-----
"""
"""It says that it is no authority."""


class _Handler(BaseHTTPRequestHandler):
    """Answers everything with an empty object, and counts."""

    asked = 0

    def do_GET(self) -> None:
        """Answer."""
        type(self).asked += 1
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET  # noqa: N815 - the names that the library looks for

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """Serve over TLS with a certificate that no usual authority vouches for, and give the address."""
    _Handler.asked = 0
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


@pytest.fixture(autouse=True)
def nobody_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment name no certificates."""
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


def inputs(ca_file: str) -> dict[str, str]:
    """Return the inputs of a step."""
    return {**step_inputs.DEFAULTS, "ca-file": ca_file}


def status(url: str, trusted: ssl.SSLContext | None = None) -> int:
    """Ask as everything of raggate asks."""
    with httpx.Client(verify=trusted or authorities(), trust_env=False) as client:
        return client.get(url).status_code


@pytest.mark.parametrize("as_text", [True, False])
def test_the_workflow_s_authority_is_trusted_beside_the_usual_ones(server: str, tmp_path: Path, as_text: bool) -> None:
    """With `ca-file`, as text or as a file, the server is asked; before and after it is refused."""
    workspace, file = tmp_path / "workspace", tmp_path / "ca.pem"
    workspace.mkdir()
    file.write_text(PUBLIC)
    usual = authorities()
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        status(server, usual)
    assert _Handler.asked == 0
    given = inputs(PUBLIC if as_text else str(file))
    with own_authority.trusted(given, "pull_request", workspace, os.environ):
        # what it was is trusted, whatever stands there by now
        file.write_text("")
        now = authorities()
        assert status(server, now) == 200
        assert now.cert_store_stats()["x509_ca"] == usual.cert_store_stats()["x509_ca"] + 1
        with GitHub(api_url=f"{server}/api/v3", token="t" * 40) as github:
            assert github.get("/repos/octo/notes") == {}
    assert "SSL_CERT_FILE" not in os.environ
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        status(server)


@pytest.mark.parametrize(
    "event", ["pull_request", "pull_request_target", "merge_group", "workflow_run", "issue_comment"]
)
@pytest.mark.parametrize("name", ["ca-file", "SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_a_change_does_not_say_who_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, event: str, name: str
) -> None:
    """A file of the workspace is refused where a change may be checked out, also through a link from elsewhere."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "ca.pem").write_text(PUBLIC)
    (tmp_path / "link.pem").symlink_to(workspace / "ca.pem")
    for file in (str(workspace / "ca.pem"), str(tmp_path / "link.pem"), "ca.pem"):
        if name != "ca-file":
            monkeypatch.setenv(name, file)
        given = inputs(file if name == "ca-file" else "")
        with (
            pytest.raises(UsageError, match="lies in the workspace") as refused,
            own_authority.trusted(given, event, workspace, os.environ),
        ):
            raise AssertionError("it was trusted")
        assert "vars." in refused.value.hint


@pytest.mark.parametrize("file", ["link.pem", "folder/ca.pem", "../back.pem", "loop.pem"])
def test_a_change_does_not_lead_elsewhere(tmp_path: Path, file: str) -> None:
    """A link of the workspace is refused wherever it leads: the change says where that is."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "ca.pem").write_text(PUBLIC)
    (workspace / "link.pem").symlink_to(tmp_path / "ca.pem")
    (workspace / "folder").symlink_to(tmp_path)
    (tmp_path / "back.pem").symlink_to(workspace / "link.pem")
    (workspace / "loop.pem").symlink_to("loop.pem")
    with (
        pytest.raises(UsageError, match="lies in the workspace"),
        own_authority.trusted(inputs(file), "pull_request", workspace, os.environ),
    ):
        raise AssertionError("it was trusted")


@pytest.mark.parametrize("folder", ["certs", "../link"])
def test_each_of_several_directories_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """`SSL_CERT_DIR` names several directories as `PATH` does, and one of the change is refused wherever it stands."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "link").symlink_to(workspace)
    monkeypatch.setenv("SSL_CERT_DIR", f"/etc/ssl/certs:{workspace / folder}")
    with (
        pytest.raises(UsageError, match=f"SSL_CERT_DIR: .*{folder}' lies in the workspace"),
        own_authority.trusted(inputs(""), "pull_request", workspace, os.environ),
    ):
        raise AssertionError("it was trusted")


@pytest.fixture
def few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one certificate stand in place of the usual authorities, which take long to load."""
    (tmp_path / "named.pem").write_text(OF_A_SERVER)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "named.pem"))


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("before", ["# Example Ltd\n", "\ufeff", "Subject: CN=Example\r\n"])
def test_certificates_below_a_line_of_text(server: str, tmp_path: Path, before: str) -> None:
    """What tools and editors put before the first certificate is no name of a file, and may stand in one."""
    (tmp_path / "ca.pem").write_text(before + PUBLIC, encoding="utf-8")
    for given in (before + PUBLIC, "ca.pem"):
        with own_authority.trusted(inputs(given), "push", tmp_path, os.environ):
            assert status(server) == 200


@pytest.mark.usefixtures("few")
def test_a_server_s_own_certificate_stays_trusted(tmp_path: Path) -> None:
    """What `SSL_CERT_FILE` names counts beside `ca-file`, also a certificate that is no authority's."""
    with own_authority.trusted(inputs(PUBLIC), "push", tmp_path, os.environ):
        assert authorities().cert_store_stats() == {"x509": 2, "crl": 0, "x509_ca": 1}


@pytest.mark.usefixtures("few")
def test_merged_code_may_hold_the_certificates(server: str, tmp_path: Path) -> None:
    """Where what is checked out is the repository's own, its file is taken."""
    (tmp_path / "ca.pem").write_text(PUBLIC)
    with own_authority.trusted(inputs("ca.pem"), "push", tmp_path, os.environ):
        assert status(server) == 200


@pytest.mark.parametrize(
    "given",
    [
        "-----BEGIN CERTIFICATE-----\nnothing\n-----END CERTIFICATE-----",
        "nowhere.pem",
        CERTIFICATE.with_name("revocations.pem").read_text(),
    ],
)
def test_what_holds_no_certificates(tmp_path: Path, given: str) -> None:
    """What cannot be read, or holds only a revocation list, is a usage error, and nothing is trusted by it."""
    with (
        pytest.raises(UsageError, match=r"cannot be read|No such file"),
        own_authority.trusted(inputs(given), "push", tmp_path, os.environ),
    ):
        raise AssertionError("it was trusted")
    assert "SSL_CERT_FILE" not in os.environ


def test_a_file_larger_than_any_of_certificates(tmp_path: Path) -> None:
    """It is not even read."""
    (tmp_path / "ca.pem").write_bytes(b" " * (own_authority.MOST_BYTES + 1))
    with (
        pytest.raises(UsageError, match=f"larger than {own_authority.MOST_BYTES} bytes"),
        own_authority.trusted(inputs("ca.pem"), "push", tmp_path, os.environ),
    ):
        raise AssertionError("it was trusted")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project that is asked by an address."""
    return make_project(tmp_path_factory.mktemp("project"))


@pytest.mark.parametrize("own", [True, False])
def test_the_service_under_test(server: str, project: Project, tmp_path: Path, own: bool) -> None:
    """`SSL_CERT_FILE` vouches for the service on a laptop; without it no question is asked, and the reason is told."""
    (tmp_path / "ca.pem").write_text(PUBLIC)
    environment = {"SSL_CERT_FILE": str(tmp_path / "ca.pem")} if own else {}
    done = project.raggate("probe", "--api-url", server, "--json", **environment)
    assert (_Handler.asked > 0) is own
    assert ("is not trusted ([SSL: CERTIFICATE_VERIFY_FAILED]" in done.err) is not own
    assert ("in SSL_CERT_FILE, or give it to the action as `ca-file`" in done.err) is not own
    assert json.loads(done.out)["exit_code"] == done.code != 0
