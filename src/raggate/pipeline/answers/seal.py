"""The key that seals kept answers: whoever does not have it can neither make them nor learn of what they are.

On a person's machine it lies in a file that nobody else reads. In CI it is a secret, which no code of a change gets.
"""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from raggate.config.values import ANSWERS_KEY
from raggate.errors import UsageError
from raggate.text.jsonio import dumps

VARIABLE = ANSWERS_KEY
LEAST = 32
"""Characters of a key."""

_CHANGES = ("CI_MERGE_REQUEST_IID", "CHANGE_ID", "BITBUCKET_PR_ID", "SYSTEM_PULLREQUEST_PULLREQUESTID")
"""Variables that CI systems set where they run for a change: GitLab, Jenkins, Bitbucket, Azure."""


def judges_change(environment: Mapping[str, str]) -> bool:
    """Say whether a CI system runs this for a change that is not merged."""
    event = environment.get("GITHUB_EVENT_NAME", "")
    number = environment.get("BUILDKITE_PULL_REQUEST", "false")
    return (
        event.startswith(("pull_request", "issue_comment", "merge_group"))
        or number not in {"", "false"}
        or any(environment.get(name) for name in _CHANGES)
    )


def key(environment: Mapping[str, str]) -> bytes | None:
    """Give the key: that of the environment, or that of this user on this machine, which is made where there is none.

    None in CI without one: a fork's run is given no secret, and all it has to do is ask everything.

    Raises:
        UsageError: when it is too short to be one, or others could read or have written its file.
    """
    given = environment.get(VARIABLE, "")
    if given:
        if len(given) < LEAST:
            raise UsageError(f"{VARIABLE}: expected at least {LEAST} characters", hint="`openssl rand -hex 32`.")
        return given.encode(errors="surrogateescape")
    if environment.get("CI"):
        return None
    state = environment.get("XDG_STATE_HOME") or str(Path(environment.get("HOME") or Path.home(), ".local", "state"))
    return _own(Path(state) / "raggate" / "answers-key")


def _own(path: Path) -> bytes:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(handle, "w") as stream:
                stream.write(token_hex(LEAST))
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as stream:
            status = os.fstat(stream.fileno())
            value = stream.read(1024)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", hint=f"Or set {VARIABLE}.") from None
    others = stat.S_IMODE(status.st_mode) & 0o077 or status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode)
    if others or len(value) < LEAST:
        raise UsageError(
            f"{path}: not a key that this user alone can read", hint="Remove it; a new one is made, and all is asked."
        )
    return value


def mark(secret: bytes, value: object) -> str:
    """Give what stands for a JSON value: equal for equal ones, and nothing without the key tells which."""
    return hmac.new(secret, dumps(value), sha256).hexdigest()
