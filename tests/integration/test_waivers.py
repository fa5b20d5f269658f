"""Waivers and promotions from the command line: a change cannot waive itself, nor promote a loss unsaid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from here import Done
from project import Project
from raggate.config.gate_settings import DEFAULT_GATED


@pytest.fixture
def promoted(promoted_few: Project, tmp_path: Path) -> Project:
    """A repository of six questions with a baseline of the healthy API."""
    return promoted_few.copied(tmp_path)


def waive(project: Project, expires: str, *metrics: str) -> None:
    """Write waivers of metrics at the end of the configuration, in place of those there."""
    lines = [f"  - {{metric: {name}, owner: ada, reason: reindexing, expires: {expires}}}\n" for name in metrics]
    text = project.config.read_text().split("waivers:")[0]
    project.config.write_text(text + ("waivers:\n" + "".join(lines) if lines else ""))


def codes(project: Project, key: str = "reasons") -> set[str]:
    return {reason["code"] for reason in project.verdict()[key]}


def judged(project: Project, run: Path) -> Done:
    """Judge a run that was measured before by what stands in the commit and the change now."""
    return project.command("check", "--run", str(run), "--against", "HEAD")


def test_a_change_cannot_waive_itself(promoted: Project) -> None:
    """A waiver counts once it is in the base: in the change's own configuration it excuses nothing."""
    promoted.commit()
    waive(promoted, "2999-12-31", *DEFAULT_GATED)
    alone = promoted.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="worse")
    assert alone.code == 1, alone.out + alone.err
    assert codes(promoted) == {"worse", "composite-worse"}
    promoted.commit()
    merged = promoted.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="worse")
    assert merged.code == 0, merged.out + merged.err
    assert "waived" in codes(promoted, "warnings")


def test_expired_waiver_is_settled_by_what_is_committed(promoted: Project) -> None:
    """In a job a configuration on disk from which the waiver is gone settles nothing: the commit is what is merged."""
    waive(promoted, "2020-01-01", "hit_at_5")
    promoted.commit()
    waive(promoted, "")
    assert promoted.command("check", "--against", "HEAD", CI="true").code == 1
    assert codes(promoted) == {"waiver-expired"}
    assert judged(promoted, promoted.last_run()).code == 0
    promoted.commit()
    assert promoted.command("check", "--against", "HEAD~1", CI="true").code == 0


def test_promoting_a_loss(promoted: Project) -> None:
    """A worse run is promoted only with permission and reason; a dry run shows the values and writes nothing."""
    path = promoted.root / "baselines" / "small.json"
    before = path.read_bytes()
    assert promoted.command("run", FAKE_BEHAVIOUR="worse").code == 0
    directory = str(promoted.last_run())
    refused = promoted.command("promote", directory)
    assert refused.code == 2
    assert "hit@1 (hybrid) 100.0 → " in refused.err
    assert "--allow-regression --reason" in refused.err
    terms = ("--allow-regression", "--reason", "smaller model", "--by", "ada", "--allow-no-match", "hybrid")
    shown = promoted.command("promote", directory, *terms, "--dry-run")
    assert shown.code == 0, shown.err
    assert "Nothing was written." in shown.out
    assert path.read_bytes() == before
    assert promoted.command("promote", directory, *terms).code == 0
    once = path.read_bytes()
    assert promoted.command("promote", directory, *terms).code == 0
    assert path.read_bytes() == once
    stored = json.loads(once)
    assert (stored["provenance"]["reason"], stored["provenance"]["promoted_by"]) == ("smaller model", "ada")
    assert stored["accepted"]["hybrid"]["hit_at_1"]["lowered"]["reason"] == "smaller model"


def test_promoting_what_a_loose_configuration_measured(promoted: Project) -> None:
    """A run is judged by the configuration that stands there, not by the one it was made with, which may allow all."""
    strict = promoted.config.read_text()
    off = ", ".join(f"{name}: off" for name in DEFAULT_GATED)
    loose = f"gate: {{max_error_rate: 0.9, policy: threshold, metrics: {{{off}}}}}\n"
    (promoted.root / "loose.yml").write_text(strict + loose)
    assert promoted.command("run", "-c", "loose.yml", FAKE_BEHAVIOUR="worse").code == 0
    directory = str(promoted.last_run())
    refused = promoted.command("promote", directory)
    assert refused.code == 2
    assert "hit@1 (hybrid) 100.0 → " in refused.err
    (promoted.root / "other.yml").write_text(strict.replace("suite: small", "suite: other"))
    other = promoted.command("promote", directory, "-c", "other.yml")
    assert other.code == 2
    assert "is of suite 'small', other.yml of 'other'" in other.err
    assert promoted.command("promote", directory, "-c", "loose.yml", "--allow-no-match", "hybrid").code == 0
