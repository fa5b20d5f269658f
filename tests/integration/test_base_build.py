"""A regression is checked on the build before the change, made of the trusted commit in the same job."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from here import Done
from project import FAKE_API, TOPICS, Project, make_project, processes_with

API = f"""\
import os, sys
from pathlib import Path

own = Path(__file__).with_name("behaviour.txt").read_text().strip()
os.environ["FAKE_BEHAVIOUR"] = f"{{own}},{{os.environ.get('FAKE_BEHAVIOUR', '')}}".strip(",")
if os.environ.get("FAKE_PLACES"):
    with open(os.environ["FAKE_PLACES"], "a") as stream:
        print(Path(__file__).parent, os.getcwd(), own, file=stream)
sys.path.insert(0, {str(FAKE_API.parent)!r})
import process_api

process_api.main()
"""


SECRET = "correct-horse-battery"  # noqa: S105 - made up


def with_base(project: Project, recheck: str) -> Project:
    """Make the API and its behaviour files of a repository, let a check ask the base commit, and commit all."""
    (project.root / "api.py").write_text(API)
    (project.root / "behaviour.txt").write_text("ok")
    project.edit(str(FAKE_API), '"{root}/api.py"')
    project.edit("pass_env: [", "pass_env: [FAKE_PLACES, ")
    project.config.write_text(f"{project.config.read_text()}recheck: {recheck}\n")
    project.commit()
    return project


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A repository of twelve questions with a baseline and a base."""
    project = make_project(tmp_path_factory.mktemp("committed"))
    project.write_cases(project.cases()[:12])
    project.promote()
    return with_base(project, "ref")


@pytest.fixture
def repository(committed: Project, tmp_path: Path) -> Project:
    return committed.copied(tmp_path / "repository")


def change(project: Project, behaviour: str) -> None:
    """Let the change's API behave otherwise than that of the commit."""
    (project.root / "behaviour.txt").write_text(behaviour)


class Checked(NamedTuple):
    """A repository after a check; for each API that was started, its file's place, its own, and how it behaved.

    `before` is the state that git told of before the check.
    """

    project: Project
    done: Done
    places: list[list[str]]
    before: str


