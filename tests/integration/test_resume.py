"""A run that was killed goes on, asks nothing twice, and comes to what it would have been."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_failure
from project import Project
from raggate.base.errors import ExitCode
from raggate.cli.main import run_command
from raggate.inputs.sources import Remote
from raggate.models.golden import Case, Choice
from raggate.models.run import Result
from raggate.models.service import IndexState
from raggate.pipeline import asking, check, result_rows, shards, stored_runs, unfinished_run
from raggate.pipeline.asking import Booted
from raggate.pipeline.request import RunFailed
from raggate.pipeline.shards import Shard
from stored_rows import plain_rows
from suite_in_process import Api, FakeAdapter, asked_by, contents, make_suite

FIRST = 29
"""Questions of the suite, before any is asked for invariants or a second time."""


class Killed(BaseException):
    """Ends a process as SIGKILL would: nothing that raggate does at an end is done."""


@dataclass
class Fake:
    """An API that outlives raggate: what it was asked, when it kills its asker, and what it tells of its index.

    `kill_after` calls it answers, and then `ends` its asker by that; `version` and `documents` are those of its index;
    `refuses` says which calls fail.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    asked: dict[tuple[str, str], int] = field(default_factory=dict)
    kill_after: int = 1 << 30
    ends: type[BaseException] = Killed
    documents: int | None = 12
    version: str = "v7"
    refuses: Callable[[str, str], bool] = lambda case, mode: False

    @contextmanager
    def booted(self, request: Any, inputs: Any, build: object, place: Any, before: object) -> Iterator[Booted]:
        """Bring it up once more."""
        place.counted(IndexState(healthy=True, indexing=False, documents=self.documents, chunks=self.documents))
        up: Any = _Adapter(self.asked, self)
        yield Booted(adapter=up, api=Api(), clean=lambda result: result, secrets=())


@dataclass(frozen=True)
class _Adapter(FakeAdapter):
    api: Fake

    def _answer(self, case: Case, mode: str) -> Result:
        if len(self.api.calls) >= self.api.kill_after:
            raise self.api.ends
        self.api.calls.append((case.id, mode))
        result = super()._answer(case, mode)
        if self.api.refuses(case.id, mode):
            return replace(result, response=None, failure=make_failure(message="busy"))
        if result.response is None:
            return result
        coverage = {**(result.response.coverage or {}), "index_version": self.api.version}
        return replace(result, response=replace(result.response, coverage=coverage))


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make_suite(tmp_path_factory.mktemp("resume"))


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """An API that has not been asked anything."""
    fake = Fake()
    monkeypatch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
    use(fake, monkeypatch)
    return fake


