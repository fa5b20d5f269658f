"""`raggate baseline show` and `log`: what they print, where they write, how they refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from builders import make_case_score, make_scorecard
from checkouts import git
from here import called
from raggate.base.errors import UsageError
from raggate.cli.baseline import baseline
from raggate.cli.main import run_command
from raggate.gate import baseline as gate_baseline
from raggate.models.baseline import AcceptedDrop, RatchetEntry
from raggate.models.scorecard import OVERALL
from tables import each_row

CONFIG = "suite: notes\nvault: {work: vault}\napi: {url: http://127.0.0.1:1}\n"
PROVENANCE = {
    "measured": "2026-01-02T03:04:05Z",
    "checkout": {"commit": "abcdef0123456789", "dirty": True},
    "promoted_by": "maria",
    "reason": "New chunker",
    "previous": "run-0",
    "image": f"notes-api@sha256:{'a' * 64}",
    "raggate_version": "0.1.0",
}
ACCEPTED = {
    "hybrid": {
        "hit_at_5": RatchetEntry(best=0.9, drops=0.04, since="2026-01-01"),
        "mrr_at_5": RatchetEntry(
            best=0.5,
            drops=0.0,
            since="2026-01-02",
            lowered=AcceptedDrop(on="2026-01-02", before=0.7, after=0.5, reason="Smaller index", by="ben"),
        ),
    }
}
SHOWN = """\
baselines/notes.json: baseline of suite notes
  run         run-1
  measured    2026-01-02T03:04:05Z, 100 days ago, stale after 90 days
  commit      abcdef0123456789, with uncommitted changes
  image       notes-api@sha256:IMAGE
  promoted by maria
  reason      New chunker
  replaced    run-0
  raggate     0.1.0
  cases       2 (hybrid)

hybrid, all cases
  hit_at_5                           50.0%  n=2
  mrr_at_5                           0.500  n=1

hybrid, accepted values (ratchet)
  hit_at_5                        best 90.0% since 2026-01-01, drops 4.0 pt
  mrr_at_5                        best 0.500 since 2026-01-02, drops 0.000
    lowered on 2026-01-02 by ben, 0.700 → 0.500: Smaller index
"""


def content(run_id: str = "run-1", hit: float = 1.0, **provenance: Any) -> bytes:
    """Write a baseline of two cases."""
    cases = (
        make_case_score("q1", {"hit_at_5": hit, "mrr_at_5": 0.5}, slices=(OVERALL, "tag=x")),
        make_case_score("q2", {"hit_at_5": 0.0, "mrr_at_5": None}),
    )
    scorecard = make_scorecard(*cases, suite="notes", run_id=run_id)
    return gate_baseline.write(scorecard, {**PROVENANCE, **provenance}, ACCEPTED)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a configuration and a baseline, and go there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raggate.yml").write_text(CONFIG)
    (tmp_path / "baselines").mkdir()
    (tmp_path / "baselines/notes.json").write_bytes(content())
    return tmp_path


@pytest.fixture
def repository(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commit three versions of the baseline, the second of which is damaged."""
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.org")
    git(folder, "init", "--quiet", "--initial-branch=main")
    for day, version in ((1, content("run-1", 0.5)), (2, b"{"), (3, content("run-3"))):
        (folder / "baselines/notes.json").write_bytes(version)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", f"Day {day}", f"--date=2026-01-0{day}T12:00:00Z")
    return folder


