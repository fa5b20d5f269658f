"""`raggate lint`: what a suite can show is said without starting anything."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import yaml

from project import Project


def test_a_suite_with_a_baseline(promoted: Project) -> None:
    """It tells what can pass unseen, and leaves no run directory."""
    before = sorted(promoted.root.rglob("*"))
    done = promoted.command("lint")
    assert done.code == 0, done.out + done.err
    assert "a drop of" in done.out
    assert sorted(promoted.root.rglob("*")) == before


def test_inputs_are_checked(promoted: Project) -> None:
    """What a check would refuse is refused, with the same message."""
    promoted.config.write_text(promoted.config.read_text() + "gate: {composite: [hit_at_4]}\n")
    messages = [promoted.command(command) for command in ("lint", "check")]
    assert [done.code for done in messages] == [2, 2]
    assert "gate.composite[0]: no metric 'hit_at_4' at the cut-offs" in messages[0].err
    assert messages[0].err == messages[1].err


def findings(project: Project, *arguments: str, code: int) -> list[dict[str, Any]]:
    """Run `raggate lint` for programs, and give what it found."""
    done = project.command("lint", "--json", *arguments)
    assert (done.code, done.err) == (code, "")
    found: list[dict[str, Any]] = json.loads(done.out)["result"]["findings"]
    return found


def test_warnings_stop_only_where_they_are_asked_to(promoted: Project) -> None:
    """A warning is exit 0, and 2 with --strict."""
    cases = promoted.cases()
    promoted.write_cases([*cases, {**cases[0], "id": "again"}])
    usual = findings(promoted, code=0)
    assert "duplicate-question" in {item["check"] for item in usual}
    assert findings(promoted, "--strict", code=2) == usual
    warned = {item["check"] for item in usual if item["severity"] == "warning"}
    ignored = [word for name in warned for word in ("--ignore", name)]
    assert warned.isdisjoint(item["check"] for item in findings(promoted, "--strict", *ignored, code=0))


def test_a_waiver_that_is_over(promoted: Project) -> None:
    """It is an error at its own line, as it makes the gate red."""
    waiver = "  - {case: bicycle-first, owner: me, reason: known, expires: 2020-01-01}\n"
    promoted.config.write_text(promoted.config.read_text() + "waivers:\n" + waiver)
    [item] = [item for item in findings(promoted, code=2) if item["severity"] == "error"]
    assert (item["check"], item["line"]) == ("expired-waiver", len(promoted.config.read_text().splitlines()))


def test_the_hook_for_other_repositories(promoted: Project) -> None:
    """What .pre-commit-hooks.yaml runs is a command that lints, in any repository with a configuration at its top."""
    [hook] = yaml.safe_load((Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = hook["entry"].split()
    assert (program, hook["language"], hook["pass_filenames"]) == ("raggate", "python", False)
    assert promoted.command(*arguments).code == 0
    assert all(re.search(hook["files"], name) for name in ("raggate.yml", "golden.jsonl", "a.md", "baselines/x.json"))
