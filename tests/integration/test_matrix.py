"""A gate in shards on GitHub: the workflow's file, run job by job, gives the verdict of all shards or says why not."""

from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_chunk, make_result
from checkouts import git
from fakes.github_api import BOT, FakeGitHub, Repository
from matrix_run import IMAGE, MatrixRun
from project import Project, make_project
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Case
from raggate.models.run import Result
from raggate.models.service import IndexState
from raggate.pipeline import asking, check
from raggate.pipeline.asking import Booted, Place
from raggate.pipeline.request import Request
from rendered import visible
from suite_in_process import Api, FakeAdapter, asked_by

NAME = "octo/notes"
SETTINGS = """\
suite: small
golden: golden.jsonl
vault: {personal: vault/personal, work: vault/work}
api: {container: {image: notes, port: 80}}
ask: {repeat_sample: 4}
"""


@dataclass(frozen=True)
class Finder(FakeAdapter):
    """Finds the section that a question is of, and the other one of its note where it got worse."""

    worse: bool = False

    def _answer(self, case: Case, mode: str) -> Result:
        place = case.gold_supports[0]
        heading = str(place.heading_path)
        text = case.question
        if self.worse:
            heading = heading.replace("First", "-").replace("Second", "First").replace("-", "Second")
            text = ""
        chunk = make_chunk(
            case.id, vault=case.vaults[0], rel_path=place.rel_path, heading_path=heading, text=text, rank=1
        )
        return make_result(case.id, replace(chunk, score_final=1.0), mode=mode)


def booted_with(*, worse: bool) -> Any:
    """Return what brings up an API that answers in this process, from the image that was built."""

    @contextmanager
    def booted(request: Request, inputs: Inputs, build: object, place: Place, before: object) -> Iterator[Booted]:
        assert inputs.config.api.container is not None
        assert inputs.config.api.container.image in {IMAGE, "notes"}
        place.counted(IndexState(healthy=True, indexing=False, documents=4, chunks=8))
        up: Any = Finder({}, worse)
        yield Booted(adapter=up, api=Api(), clean=lambda result: result, secrets=())

    return booted


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A repository with a baseline, and a commit on top of it that changes the service alone."""
    made = make_project(tmp_path_factory.mktemp("matrix"), notes=2)
    made.config.write_text(SETTINGS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "booted", booted_with(worse=False))
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        ran = check.run(asked_by(made))
        done = made.command("promote", str(ran.directory), "--reason", "the first")
        assert done.code == 0, done.err
        shutil.rmtree(made.root / ".raggate")
        made.commit()
        git(made.root, "branch", "base")
        (made.root / "service.go").write_text("package service\n")
        made.commit()
        yield made


@dataclass
class Stage:
    """A pull request, and the run of its workflow."""

    repository: Repository
    run: MatrixRun

    def comment(self) -> str:
        (comment,) = (item for item in self.repository.comments_of(7) if item.login == BOT)
        return visible(comment.body)


@contextmanager
def staged(project: Project, scratch: Path) -> Iterator[Stage]:
    """Return a pull request whose workflow asks in three shards."""
    root = project.root
    head, base = (git(root, "rev-parse", name) for name in ("HEAD", "base"))
    with FakeGitHub() as fake:
        repository = fake.add_repository(NAME)
        repository.add_commit({"a": "a"}, branch="main", sha=base)
        repository.add_commit({"a": "b"}, [base], sha=head)
        repository.add_pull(7, head_sha=head, base_sha=base)
        sides = {"head": (head, "change"), "base": (base, "main")}
        pull = {side: {"sha": sha, "ref": ref, "repo": {"full_name": NAME}} for side, (sha, ref) in sides.items()}
        event = {
            "number": 7,
            "pull_request": {"number": 7, "state": "open", **pull},
            "repository": {"full_name": NAME, "default_branch": "main"},
        }
        yield Stage(repository, MatrixRun(fake, root, scratch, event, head, {"shards": 3}))


@pytest.fixture
def stage(project: Project, tmp_path: Path) -> Iterator[Stage]:
    with staged(project, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def done(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A pull request whose workflow has run once: three shards have asked everything."""
    with staged(project, tmp_path_factory.mktemp("done")) as stage:
        stage.run.run()
        return stage


@pytest.fixture
def after(stage: Stage, done: Stage) -> Stage:
    """Return a pull request of its own, with the jobs and artifacts of that run."""
    stage.run.artifacts = {name: dict(files) for name, files in done.run.artifacts.items()}
    stage.run.legs = {key: dataclasses.replace(leg) for key, leg in done.run.legs.items()}
    stage.run.attempt = 1
    return stage