def output(*arguments: str) -> str:
    done = CliRunner().invoke(baseline, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def told(*arguments: str) -> dict[str, Any]:
    """Run the command with --json and give its result."""
    done = called(lambda: run_command(["baseline", *arguments, "--json"]), at=Path.cwd(), environment={})
    assert done.code == 0, done.err
    result: dict[str, Any] = json.loads(done.out)["result"]
    return result


def test_show(folder: Path) -> None:
    """The baseline is shown with its origin, its values over all cases and what was accepted."""
    measured = (datetime.now(UTC) - timedelta(days=100.5)).strftime("%Y-%m-%dT%H:%M:%SZ")
    (folder / "baselines/notes.json").write_bytes(content(measured=measured))
    assert output("show").replace(measured, PROVENANCE["measured"]).replace("a" * 64, "IMAGE") == SHOWN


@each_row(
    ("days", "phrase"),
    [
        (0.4, "today"),
        (1.5, "1 day ago"),
        (89.5, "89 days ago"),
        (90.5, "90 days ago, stale after 90 days"),
        (-2, "in the future"),
    ],
)
def test_age(folder: Path, days: float, phrase: str) -> None:
    """The age is told in whole days, and from 90 days on that it is stale."""
    measured = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    (folder / "baselines/notes.json").write_bytes(content(measured=measured))
    assert f"{measured}, {phrase}\n" in output("show")


@pytest.mark.usefixtures("folder")
def test_show_slices() -> None:
    """Slices come on request, after all cases."""
    text = output("show", "--slices")
    assert text.index("hybrid, all cases") < text.index("hybrid, tag=x\n  hit_at_5")
    assert "tag=x" not in output("show")


def test_show_any_file(folder: Path) -> None:
    """A file that is named needs no configuration; one of another tool is shown as far as it says anything."""
    (folder / "raggate.yml").unlink()
    (folder / "metrics.json").write_text('{"by_retriever": {"hybrid": {"overall": {"hit_at_5": 0.5, "count": 4}}}}')
    text = output("show", "--baseline", "metrics.json")
    assert text.splitlines()[:4] == [
        "metrics.json: baseline of suite unknown",
        "  run         unknown",
        "  measured    unknown",
        "  commit      unknown",
    ]
    assert "  hit_at_5                           50.0%  n=4" in text


def test_show_hostile(folder: Path) -> None:
    """Text in a baseline commands neither a terminal nor a CI log."""
    foreign = "\x1b[31m\n::error::x"
    provenance = {"reason": foreign, "promoted_by": foreign, "measured": foreign, "checkout": {"commit": foreign}}
    (folder / "baselines/notes.json").write_bytes(content(foreign, **provenance))
    text = output("show")
    assert "\x1b" not in text
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    (folder / "baselines/notes.json").write_bytes(content(checkout="x", measured=7, reason=["x"]))
    assert "commit      unknown" in output("show")


@pytest.mark.usefixtures("repository")
def test_log() -> None:
    """The history is a table of the gated metrics, newest first, damaged versions included."""
    lines = output("log").splitlines()
    assert lines[0].split() == ["date", "commit", "run", "cases", "hit@5"]
    assert [line.split()[0] for line in lines[1:4]] == ["2026-01-03", "2026-01-02", "2026-01-01"]
    assert [line.split()[2] for line in lines[1:4]] == ["run-3", "unreadable", "run-1"]
    assert [line.split()[-1] for line in lines[1:4]] == ["50.0%▲", "–", "25.0%"]
    assert any(line.startswith("unreadable") and "not valid JSON" in line for line in lines)


@pytest.mark.usefixtures("repository")
def test_log_metric_and_limit() -> None:
    """Other metrics come by name, fewer versions by number."""
    lines = output("log", "--metric", "mrr_at_5", "--limit", "1").splitlines()
    assert lines == output("log", "--metric", "MRR@5", "--limit", "1").splitlines(), "as reports write it"
    assert lines[0].split()[-1] == "MRR@5"
    assert lines[1].split()[-1] == "0.500"
    assert "There are older versions: --limit shows more." in lines


@pytest.mark.usefixtures("repository")
def test_log_json() -> None:
    """JSON has every metric, who promoted each version and why, and the reason where one cannot be read."""
    document = told("log")
    newest, middle, oldest = document["revisions"]
    assert newest["values"] == {"hybrid": {"hit_at_5": {"value": 0.5, "n": 2}, "mrr_at_5": {"value": 0.5, "n": 1}}}
    assert (newest["promoted_by"], newest["reason"], newest["cases"]) == ("maria", "New chunker", 2)
    assert (newest["subject"], newest["date"], newest["problem"]) == ("Day 3", "2026-01-03T12:00:00Z", None)
    assert middle["values"] == {}
    assert "not valid JSON" in middle["problem"]
    assert oldest["run_id"] == "run-1"
    assert (document["path"], document["more"], document["shallow"]) == ("baselines/notes.json", False, False)


def test_log_shallow(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a shallow clone the way to the rest is told on standard error, so that the output stays clean."""
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), "clone")
    monkeypatch.chdir(tmp_path / "clone")
    done = CliRunner().invoke(baseline, ["log"], catch_exceptions=False)
    assert "git fetch --unshallow" in done.stderr
    assert told("log")["shallow"] is True


@pytest.mark.usefixtures("repository")
@each_row(
    ("arguments", "message"),
    [
        pytest.param(["show", "--config", "none.yml"], "none.yml: No such file", id="no configuration"),
        pytest.param(["show", "--baseline", "none.json"], "none.json: No such file", id="no baseline"),
        pytest.param(["show", "--baseline", "raggate.yml"], "raggate.yml: not valid JSON", id="no JSON"),
        pytest.param(["log", "--config", "none.yml"], "none.yml: No such file", id="no configuration for log"),
        pytest.param(["log", "--metric", "hit_at_6"], "--metric 'hit_at_6': no version of", id="metric"),
    ],
)
def test_refusals(arguments: list[str], message: str) -> None:
    """What cannot be read or is not known is one message that names it."""
    with pytest.raises(UsageError) as caught:
        CliRunner().invoke(baseline, arguments, catch_exceptions=False)
    assert caught.value.message.startswith(message)


def test_help_is_light() -> None:
    """Asking for help, which loads every command, loads no configuration, no table and no library of a single one."""
    program = (
        "import sys; from raggate.cli.main import run_command; run_command(['baseline', '--help']); "
        "heavy = ('pydantic', 'orjson', 'json', 'tempfile', 'subprocess', 'raggate.config.schema', "
        "'raggate.gate.history', 'raggate.models.scorecard', 'raggate.reports'); "
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
