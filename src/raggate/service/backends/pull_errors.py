"""What an engine says of a pull that failed -> whether trying again can help, and what is wrong. Pure."""

from __future__ import annotations

import re

from msgspec import Struct

_LIMITED = re.compile(r"toomanyrequests|too many requests|\brate limit|\b429\b", re.IGNORECASE)
_TEMPORARY = re.compile(
    r"no such host|dial tcp|\b(?:timeout|timed out|deadline|refused|reset|50[0234])\b|(?-i:\bEOF\b)", re.IGNORECASE
)
_INVALID = re.compile(r"invalid reference|repository name must be|invalid tag format", re.IGNORECASE)
_OTHER_MACHINE = re.compile(r"no match(?:ing manifest)? for|does not match the specified platform", re.IGNORECASE)
_REFUSED = re.compile(r"\b(?:unauthorized|authentication required|denied|forbidden|no basic auth)\b", re.IGNORECASE)
_MISSING = re.compile(r"\b(?:not found|manifest unknown|does not exist|no such image|name unknown)\b", re.IGNORECASE)
_URL = re.compile(r"https?://[^\s\"]*")
_DIGEST = re.compile(r"\bsha256:[0-9a-f]+")
_PRIVATE = (
    "Is the name right? raggate pulls without credentials: for a private image, log in and `docker pull` it in a step "
    "before; it is then used as it is."
)


class Lasting(Struct, frozen=True):
    """A problem that does not go away by trying again: what follows the image's name in a sentence, and what to do."""

    problem: str
    hint: str


_LASTING = (
    (_INVALID, Lasting("is no name of an image", "Expected a name such as ghcr.io/acme/api:1.2, in lower case.")),
    (
        _OTHER_MACHINE,
        Lasting(
            "is not made for this machine's processor",
            "Build the image for the platform that raggate runs on too, or run raggate on one that the image has.",
        ),
    ),
    (_REFUSED, Lasting("may not be pulled, or does not exist (not authorised)", _PRIVATE)),
    (_MISSING, Lasting("does not exist (not found)", _PRIVATE)),
)
_LIMIT = Lasting(
    "may not be pulled for now: the registry's rate limit is reached",
    "The registry counts pulls without credentials by address. Log in and `docker pull` it in a step before, or try "
    "again later.",
)


def lasting(name: str, why: str) -> Lasting | None:
    """Say what is wrong when trying again cannot help; None when it can, or nothing is known of it.

    Args:
        name: the image, as it was asked for.
        why: what the engine said, one line.
    """
    words = _without(name, why)
    if _LIMITED.search(words):
        return _LIMIT
    if _TEMPORARY.search(words):
        return None
    return next((problem for pattern, problem in _LASTING if pattern.search(words)), None)


def unanswered(name: str, why: str) -> bool:
    """Say whether the registry could not be reached, or did not do its work."""
    return _TEMPORARY.search(_without(name, why)) is not None


def _without(name: str, why: str) -> str:
    """Cut addresses, digests and the image's name out: they may hold any word."""
    path = name.partition("@")[0]
    # a colon before a slash is that of a port
    head, slash, last = path.rpartition("/")
    repository = f"{head}{slash}{last.partition(':')[0]}"
    tag = last.partition(":")[2] or "latest"
    first, _, rest = repository.partition("/")
    hosted = bool(rest) and (bool({".", ":"} & set(first)) or first == "localhost")
    inner = rest if hosted else repository
    names = {repository, inner, f"library/{inner}", f"docker.io/{repository}", f"docker.io/library/{inner}"}
    tagged = {f"{spelling}:{tag}" for spelling in names}
    # a name of one word stands alone only where the engine says what it is about
    alone = {spelling for spelling in names if "/" in spelling} | {f"for {inner}", f"repository {inner}"}
    hosts = {first, first.partition(":")[0]} if hosted else set()
    words = _DIGEST.sub(" ", _URL.sub(" ", why))
    for spelling in (*sorted(tagged, key=len, reverse=True), *sorted(alone | hosts, key=len, reverse=True)):
        words = re.sub(rf"(?<![\w./-]){re.escape(spelling)}(?![\w/-]|\.\w)", " ", words)
    return words
