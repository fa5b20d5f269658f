"""What is advised when an API ends, or answers from an index that is not the vault's."""

from __future__ import annotations

import pytest

from raggate.errors import CannotTell
from raggate.service.boot_hints import check_size, why_it_ended


@pytest.mark.parametrize(
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
    hint = why_it_ended("exited with code 1", ["starting", line], contained=True)
    assert f"{path!r}" in hint
    assert "`api.container.tmpfs`" in hint
    assert "tmpfs" not in why_it_ended("exited with code 1", [line])
    assert "tmpfs" not in why_it_ended("exited with code 1", ["starting"], contained=True)


def test_a_service_has_limits_of_its_own() -> None:
    """The end of a service is no reason to give the API more."""
    hint = why_it_ended("lost its service store, which was killed for using more than 64m of memory (OOM)")
    assert "under `services`" in hint
    assert "api.container" not in hint


def test_a_hostile_line_is_plain_and_bounded() -> None:
    """What an API prints as a path is one harmless line, however long."""
    hint = why_it_ended("exited with code 1", ["/" + "\x1b[31m" * 5000 + "a: read-only file system"], contained=True)
    assert "\x1b" not in hint
    assert len(hint) < 600


@pytest.mark.parametrize(("documents", "files"), [(None, 0), (1, 0), (0, 5), (5, 5)])
def test_an_index_that_may_be_the_vaults(documents: int | None, files: int) -> None:
    """No count, fewer documents than notes, and files without text that are counted are no reason to stop."""
    check_size(documents, expected=1, files=files)


def test_an_index_of_something_else() -> None:
    """More documents than the vault has files come from another vault or an earlier run: nothing is asked."""
    with pytest.raises(CannotTell, match="35 documents, but the vault has 1 notes") as caught:
        check_size(35, expected=1, files=2)
    assert "{run}" in caught.value.hint
