"""Answers of an earlier run are taken for the same images, notes and requests, never for others, and it is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_failure
from project import Project
from raggate.cli.main import run_command
from raggate.errors import ExitCode, UsageError
from raggate.gate.run_origin import refuse_kept
from raggate.models.golden import Case
from raggate.models.run import Response, Result
from raggate.models.selection import Choice
from raggate.models.service import IndexState
from raggate.pipeline import asking, check, rerun, side_by_side
from raggate.pipeline.answers import seal, sealed_file
from raggate.pipeline.booted import Booted
from raggate.pipeline.result import CheckResult, RunFailed
from raggate.reports import diff
from raggate.scoring import score
from stored_rows import plain_rows
from suite_in_process import SMALL, Api, FakeAdapter, asked_by, make_suite

ALL = 29
"""Questions of the suite."""

KEY = "k" * 32
CONTAINER = 'api: {container: {image: "api:1", port: 80, env: {A: "1"}, pass_env: [FLAVOUR]}}\n'
ENVIRONMENT = {seal.VARIABLE: KEY, "FLAVOUR": "plain"}


@dataclass
class Fake:
    """An API in a container: its images, the index that it tells, and which questions it answers otherwise today.

    `suite` are the ids of the questions of the suite.
    """

    calls: list[tuple[str, str]] = field(default_factory=list)
    suite: frozenset[str] = frozenset()
    images: dict[str, str] = field(default_factory=lambda: {"api": "sha256:1"})
    documents: int = 12
    changed: Callable[[str], bool] = lambda case: False
    fails: Callable[[str], bool] = lambda case: False
    noisy: bool = False
    starts: Callable[[], None] = lambda: None

    @contextmanager
    def booted(self, request: Any, inputs: Any, build: object, place: Any, before: object) -> Iterator[Booted]:
        """Bring it up."""
        container = inputs.config.api.container
        self.starts()
        place.ran({**self.images, "api": f"{self.images['api']}-{container.image}"})
        place.counted(IndexState(healthy=True, indexing=False, documents=self.documents, chunks=36))
        up: Any = _Adapter({}, self, inputs.config.ask.k)
        yield Booted(adapter=up, api=Api(), clean=lambda result: result, secrets=(), wait=lambda: None)


@dataclass(frozen=True)
class _Adapter(FakeAdapter):
    api: Fake
    k: int

    def request(self, case: Case, mode: str) -> object:
        """Give what would be sent."""
        return {"question": case.question, "mode": mode, "k": self.k}

    def _answer(self, case: Case, mode: str) -> Result:
        again = (case.id, mode) in self.asked
        self.api.calls.append((case.id, mode))
        result = super()._answer(case, mode)
        if self.api.fails(case.id):
            return replace(result, response=None, failure=make_failure(message="busy"))
        chunks = tuple(self._chunk(rank, word, case.question) for rank, word in enumerate(("one", "two"), 1))
        if self.api.changed(case.id) or (self.api.noisy and again):
            chunks = tuple(replace(chunk, rank=rank) for rank, chunk in enumerate(reversed(chunks), 1))
        coverage = {"index_version": "v7", "docs_processed": 12, "chunks_embedded": 36}
        response = Response(chunks=chunks, coverage=coverage, latency={"retrieval_ms": len(self.api.calls) * 1.0})
        return replace(result, response=response, failure=None, elapsed_ms=len(self.api.calls) * 3.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Path, CheckResult]:
    """A suite of an API in a container, with a baseline of it, what was kept of a check, and that check."""
    project = make_suite(tmp_path_factory.mktemp("cache"))
    lines = [line for line in SMALL.format(repeat=1).splitlines(keepends=True) if not line.startswith("api:")]
    project.config.write_text("".join(lines) + CONTAINER)
    kept = tmp_path_factory.mktemp("kept") / "answers"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        patch.setattr(asking, "booted", Fake().booted)
        first = check.check(wanting(project, kept, out=tmp_path_factory.mktemp("first")))
    return project, kept, first


@pytest.fixture
def suite(made: tuple[Project, Path, CheckResult], tmp_path: Path) -> Project:
    """A copy of the suite."""
    return made[0].copied(tmp_path / "suite")


@pytest.fixture
def kept(made: tuple[Project, Path, CheckResult], tmp_path: Path) -> Path:
    """A copy of what was kept."""
    (tmp_path / "answers").mkdir()
    for path in made[1].iterdir():
        (tmp_path / "answers" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "answers"


@pytest.fixture
def api(made: tuple[Project, Path, CheckResult], monkeypatch: pytest.MonkeyPatch) -> Fake:
    """The API that is asked."""
    fake = Fake(suite=frozenset(case["id"] for case in made[0].cases()))
    monkeypatch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
    monkeypatch.setattr(asking, "booted", fake.booted)
    return fake


def wanting(project: Project, answers: Path, **fields: Any) -> Any:
    """Ask for a check that may take kept answers."""
    return asked_by(project, **{"answers": answers, "environment": ENVIRONMENT, **fields})


def suite_calls(fake: Fake) -> int:
    """Count the questions of the suite that were asked, each once, and none that is asked for invariants alone."""
    return len({(case, mode) for case, mode in fake.calls if case in fake.suite})


def test_kept_answers_give_the_same_verdict(
    made: tuple[Project, Path, CheckResult], suite: Project, kept: Path, api: Fake, tmp_path: Path
) -> None:
    """With kept answers every score, finding and reason is as without, and less than half of the questions is asked."""
    first, result = made[2].review, check.check(wanting(suite, kept, out=tmp_path / "out")).review
    assert suite_calls(api) < ALL / 2
    cards = [score.score(review.run, (1, 5)) for review in (first, result)]
    assert cards[0].cases == cards[1].cases
    assert cards[0].slices == cards[1].slices
    assert first.findings == result.findings
    assert (first.verdict.outcome, first.verdict.reasons) == (result.verdict.outcome, result.verdict.reasons)
    origin = result.run.provenance.kept_from
    assert origin is not None
    assert (origin.run, origin.asked) == (first.run.run_id, first.run.started)


def test_what_was_not_asked_is_told_everywhere(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """Verdict, summary, page and run directory say how many answers are an earlier run's; nothing of these is timed."""
    result = check.check(wanting(suite, kept, out=tmp_path / "out"))
    taken = [item.result for item in result.review.run.results if item.result.kept]
    calls = ALL - len(taken)
    assert len(taken) > ALL / 2
    assert all(not answer.elapsed_ms and answer.trace_id is None for answer in taken)
    (warning,) = [reason for reason in result.review.verdict.warnings if reason.code == "kept-answers"]
    assert warning.message.startswith(f"{len(taken)} answers were not asked for now: run ")
    assert f"of {calls} calls that were made, those that it had answered came out alike" in warning.message
    for name in ("summary.md", "report.html", "verdict.json"):
        assert "came out alike" in (result.directory / name).read_text(), name
    metrics = json.loads((result.directory / "metrics.json").read_text())
    assert (metrics["operational_metrics"]["calls"], metrics["operational_metrics"]["kept"]) == (calls, len(taken))
    rows = [json.loads(line) for line in plain_rows(result.directory).read_text().splitlines()]
    assert sum(row["result"].get("kept", False) for row in rows) == len(taken)
    again = rerun.compare_directory(result.directory, None, None, ())[1]
    assert "kept-answers" in {reason.code for reason in again.verdict.warnings}


