"""A run in shards is the run that one process makes, byte for byte but for times; what is not whole is named."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from project import Project
from raggate.base.errors import ExitCode
from raggate.base.jsonio import JsonObject
from raggate.gate import promote
from raggate.inputs import sources
from raggate.models.golden import Choice
from raggate.pipeline import asking, check, claimed_run, result_rows, shards
from raggate.pipeline.request import CheckResult, RunFailed
from raggate.pipeline.shards import Shard
from suite_in_process import SMALL, asked_by, booted, contents, make_suite


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A suite of 15 questions in two modes, some of which fail, with second answers and probes."""
    project = make_suite(tmp_path_factory.mktemp("shards"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asking, "booted", booted)
        patch.setattr("raggate.service.ask.WATCH_SECONDS", 0)
        yield project


def asked_in_shards(project: Project, count: int, out: Path) -> Path:
    """Ask every shard as a process would, and return the directory they lie in."""
    for number in range(1, count + 1):
        shards.run(asked_by(project, out=out), Shard(number, count))
    return out


@pytest.fixture(scope="module")
def asked(suite: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards that asked everything."""
    return asked_in_shards(suite, 3, tmp_path_factory.mktemp("asked") / "shards")


@pytest.fixture(scope="module")
def merged(suite: Project, asked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory that the three shards were merged into, which tests copy before they change it."""
    out = tmp_path_factory.mktemp("merged")
    return shards.merge(asked_by(suite, out=out), [asked]).result.directory


def refusal(project: Project, *directories: Path) -> RunFailed:
    """Merge, and give why that is refused; nothing is left of it."""
    out = directories[0].parent / "refused"
    with pytest.raises(RunFailed) as failed:
        shards.merge(asked_by(project, out=out), directories)
    assert failed.value.exit_code == ExitCode.CANNOT_TELL
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
        parts = asked_in_shards(project, count, tmp_path / f"{count}-shards")
        merged = shards.merge(asked_by(project, out=tmp_path / f"{count}-merged"), [parts])
        assert contents(merged.result.directory) == expected, count
    assert len(whole.run.results) == 29
    assert any(item.result.failure for item in whole.run.results)
    assert whole.run.probes.answers
    assert whole.run.fingerprint["repeated"]["differ"] > 0


def change(directory: Path, part: str = "", **fields: Any) -> None:
    """Change keys of a shard's header, or of a part of it."""
    stored = json.loads((directory / "asking.json").read_text())
    (stored[part] if part else stored).update(fields)
    (directory / "asking.json").write_text(json.dumps(stored))


def change_rows(directory: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path = directory / result_rows.RESULTS
    rows = change(gzip.decompress(path.read_bytes()).splitlines(keepends=True))
    path.write_bytes(gzip.compress(b"".join(rows)))


def _cut(two: Path) -> None:
    path = two / result_rows.RESULTS
    path.write_bytes(path.read_bytes()[:-20])


def _other_index(two: Path) -> None:
    index = json.loads((two / "asking.json").read_text())["ended"]["index"]
    for number, tokens in ((1, "8"), (2, "9"), (3, "8")):
        change(two.parent / f"shard-{number}-of-3", "ended", index={**index, "chunk_tokens": [tokens]})


def _other_image(two: Path) -> None:
    for number, digit in ((1, "a"), (2, "b"), (3, "a")):
        change(two.parent / f"shard-{number}-of-3", "ended", images=[f"sha256:{digit * 64}"])


def _not_repeated(two: Path) -> None:
    for number in (1, 2, 3):
        directory = two.parent / f"shard-{number}-of-3"
        change_rows(directory, lambda rows: [row for row in rows if b'"again":true' not in row])


def _renumbered(two: Path) -> None:
    shutil.rmtree(two)
    shutil.copytree(two.parent / "shard-1-of-3", two)


def _forged(two: Path) -> None:
    """Have one shard's answers say that they are another's."""
    _renumbered(two)
    change(two, shard="2/3")


def _asked_again(number: int, times: int) -> Callable[[Path], None]:
    """Add a second answer to a question of a shard, so many times."""

    def harm(two: Path) -> None:
        rows = gzip.decompress((two.parent / f"shard-{number}-of-3" / result_rows.RESULTS).read_bytes()).splitlines()
        again = json.dumps({**json.loads(rows[0]), "again": True}).encode() + b"\n"
        change_rows(two, lambda rows: [*rows, *[again] * times])

    return harm


def _without_probes(two: Path) -> None:
    change_rows(two.parent / "shard-1-of-3", lambda rows: [row for row in rows if b'"probe":' not in row])


def _wild(**fields: Any) -> Callable[[Path], None]:
    """Change the times of one answer."""

    def changed(rows: list[bytes]) -> list[bytes]:
        row = json.loads(rows[0])
        return [json.dumps({**row, "result": {**row["result"], **fields}}).encode() + b"\n", *rows[1:]]

    return lambda two: change_rows(two, changed)


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_wild(elapsed_ms=-0.5), ": -0.5 ms and "),
        (_wild(retries=3), " and 3 retries, but the whole shard took "),
        (lambda two: change(two, ended=None), "shard 2 of 3: {two}: it was killed, or is still running"),
        (shutil.rmtree, "shard 2 of 3: missing"),
        (
            lambda two: shutil.copytree(two, two.parent / "shard-2-of-3-attempt-2"),
            "shard 2 of 3: doubled: {two}, {two}-attempt-2",
        ),
        (
            lambda two: change(two, "means", golden="0"),
            "shard 2 of 3: {two}: asked with other settings: the golden set differs",
        ),
        (
            lambda two: change(two, "means", suite=3),
            "asking.json: damaged: Expected `str`, got `int` - at `$.means.suite`",
        ),
        (lambda two: change(two, "ended", stopped="the API died"), "shard 2 of 3: {two}: it broke off: the API died"),
        (
            lambda two: change(two, "ended", seconds=-1),
            "the duration in its asking.json is malformed",
        ),
        (
            lambda two: change_rows(two, lambda rows: [rows[1], *rows[1:]]),
            "it does not have exactly one answer to each of its questions",
        ),
        (_cut, "shard 2 of 3: {two}/results.jsonl.gz: not a whole gzip file"),
        (_other_index, "shard 2: it saw another index: chunk_tokens 9, where shard 1 saw 8"),
        (_other_image, "shard 2: it saw another image of the API: sha256:bbb"),
        (_asked_again(2, times=2), "its repeated answers are not one to each of its questions"),
        (_without_probes, "it does not have exactly one answer to each question of the invariants"),
        (_not_repeated, " of the repeated calls were not repeated"),
        (_renumbered, "{two}: it says that it is shard 1/3"),
        (_forged, "shard 2 of 3: {two}"),
        (lambda two: two.rename(two.parent / "shard-2-of-4"), "shard-2-of-4: it belongs to another number of shards"),
        (
            lambda two: change(two, schema="raggate/asking/1"),
            "asking.json: schema is raggate/asking/1",
        ),
    ],
)
def test_a_shard_that_is_not_whole_is_named(
    suite: Project, asked: Path, tmp_path: Path, harm: Callable[[Path], object], words: str
) -> None:
    """A shard that is missing, killed, doubled, half, cut, forged, or asked with other settings ends with 3."""
    two = Path(shutil.copytree(asked, tmp_path / "shards")) / "shard-2-of-3"
    harm(two)
    failed = refusal(suite, two.parent)
    assert words.format(two=two) in failed.message
    assert "Nothing was merged." in failed.hint


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda rows: [b" " * (33 << 20), *rows], ":1: a line of more than 33554432 bytes"),
        (lambda rows: [b'{"a":[' + b"[]," * 200_000 + b"0]}\n", *rows], ":1: more than 200000 lists in a line"),
        (lambda rows: [b"{}\n", *rows], ":1: not a result: Object missing required field"),
        (lambda rows: rows * 9, " lines, which is one for each call of this shard"),
    ],
)
def test_a_shard_with_too_much_in_it_is_refused_before_it_is_in_memory(
    suite: Project, asked: Path, tmp_path: Path, harm: Callable[[list[bytes]], list[bytes]], words: str
) -> None:
    """A line or a file that is larger than any shard writes is refused."""
    two = Path(shutil.copytree(asked, tmp_path / "shards")) / "shard-2-of-3"
    change_rows(two, harm)
    tracemalloc.start()
    try:
        failed = refusal(suite, two.parent)
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()
    assert "results.jsonl.gz:" in failed.message
    assert words in failed.message


