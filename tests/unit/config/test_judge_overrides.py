"""What a command line says instead of the section `judges`."""

from __future__ import annotations

from typing import Any

import pytest

from raggate.config.judge_overrides import JudgeOverrides
from raggate.config.judge_settings import Judges
from raggate.errors import UsageError

FIRST = {"model": "first", "base_url": "http://127.0.0.1:1"}
SECOND = {"model": "second", "base_url": "http://127.0.0.1:2"}
MINE = {"model": "mine", "base_url": "http://127.0.0.1:3"}


def section(*allowed: str, **keys: Any) -> Judges:
    """Read a section whose models have no version, and whose spot check is by another model."""
    return Judges.model_validate(
        {"models": [FIRST], "spot_check": {"model": SECOND}, "allow_unpinned": allowed, **keys}
    )


def test_the_model_of_a_spot_check_stays_allowed() -> None:
    """A judge on the command line takes the place of the section's judges, and of their permissions alone."""
    configured = section("first", "second")
    judges = JudgeOverrides(**MINE, build="b1").apply(configured)
    assert ([judge.model for judge in judges.models], judges.allow_unpinned) == (["mine"], ["second"])
    judges = JudgeOverrides(**MINE, allow_unpinned=True).apply(configured)
    assert judges.allow_unpinned == ["second", "mine"]
    # the section has allowed the very model that is named
    assert JudgeOverrides(**FIRST).apply(configured).allow_unpinned == ["first", "second"]
    assert JudgeOverrides(**FIRST, allow_unpinned=True).apply(configured).allow_unpinned == ["first", "second"]


def test_a_model_that_nobody_has_allowed_needs_a_version() -> None:
    """Permissions of the section are for its own models, and the hint tells the flags."""
    with pytest.raises(UsageError, match="expected 'build' with 'mine'") as caught:
        JudgeOverrides(**MINE).apply(section("first", "second"))
    assert "--judge-build the version" in caught.value.hint


def test_the_model_of_the_spot_check_is_no_judge_of_all() -> None:
    """Who gives the second opinion cannot give the first, and the hint says which of them to change."""
    with pytest.raises(UsageError, match=r"--judge-model: expected another model in 'spot_check\.model'") as caught:
        JudgeOverrides(**SECOND).apply(section("first", "second"))
    assert "spot check is by that model" in caught.value.hint


def test_what_the_server_calls_the_model_is_about_a_model() -> None:
    """The name in replies belongs to the model that is named, and to nobody without one."""
    judges = JudgeOverrides(**MINE, build="b1", answers_as="mine-q4.gguf").apply(None)
    assert judges.models[0].answers_as == "mine-q4.gguf"
    with pytest.raises(UsageError, match="are about the model of --judge-model"):
        JudgeOverrides(answers_as="mine-q4.gguf").apply(section("first", "second"))