def use(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have raggate ask this API from now on."""
    monkeypatch.setattr(asking, "booted", fake.booted)


def killed(project: Project, fake: Fake, out: Path, after: int, **fields: Any) -> Path:
    """Run until so many calls are answered, and are killed; give the directory."""
    fake.kill_after = len(fake.calls) + after
    with pytest.raises(Killed):
        check.run(asked_by(project, out=out, **fields))
    fake.kill_after = 1 << 30
    return next(path for path in out.iterdir() if (path / unfinished_run.HEADER).exists())


def compared(directory: Path) -> dict[str, str]:
    """Return the files of a run directory without times, and without how often it went on."""
    files = contents(directory)
    config = json.loads(files["config.json"])
    config["config"].pop("resumed", None)
    return {**files, "config.json": json.dumps(config)}


@pytest.fixture(scope="module")
def whole(suite: Project, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of the run that nothing interrupts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        use(Fake(), patch)
        return compared(check.run(asked_by(suite, out=tmp_path_factory.mktemp("whole"))).directory)


def test_twenty_random_kills_change_nothing(suite: Project, tmp_path: Path, api: Fake, whole: dict[str, str]) -> None:
    """Killed 20 times at random, the run is byte for byte the uninterrupted one, and asks no question of it twice."""
    places = sorted(random.Random(7).sample(range(1, FIRST), 20))  # noqa: S311 - no secret
    directory = killed(suite, api, tmp_path / "out", places[0])
    for before, after in pairwise(places):
        api.kill_after = len(api.calls) + after - before
        with pytest.raises(Killed):
            check.run(asked_by(suite, out=tmp_path / "out", resume=Path(directory.name)))
    api.kill_after = 1 << 30
    result = check.run(asked_by(suite, out=tmp_path / "out", resume=directory))
    assert result.directory == directory
    assert result.run.provenance.resumed == 20
    assert compared(directory) == whole
    assert max(Counter(api.calls[:FIRST]).values()) == 1
    assert sorted(path.name for path in directory.iterdir()) == sorted(whole)


@pytest.mark.parametrize("after", [FIRST, FIRST + 1, FIRST + 5])
def test_a_kill_while_more_is_asked_beside_changes_nothing_but_that_it_is_asked_anew(
    suite: Project, tmp_path: Path, api: Fake, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Killed in second answers or probes, all questions of the suite stay answered, and only those are asked again."""
    directory = killed(suite, api, tmp_path, after)
    # as an API that remembers nothing
    api.asked.clear()
    before = len(api.calls)
    result = check.run(asked_by(suite, out=tmp_path, resume=directory))
    assert len(result.run.results) == FIRST
    assert len(api.calls) - before < FIRST
    assert result.run.probes.answers


@pytest.fixture(scope="module")
def half(suite: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    fake = Fake()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        use(fake, patch)
        return killed(suite, fake, tmp_path_factory.mktemp("half"), 15)


def test_a_line_that_was_cut_is_asked_again(
    suite: Project, half: Path, whole: dict[str, str], tmp_path: Path, api: Fake
) -> None:
    """A file of answers that ends within a line is one of its whole lines."""
    copy = Path(shutil.copytree(half, tmp_path / half.name))
    path = copy / result_rows.PLAIN
    *kept, torn = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(kept) + torn[: len(torn) // 2])
    before = {(row["test_case_id"], row["mode"]) for row in map(json.loads, kept)}
    api.asked.update(dict.fromkeys(before, 1))
    result = check.run(asked_by(suite, out=tmp_path, resume=copy))
    assert len({*api.calls[: FIRST - len(kept)]} | before) == FIRST
    assert compared(result.directory) == whole


def refusal(project: Project, directory: Path, **fields: Any) -> RunFailed:
    """Go on, and give why that is refused."""
    with pytest.raises(RunFailed) as failed:
        check.run(asked_by(project, **{"out": directory.parent, "resume": directory, **fields}))
    return failed.value


def _header(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = directory / unfinished_run.HEADER
    stored = json.loads(path.read_text())
    change(stored)
    path.write_text(json.dumps(stored))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda it: it["means"].update(golden="0"), "the golden set differs"),
        (lambda it: it["means"].update(config="0"), "the configuration differs"),
        (lambda it: it["means"].update(raggate_version="0"), "the version of raggate differs"),
        (lambda it: it.update(command="check"), "the command differs"),
        (lambda it: it.update(schema="raggate/asking/0"), "schema is raggate/asking/0, but this raggate reads"),
        (lambda it: it.update(resumed="3"), "Expected `int`, got `str` - at `$.resumed`"),
    ],
)
def test_what_was_asked_by_other_means_does_not_go_on(
    suite: Project, half: Path, tmp_path: Path, api: Fake, change: Callable[[dict[str, Any]], None], sentence: str
) -> None:
    """Whatever differs is named, exit 2, and nothing is asked or written."""
    copy = Path(shutil.copytree(half, tmp_path / half.name))
    _header(copy, change)
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    failed = refusal(suite, copy)
    assert sentence in failed.message
    assert failed.exit_code == ExitCode.USAGE
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert not api.calls


def _doubled(copy: Path) -> None:
    path = copy / result_rows.PLAIN
    answered = next(line for line in path.read_bytes().splitlines(keepends=True) if b'"failure":null' in line)
    path.write_bytes(path.read_bytes() + answered)


def _foreign(copy: Path) -> None:
    path = copy / result_rows.PLAIN
    row = json.loads(path.read_bytes().splitlines()[0])
    path.write_bytes(path.read_bytes() + json.dumps({**row, "test_case_id": "nobody"}).encode() + b"\n")


def _no_answer(copy: Path) -> None:
    path = copy / result_rows.PLAIN
    path.write_bytes(b"\x00\n" + path.read_bytes())


def _linked(copy: Path) -> None:
    path = copy / result_rows.PLAIN
    path.rename(copy.parent / "elsewhere")
    path.symlink_to(copy.parent / "elsewhere")


def _whole(copy: Path) -> None:
    (copy / unfinished_run.HEADER).unlink()


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_doubled, "or a second answer"),
        (_foreign, "an answer to an unknown question"),
        (_no_answer, "results.jsonl:1: not a result"),
        (_linked, "a link, or another user's"),
        (_whole, "nothing to resume there"),
    ],
)
def test_answers_that_could_lie_do_not_go_on(
    suite: Project, half: Path, tmp_path: Path, api: Fake, damage: Callable[[Path], None], sentence: str
) -> None:
    """Answers that are doubled, foreign, damaged or behind a link are refused before anything is asked."""
    copy = Path(shutil.copytree(half, tmp_path / half.name))
    damage(copy)
    assert sentence in refusal(suite, copy).message
    assert not api.calls


