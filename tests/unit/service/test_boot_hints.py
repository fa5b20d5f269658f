"""What is advised when an API ends, or answers from an index that is not the vault's."""

from __future__ import annotations

import pytest

from raggate.errors import CannotTell
from raggate.models.service import ProcessExit
from raggate.service.boot_hints import check_size, why_it_ended
from tables import each_row

FAILED = ProcessExit(message="exited with code 1", code=1)


@each_row(
    ("line", "path"),
    [
        ("panic: open /data/index.db: read-only file system", "/data/index.db"),
        ("OSError: [Errno 30] Read-only file system: '/root/.cache/x'", None),
        ("Error: EROFS: read-only file system, mkdir '/app/tmp'", "/app/tmp"),
        ("mkdir: cannot create directory '/var/lib/x': Read-only file system", "/var/lib/x"),
    ],
)
def test_read_only(line: str, path: str | None) -> None:
    """An API that must write where it may not is told the path that it tried, and the key that allows it."""
    path = path or "/root/.cache/x"
    hint = why_it_ended(FAILED, ["starting", line], contained=True)
    assert f"{path!r}" in hint
    assert "`api.container.tmpfs`" in hint
    assert "tmpfs" not in why_it_ended(FAILED, [line])
    assert "tmpfs" not in why_it_ended(FAILED, ["starting"], contained=True)


def test_a_service_has_limits_of_its_own() -> None:
    """The end of a service is no reason to give the API more."""
    hint = why_it_ended(ProcessExit(message="was killed", out_of_memory=True, service="store"))
    assert "under `services`" in hint
    assert "api.container" not in hint


@each_row(
    ("ended", "hint"),
    [
        (ProcessExit(message="exited with code 0", code=0), "foreground"),
        (ProcessExit(message="was killed", out_of_memory=True), "api.container.memory"),
        (ProcessExit(message="was killed by SIGKILL", signal="SIGKILL"), "too much memory"),
        (ProcessExit(message="was killed by SIGTERM", signal="SIGTERM"), "api.log"),
        (ProcessExit(message="was lost: exited with code 0 (OOM)"), "api.log"),
    ],
)
def test_what_to_do_follows_from_how_it_ended(ended: ProcessExit, hint: str) -> None:
    """The advice goes by the code, the signal and the memory, whatever the words say."""
    assert hint in why_it_ended(ended)


def test_a_hostile_line_is_plain_and_bounded() -> None:
    """What an API prints as a path is one harmless line, however long."""
    hint = why_it_ended(FAILED, ["/" + "\x1b[31m" * 5000 + "a: read-only file system"], contained=True)
    assert "\x1b" not in hint
    assert len(hint) < 600


@each_row(("documents", "files"), [(None, 0), (1, 0), (0, 5), (5, 5)])
def test_an_index_that_may_be_the_vaults(documents: int | None, files: int) -> None:
    """No count, fewer documents than notes, and files without text that are counted are no reason to stop."""
    check_size(documents, expected=1, files=files)


def test_an_index_of_something_else() -> None:
    """More documents than the vault has files come from another vault or an earlier run: nothing is asked."""
    with pytest.raises(CannotTell, match=r"35 documents, but the vault has 1 note$") as caught:
        check_size(35, expected=1, files=2)
    assert "{run}" in caught.value.hint
