"""The certificates of a company's own authority, which every call of a step trusts beside the usual ones.

They are the workflow's to give. A change could edit what lies in the workspace, and with it who may answer in place
of the server that the token is sent to.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path

from raggate.action.steps import OWN_EVENTS
from raggate.errors import UsageError
from raggate.text import certificates
from raggate.text.files import read_file
from raggate.text.quote import quoted

INPUT = "ca-file"

MOST_BYTES = 4 << 20

_BEGIN = "-----BEGIN "
_MOST_LINKS = 40
"""Links that the system follows for one file."""
_GIVE = "Give the certificates themselves, such as `ca-file: ${{ vars.COMPANY_CA }}`, or a file outside the workspace."


@contextmanager
def trusted(
    inputs: Mapping[str, str], event: str, workspace: Path, environment: MutableMapping[str, str]
) -> Iterator[None]:
    """Trust the certificates of the input, beside the usual ones, in everything this process asks.

    Args:
        inputs: the action's inputs; `ca-file` holds certificates, or names a file of them.
        environment: that of the process, which HTTP clients take the authorities from.

    Raises:
        UsageError: for a file that a change could have written, and for certificates that cannot be read.
    """
    given = inputs[INPUT].strip()
    # what stands before a certificate says whose it is
    text = _BEGIN in given
    named = {name: environment.get(name, "") for name in (certificates.FILE, certificates.DIRECTORY)}
    for name, path in {**named, f"input {INPUT!r}": "" if text else given}.items():
        _refuse_of_a_change(name, path, event, workspace)
    if not given:
        yield
        return
    if named[certificates.DIRECTORY] and not named[certificates.FILE]:
        raise UsageError(f"input {INPUT!r} and {certificates.DIRECTORY} exclude each other", hint=_GIVE)
    data = _certificates(given, workspace, text=text)
    name = f"input {INPUT!r}" if text else f"{given} (input {INPUT!r})"
    with tempfile.TemporaryDirectory(prefix="raggate-ca-") as folder:
        # a copy: what is measured may run beside raggate, and change the file before the last call
        file = Path(folder, "authorities.pem")
        file.write_bytes(data)
        certificates.load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), str(file), name)
        file.write_bytes(b"\n".join([data, *_usual(named[certificates.FILE])]))
        environment[certificates.FILE] = str(file)
        try:
            yield
        finally:
            environment.pop(certificates.FILE)
            environment.update({name: path for name, path in named.items() if path})


def _certificates(given: str, workspace: Path, *, text: bool) -> bytes:
    """Return what the input holds, or the file that it names."""
    # a mark that editors of Windows put first may stay: OpenSSL passes over it at the beginning of a file
    if text:
        return given.encode(errors="surrogateescape")
    return read_file(workspace / given, _GIVE, most_bytes=MOST_BYTES)


def _usual(named: str) -> Iterator[bytes]:
    """Yield what is trusted anyway: the certificates of the file that the environment names, or the usual ones."""
    context = certificates.authorities()
    if named:
        # as it stands: of a server's own certificate, which is no authority's, the context tells nothing
        yield read_file(Path(named))
        return
    for certificate in context.get_ca_certs(binary_form=True):
        yield ssl.DER_cert_to_PEM_cert(certificate).encode()


def _refuse_of_a_change(name: str, files: str, event: str, workspace: Path) -> None:
    """Refuse a file in the workspace where what is checked out may be a change that nobody has read."""
    if event in OWN_EVENTS:
        return
    inside = workspace.resolve()
    # OpenSSL takes several directories, as PATH does
    for file in filter(None, files.split(os.pathsep) if name == certificates.DIRECTORY else [files]):
        if any(place.is_relative_to(inside) for place in _places(workspace / file)):
            raise UsageError(
                f"{name}: {quoted(file)} lies in the workspace, "
                "where a change could say whose certificates are trusted",
                hint=_GIVE,
            )


def _places(path: Path) -> Iterator[Path]:
    """Yield every link on the way to a file, and where it leads in the end."""
    here, left, links = Path("/"), [*reversed(path.absolute().parts)], 0
    while left:
        there = Path(os.path.normpath(here / left.pop()))
        if links < _MOST_LINKS and there.is_symlink():
            links += 1
            yield there
            left.extend(reversed(there.readlink().parts))
        else:
            here = there
    yield here