def test_a_directory_behind_a_link_and_the_action_do_not_go_on(
    suite: Project, half: Path, tmp_path: Path, api: Fake
) -> None:
    """What lies behind a link is not believed, and the action goes on with nothing that it finds."""
    (tmp_path / "linked").symlink_to(half)
    assert "a link, or another user's" in refusal(suite, tmp_path / "linked").message
    assert not api.calls
    check.run(asked_by(suite, out=tmp_path / "action", remote=Remote(workspace=suite.root)))
    assert not [*(tmp_path / "action").glob(f"*/{unfinished_run.HEADER}")]


def test_a_directory_in_which_another_process_asks_does_not_go_on(
    suite: Project, tmp_path: Path, api: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes never add to the same answers, and `runs prune` does not see them; one that was killed it does."""
    seen: list[str] = []

    keep = unfinished_run.UnfinishedRun.add

    def add(run: unfinished_run.UnfinishedRun, result: Result) -> None:
        keep(run, result)
        if not seen:
            directory = next(tmp_path.glob("[0-9]*"))
            seen.append(refusal(suite, directory).message)
            assert not stored_runs.stored_runs(tmp_path)

    with monkeypatch.context() as patched:
        patched.setattr(unfinished_run.UnfinishedRun, "add", add)
        check.run(asked_by(suite, out=tmp_path))
    assert "another process is asking there right now" in seen[0]
    (place,) = stored_runs.stored_runs(killed(suite, api, tmp_path / "killed", 5).parent)
    assert (place.suite, place.stopped, place.measured) == ("small", True, False)


@pytest.mark.parametrize(
    ("documents", "version", "sentence"),
    [
        (13, "v7", "another index than before: 13 chunks, 13 documents, it was 12 chunks, 12 documents"),
        (12, "v8", "come from different indexes: index_version"),
    ],
)
def test_answers_of_two_indexes_are_never_mixed(
    suite: Project, tmp_path: Path, api: Fake, documents: int, version: str, sentence: str
) -> None:
    """Another count is seen before anything is asked, another version by the answers, also the next time: exit 3."""
    directory = killed(suite, api, tmp_path, 15)
    api.documents, api.version = documents, version
    failed = refusal(suite, directory)
    assert sentence in failed.message
    assert failed.exit_code == ExitCode.CANNOT_TELL
    api.documents = 12
    if version != "v7":
        assert sentence in refusal(suite, directory).message


def goes_on_by(hint: str) -> int:
    """Do what a message says, as who pastes it."""
    return run_command(shlex.split(hint.partition("To continue: raggate ")[2]))


def test_an_interrupt_names_the_command_that_goes_on(
    suite: Project, tmp_path: Path, api: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message of Ctrl-C ends with a command that, pasted, asks the rest into the same directory."""
    monkeypatch.chdir(tmp_path)
    api.kill_after, api.ends = 10, KeyboardInterrupt
    with pytest.raises(RunFailed, match="interrupted after 10 of 29 calls") as failed:
        check.run(asked_by(suite, out=tmp_path / "a b", choice=Choice(), full_text=True))
    assert failed.value.exit_code == ExitCode.INTERRUPTED
    api.kill_after = 1 << 30
    assert goes_on_by(failed.value.hint) == ExitCode.PASS
    (directory,) = (tmp_path / "a b").iterdir()
    assert len(plain_rows(directory).read_text().splitlines()) == FIRST
    assert max(Counter(api.calls[:FIRST]).values()) == 1
    assert '"text_hash":null' in plain_rows(directory).read_text()


def test_an_interrupt_promises_nothing_that_would_be_refused(suite: Project, tmp_path: Path, api: Fake) -> None:
    """Where nothing was asked, or the API tells nothing of its index, the message names no way on."""
    api.documents, api.version, api.ends, api.kill_after = None, "", KeyboardInterrupt, 0
    with pytest.raises(RunFailed) as failed:
        check.run(asked_by(suite, out=tmp_path))
    assert "To go on" not in failed.value.hint


def test_a_shard_goes_on_and_is_merged_as_if_nothing_had_been(
    suite: Project, tmp_path: Path, api: Fake, whole: dict[str, str]
) -> None:
    """A killed shard that is resumed has the answers of one that was never killed."""
    request = asked_by(suite, out=tmp_path / "shards")
    api.kill_after = 11
    with pytest.raises(Killed):
        shards.run(request, Shard(1, 2))
    api.kill_after = 1 << 30
    directory = tmp_path / "shards" / "shard-1-of-2"
    with pytest.raises(RunFailed, match="the shard, which questions are asked differ"):
        shards.run(replace(request, resume=directory), Shard(2, 2))
    resumed = shards.run(replace(request, resume=directory), Shard(1, 2))
    shards.run(request, Shard(2, 2))
    assert resumed.directory == directory
    assert [unfinished_run.read_header(resumed.directory).resumed, resumed.ended.stopped] == [1, None]
    merged = shards.merge(asked_by(suite, out=tmp_path / "merged"), [tmp_path / "shards"])
    assert compared(merged.result.directory) == whole
