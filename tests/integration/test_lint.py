"""`raggate lint`: what a suite can show is said without starting anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from project import Project


@pytest.fixture
def promoted(promoted_once: Project, tmp_path: Path) -> Project:
    """Give a project of its own that has a baseline."""
    return promoted_once.copied(tmp_path)


def test_a_suite_with_a_baseline(promoted: Project) -> None:
    """It tells what can pass unseen and how often each policy is red, and leaves no run directory."""
    before = sorted(promoted.root.rglob("*"))
    done = promoted.command("lint")
    assert done.code == 0, done.out + done.err
    assert "a drop under" in done.out
    assert "red on neutral changes" in done.out
    assert sorted(promoted.root.rglob("*")) == before


def test_inputs_are_checked(promoted: Project) -> None:
    """What a check would refuse is refused, with the same message."""
    promoted.config.write_text(promoted.config.read_text() + "gate: {composite: [hit_at_4]}\n")
    messages = [promoted.command(command) for command in ("lint", "check")]
    assert [done.code for done in messages] == [2, 2]
    assert "gate.composite[0]: no metric 'hit_at_4' at the cut-offs" in messages[0].err
    assert messages[0].err == messages[1].err