def _reworded(suite: Project) -> None:
    cases = suite.cases()
    suite.write_cases([{**case, "question": f"{case['question']} Now?"} for case in cases])


def _narrowed(suite: Project) -> None:
    suite.write_cases([{**case, "folders": ["Notes"]} for case in suite.cases()])


def _note(suite: Project) -> None:
    note = next((suite.root / "vault" / "work").rglob("*.md"))
    note.write_text(f"{note.read_text()}\nOne more line.\n")


@pytest.mark.parametrize(
    "change",
    [
        lambda suite, fake: fake.images.update(api="sha256:2"),
        lambda suite, fake: fake.images.update(db="sha256:1"),
        lambda suite, fake: _note(suite),
        lambda suite, fake: (suite.root / "vault" / "work" / "table.csv").write_text("no note"),
        lambda suite, fake: _reworded(suite),
        lambda suite, fake: _narrowed(suite),
        lambda suite, fake: suite.edit('env: {A: "1"}', 'env: {A: "2"}'),
        lambda suite, fake: suite.edit("port: 80", "port: 81"),
        lambda suite, fake: suite.edit("port: 80", "port: 80, memory: 1g"),
        lambda suite, fake: suite.edit("port: 80", "port: 80, command: [serve, --fast]"),
        lambda suite, fake: suite.edit("ask: {", "ask: {k: 11, "),
        lambda suite, fake: suite.edit("ask: {", "ask: {retrieval_only: false, "),
        lambda suite, fake: ENVIRONMENT | {"FLAVOUR": "strong"},
        lambda suite, fake: {seal.VARIABLE: KEY},
    ],
)
def test_what_depends_on_anything_else_is_asked(
    suite: Project, kept: Path, api: Fake, tmp_path: Path, change: Callable[[Project, Fake], Any]
) -> None:
    """Another image, service, note, question, request, variable, limit or setting of the API: nothing is taken."""
    environment = change(suite, api)
    environment = environment if isinstance(environment, dict) else ENVIRONMENT
    run = check.run(wanting(suite, kept, out=tmp_path / "out", environment=environment)).run
    assert run.provenance.kept_from is None
    assert suite_calls(api) == ALL