def git_state(project: Project) -> str:
    """Return what git tells of branch, index and working tree."""
    words = ["git", "status", "--porcelain", "--branch"]
    return subprocess.run(words, cwd=project.root, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def lost(committed: Project, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """A change whose API finds nothing any more, after a check in a process of its own."""
    project = committed.copied(tmp_path_factory.mktemp("lost") / "repository")
    change(project, "worse")
    before, places = git_state(project), project.root.with_name("places")
    done = project.raggate("check", "--against", "HEAD", FAKE_PLACES=str(places))
    return Checked(project, done, [line.split() for line in places.read_text().splitlines()], before)


@pytest.fixture(scope="module")
def stale(committed: Project, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Done]:
    """A repository whose API finds nothing today, be it that of the commit or of the change, after a check of it."""
    project = committed.copied(tmp_path_factory.mktemp("stale") / "repository")
    return project, project.command("check", "--against", "HEAD", FAKE_BEHAVIOUR="worse")


def codes(verdict: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in verdict["reasons"]]


def test_a_loss_of_the_change_stays_red(lost: Checked) -> None:
    """What the base build still answers is lost by the change: red, with how many were asked there and failed."""
    done, verdict = lost.done, lost.project.verdict()
    assert done.code == 1, done.out + done.err
    assert codes(verdict)[-1] == "rechecked"
    assert "asked in the same job, fails none of the 12 questions that count against the change" in done.out
    assert verdict["recheck"]["asked"] == 12
    assert verdict["recheck"]["failing"] == 0
    assert verdict["recheck"]["build"].startswith("commit ")
    assert "fails none of the 12 questions" in (lost.project.last_run() / "summary.md").read_text()


def test_what_the_base_fails_too_is_no_fault_of_the_change(stale: tuple[Project, Done]) -> None:
    """Where base and change fail the same questions today, nothing can be told, and why stands first."""
    project, done = stale
    assert done.code == 3, done.out
    assert "fails all 12 questions that count against the change" in done.out
    assert "the baseline is stale or the environment changed" in done.out
    verdict = project.verdict()
    assert verdict["verdict"] == "cannot tell"
    assert codes(verdict)[0] == "base-fails-too"
    assert verdict["recheck"]["failing"] == 12
    assert "the baseline is stale" in (project.last_run() / "summary.md").read_text()


def test_the_base_is_built_from_the_commit_alone(lost: Checked) -> None:
    """No file of the change is run for the base: it has a folder of its own outside the checkout, gone at the end."""
    root = lost.project.root
    own, base, again = lost.places
    assert own == again == [str(root), str(root), "worse"]
    assert base[2] == "ok"
    assert base[0] == base[1]
    assert not Path(base[0]).is_relative_to(root)
    assert not Path(base[0]).exists()


def test_the_same_data_give_the_same_verdict(stale: tuple[Project, Done], tmp_path: Path) -> None:
    """What the base answered is kept, so that a run that is compared again ends as it did."""
    project = stale[0].copied(tmp_path)
    assert project.command("compare", str(project.last_run())).code == 3
    assert project.compared() == project.verdict()

    # what was asked of the base was chosen by the run's own baseline: by another, the loss counts as it is
    again = ("compare", str(project.last_run()), "--baseline", str(project.root / "baselines" / "small.json"))
    assert project.command(*again).code == 1


def test_a_base_that_does_not_come_up_excuses_nothing(repository: Project) -> None:
    """Where the base build does not start, the regression stands; a secret in its words is hidden."""
    repository.edit("pass_env: [", "pass_env: [API_SECRET, ")
    tells = "import os, sys; sys.stderr.write('key ' + os.environ['API_SECRET'] + chr(10)); sys.exit(3)"
    (repository.root / "api.py").write_text(tells)
    repository.commit()
    (repository.root / "api.py").write_text(API)
    change(repository, "worse")
    done = repository.command("check", "--against", "HEAD", API_SECRET=SECRET)
    assert done.code == 1, done.out
    assert codes(repository.verdict())[-1] == "rechecked"
    assert "The base build could not be checked: the API exited with code 3 before it was ready" in done.out
    assert processes_with(str(repository.root)) == []
    assert "key ***" in (repository.last_run() / "base" / "api.log").read_text()
    assert SECRET not in done.out + done.err


def test_without_a_commit_there_is_no_base(repository: Project) -> None:
    """A run that no commit judges has no source of a base build, and says so."""
    done = repository.command("check", FAKE_BEHAVIOUR="worse")
    assert done.code == 1
    assert "The base build could not be checked: name the base commit" in done.out


def test_a_pass_boots_nothing_more(repository: Project, tmp_path: Path) -> None:
    """Where nothing is red, the base build is not made."""
    places = tmp_path / "places"
    assert repository.command("check", "--against", "HEAD", FAKE_PLACES=str(places)).code == 0
    assert len(places.read_text().splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_the_base_is_asked(repository: Project, tmp_path: Path, number: signal.Signals) -> None:
    """A signal while the base is asked ends with 130, and nothing of either build is left running."""
    places = tmp_path / "places"
    change(repository, "hang")
    repository.commit()
    change(repository, "worse")
    process = repository.start("check", "--against", "HEAD", FAKE_PLACES=str(places))
    deadline = time.monotonic() + 40
    while process.poll() is None and time.monotonic() < deadline:
        if places.exists() and len(places.read_text().splitlines()) == 2:
            break
        time.sleep(0.05)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert processes_with(str(repository.root)) == []
    assert processes_with(str(places)) == []


def test_the_configuration_says_what_it_cannot_check(repository: Project) -> None:
    """An image needs an API in a container: without one, the message says so."""
    repository.edit("recheck: ref", "recheck: 'api:base'")
    done = repository.command("check", FAKE_BEHAVIOUR="worse")
    assert done.code == 1
    assert "`recheck: api:base` needs the section api.container" in done.out


def test_git_state_is_not_touched(lost: Checked) -> None:
    """Making the base build leaves branches, index and working tree as they are."""
    assert git_state(lost.project) == lost.before
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=lost.project.root, check=True, capture_output=True)
    assert len(worktrees.stdout.splitlines()) == 1


ONCE_WORSE = """
mark = Path(os.environ.get("FAKE_MARK", "/none"))
if own.startswith("at_first/"):
    own = "ok" if mark.exists() else own.removeprefix("at_first/")
    mark.touch()
    os.environ["FAKE_BEHAVIOUR"] = f"{own},{os.environ.get('FAKE_NOISE', '')}".strip(",")
"""

LOSES = "at_first/lose:matter"
"""Loses the 6 questions with a "matter" in the first process, and none in the next."""


def forgetful(project: Project) -> None:
    """Let the API be worse in its first process alone."""
    text = API.replace('if os.environ.get("FAKE_PLACES")', ONCE_WORSE + 'if os.environ.get("FAKE_PLACES")', 1)
    (project.root / "api.py").write_text(text)
    project.edit("pass_env: [", "pass_env: [FAKE_MARK, FAKE_NOISE, ")
    project.edit("recheck: ref", "recheck: again")


@pytest.fixture(scope="module")
def fading(committed: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The same with a baseline in whose own run ten of ten questions that were asked twice were no hit any more."""
    project = committed.copied(tmp_path_factory.mktemp("fading"))
    forgetful(project)
    assert project.command("run", FAKE_BEHAVIOUR="fades").code == 0
    assert project.command("promote", str(project.last_run())).code == 0
    project.commit()
    return project


@pytest.fixture
def noisy(fading: Project, tmp_path: Path) -> Project:
    return fading.copied(tmp_path / "noisy")


def test_a_loss_of_a_noisy_api_that_comes_back(noisy: Project) -> None:
    """What is lost in a process of its own again is confirmed and red."""
    change(noisy, "worse")
    done = noisy.command("check")
    assert done.code == 1, done.out + done.err
    assert "12 of 12 questions that count against the change did not recover" in done.out
    assert codes(noisy.verdict())[-1] == "rechecked"


def test_both_sides_are_asked_again(noisy: Project, tmp_path: Path) -> None:
    """Where there is a base build, it answers the flipped questions as often, each time of a new start."""
    noisy.edit("recheck: again", "recheck: ref")
    noisy.commit()
    change(noisy, LOSES)
    done = noisy.command("check", "--against", "HEAD", FAKE_MARK=str(tmp_path / "mark"), FAKE_NOISE="fades")
    assert done.code == 0, done.out + done.err
    assert "on both builds: 0 of 6 questions" in done.out
    assert noisy.verdict()["recheck"]["failing"] == 0


def test_noise_between_starts(committed: Project, tmp_path: Path) -> None:
    """One start ranks alike and the next otherwise: no red and no pass, until `calibrate --boot-each` has seen it."""
    project = committed.copied(tmp_path / "starts")
    forgetful(project)
    project.commit()
    change(project, LOSES)
    mark = tmp_path / "mark"
    done = project.command("check", FAKE_MARK=str(mark))
    assert done.code == 3, done.out + done.err
    assert "0 of 6 questions that count against the change did not recover" in done.out
    assert "`raggate calibrate --boot-each` (60 calls)" in done.out
    mark.unlink()
    assert project.command("calibrate", "--boot-each", "--runs", "2", FAKE_MARK=str(mark)).code == 0
    assert project.command("promote", str(project.last_run()), "--allow-regression", "--reason", "starts").code == 0
    mark.unlink()
    done = project.command("check", FAKE_MARK=str(mark))
    assert done.code == 0, done.out + done.err
    assert "0 of 6 questions that count against the change did not recover" in done.out


def test_what_is_not_booted_anew_is_not_asked_again(noisy: Project) -> None:
    """Attack: an API that runs already knows what it was asked, and answers well the second time: red all the same."""
    with noisy.config.open("a") as stream:
        stream.write("gate: {policy: threshold}\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    vaults = {f"VAULT_{name.upper()}_PATH": str(noisy.root / "vault" / name) for name in TOPICS}
    environment = {**vaults, "API_PORT": str(port), "CHEAT": "second_time_in_part"}
    with subprocess.Popen([sys.executable, str(FAKE_API.with_name("cheating_api.py"))], env=environment) as api:
        done = noisy.command("check", "--api-url", f"http://127.0.0.1:{port}")
        api.kill()
    assert done.code == 1, done.out + done.err
    assert "raggate did not start it" in done.err