def test_an_attempt_that_ended_early_is_left_out_and_told(suite: Project, asked: Path, tmp_path: Path) -> None:
    """Of two attempts of a shard the one that asked everything counts, and the other is named."""
    parts = Path(shutil.copytree(asked, tmp_path / "shards"))
    shutil.copytree(parts / "shard-2-of-3", parts / "shard-2-of-3-attempt-2")
    change(parts / "shard-2-of-3", ended=None)
    merged = shards.merge(asked_by(suite, out=tmp_path / "merged"), [parts])
    assert merged.left_out == ("shard-2-of-3: it was killed, or is still running",)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(number=st.integers(0, 99), share=st.floats(0, 1), difference=st.integers(1, 255))
def test_a_byte_that_is_changed_is_refused_or_changes_no_answer(
    suite: Project, asked: Path, number: int, share: float, difference: int
) -> None:
    """Whatever byte of whatever file of a shard is another one, the shards are refused or hold the same answers."""

    def read() -> object:
        with shards.load_inputs(asked_by(suite)) as inputs:
            return shards.read(asked_by(suite), inputs, [asked])[0].results

    expected = read()
    files = sorted(asked.glob("*/*.json*"))
    file = files[number % len(files)]
    content = file.read_bytes()
    at = min(int(share * len(content)), len(content) - 1)
    try:
        file.write_bytes(content[:at] + bytes([content[at] ^ difference]) + content[at + 1 :])
        with suppress(RunFailed):
            assert read() == expected
    finally:
        file.write_bytes(content)