def test_three_jobs_of_a_matrix_give_the_verdict_of_one(done: Stage, project: Project, tmp_path: Path) -> None:
    """Three shards and the merge leave the run, the verdict and the comment that one job would."""
    last = done.run.legs["gate", None]
    assert (last.result, last.outputs) == ("success", {"verdict": "pass"}), last.log
    assert done.run.parts() == ["1-attempt-1", "2-attempt-1", "3-attempt-1"]
    whole = check.check(replace(asked_by(project, against="base"), out=tmp_path))
    files = done.run.artifacts["raggate-run"]
    assert json.loads(files["verdict.json"])["verdict"] == whole.review.verdict.outcome
    kept = [json.loads(line)["test_case_id"] for line in gzip.decompress(files["results.jsonl.gz"]).splitlines()]
    assert kept == [item.case.id for item in whole.review.run.results]
    assert "pass" in done.comment()


def test_a_shard_that_is_not_whole_is_named_on_the_pull_request(after: Stage) -> None:
    """The artifacts are held against the golden set: anything else is *cannot tell*, and the job is red."""
    del after.run.legs["gate", None], after.run.artifacts[next(name for name in after.run.artifacts if "-2-at" in name)]
    last = after.run.run_failed()
    assert (last.result, last.outputs["verdict"]) == ("failure", "cannot tell"), last.log
    assert "shard 2 of 3: missing" in after.comment()


def test_a_shard_that_failed_is_run_again_alone(stage: Stage) -> None:
    """Its job fails, so the last one cannot tell, and the second attempt asks this shard and no other."""
    stage.run.lost = {2}
    last = stage.run.run()
    assert (last.result, last.outputs["verdict"]) == ("failure", "cannot tell")
    assert "there is no directory of a shard" in stage.comment()
    stage.run.lost = set()
    last = stage.run.run_failed()
    assert (last.result, last.outputs["verdict"]) == ("success", "pass"), last.log
    assert stage.run.parts() == ["1-attempt-1", "2-attempt-2", "3-attempt-1"]
    assert "pass" in stage.comment()


def test_all_jobs_again_takes_no_shard_of_before(after: Stage) -> None:
    """What an earlier attempt as a whole has left is of another pass, and no part of this one."""
    before = {*after.run.artifacts}
    last = after.run.run()
    assert (last.result, last.outputs["verdict"]) == ("success", "pass"), last.log
    assert len([name for name in {*after.run.artifacts} - before if name.startswith("raggate-shard-")]) == 3


def test_an_artifact_that_was_left_before_the_shard_is_never_green(stage: Stage) -> None:
    """Who takes the name of a shard's artifact first keeps the shard from leaving its own, whose job fails."""

    def taken(name: str) -> None:
        if name == "ask":
            run = stage.run.legs["number", None].outputs["run"]
            stage.run.artifacts[f"raggate-shard-{run}-2-attempt-1"] = {"x": b""}

    stage.run.before = taken
    last = stage.run.run()
    assert stage.run.legs["ask", 2].result == "failure"
    assert (last.result, last.outputs["verdict"]) == ("failure", "cannot tell"), last.log


def test_a_job_that_failed_is_never_green_though_every_shard_is_whole(after: Stage) -> None:
    """The last job goes by how the others ended, too: whole shards beside a failed job cannot tell."""

    def failed(name: str) -> None:
        if name == "gate":
            after.run.legs["ask", 3].result = "failure"

    after.run.before = failed
    del after.run.legs["gate", None], after.run.artifacts["raggate-run"]
    last = after.run.run_failed()
    assert (last.result, last.outputs["verdict"]) == ("failure", "cannot tell"), last.log
    assert "there is no directory of a shard" in after.comment()
    assert "raggate-run" not in after.run.artifacts


@pytest.mark.parametrize("inputs", [{"build": "touch broken && docker build --tag $IMAGE ."}, {"shards": 257}])
def test_a_job_that_is_skipped_is_never_green(stage: Stage, inputs: dict[str, Any]) -> None:
    """Where nothing was built or numbered the shards are skipped; the last job runs all the same, and says why."""
    stage.run.inputs = {"shards": 3, **inputs}
    last = stage.run.run()
    assert stage.run.result("ask") != "success"
    assert (last.result, last.outputs["verdict"]) == ("failure", "cannot tell"), last.log
    assert "there is no directory of a shard" in stage.comment()


def test_what_the_change_has_put_in_the_way_is_gone(stage: Stage, project: Project, tmp_path: Path) -> None:
    """Forged shards and links that a change commits where raggate's files go have no effect."""
    root = shutil.copytree(project.root, tmp_path / "planted", symlinks=True)
    (root / ".raggate-action").symlink_to(".git")
    parts = root / ".raggate" / "parts" / "shard-2-of-2"
    parts.mkdir(parents=True)
    (parts / "asking.json").write_text("{}")
    stage.run.root, stage.run.inputs = root, {"shards": 2}
    last = stage.run.run()
    assert (last.result, last.outputs["verdict"]) == ("success", "pass"), last.log


def test_an_image_of_a_registry_is_not_built(stage: Stage) -> None:
    """With the input `image` nothing is built or handed on."""
    stage.run.inputs = {"shards": 2, "image": "notes"}
    last = stage.run.run()
    assert (last.result, last.outputs["verdict"]) == ("success", "pass"), last.log
    assert not [name for name in stage.run.artifacts if name.startswith("raggate-image")]
