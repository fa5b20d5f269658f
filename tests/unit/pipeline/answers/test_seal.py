"""The key of kept answers is this user's alone, or CI's secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from raggate.errors import UsageError
from raggate.pipeline.answers import seal
from tables import each_row


def test_the_key_of_a_user_is_made_once(tmp_path: Path) -> None:
    """It is made where there is none, stays the same, and nobody else can read it."""
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    first = seal.key(environment)
    path = tmp_path / "raggate" / "answers-key"
    assert first == seal.key(environment) == path.read_bytes()
    assert len(first) >= seal.LEAST
    assert path.stat().st_mode & 0o777 == 0o600
    other = {"HOME": str(tmp_path / "other")}
    assert seal.key(other) != first
    assert (tmp_path / "other" / ".local" / "state" / "raggate" / "answers-key").exists()


def _readable(path: Path) -> None:
    path.chmod(0o644)


def _linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _short(path: Path) -> None:
    path.write_text("x")


@pytest.mark.parametrize("harm", [_readable, _linked, _short])
def test_a_file_that_others_could_know_is_no_key(tmp_path: Path, harm: object) -> None:
    """A key that others can read, behind a link, or too short is refused, with what to do."""
    environment = {"XDG_STATE_HOME": str(tmp_path)}
    seal.key(environment)
    assert callable(harm)
    harm(tmp_path / "raggate" / "answers-key")
    with pytest.raises(UsageError) as failed:
        seal.key(environment)
    assert failed.value.hint


@each_row(
    ("environment", "expected"),
    [
        ({}, False),
        ({"GITHUB_EVENT_NAME": "push"}, False),
        ({"GITHUB_EVENT_NAME": "schedule"}, False),
        ({"GITHUB_EVENT_NAME": "pull_request"}, True),
        ({"GITHUB_EVENT_NAME": "pull_request_target"}, True),
        ({"GITHUB_EVENT_NAME": "pull_request_review"}, True),
        ({"GITHUB_EVENT_NAME": "merge_group"}, True),
        ({"GITHUB_EVENT_NAME": "issue_comment"}, True),
        ({"CI_MERGE_REQUEST_IID": "1"}, True),
        ({"BUILDKITE_PULL_REQUEST": "false"}, False),
        ({"BUILDKITE_PULL_REQUEST": "12"}, True),
        ({"CHANGE_ID": "12"}, True),
    ],
)
def test_who_runs_for_a_change(environment: dict[str, str], expected: bool) -> None:
    """What is not merged yet is told by the variables of each CI system."""
    assert seal.judges_change(environment) is expected


def test_a_mark_tells_nothing_without_the_key() -> None:
    """Equal values have one mark under one key, and another one under another key."""
    assert seal.mark(b"a" * 32, ["x", 1]) == seal.mark(b"a" * 32, ("x", 1))
    assert len({seal.mark(b"a" * 32, ["x"]), seal.mark(b"b" * 32, ["x"]), seal.mark(b"a" * 32, ["y"])}) == 3