def test_a_shard_alone_is_no_run(suite: Project, asked: Path) -> None:
    """A shard is never checked, compared or promoted by itself: exit 2, naming `merge`."""
    shard = str(asked / "shard-1-of-3")
    for command in (["check", "--run", shard], ["compare", shard], ["promote", shard]):
        done = suite.command(*command)
        assert done.code == 2
        assert "one shard of a run" in done.err
        assert "raggate merge" in done.err


def test_a_shard_with_nothing_to_ask_needs_no_api(
    suite: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More shards than questions are fine: those without any end at once, and start no API."""
    monkeypatch.delattr(asking, "booted")
    with shards.load_inputs(asked_by(suite)) as inputs:
        empty = next(
            shard for number in range(2, 257) if not shards.cases_of(inputs.golden, shard := Shard(number, 256))
        )
    done = shards.run(asked_by(suite, out=tmp_path), empty)
    assert (done.answered, done.failed, done.ended.stopped) == (0, 0, None)


def test_a_shard_that_is_named_twice_is_one(suite: Project, asked: Path, tmp_path: Path) -> None:
    """A directory that is named by itself, and lies in one that is named too, is no second attempt."""
    merged = shards.merge(asked_by(suite, out=tmp_path / "merged"), [asked, asked / "shard-1-of-3"])
    assert merged.shards == 3


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repeat_sample: 4", "repeat_sample: 5", "another configuration than the one that judges it: ask differs"),
        ("127.0.0.1:9", "127.0.0.1:8", "another configuration than the one that judges it: api differs"),
        ("suite: small", "suite: small", "not measured with the files that judge it: vault differs"),
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
        ({"checkout": {"commit": "a" * 40}}, "measured at commit aaaaaaaaaaa…, but bbbbbbbbbbb… is checked out here"),
        ({"checkout": {"commit": ["a" * 40]}}, "its origin cannot be read: checkout.commit"),
    ],
)
def test_a_run_is_no_verdict_on_another_commit(
    suite: Project, merged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stored: JsonObject, words: str
) -> None:
    """A run of another commit than the one that is checked out, or of none, is not judged."""
    directory = shutil.copytree(merged, tmp_path / "merged")
    config = json.loads((directory / "config.json").read_text())
    config["config"] |= stored
    (directory / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr(sources, "commit_of", lambda *_: "b" * 40)
    with pytest.raises(RunFailed, match=re.escape(words)) as failed:
        claimed_run.check_run(asked_by(suite, out=tmp_path / "judged"), directory)
    assert failed.value.exit_code in {ExitCode.CANNOT_TELL, ExitCode.USAGE}
    assert not (tmp_path / "judged").exists()


def test_a_part_of_the_questions_is_not_judged_as_a_run(suite: Project, tmp_path: Path) -> None:
    """`check --run` of a partial run says that it is one; without that mark answers are missing."""
    part = check.run(asked_by(suite, out=tmp_path / "part", choice=Choice(limit=2))).directory
    for words, code in (("the run is partial: 2 of 15 questions chosen", 2), ("has no result for", 3)):
        with pytest.raises(RunFailed, match=words) as refused:
            claimed_run.check_run(asked_by(suite, out=tmp_path / "judged"), part)
        assert refused.value.exit_code == code
        config = json.loads((part / "config.json").read_text())
        config.pop("selection", None)
        (part / "config.json").write_text(json.dumps(config))


def test_shards_of_another_commit_are_refused(suite: Project, asked: Path, tmp_path: Path) -> None:
    """Shards that were asked in a checkout of another commit than the merge, or of none, are refused, each named."""
    other = suite.copied(tmp_path / "other")
    other.commit()
    parts = shutil.copytree(asked, tmp_path / "shards")
    assert "shard 2 of 3: shard-2-of-3: asked at no known commit" in re.sub(r"\S*/", "", refusal(other, parts).message)


def test_what_a_run_says_of_itself_loosens_nothing(suite: Project, merged: Path, tmp_path: Path) -> None:
    """Thresholds and waivers of the directory that is judged have no say, nor has when it says that it was made."""
    directory = shutil.copytree(merged, tmp_path / "merged")
    config = json.loads((directory / "config.json").read_text())
    config["started"] = "2001-01-01T00:00:00Z"
    config["config"]["gate"]["max_error_rate"] = 0.99
    config["config"]["waivers"] = [{"case": "x", "owner": "me", "reason": "so", "expires": "2001-02-01"}]
    (directory / "config.json").write_text(json.dumps(config))
    judged = claimed_run.check_run(asked_by(suite, out=tmp_path / "judged"), directory)
    assert judged.review.verdict.exit_code == ExitCode.CANNOT_TELL
    assert judged.review.run.config.gate.max_error_rate == 0.02
    assert judged.review.run.config.waivers == []
    assert not judged.review.run.started.startswith("2001")


def judged_as_of(project: Project, directory: Path, started: str, out: Path) -> CheckResult:
    config = json.loads((directory / "config.json").read_text())
    (directory / "config.json").write_text(json.dumps({**config, "started": started}))
    return claimed_run.check_run(asked_by(project, out=out), directory)


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
    with pytest.raises(RunFailed, match="started: expected the time of the run, found 'yesterday'"):
        judged_as_of(suite, directory, "yesterday", tmp_path / "never")
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--shard", "1/3", "-k", "x"], "shards ask all questions"),
        (["run", "--shard", "1/3", "--shards", "2"], "--shard says 3 shards, but --shards says 2"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(suite: Project, words: list[str], message: str) -> None:
    """Flags that contradict each other end with 2 before anything is asked."""
    done = suite.command(*words)
    assert (done.code, message in done.err) == (2, True), done.err


def test_nothing_to_merge_cannot_tell(suite: Project) -> None:
    """A directory without any shard, or none at all, is exit 3."""
    for name in ("nothing", "vault"):
        done = suite.command("merge", name)
        assert (done.code, "there is no directory of a shard" in done.err) == (3, True), done.err
