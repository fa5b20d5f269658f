"""The action's entry point around the command line: what makes a step red, and what the runner is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from e2e import grammar

NAMES = ("GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")


def step(root: Path, stub: str = "", call: str = "step", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the step, or the post step, in a process of its own, with the command line replaced by a stub."""
    workspace = root / "workspace"
    workspace.mkdir(exist_ok=True)
    files = {name: str(root / name) for name in NAMES}
    body = f"import sys, os\nfrom raggate import action, cli\n{stub}\nsys.exit(action.{call}())"
    return subprocess.run(
        [sys.executable, "-c", body],
        env={"PATH": "/usr/bin:/bin", "GITHUB_WORKSPACE": str(workspace), **files, **environment},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def ends_with(code: int) -> str:
    """Give a stub of the command line that ends with an exit code."""
    return f"cli.run_command = lambda arguments, caller: {code}"


def outputs(root: Path) -> dict[str, str]:
    """Read the outputs as the runner does."""
    return grammar.values((root / "GITHUB_OUTPUT").read_text())


RED = {0: "", 1: "regression", 4: "regression", 3: "regression cannot-tell"}


@pytest.mark.parametrize("choice", ["regression", "cannot-tell", "never"])
@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 70, 130, 137])
def test_what_makes_the_step_red(tmp_path: Path, code: int, choice: str) -> None:
    """A pass is green, a lenient choice waives verdicts alone, and what it waives is said loudly; outputs never lie."""
    done = step(tmp_path, ends_with(code), **{"INPUT_FAIL-ON": choice})
    red = code != 0 and (code not in RED or choice in RED[code].split())
    assert done.returncode == (code if red else 0)
    assert outputs(tmp_path)["exit-code"] == str(code)
    waived = code != 0 and not red
    assert len(grammar.Log().feed(done.stdout + done.stderr).annotations) == waived
    assert ("green because of fail-on" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()) == waived


def test_inputs_become_flags(tmp_path: Path) -> None:
    """Each input that is given becomes the flag of the command line with the same name."""
    stub = "cli.run_command = lambda arguments, caller: print(arguments) or 0"
    given = {"INPUT_CONFIG": "a.yml", "INPUT_API-URL": "http://a", "INPUT_AGAINST": "-x y", "INPUT_SUITE": ""}
    done = step(tmp_path, stub, **given, INPUT_STORE_FULL_TEXT="true")
    expected = ["check", "--config=a.yml", "--api-url=http://a", "--against=-x y", "--store-full-text"]
    assert done.stdout == f"{expected}\n"


@pytest.mark.parametrize("name", [*NAMES, "GITHUB_WORKSPACE"])
def test_a_missing_variable_is_named(tmp_path: Path, name: str) -> None:
    """Outside a workflow the step says which variable it misses, and what to run instead."""
    done = step(tmp_path, ends_with(0), **{name: ""})
    assert done.returncode == 2
    assert f"{name}: not set" in done.stderr
    assert "raggate check" in done.stderr


def test_outputs_and_state_are_there_before_anything_starts(tmp_path: Path) -> None:
    """A step that is killed has said that it was interrupted, and that its post step has something to look for."""
    done = step(tmp_path, "cli.run_command = lambda arguments, caller: os.kill(os.getpid(), 9)")
    assert done.returncode == -9
    assert (outputs(tmp_path)["verdict"], outputs(tmp_path)["exit-code"]) == ("interrupted", "130")
    assert set(grammar.values((tmp_path / "GITHUB_STATE").read_text())) == {"STARTED"}


def test_results_that_cannot_be_written_are_never_green(tmp_path: Path) -> None:
    """A pass whose outputs cannot be handed over is red."""
    stub = "cli.run_command = lambda arguments, caller: os.replace('../GITHUB_STEP_SUMMARY', '../x') or os.mkdir("
    (tmp_path / "GITHUB_STEP_SUMMARY").touch()
    done = step(tmp_path, stub + "'../GITHUB_STEP_SUMMARY') or 0")
    assert done.returncode == 70
    assert "could not be handed to the runner" in done.stderr


def test_post_step_tells_of_a_killed_step(tmp_path: Path) -> None:
    """The post step of a step that did not end says so in the summary; after one that did it is silent."""
    stub = "action.SOCKET = action.Path('/nowhere')"
    done = step(tmp_path, stub, "post", STATE_STARTED="1")
    assert done.returncode == 0
    assert "killed" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    (tmp_path / "GITHUB_STEP_SUMMARY").unlink()
    done = step(tmp_path, stub, "post", STATE_STARTED="1", STATE_FINISHED="true")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert not (tmp_path / "GITHUB_STEP_SUMMARY").exists()
