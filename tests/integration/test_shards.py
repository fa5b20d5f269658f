"""A run in shards is the run that one process makes, byte for byte but for times; what is not whole is named."""

from __future__ import annotations

import json
import os
import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from project import Project
from raggate.errors import CannotTell, ExitCode, UsageError
from raggate.gate import promote
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs
from raggate.models.golden import Choice
from raggate.models.run import Chunk, Response, Result
from raggate.models.service import IndexState
from raggate.models.shards import Plan
from raggate.pipeline import asking, check, stored_check, unfinished_run
from raggate.pipeline.booted import Booted, Place
from raggate.pipeline.request import CheckResult, Request, RunFailed
from raggate.pipeline.shards import merge, planning, running, shard_directory
from raggate.pipeline.trusted_inputs import load_inputs
from raggate.text.jsonio import JsonObject, dumps
from suite_in_process import SMALL, Api, FakeAdapter, asked_by, contents, make_suite


@contextmanager
def booted(request: Request, inputs: Inputs, build: object, place: Place, before: object) -> Iterator[Booted]:
    """Bring up an API that answers in this process."""
    place.counted(IndexState(healthy=True, indexing=False, documents=12, chunks=36))
    up: Any = FakeAdapter({})
    yield Booted(adapter=up, api=Api(), clean=lambda result: result, secrets=(), wait=lambda: None)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A suite of 15 questions in two modes, some of which fail, with second answers and probes."""
    project = make_suite(tmp_path_factory.mktemp("shards"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "booted", booted)
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        yield project


def asked_in_shards(project: Project, count: int, out: Path) -> Plan:
    """Plan, and ask every shard as a process would."""
    request = asked_by(project, out=out)
    with load_inputs(request) as inputs:
        plan = planning.plan(request, inputs, count)
        for shard in range(1, count + 1):
            running.ask(request, inputs, plan, shard)
    return plan


@pytest.fixture(scope="module")
def asked(suite: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards that asked everything, with their plan."""
    out = tmp_path_factory.mktemp("asked")
    plan = asked_in_shards(suite, 3, out / "shards")
    (out / "plan.json").write_bytes(planning.plan_bytes(plan))
    return out


