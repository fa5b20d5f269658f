"""The step that promotes, from its inputs to the pull request: measured at the head, or adopted from an earlier run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promotable import INPUTS, Measured, Stage, edited
from raggate.base.errors import CannotTell, UsageError
from raggate.pipeline.request import RunFailed

BASELINE = "baselines/small.json"


@pytest.fixture
def stage(measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.chdir(measured.project.root)
    with Stage.on(measured, tmp_path) as stage:
        yield stage


def proposed(stage: Stage) -> bytes:
    """Return the baseline in the pull request."""
    content = stage.repository.read(BASELINE, stage.pull().head_sha)
    assert content is not None
    return content


def local(stage: Stage, directory: Path, *words: str) -> bytes:
    """Promote a run directory on the command line, and give the file."""
    target = stage.files / "local.json"
    target.write_bytes(stage.measured.files[BASELINE])
    words = (*words, "--baseline", str(target), "--by", "octocat", "--reason", INPUTS["reason"])
    done = stage.measured.project.command("promote", str(directory), *words)
    assert done.code == 0, done.err
    return target.read_bytes()


def test_measured_by_what_is_committed(stage: Stage) -> None:
    """A file of the working tree that differs from the commit is refused by name, before anything is measured."""
    golden = stage.measured.project.root / "golden.jsonl"
    before = golden.read_bytes()
    try:
        golden.write_bytes(before.splitlines(keepends=True)[0])
        with pytest.raises(CannotTell, match=r"only committed files are promoted: golden\.jsonl$"):
            stage.step()
        assert stage.state.directory is None
    finally:
        golden.write_bytes(before)
    assert stage.unwritten()


@pytest.mark.parametrize("name", ["pull_request", "merge_group", "workflow_run", "issue_comment"])
def test_events(stage: Stage, name: str) -> None:
    """An event that could bring code nobody has merged does not promote."""
    with pytest.raises(UsageError, match=f"cannot be promoted on the event {name}"):
        stage.step(event={"name": name}, run_id=stage.ran())
    assert stage.unwritten()


def test_another_branch(stage: Stage) -> None:
    """A dispatch on another branch, whose workflow somebody may have changed, does not promote."""
    with pytest.raises(UsageError, match="started on 'feature', and a baseline can only be promoted on 'main'"):
        stage.step(event={"head_ref": "feature"}, run_id=stage.ran())


def test_a_checkout_that_is_not_the_head(stage: Stage) -> None:
    """A checkout of another commit than the head is not measured."""
    newer = stage.repository.add_commit({"x": "1"}, [stage.measured.commit], branch="main")
    with pytest.raises(CannotTell, match=rf"{stage.measured.commit[:11]}.*{newer[:12]}"):
        stage.step()
    assert stage.state.directory is None


def test_an_api_that_does_not_start(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the head cannot be measured, the step ends with why, tells of the run directory, and promotes nothing."""
    monkeypatch.setenv("FAKE_BEHAVIOUR", "die_at_start")
    with pytest.raises(RunFailed) as caught:
        stage.step()
    assert (caught.value.exit_code, caught.value.failure.suite) == (3, "small")
    assert caught.value.directory == stage.state.directory
    assert stage.unwritten()


GOOD = {"reason": "why not", "run-id": ""}


@pytest.mark.parametrize(
    ("names", "words"), [(("a", "b"), "has 2 runs of this suite"), ((), "has no run of this suite")]
)
def test_which_run_of_an_artifact_is_adopted_is_certain(stage: Stage, names: tuple[str, ...], words: str) -> None:
    """Two runs of the suite, or none among several, are refused by the number of the workflow run."""
    run = stage.measured.run
    other = edited(run, lambda config: config.update(suite="other"))
    left = {**dict.fromkeys(("x", "y"), other), **dict.fromkeys(names, run)}
    number = stage.ran({f"{folder}/{name}": data for folder, files in left.items() for name, data in files.items()})
    with pytest.raises(CannotTell, match=words) as refused:
        stage.step(run_id=number)
    assert refused.value.message.startswith(f"workflow run {number} cannot become the baseline")
