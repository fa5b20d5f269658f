"""`raggate check --watch` as somebody has it in a terminal: a change is asked, an interrupt ends it."""

from __future__ import annotations

import re

import pytest

from project import Project
from raggate.pipeline.watching import Watched


def test_json_is_one_document(promoted: Project) -> None:
    """Reports without an end are no document: the two flags exclude each other."""
    done = promoted.command("check", "--watch", "--json")
    assert done.code == 2
    assert "--watch and --json cannot be combined" in done.err


def test_a_question_that_was_fixed_stays_in_the_watch(promoted: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--watch --failed` keeps asking the questions that were broken at its beginning: a break that returns is seen."""
    both = ("--case", "anchovy-first", "--case", "kernel-second")
    assert promoted.command("check", *both, FAKE_BEHAVIOUR="worse").code == 1
    edits = iter([("env: {", "env: {FAKE_BEHAVIOUR: worse, "), ("FAKE_BEHAVIOUR: worse, ", "")])

    def wait(_places: Watched, _since: object) -> frozenset[str]:
        edit = next(edits, None)
        if edit is None:
            raise KeyboardInterrupt
        promoted.edit(*edit)
        return frozenset((str(promoted.config),))

    monkeypatch.setattr("raggate.pipeline.watching.wait_for_change", wait)
    done = promoted.command("check", "--watch", "--failed")
    assert done.code == 130
    assert re.findall("verdict: (.*)", done.out) == ["partial (exit 5)", "failed in part (exit 1)", "partial (exit 5)"]
    assert done.out.count("partial: 2 of 24 questions chosen (--failed)") == 3
    assert "error" not in done.err


def test_a_watch_of_nothing_ends_at_once(promoted: Project) -> None:
    """If no question is broken when the watch begins, it could never ask one: that is an error, not a wait."""
    assert promoted.command("check", "--case", "anchovy-first").code == 5
    done = promoted.command("check", "--watch", "--failed")
    assert (done.code, done.out) == (2, "")
    assert "--failed: no question was broken when it was last asked" in done.err