@pytest.fixture(scope="module")
def merged(suite: Project, asked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory that the three shards were merged into, which tests copy before they change it."""
    out = tmp_path_factory.mktemp("merged")
    return merge.merge(asked_by(suite, out=out), [asked / "shards"]).result.directory


def refusal(project: Project, *directories: Path, **fields: Any) -> RunFailed:
    """Merge, and give why that is refused; nothing is left of it."""
    out = directories[0].parent / "refused"
    with pytest.raises(RunFailed) as failed:
        merge.merge(asked_by(project, out=out), directories, **fields)
    assert not out.exists()
    return failed.value


@pytest.mark.parametrize(("repeat", "counts"), [(1, (1, 2, 7, 256)), (3, (7,))])
def test_however_many_shards_there_are_the_run_is_the_same(
    suite: Project, tmp_path: Path, repeat: int, counts: tuple[int, ...]
) -> None:
    """1, 2, 7 and 256 shards give the bytes of one process: modes, repeats, failures, second answers, probes."""
    project = suite.copied(tmp_path)
    project.config.write_text(SMALL.format(repeat=repeat))
    whole = check.run(asked_by(project, out=tmp_path / "whole"))
    expected = contents(whole.directory)
    for count in counts:
        asked_in_shards(project, count, tmp_path / f"{count}-shards")
        result = merge.merge(asked_by(project, out=tmp_path / f"{count}-merged"), [tmp_path / f"{count}-shards"]).result
        files = contents(result.directory)
        assert files.pop("shards.json")
        assert files == expected, count
    assert len(whole.run.results) == 29
    assert any(item.result.failure for item in whole.run.results)
    assert whole.run.probes.answers
    assert whole.run.fingerprint["repeated"]["differ"] > 0


def change_receipt(directory: Path, **fields: Any) -> None:
    """Change a receipt and make it fit its own hash again, as who forges one can."""
    receipt = replace(shard_directory.read_receipt(directory), **fields)
    (directory / "receipt.json").write_bytes(shard_directory.receipt_bytes(receipt))


def _killed(two: Path) -> None:
    (two / "receipt.json").unlink()


def _gone(two: Path) -> None:
    shutil.rmtree(two)


def _doubled(two: Path) -> None:
    shutil.copytree(two, two.parent / "shard-2-of-3-attempt-2")


def _foreign(two: Path) -> None:
    change_receipt(two, plan="0" * 64)


def _incomplete(two: Path) -> None:
    """Leave a receipt without its nonce, with the hash that fits it."""
    stored = json.loads((two / "receipt.json").read_text())
    del stored["nonce"], stored["hash"]
    stored["hash"] = sha256(dumps(stored)).hexdigest()
    (two / "receipt.json").write_bytes(dumps(stored))


def _stopped(two: Path) -> None:
    change_receipt(two, stopped="the API died")


def _half(two: Path) -> None:
    counts = shard_directory.read_receipt(two).counts
    change_receipt(two, counts=replace(counts, asked=counts.asked - 1))


def _miscounted(two: Path) -> None:
    counts = shard_directory.read_receipt(two).counts
    change_receipt(two, counts=replace(counts, asked=counts.asked - 1, failed=counts.failed + 1))


def _cut(two: Path) -> None:
    results = two / "results.jsonl"
    results.write_bytes(results.read_bytes()[:-20])


def _other_index(two: Path) -> None:
    index = {**shard_directory.read_receipt(two).index, "chunk_tokens": ("9",)}
    for other in (1, 3):
        change_receipt(two.parent / f"shard-{other}-of-3", index={**index, "chunk_tokens": ("8",)})
    change_receipt(two, index=index)


def _other_image(two: Path) -> None:
    for shard, digit in ((1, "a"), (2, "b"), (3, "a")):
        change_receipt(two.parent / f"shard-{shard}-of-3", images=(f"sha256:{digit * 64}",))


def _not_repeated(two: Path) -> None:
    """Leave no second answer in any shard, with receipts that fit."""
    for number in (1, 2, 3):
        directory = two.parent / f"shard-{number}-of-3"
        receipt = shard_directory.read_receipt(directory)
        probes = [*shard_directory.read(directory, receipt, most=99).probes]
        shard_directory.complete(directory, replace(receipt, again=0), [], probes, receipt.files["results.jsonl"])


def _renumbered(two: Path) -> None:
    shutil.rmtree(two)
    shutil.copytree(two.parent / "shard-1-of-3", two)
    lines = (two / "results.jsonl").read_bytes().splitlines(keepends=True)
    (two / "results.jsonl").write_bytes(content := b"".join(lines[:9]))
    files = {**shard_directory.read_receipt(two).files, "results.jsonl": sha256(content).hexdigest()}
    change_receipt(two, shard=2, files=files)


def _wild(**fields: Any) -> Callable[[Path], None]:
    """Change the times of one answer, and all hashes so that they fit."""

    def harm(two: Path) -> None:
        first, *others = (two / "results.jsonl").read_bytes().splitlines(keepends=True)
        row = json.dumps({**json.loads(first), **fields}).encode() + b"\n"
        (two / "results.jsonl").write_bytes(content := row + b"".join(others))
        files = shard_directory.read_receipt(two).files
        change_receipt(two, files={**files, "results.jsonl": sha256(content).hexdigest()})

    return harm


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_wild(elapsed_ms=-0.5), ": -0.5 ms and "),
        (_wild(elapsed_ms="nan"), "{two}/results.jsonl:1: not a result: elapsed_ms: "),
        (_wild(elapsed_ms=9e6), ": 9000000 ms and "),
        (_wild(retries=3), " and 3 retries, where the whole shard took "),
        (_wild(retries=-1), " and -1 retries, where the whole shard took "),
        (_killed, "shard 2 of 3: {two}: no receipt.json: it was killed"),
        (_gone, "shard 2 of 3: missing"),
        (_doubled, "shard 2 of 3: doubled: {two}, {two}-attempt-2"),
        (_foreign, "{two}: of another plan"),
        (_incomplete, "receipt.json: not a receipt: nonce: Field required"),
        (_stopped, "shard 2 of 3: {two}: it broke off: the API died"),
        (_half, "shard 2 of 3: {two}: half: 10 planned, "),
        (_miscounted, "shard 2 of 3: {two}: its counts are not those of its answers"),
        (_cut, "shard 2 of 3: {two}/results.jsonl: its SHA-256 is not that of the receipt"),
        (_other_index, "shard 2: it saw another index: chunk_tokens 9, where shard 1 saw 8"),
        (_other_image, "shard 2: it saw another image of the API: sha256:bbb"),
        (_not_repeated, " of the calls that are made twice were made once"),
        (_renumbered, "shard 2 of 3: {two}: its answers are not one to each of its questions"),
    ],
)
def test_a_shard_that_is_not_whole_is_named(
    suite: Project, asked: Path, tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    """A shard that is missing, killed, doubled, half, cut, forged, or of another plan, index or image ends with 3."""
    shards = shutil.copytree(asked / "shards", tmp_path / "shards")
    two = shards / "shard-2-of-3"
    harm(two)
    failed = refusal(suite, shards, plan_file=asked / "plan.json")
    assert failed.exit_code == ExitCode.CANNOT_TELL
    assert words.format(two=two) in failed.message
    assert "Nothing was merged." in failed.hint


def _sparse(results: Path) -> None:
    os.truncate(results, 1 << 30)


def _many_values(results: Path) -> None:
    results.write_bytes(b'{"a":[' + b"0," * 200_000 + b"0]}\n")


def _many_lines(results: Path) -> None:
    results.write_bytes(results.read_bytes() + b"{}\n" * 100)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_sparse, "/results.jsonl:10: a line of more than 33554432 bytes"),
        (_many_values, "/results.jsonl:1: more than 200000 values in a line"),
        (_many_lines, "/results.jsonl: more than 9 lines, one for each call that the plan gives this shard"),
    ],
)
def test_a_shard_with_too_much_in_it_is_refused_before_it_is_in_memory(
    suite: Project, asked: Path, tmp_path: Path, harm: Callable[[Path], None], words: str
) -> None:
    """A line or a file that is larger than any shard writes is refused, whatever the receipt vouches for."""
    shards = shutil.copytree(asked / "shards", tmp_path / "shards")
    two = shards / "shard-2-of-3"
    harm(two / "results.jsonl")
    with (two / "results.jsonl").open("rb") as stream:
        digest = file_digest(stream, "sha256").hexdigest()
    change_receipt(two, files={**shard_directory.read_receipt(two).files, "results.jsonl": digest})
    tracemalloc.start()
    try:
        failed = refusal(suite, shards, plan_file=asked / "plan.json")
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()
    assert failed.exit_code == ExitCode.CANNOT_TELL
    assert f"{two}{words}" in failed.message


def test_an_attempt_that_ended_early_is_left_out_and_told(suite: Project, asked: Path, tmp_path: Path) -> None:
    """Of two attempts of a shard the one that asked everything counts, and the run directory names the other."""
    shards = shutil.copytree(asked / "shards", tmp_path / "shards")
    shutil.copytree(shards / "shard-2-of-3", shards / "shard-2-of-3-attempt-2")
    (shards / "shard-2-of-3" / "receipt.json").unlink()
    merged = merge.merge(asked_by(suite, out=tmp_path / "merged"), [shards])
    (line,) = merged.left_out
    assert line.startswith("shard-2-of-3: no receipt.json: it was killed")
    assert json.loads((merged.result.directory / "shards.json").read_text())["left_out"] == [line]


@pytest.fixture(scope="module")
def read_again(suite: Project, asked: Path) -> Callable[[], object]:
    """Return a function that reads the answers of all three shards."""
    with load_inputs(asked_by(suite)) as inputs:
        plan = planning.plan(asked_by(suite), inputs, 3)
        directories = [asked / "shards" / f"shard-{shard}-of-3" for shard in (1, 2, 3)]
        return lambda: merge.read_shards(plan, [*map(merge.attempt_in, directories)], inputs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=st.integers(0, 99), share=st.floats(0, 1), difference=st.integers(1, 255))
def test_a_byte_that_is_changed_changes_nothing_or_is_refused(
    asked: Path, read_again: Callable[[], object], number: int, share: float, difference: int
) -> None:
    """Whatever byte of whatever file of a shard is another one, the shards are refused or hold the same answers."""
    expected = read_again()
    files = sorted((asked / "shards").glob("*/*.json*"))
    file = files[number % len(files)]
    content = file.read_bytes()
    at = min(int(share * len(content)), len(content) - 1)
    try:
        file.write_bytes(content[:at] + bytes([content[at] ^ difference]) + content[at + 1 :])
        with suppress(CannotTell):
            assert read_again() == expected
    finally:
        file.write_bytes(content)


def test_a_shard_alone_is_no_run(suite: Project, asked: Path) -> None:
    """A shard is never checked, compared or promoted by itself: exit 2, naming `merge`."""
    shard = str(asked / "shards" / "shard-1-of-3")
    for command in (["check", "--run", shard], ["compare", shard], ["promote", shard]):
        done = suite.command(*command)
        assert done.code == 2
        assert "one shard of a run" in done.err
        assert "raggate merge" in done.err


def test_a_shard_with_nothing_to_ask_needs_no_api(
    suite: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More shards than questions are fine: those without any leave an empty receipt, and start no API."""
    request = asked_by(suite, out=tmp_path)
    with load_inputs(request) as inputs:
        plan = planning.plan(request, inputs, 256)
        empty = plan.shards.index((), 1) + 1
        monkeypatch.delattr(asking, "booted")
        receipt = running.ask(request, inputs, plan, empty).receipt
    assert (receipt.counts.planned, receipt.stopped, receipt.probes) == (0, None, 0)


def test_answers_of_a_process_that_is_killed_are_there(
    suite: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer is in the file when the next question is asked, so that a process may be killed at any moment."""
    seen: list[int] = []
    request = asked_by(suite, out=tmp_path)
    path = tmp_path / "shard-1-of-2" / "results.jsonl"
    keep = unfinished_run.UnfinishedRun.add

    def add(run: unfinished_run.UnfinishedRun, result: Result) -> None:
        keep(run, result)
        seen.append(len([*shard_directory.lines_of(path)]))

    monkeypatch.setattr(unfinished_run.UnfinishedRun, "add", add)
    with load_inputs(request) as inputs:
        running.ask(request, inputs, planning.plan(request, inputs, 2), 1)
    assert seen == [*range(1, len(seen) + 1)]
    assert len(seen) > 10


def test_a_plan_is_of_the_inputs_it_was_made_of(suite: Project, asked: Path, tmp_path: Path) -> None:
    """A plan that was changed, leaves something out, or is of another golden set or configuration ends with exit 2."""
    stored = json.loads((asked / "plan.json").read_text())
    stored["shards"][0].append(stored["shards"][1].pop())
    changed = tmp_path / "plan.json"
    changed.write_text(json.dumps(stored))
    failed = refusal(suite, asked / "shards", plan_file=changed)
    assert (failed.exit_code, "it was changed" in failed.message) == (ExitCode.USAGE, True)
    incomplete = json.loads((asked / "plan.json").read_text())
    del incomplete["nonce"]
    changed.write_bytes(dumps({**incomplete, "hash": sha256(dumps({**incomplete, "hash": ""})).hexdigest()}))
    failed = refusal(suite, asked / "shards", plan_file=changed)
    assert "plan.json: not a plan: nonce: Field required" in failed.message
    other = suite.copied(tmp_path / "other")
    other.edit("sample: 4", "sample: 5")
    other.write_cases(other.cases()[:-1])
    failed = refusal(other, asked / "shards", plan_file=asked / "plan.json")
    assert failed.exit_code == ExitCode.USAGE
    assert "the golden set, the configuration differ" in failed.message


def test_a_shard_that_is_named_twice_is_one(suite: Project, asked: Path, tmp_path: Path) -> None:
    """A directory that is named by itself, and lies in one that is named too, is no second attempt."""
    shards = sorted(path for path in (asked / "shards").iterdir() if path.is_dir())
    merged = merge.merge(asked_by(suite, out=tmp_path / "merged"), [asked / "shards", *shards[:1]])
    assert len(merged.shards) == len(shards)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repeat_sample: 4", "repeat_sample: 5", "another configuration than the one that judges it: ask differs"),
        ("127.0.0.1:9", "127.0.0.1:8", "another configuration than the one that judges it: api differs"),
        ("version: 1", "version: 1", "not measured by the files that judge it: vault differs"),
    ],
)
def test_a_run_is_judged_by_what_it_was_measured_by(
    suite: Project, merged: Path, tmp_path: Path, old: str, new: str, words: str
) -> None:
    """A run that other inputs measured than those that judge is refused: it cannot tell."""
    other = suite.copied(tmp_path / "other")
    other.edit(old, new)
    if old == new:
        (other.root / "vault/work/Notes/more.md").write_text("# More\n\nnew\n")
    done = other.command("check", "--run", str(merged))
    assert done.code == ExitCode.CANNOT_TELL, done.err
    assert words in done.err
    assert "(--config, --against, --api-url)" in done.err


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ({"checkout": {"commit": "a" * 40}}, "measured at commit aaaaaaaaaaa…, and bbbbbbbbbbb… is checked out here"),
        ({"checkout": {"commit": ["a" * 40]}}, "where it comes from cannot be read: checkout.commit"),
        ({"command": "shadow"}, "where it comes from cannot be read: command"),
        ({"checkout": {}}, "measured at no known commit, and bbbbbbbbbbb… is checked out here"),
        (
            {"ask": {"modes": ["hybrid", "vector"]}, "checkout": {"commit": "b" * 40}},
            "a version of raggate that has other settings in ask",
        ),
    ],
)
def test_a_run_is_no_verdict_on_another_commit(
    suite: Project, merged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: JsonObject, words: str
) -> None:
    """A run of another commit than the one that is checked out, of none, or of other settings, is not judged."""
    directory = shutil.copytree(merged, tmp_path / "merged")
    config = json.loads((directory / "config.json").read_text())
    config["config"] |= stored
    (directory / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(sources, "commit_of", lambda *_: "b" * 40)
    with pytest.raises(RunFailed, match=re.escape(words)) as failed:
        stored_check.check_run(asked_by(suite, out=tmp_path / "judged"), directory)
    assert failed.value.exit_code in {ExitCode.CANNOT_TELL, ExitCode.USAGE}
    assert not (tmp_path / "judged").exists()


def test_a_part_of_the_questions_is_not_judged_as_a_run(suite: Project, tmp_path: Path) -> None:
    """`check --run` of a partial run says that it is one; without that mark answers are missing."""
    part = check.run(asked_by(suite, out=tmp_path / "part", choice=Choice(limit=2))).directory
    for words, code in (("the run is partial: 2 of 15 questions chosen", 2), ("has no result for", 3)):
        with pytest.raises(RunFailed, match=words) as refused:
            stored_check.check_run(asked_by(suite, out=tmp_path / "judged"), part)
        assert refused.value.exit_code == code
        config = json.loads((part / "config.json").read_text())
        config.pop("selection", None)
        (part / "config.json").write_text(json.dumps(config))


def test_shards_of_another_commit_are_refused(suite: Project, asked: Path, tmp_path: Path) -> None:
    """Shards that were asked in a checkout of another commit than the merge, or of none, are refused, each named."""
    other = suite.copied(tmp_path / "other")
    shards = shutil.copytree(asked / "shards", tmp_path / "shards")
    other.commit()
    for shard, sha in ((1, "a" * 40), (2, ""), (3, "a" * 40)):
        change_receipt(shards / f"shard-{shard}-of-3", commit=sha)
    failed = refusal(other, shards)
    assert failed.exit_code == ExitCode.CANNOT_TELL
    assert "shard 2: asked at no known commit" in failed.message
    assert "shard 3: asked at commit aaaaaaaaaaa" in failed.message


def test_what_a_run_says_of_itself_loosens_nothing(suite: Project, merged: Path, tmp_path: Path) -> None:
    """Thresholds and waivers of the directory that is judged have no say, nor has when it says that it was made."""
    directory = shutil.copytree(merged, tmp_path / "merged")
    config = json.loads((directory / "config.json").read_text())
    config["started"] = "2001-01-01T00:00:00Z"
    config["config"]["gate"]["max_error_rate"] = 0.99
    config["config"]["waivers"] = [{"case": "x", "owner": "me", "reason": "so", "expires": "2001-02-01"}]
    (directory / "config.json").write_text(json.dumps(config))
    judged = stored_check.check_run(asked_by(suite, out=tmp_path / "judged"), directory)
    assert judged.review.verdict.exit_code == ExitCode.CANNOT_TELL
    assert judged.review.run.config.gate.max_error_rate == 0.02
    assert judged.review.run.config.waivers == []
    assert not judged.review.run.started.startswith("2001")


def judged_as_of(project: Project, directory: Path, started: str, out: Path) -> CheckResult:
    """Judge a run directory that says that it was begun at a time."""
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, "started": started}))
    return stored_check.check_run(asked_by(project, out=out), directory)


def test_when_a_run_was_measured_is_told_as_it_was(suite: Project, merged: Path, tmp_path: Path) -> None:
    """A run that is judged later, and again, was measured when it was asked, also as a baseline, and never tomorrow."""
    directory = shutil.copytree(merged, tmp_path / "merged")
    out = tmp_path / "judged"
    never = judged_as_of(suite, directory, "2999-01-01T00:00:00Z", out)
    assert promote.provenance(never.review.run, never.review.scorecard)["measured"] < "2999"
    once = judged_as_of(suite, directory, "2001-01-01T00:00:00+01:00", out)
    assert promote.provenance(once.review.run, once.review.scorecard)["measured"] == "2000-12-31T23:00:00Z"
    assert "2000-12-31 23:00:00 UTC" in (once.directory / "report.html").read_text()
    again = judged_as_of(suite, once.directory, once.review.run.started, out)
    assert again.review.run.provenance.measured == "2000-12-31T23:00:00Z"
    with pytest.raises(RunFailed, match="started: expected when the run was asked, found 'yesterday'"):
        judged_as_of(suite, directory, "yesterday", tmp_path / "never")
    assert not (tmp_path / "never").exists()


RESULTS = st.builds(
    Result,
    case_id=st.text(),
    mode=st.text(),
    failure=st.none(),
    retries=st.integers(0, 10),
    elapsed_ms=st.floats(0, 1e9),
    repeat=st.integers(1, 20),
    trace_id=st.none() | st.text("0123456789abcdef", min_size=32, max_size=32),
    response=st.builds(
        Response,
        chunks=st.lists(
            st.builds(
                Chunk,
                chunk_id=st.text(),
                rel_path=st.text(),
                heading_path=st.text(),
                text=st.text(),
                rank=st.none() | st.integers(-5, 50),
                score_final=st.none() | st.floats(allow_nan=False, allow_infinity=False),
                vault=st.none() | st.text(),
            ),
            max_size=3,
        ).map(tuple),
        answer=st.none() | st.text(),
        abstained=st.booleans(),
        latency=st.dictionaries(st.text(), st.floats(0, 1e6), max_size=2),
        coverage=st.none()
        | st.dictionaries(
            st.text(), st.none() | st.integers(-(2**53), 2**53) | st.text() | st.lists(st.booleans()), max_size=3
        ),
    ),
)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--shard", "1/2"], "--shard needs --plan"),
        (["run", "--plan", "PLAN", "--shard", "1/3", "-k", "x"], "a plan deals all questions"),
        (["run", "--plan", "PLAN", "--shard", "1/4"], "says shard 1 of 4, and the plan has 3 shards"),
        (["run", "--plan", "PLAN"], "which shard is this? Nothing says so"),
        (["check", "--run", "vault", "--watch"], "expected at most one of them"),
        (["merge", "nothing"], "nothing: no such directory"),
        (["merge", "vault"], "vault: no directory of a shard, and none lies in it"),
        (["plan", "--shards", "2", "--by", "latency"], "--by latency: no whole run of suite 'small'"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(suite: Project, asked: Path, words: list[str], message: str) -> None:
    """Flags that contradict each other, the plan or what is there end with 2 before anything is asked."""
    done = suite.command(*(str(asked / "plan.json") if word == "PLAN" else word for word in words))
    assert (done.code, message in done.err) == (2, True), done.err


def test_an_earlier_plan_of_the_same_inputs_is_another(suite: Project, asked: Path, tmp_path: Path) -> None:
    """What was asked by yesterday's plan is of another plan, though nothing of the inputs has changed since."""
    shards = shutil.copytree(asked / "shards", tmp_path / "shards")
    assert suite.command("plan", "--shards", "3", "--out", str(tmp_path / "plan.json")).code == 0
    failed = refusal(suite, shards, plan_file=tmp_path / "plan.json")
    assert failed.exit_code == ExitCode.CANNOT_TELL
    assert failed.message.count("of another plan") == 3


def test_a_plan_replaces_nothing_but_a_plan(asked: Path, tmp_path: Path) -> None:
    """A plan is written over an earlier one, and never over a golden set, a configuration or where a link leads."""
    plan = planning.read(asked / "plan.json")
    planning.write(tmp_path / "plan.json", plan)
    planning.write(tmp_path / "plan.json", plan)
    for name, content in (("raggate.yml", "version: 1\n"), ("eval_set.jsonl", '{"id": "q"}\n'), ("empty", "")):
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError, match="something else than a plan is there"):
            planning.write(tmp_path / name, plan)
        assert (tmp_path / name).read_text() == content
    (tmp_path / "link").symlink_to(tmp_path / "plan.json")
    with pytest.raises(UsageError, match="something else"):
        planning.write(tmp_path / "link", plan)


def test_the_slowest_questions_are_dealt_first(suite: Project) -> None:
    """By latency each question goes to the shard with least to do, the slowest first; an unknown one is as usual."""
    with load_inputs(asked_by(suite)) as inputs:
        ids = [case.id for case in inputs.golden.cases]
        slow = {ids[0]: 1000.0, **dict.fromkeys(ids[1:-1], 10.0)}
        plan = planning.plan(asked_by(suite), inputs, 2, latencies=slow)
    assert sorted(map(len, plan.shards)) == [1, len(ids) - 1]
    assert (ids[0],) in plan.shards
    assert plan.by == "latency"
