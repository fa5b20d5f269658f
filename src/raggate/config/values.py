"""Kinds of values that keys of raggate.yml hold: each a type with what it refuses."""

from __future__ import annotations

import ipaddress
import posixpath
import re
import socket
from pathlib import PurePosixPath
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

_WITHHELD = re.compile(r"(?:INPUT|STATE|ACTIONS|GITHUB|RUNNER|DOCKER)_.*|(?:https?|ftp|all|no)_proxy", re.IGNORECASE)
# [domain/]path[:tag][@digest], as the engine reads it
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_IMAGE = (
    rf"(?:{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?"
)
_OWN_LOGS = frozenset(("api", "build"))


Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Port = Annotated[int, Field(ge=1, le=65_535)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
# where clouds tell a machine its own credentials; neither answers on a network that an API runs in
_METADATA = frozenset(("168.63.129.16", "fd00:ec2::254", "100.100.100.200", "metadata.google.internal"))


def relative_path(path: str) -> str:
    """Return a path in the repository as it is compared, or refuse another."""
    pure = PurePosixPath(path)
    if not path or pure.is_absolute() or ".." in pure.parts or "\\" in path:
        raise ValueError("expected a relative path inside the repository, without '..'")
    if not path.isprintable():
        raise ValueError("expected a path of printable characters")
    return str(pure)


def _in_repository(path: str) -> str:
    whole = posixpath.normpath(path)
    if not path or whole.startswith("/") or "\\" in path or "*" in path:
        raise ValueError("expected a relative path of a file or a directory of the repository, without '*'")
    if not path.isprintable():
        raise ValueError("expected a path of printable characters")
    return whole


def _http(url: str) -> str:
    problem = ValueError("expected a URL such as http://127.0.0.1:9000")
    try:
        parts = urlsplit(url)
        port = parts.port
        # a name that has an empty or too long part cannot be looked up
        (parts.hostname or "").encode("idna")
    except ValueError:
        raise problem from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or not url.isprintable() or " " in url:
        raise problem
    if "@" in parts.netloc:
        raise ValueError("expected a URL without user name and password")
    if "?" in url or "#" in url:
        raise ValueError("expected a URL without '?' and '#': paths of the API are added to its end")
    if is_metadata(parts.hostname):
        raise ValueError("expected the URL of an API, found a link-local or cloud metadata address")
    return url.rstrip("/")


def image_name(name: str) -> str:
    """Return the name of an image back, if it is one."""
    if len(name) > 255 or not re.fullmatch(_IMAGE, name):
        raise ValueError("expected the name of an image such as ghcr.io/acme/api:1.2, its path in lower case")
    return name


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected text without NUL characters")
    return text


def _may_be_passed(name: str) -> str:
    if _WITHHELD.fullmatch(name):
        raise ValueError(
            "expected a variable that is not the runner's, Docker's, a proxy's or raggate's. Set it in 'env' instead"
        )
    return name


def _no_token(name: str) -> str:
    if name.startswith(("INPUT_", "ACTIONS_")) or name in {"GITHUB_TOKEN", "GH_TOKEN"}:
        raise ValueError("expected a variable that has no token of the runner's")
    return name


def _writable_place(path: str) -> str:
    pure = PurePosixPath(path)
    if not path.startswith("/") or ".." in pure.parts or any(sign in path for sign in ":,\\\0"):
        raise ValueError("expected an absolute path")
    if len(pure.parts) > 1 and pure.parts[1] in {"proc", "sys", "dev"}:
        raise ValueError("expected a directory other than /proc, /sys and /dev")
    return str(pure)


def _service_name(name: str) -> str:
    if name in _OWN_LOGS:
        raise ValueError(f"expected another name for service {name!r}: its log would be raggate's own")
    return name


RelativePath = Annotated[str, AfterValidator(relative_path)]
PathInRepository = Annotated[str, AfterValidator(_in_repository)]
"""May begin with `..`: a service's suite can depend on what lies beside the service."""
HttpUrl = Annotated[str, AfterValidator(_http)]
Text = Annotated[str, AfterValidator(_no_nul)]
WritablePlace = Annotated[str, AfterValidator(_writable_place)]
ImageName = Annotated[str, AfterValidator(image_name), Field(json_schema_extra={"pattern": f"^{_IMAGE}$"})]
PassedVariable = Annotated[Variable, AfterValidator(_may_be_passed)]
TokenlessVariable = Annotated[str, AfterValidator(_no_token)]
ServiceName = Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"), AfterValidator(_service_name)]


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read the address that a host is, in every spelling that can be connected to; None for a name."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        try:
            # 127.1, 2130706433 and 0x7f000001 are addresses too
            return ipaddress.IPv4Address(socket.inet_aton(host))
        except (OSError, ValueError):
            return None
    return getattr(address, "ipv4_mapped", None) or address


def is_metadata(host: str) -> bool:
    """Return whether a host is link-local or the metadata service of a cloud."""
    name = host.rstrip(".").lower()
    address = address_of(name)
    return name in _METADATA if address is None else address.is_link_local or str(address) in _METADATA
