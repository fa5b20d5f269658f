"""The host of a URL -> the address it is, and whether that is one of a cloud's own."""

from __future__ import annotations

import ipaddress
import socket

# where clouds tell a machine its own credentials; neither answers on a network that an API runs in
_METADATA = frozenset(("168.63.129.16", "fd00:ec2::254", "100.100.100.200", "metadata.google.internal"))


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
