"""The step that promotes several suites at once: all of them in one commit, or none, and each by its own checks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from promotable import INPUTS, Measured, Stage, edited, measure
from raggate.base.errors import ExitCode
from raggate.github.promotion import branch_of
from rendered import problems

SUITES = ("small", "two", "three")
LIST = "raggate*.yml"


def _add_suites(root: Path) -> None:
    """Put two more suites beside the first, over the same questions, without a baseline."""
    first = (root / "raggate.yml").read_text()
    assert "suite: small" in first
    for suite in SUITES[1:]:
        (root / f"raggate.{suite}.yml").write_text(first.replace("suite: small", f"suite: {suite}"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Measure the first suite of a repository of three."""
    return measure(tmp_path_factory.mktemp("repository"), _add_suites)


@dataclass
class SuitesStage(Stage):
    """A step that promotes every suite of a list, unless a test says otherwise."""

    inputs: Mapping[str, str] = field(default_factory=lambda: {**INPUTS, "config": LIST})

    def ran_suites(self, **of_suites: dict[str, bytes]) -> str:
        """Put a workflow run with an artifact of several run directories onto the fake, and give its number."""
        return self.ran({f"{suite}/{name}": data for suite, files in of_suites.items() for name, data in files.items()})

    def run_of(self, suite: str) -> dict[str, bytes]:
        """Return a run directory of a suite, which is that of the first but for the name."""

        def rename(config: dict[str, Any]) -> None:
            config["suite"] = suite
            config["config"]["suite"] = suite

        return edited(self.measured.run, rename)

    def changed(self) -> set[str]:
        """Return the files that the head of the pull request has otherwise than main."""
        objects, head = self.repository.objects, self.pull().head_sha
        (parent,) = objects.commits[head].parents
        before, now = (objects.walk(objects.commits[commit].tree) for commit in (parent, head))
        return {path for path in now if path.endswith(".json") and now[path] != before.get(path)}

    def rows(self) -> dict[str, tuple[str, int]]:
        rows = json.loads(self.state.outputs["suites"])
        return {row["suite"]: (row["verdict"], row["exit-code"]) for row in rows}


@pytest.fixture
def stage(measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SuitesStage]:
    monkeypatch.chdir(measured.project.root)
    with SuitesStage.on(measured, tmp_path) as stage:
        yield stage


def test_all_suites_in_one_pull_request(stage: SuitesStage) -> None:
    """Every suite of the list is measured, and one commit has the baselines of all."""
    assert stage.step() == 0
    pull = stage.pull()
    assert stage.changed() == {f"baselines/{suite}.json" for suite in SUITES}
    assert pull.head_ref == branch_of(SUITES)
    assert pull.title.startswith("Baselines of 3 suites: ")
    body = pull.body or ""
    assert all(f"<summary>{suite}</summary>" in body for suite in SUITES)
    assert list(problems(body, links=(f"{stage.fake.server_url}/",))) == []
    assert stage.rows() == dict.fromkeys(SUITES, ("pass", 0))
    assert stage.state.outputs["run-directory"].count("\n") == 2


def test_the_suites_that_are_named_out_of_one_artifact(stage: SuitesStage) -> None:
    """Of the suites of a run those that `config` names are promoted; it is verified, and its artifact taken, once."""
    number = stage.ran_suites(a=stage.run_of("two"), b=stage.measured.run, c=stage.run_of("three"))
    assert stage.step(config="raggate.yml\nraggate.tw*.yml", run_id=number) == 0
    assert stage.changed() == {"baselines/small.json", "baselines/two.json"}
    paths = [request.path for request in stage.fake.requests]
    assert sum(path.endswith(f"/actions/runs/{number}") for path in paths) == 1
    assert sum(path.endswith("/zip") for path in paths) == 1


def test_nothing_is_written_where_one_is_refused(stage: SuitesStage, capsys: pytest.CaptureFixture[str]) -> None:
    """What is refused is named with the reason, and so is what to name to promote the others alone."""
    number = stage.ran_suites(a=stage.run_of("two"), b=stage.measured.run)
    assert stage.step(run_id=number) == ExitCode.CANNOT_TELL
    assert not stage.repository.pulls
    assert stage.unwritten()
    assert stage.rows()["three"] == ("cannot tell", ExitCode.CANNOT_TELL)
    assert (stage.rows()["small"], stage.rows()["two"]) == (("not promoted", 0), ("not promoted", 0))
    said = capsys.readouterr().err
    assert "Nothing was written: 1 of 3 suites cannot be promoted: three." in said
    assert "name these: raggate.two.yml, raggate.yml" in said
    assert "has no run of this suite" in stage.state.summary
    assert stage.step(run_id=number, config="raggate.yml\nraggate.two.yml") == 0
    assert stage.changed() == {"baselines/small.json", "baselines/two.json"}