def test_files_that_change_while_the_api_starts(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """Nobody knows which of them the API got, so its answers are neither taken nor kept for what lies there now."""
    table = suite.root / "vault" / "work" / "table.csv"
    api.starts = lambda: table.write_text("no note") and None
    assert "files of the vaults were changed while the API started" in left_aside(suite, kept, api, tmp_path / "a")
    api.starts = lambda: None
    api.calls.clear()
    check.run(wanting(suite, kept, out=tmp_path / "b"))
    assert suite_calls(api) == ALL


def test_another_version_of_raggate_asks(
    suite: Project, kept: Path, api: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What another version has kept is not taken."""
    monkeypatch.setattr("raggate.pipeline.answers.answer_cache.__version__", "0")
    check.run(wanting(suite, kept, out=tmp_path / "out"))
    assert suite_calls(api) == ALL


def left_aside(suite: Project, kept: Path, fake: Fake, out: Path) -> str:
    """Check, expect that everything was asked, and give why no kept answer was taken, as the verdict says it."""
    heard: list[str] = []
    review = check.check(wanting(suite, kept, out=out, say=heard.append)).review
    assert suite_calls(fake) == ALL
    assert not any(item.result.kept for item in review.run.results)
    (warning,) = [reason.message for reason in review.verdict.warnings if reason.code == "kept-aside"]
    assert any("kept answers are left aside, and all is asked" in line for line in heard)
    return warning


def test_one_answer_that_is_another_one_today_sets_all_aside(
    suite: Project, kept: Path, api: Fake, tmp_path: Path
) -> None:
    """The questions that are asked all the same are compared; one difference, and every question is asked."""
    suite.config.write_text(suite.config.read_text() + "answers: {spot_check: 1000}\n")
    one = next(case["id"] for case in reversed(suite.cases()) if not case["id"].endswith("-again"))
    api.changed = lambda case: case == one
    assert f"{one} (" in left_aside(suite, kept, api, tmp_path / "out")


def test_a_call_that_fails_sets_all_aside(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """An API that fails a call is asked everything, so that failures are of as many calls as without kept answers."""
    suite.config.write_text(suite.config.read_text() + "answers: {spot_check: 1000}\n")
    one = suite.cases()[0]["id"]
    api.fails = lambda case: case == one
    assert f"{one} (" in left_aside(suite, kept, api, tmp_path / "out")


def test_an_api_that_ranks_otherwise_each_time_today_has_no_kept_answers(
    suite: Project, kept: Path, api: Fake, tmp_path: Path
) -> None:
    """Its first answers are as before and its second ones are not: what it would say to the rest, nobody knows."""
    api.noisy = True
    assert "is answered otherwise when asked again" in left_aside(suite, kept, api, tmp_path / "out")


def test_a_second_call_that_fails_sets_all_aside(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """An API that answers each question once and no more is asked everything too."""
    api.fails = lambda case: len({*api.calls}) < len(api.calls)
    assert "got no answer" in left_aside(suite, kept, api, tmp_path / "out")


def test_an_api_that_changed_altogether_is_seen_whatever_is_drawn(
    suite: Project, kept: Path, api: Fake, tmp_path: Path
) -> None:
    """With one question to compare, an API that answers all of them otherwise gets none taken."""
    suite.config.write_text(suite.config.read_text() + "answers: {spot_check: 1}\n")
    api.changed = lambda case: True
    assert "is answered otherwise than before" in left_aside(suite, kept, api, tmp_path / "out")


def test_which_questions_are_compared_is_not_known_before(
    suite: Project, kept: Path, api: Fake, tmp_path: Path
) -> None:
    """Two runs ask other ones, beside those that are asked twice in any case."""
    asked = []
    for number in range(3):
        api.calls.clear()
        check.run(wanting(suite, kept, out=tmp_path / str(number)))
        asked.append(frozenset(api.calls))
    assert len({*asked}) > 1


def test_another_count_of_the_index_sets_all_aside(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """An API that has indexed more or less than before is asked everything."""
    api.documents = 13
    assert "other counts of its index" in left_aside(suite, kept, api, tmp_path / "out")


def _resealed(path: Path, **origin: str) -> None:
    file = sealed_file.read(path, KEY.encode())
    assert file is not None
    header = replace(file.header, origin=replace(file.header.origin, **origin))
    sealed_file.write(path, KEY.encode(), header, ((result.case_id, result) for result in file.results))


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-30]), "it ends without its seal"),
        (lambda path: _resealed(path, asked="2020-01-01T00:00:00Z"), "not of the last 14 days"),
        (lambda path: _resealed(path, asked="2220-01-01T00:00:00Z"), "not of the last 14 days"),
        (lambda path: _resealed(path, asked="tomorrow"), "not of the last 14 days"),
    ],
)
def test_a_file_that_is_not_to_be_believed_is_left_aside(
    suite: Project, kept: Path, api: Fake, tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    """What is damaged, old or of tomorrow is not taken, everything is asked, and the verdict says why."""
    (file,) = kept.iterdir()
    harm(file)
    assert words in left_aside(suite, kept, api, tmp_path / "out")


def test_a_directory_behind_a_link_is_left_aside(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """A link is not followed, neither to read nor to write."""
    (tmp_path / "linked").symlink_to(kept)
    before = {path: path.read_bytes() for path in kept.iterdir()}
    assert "is a link" in left_aside(suite, tmp_path / "linked", api, tmp_path / "out")
    assert {path: path.read_bytes() for path in kept.iterdir()} == before


def test_an_api_that_ends_early_has_no_kept_answers(
    suite: Project, kept: Path, api: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an API that dies no answer is taken: what was not asked is told as that, and nothing can be told."""
    ask = FakeAdapter.ask

    def dies(self: FakeAdapter, *given: Any, **more: Any) -> Any:
        return replace(ask(self, *given, **more), stopped="the API was killed")

    monkeypatch.setattr(FakeAdapter, "ask", dies)
    review = check.check(wanting(suite, kept, out=tmp_path / "out")).review
    assert review.verdict.exit_code == ExitCode.CANNOT_TELL
    assert len(review.run.results) == ALL
    assert not any(item.result.kept for item in review.run.results)


def test_what_another_key_has_sealed_is_not_taken(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """A file that somebody committed or uploaded, who does not have the key, has no part: not even its name fits."""
    other = {**ENVIRONMENT, seal.VARIABLE: "x" * 32}
    run = check.run(wanting(suite, kept, out=tmp_path / "out", environment=other)).run
    assert run.provenance.kept_from is None
    assert suite_calls(api) == ALL


@pytest.mark.parametrize(
    "change",
    [
        {"GITHUB_EVENT_NAME": "pull_request"},
        {"GITHUB_EVENT_NAME": "pull_request_target"},
        {"CI_MERGE_REQUEST_IID": "7"},
        {"BUILDKITE_PULL_REQUEST": "7"},
        {"CHANGE_ID": "7"},
    ],
)
def test_a_run_for_a_change_keeps_nothing(
    suite: Project, kept: Path, api: Fake, tmp_path: Path, change: dict[str, str]
) -> None:
    """Where a CI system runs it for a change that is not merged, answers are taken and none are kept."""
    environment = {"CI": "true", **ENVIRONMENT, **change}
    check.run(wanting(suite, tmp_path / "new", out=tmp_path / "out", environment=environment))
    assert not (tmp_path / "new").exists()
    api.calls.clear()
    check.run(wanting(suite, kept, out=tmp_path / "2", environment=environment))
    assert suite_calls(api) < ALL / 2


def test_without_the_secret_of_ci_everything_is_asked(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """In CI no key is made up: a run of a fork, which gets no secret, takes nothing, keeps nothing, and goes on."""
    heard: list[str] = []
    environment = {"CI": "true", "FLAVOUR": "plain", "HOME": str(tmp_path)}
    before = {path: path.read_bytes() for path in kept.iterdir()}
    check.run(wanting(suite, kept, out=tmp_path / "out", environment=environment, say=heard.append))
    assert suite_calls(api) == ALL
    assert {path: path.read_bytes() for path in kept.iterdir()} == before
    assert any(f"the secret {seal.VARIABLE} is not given" in line for line in heard)


def test_a_part_of_the_questions_takes_and_does_not_keep(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """A partial run, in which nothing is asked twice, keeps nothing; it says what it has taken."""
    part = Choice(limit=12)
    check.check(wanting(suite, tmp_path / "new", out=tmp_path / "1", choice=part))
    assert not (tmp_path / "new").exists()
    review = check.check(wanting(suite, kept, out=tmp_path / "2", choice=part)).review
    assert any(item.result.kept for item in review.run.results)
    assert "kept-answers" in {reason.code for reason in review.verdict.warnings}


@pytest.mark.parametrize(
    ("edit", "words"),
    [(None, "does not answer alike each time"), (("repeat_sample: 4", "repeat_sample: 0"), "was asked twice")],
)
def test_answers_that_may_vary_are_not_kept(
    suite: Project, api: Fake, tmp_path: Path, edit: tuple[str, str] | None, words: str
) -> None:
    """Of an API that ranks otherwise the second time, or was asked nothing twice, nothing is kept, and that is said."""
    api.noisy = edit is None
    if edit is not None:
        suite.edit(*edit)
    heard: list[str] = []
    check.run(wanting(suite, tmp_path / "new", out=tmp_path / "out", say=heard.append))
    assert not (tmp_path / "new").exists()
    assert any("the answers are not kept" in line and words in line for line in heard)


def test_a_run_that_took_answers_keeps_none(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """So answers never grow younger, whatever is asked again and again."""
    before = {path: path.read_bytes() for path in kept.iterdir()}
    check.run(wanting(suite, kept, out=tmp_path / "out"))
    assert {path: path.read_bytes() for path in kept.iterdir()} == before


def test_suites_of_one_api_keep_their_answers_apart(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """A suite that asks a part of the questions of the same API neither takes nor replaces what the other has kept."""
    before = {path: path.read_bytes() for path in kept.iterdir()}
    suite.edit("suite: small", "suite: smoke")
    run = check.run(wanting(suite, kept, out=tmp_path / "out")).run
    assert run.provenance.kept_from is None
    after = {path: path.read_bytes() for path in kept.iterdir()}
    assert before.items() < after.items()
    assert len(after) == 2


def test_a_run_that_may_keep_nothing_takes_all_the_same(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """Whoever asks can forbid to keep answers, whatever the CI system says; those that are there are taken."""
    check.run(wanting(suite, tmp_path / "new", out=tmp_path / "1", keeps_answers=False))
    assert not (tmp_path / "new").exists()
    api.calls.clear()
    check.run(wanting(suite, kept, out=tmp_path / "2", keeps_answers=False))
    assert suite_calls(api) < ALL / 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_counts_by_its_seal(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """A job that restores the directory is another user than the container of the action, which is root."""
    for path in kept.iterdir():
        os.chown(path, 1001, 1001)
    assert check.run(wanting(suite, kept, out=tmp_path / "out")).run.provenance.kept_from is not None


@pytest.mark.parametrize("place", ["vault/work", "vault/personal/Notes/deep", "lies", "lies/deep"])
def test_a_directory_in_a_vault_is_refused(suite: Project, api: Fake, tmp_path: Path, place: str) -> None:
    """The API would be given the answers among its notes, also where a link leads there."""
    (suite.root / "lies").symlink_to("vault/personal")
    with pytest.raises(RunFailed, match="lies in the vault") as failed:
        check.check(wanting(suite, suite.root / place, out=tmp_path / "out"))
    assert (failed.value.exit_code, api.calls) == (ExitCode.USAGE, [])


@pytest.mark.parametrize(
    ("edit", "fields", "words"),
    [
        ((CONTAINER, 'api: {url: "http://127.0.0.1:9"}\n'), {}, "only the images of `api.container`"),
        ((CONTAINER, 'api: {command: {run: [serve, "{port}"]}}\n'), {}, "only the images of `api.container`"),
        (("port: 80", "port: 80, egress: true"), {}, "answers.outside_services: true"),
        (("repeat: 1", "repeat: 2"), {}, "`ask.repeat`"),
        (None, {"workers": 2}, "without --workers"),
        (None, {"environment": {seal.VARIABLE: "short"}}, "expected at least 32 characters"),
    ],
)
def test_what_nothing_names_is_refused_in_one_sentence(
    suite: Project,
    kept: Path,
    api: Fake,
    tmp_path: Path,
    edit: tuple[str, str] | None,
    fields: dict[str, Any],
    words: str,
) -> None:
    """Where nothing tells what answers depend on, or there is no key, it ends with exit 2 before anything starts."""
    if edit is not None:
        suite.edit(*edit)
    with pytest.raises(RunFailed) as failed:
        check.check(wanting(suite, kept, out=tmp_path / "out", **fields))
    assert failed.value.exit_code == ExitCode.USAGE
    assert words in failed.value.message
    assert not api.calls
    assert not (tmp_path / "out").exists()


def test_an_api_that_reaches_others_may_be_kept_by_name(suite: Project, api: Fake, tmp_path: Path) -> None:
    """With `answers.outside_services: true` answers of an API with egress are kept and taken."""
    suite.edit("port: 80", "port: 80, egress: true")
    suite.config.write_text(suite.config.read_text() + "answers: {outside_services: true}\n")
    check.run(wanting(suite, tmp_path / "new", out=tmp_path / "1"))
    api.calls.clear()
    check.run(wanting(suite, tmp_path / "new", out=tmp_path / "2"))
    assert suite_calls(api) < ALL


def test_a_run_with_kept_answers_is_not_promoted(suite: Project, kept: Path, api: Fake, tmp_path: Path) -> None:
    """The run that asked is the one to promote, or to hand to a system that wants times, and it is named."""
    result = check.check(wanting(suite, kept, out=tmp_path / "out"))
    origin = result.review.run.provenance.kept_from
    assert origin is not None
    out = str(tmp_path / "exported")
    for words in (
        ["helloworld", "export", str(result.directory), "--out", out, "--mode", "hybrid"],
        ["kebab", "export", str(result.directory), "--out", out, "--mode", "hybrid"],
    ):
        assert run_command(words) == ExitCode.USAGE
    assert not (tmp_path / "exported").exists()
    with pytest.raises(UsageError, match=f"answers are those of run '{origin.run}'"):
        refuse_kept(result.review.run)
    assert not rerun.promotable(result.review)


def test_the_base_of_two_builds_is_not_asked_again(suite: Project, api: Fake, tmp_path: Path) -> None:
    """`raggate diff` takes the answers of a base that did not change, asks the new head, and says so of each side."""
    fields = {"out": tmp_path / "out", "environment": ENVIRONMENT, "answers": tmp_path / "new"}
    side_by_side.diff(asked_by(suite, **fields), "image:api:1", "image:api:2")
    api.calls.clear()
    both = side_by_side.diff(asked_by(suite, **fields), "image:api:1", "image:api:3")
    assert both.base.kept > ALL / 2
    assert both.head.kept == 0
    line = f"base: {both.base.kept} answers kept of an earlier run, not asked for now"
    assert line in diff.render_terminal(both, width=80)
    assert line in diff.render_markdown(both)
    assert [side.kept for side in (diff.document(both).base, diff.document(both).head)] == [both.base.kept, 0]
    assert "head:" not in diff.render_terminal(both, width=80).partition(line)[2]
