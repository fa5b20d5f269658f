"""The run directory: what is written reads back equal, and what is read may have been written by anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_case,
    make_case_score,
    make_chunk,
    make_chunks,
    make_config,
    make_delta,
    make_failure,
    make_labelled,
    make_metric,
    make_response,
    make_result,
    make_run,
    make_support,
)
from raggate.base.errors import UsageError
from raggate.base.jsonio import dumps
from raggate.config.gate_settings import Score
from raggate.config.imported import ImportedConfig
from raggate.config.invariant_settings import Invariants
from raggate.inputs import golden
from raggate.models.comparison import NoteChange
from raggate.models.judging import Judgement, Judging, Spending, Usage
from raggate.models.provenance import Checkout, Provenance
from raggate.models.run import Reference, Run
from raggate.models.verdict import Preview, Recheck, ReportContext, SourceLine
from raggate.pipeline import run_directory
from raggate.scoring.score import score
from stored_rows import plain_rows
from tables import each_row

LONG = "A long introduction. " * 20 + "Here stands the gold snippet."
CASES = (
    make_case("q1", gold_supports=(make_support(snippets=("the gold snippet",)),), must_pass=True),
    make_case("q2", answerable=False, tags=("x",), modes=("hybrid",)),
    make_case("q3", gold_supports=(make_support(), make_support("b.md")), required_support_groups=((0,), (1,))),
)


def stored_run(text: str = "Short text.", **fields: Any) -> Run:
    """Build a run with an answer, an abstention and a failed call, whose first chunk has the text."""
    first = make_chunk("c0", text=text, rank=1, score_final=0.5, vault="work")
    abstained = make_response(
        abstained=True,
        answer="",
        abstain_reason="no source",
        references=(Reference(vault="work", rel_path="a.md", heading_path="# A", chunk_index=0),),
        selected_folders=("work/docs",),
        folder_reasoning="It is about docs.",
        latency={"retrieval_ms": 1.5},
        coverage={"docs_processed": 3},
    )
    # golden.load numbers the lines, so that a run that is read has them
    cases = golden.load(b"".join(map(golden.write_case, CASES)), "golden/eval_set.jsonl")
    q1, q2, q3 = cases.cases
    results = (
        make_labelled(q1, make_result("q1", first, *make_chunks("x.md"), first, retries=1)),
        make_labelled(q2, make_result("q2", response=abstained)),
        make_labelled(q3, make_result("q3", failure=make_failure("status", message="HTTP 503", status=503))),
    )
    defaults = {
        "golden": cases,
        "config": make_config(score={"k": [1, 5]}),
        "fingerprint": {"k": 5, "notes": {"work/a.md": "1"}},
    }
    return make_run(*results, **{**defaults, **fields})


PROVENANCE = Provenance(
    raggate_version="0.1.0",
    checkout=Checkout(commit="1" * 40, dirty=True),
    against="2" * 40,
    ignored=("a.md", "raggate.yml"),
    in_build_context=("golden.jsonl",),
    baseline_name="baselines/default.json@222222222222",
    baseline_commit="2" * 40,
    reproduce="raggate check --against main",
    api_image=f"registry.example/api@sha256:{'3' * 64}",
)
IMPORTED = ImportedConfig(
    system="kebab",
    settings={"eval_k": 5, "llm": {"model_id": "9B"}},
    score=Score(k=[1, 5]),
    invariants=Invariants(chunk_ids_stable="off"),
)


class TestRoundTrip:
    """Writing a run and reading it again."""

    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({}, id="finished"),
            pytest.param({"stopped": "gave up", "log": ("panic: x", "", "<b>\x1b[31m")}, id="stopped"),
            pytest.param({"results": ()}, id="nothing-asked"),
            pytest.param({"provenance": PROVENANCE}, id="provenance"),
            pytest.param({"config": IMPORTED}, id="imported"),
        ],
    )
    def test_reads_back_equal(self, tmp_path: Path, fields: dict[str, Any]) -> None:
        """A run that is written reads back equal in every part."""
        run = replace(stored_run(), **fields)
        run_directory.write(tmp_path, run)
        assert run_directory.read(tmp_path) == run

    def test_text_is_cut_on_disk_only(self, tmp_path: Path) -> None:
        """A long text is cut to 200 characters when it is written, once, and stays whole in memory."""
        run = stored_run(LONG)
        run_directory.write(tmp_path, run)
        assert run == stored_run(LONG)
        once = run_directory.read(tmp_path)
        texts = [chunk.text for chunk in once.results[0].result.chunks]
        assert texts == [LONG[:200] + "...", "Text of the note.", LONG[:200] + "..."]
        assert LONG[:201] not in plain_rows(tmp_path).read_text()
        run_directory.write(tmp_path, once)
        assert run_directory.read(tmp_path) == once

    @pytest.mark.parametrize(
        ("length", "truncated"), [pytest.param(200, False, id="fits"), pytest.param(201, True, id="one-too-long")]
    )
    def test_truncated_says_that_text_was_cut(self, tmp_path: Path, length: int, truncated: bool) -> None:
        """A result is marked as truncated when a text of it was cut, and only then."""
        run_directory.write(tmp_path, stored_run("x" * length))
        assert [item.labels.truncated for item in run_directory.read(tmp_path).results] == [truncated, False, False]

    def test_a_cut_run_is_scored_as_the_whole_one(self, tmp_path: Path) -> None:
        """How much text came back is known of a run whose texts were cut."""
        run = stored_run(LONG)
        run_directory.write(tmp_path, run)
        whole, cut = (score(one, [10]).slices for one in (run, run_directory.read(tmp_path)))
        assert cut == whole
        assert whole["hybrid"]["overall"]["context_chars_at_10"].value == (2 * len(LONG) + len("Text of the note.")) / 2


class TestLinks:
    """A change that was committed does not say where raggate writes."""

    @pytest.mark.parametrize(
        ("out", "link"), [(".raggate/runs", ".raggate"), (".raggate/runs", ".raggate/runs"), ("a", "a")]
    )
    @pytest.mark.parametrize("dangling", [False, True])
    def test_a_link_on_the_way_is_refused(self, tmp_path: Path, out: str, link: str, *, dangling: bool) -> None:
        """A configured directory that is reached through a link is refused by the link's name."""
        root, outside = tmp_path / "root", tmp_path / "outside"
        (root / link).parent.mkdir(parents=True)
        if not dangling:
            outside.mkdir()
        (root / link).symlink_to(outside)
        with pytest.raises(UsageError, match="behind the symbolic link") as caught:
            run_directory.check_place(root, out)
        assert str(root / link) in caught.value.message

    def test_directories_and_links_above_the_root_are_fine(self, tmp_path: Path) -> None:
        """What is there, what is not there yet, and a link to the whole repository are let through."""
        (tmp_path / "root" / ".raggate").mkdir(parents=True)
        (tmp_path / "link").symlink_to("root")
        run_directory.check_place(tmp_path / "link", ".raggate/runs")

    def test_the_marker_is_not_written_through_a_link(self, tmp_path: Path) -> None:
        """A link in place of .raggate/.gitignore stays what it is, and nothing appears where it leads."""
        (tmp_path / ".raggate").mkdir()
        (tmp_path / ".raggate" / ".gitignore").symlink_to(tmp_path / "made")
        made = run_directory.create(tmp_path / ".raggate" / "runs", "2026-01-02T03:04:05Z")
        assert made.is_dir()
        assert not (tmp_path / "made").exists()


class TestCreate:
    """A fresh directory for every run."""

    def test_named_after_the_start(self, tmp_path: Path) -> None:
        """The directory is named after the start in UTC, and made with its parents; the next one gets a number."""
        made = [run_directory.create(tmp_path / "a" / "b", "2026-01-02T03:04:05Z") for _ in range(2)]
        assert made == [tmp_path / "a" / "b" / name for name in ("20260102_030405", "20260102_030405_2")]
        assert all(map(Path.is_dir, made))

    @pytest.mark.parametrize(
        ("out", "marker"),
        [(".raggate/runs", [".raggate/.gitignore"]), (".raggate", [".raggate/.gitignore"]), ("elsewhere", [])],
        ids=["default", "whole", "elsewhere"],
    )
    def test_kept_out_of_commits(self, tmp_path: Path, out: str, marker: list[str]) -> None:
        """The directory of raggate's own tells git to ignore it; another place that holds runs is left as it is."""
        run_directory.create(tmp_path / out, "2026-01-02T03:04:05Z")
        assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob(".gitignore")] == marker
        assert all((tmp_path / name).read_text() == "*\n" for name in marker)

    def test_cannot_be_made(self, tmp_path: Path) -> None:
        """A place where no directory can be made is a usage error that names it."""
        (tmp_path / "file").write_text("")
        with pytest.raises(
            UsageError, match=r"cannot make the run directory .*file/20260102_030405: Not a dir"
        ) as caught:
            run_directory.create(tmp_path / "file", "2026-01-02T03:04:05Z")
        assert caught.value.hint == "Remove the file, or name another directory with --out."


def rewritten(directory: Path, name: str, number: int, *path: str | int, value: object) -> None:
    """Replace one value in one line of a written run; a value of None that stands for `missing` removes the key."""
    plain_rows(directory)
    file = directory / name
    lines = file.read_text().split("\n") if name.endswith("l") else [file.read_text()]
    whole = inner = json.loads(lines[number - 1])
    for part in path[:-1]:
        inner = inner[part]
    if value is MISSING:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    lines[number - 1] = json.dumps(whole)
    file.write_text("\n".join(lines))


MISSING = object()
NO_ROW = "not a result row: "
NO_FIT = "the labels do not fit the retrieved passages"
NO_SUPPORT = "the labels name gold supports that the question does not have"
INCOMPLETE = "not a complete run configuration "


VOTE = Judgement(score="groundedness", value=3.0, judge="small")
JUDGED = Judgement(
    score="groundedness",
    value=3.0,
    reasoning="as [1] says",
    supported=("a",),
    unsupported=("b", "c"),
    keys=("0" * 64,),
    usage=Usage(replies=1, input_tokens=9, output_tokens=2, usd=None),
    votes=(VOTE, replace(VOTE, value=None, reason="timeout", detail="no reply within 1 s")),
)


def judged_run() -> Run:
    """Build a run whose first answer has a score and one that was not judged."""
    run = stored_run()
    missing = Judgement(score="correctness", value=None, reason="budget", detail="judges.max_calls: 1 call are made")
    first, *others = run.results
    judging = Judging(mode="auto", spending=Spending(calls=2, retries=1, tokens=11, usd=None), recorded=1)
    return replace(run, results=(replace(first, judgements=(JUDGED, missing)), *others), judging=judging)


def voted(levels: int) -> dict[str, Any]:
    """Return a stored vote that has votes of its own, so many levels deep."""
    vote: dict[str, Any] = {"score": "groundedness", "value": 3.0}
    return {**vote, "votes": [voted(levels - 1)]} if levels else vote


CHUNK = ("result", "response", "chunks", 0)
BOTH = {"kind": "timeout", "message": "x"}
PANEL = "judgements: expected votes of a panel, found votes that have votes"
NO_REASON = "judgements: expected either a value or a reason for"


@each_row(
    ("number", "path", "value", "message"),
    [
        (2, ("test_case_id",), "q9", "no question 'q9' in golden.jsonl"),
        (2, ("test_case_id",), "q1", "'q1' is already in line 1"),
        (1, ("test_case_id",), MISSING, f"{NO_ROW}Object missing required field `test_case_id`"),
        (1, ("labels",), [], f"{NO_ROW}Expected `object`, got `array`"),
        (1, ("result", "retries"), "3", f"{NO_ROW}Expected `int`, got `str`"),
        (1, (*CHUNK, "text"), 5, f"{NO_ROW}Expected `str`, got `int` - at `$.result.response.chunks[0].text`"),
        (3, ("result", "failure"), None, "expected either a response or a failure"),
        (1, ("result", "failure"), BOTH, "expected either a response or a failure"),
        (1, ("labels", "matches"), [[]], NO_FIT),
        (1, ("labels", "heading_only"), [], NO_FIT),
        (1, ("labels", "bodiless"), [], NO_FIT),
        (1, ("labels", "duplicates"), [3], NO_FIT),
        (1, ("labels", "duplicates"), [-1], NO_FIT),
        (1, ("labels", "leaks"), [{"rank": 4, "note": "a"}], NO_FIT),
        (1, ("labels", "matches"), [[1], [], []], NO_SUPPORT),
        (1, ("labels", "matches"), [[-1], [], []], NO_SUPPORT),
        (1, ("judgements",), [5], f"{NO_ROW}Expected `object`, got `int`"),
        (1, ("judgements", 0, "value"), 5.5, "judgements: expected 'groundedness' from 0 to 5, found 5.5"),
        (1, ("judgements", 0, "value"), -1, "judgements: expected 'groundedness' from 0 to 5, found -1"),
        (1, ("judgements", 0, "score"), "abstention", "judgements: expected 'abstention' from 0 to 1, found 3"),
        (1, ("judgements", 0, "value"), None, f"{NO_REASON} 'groundedness'"),
        (1, ("judgements", 1, "value"), 4, f"{NO_REASON} 'correctness'"),
        (1, ("judgements", 0, "votes"), [voted(1)], PANEL),
        (1, ("judgements", 0, "votes"), [voted(126)], PANEL),
    ],
)
def test_hostile_results(
    tmp_path_factory: pytest.TempPathFactory, number: int, path: tuple[str | int, ...], value: object, message: str
) -> None:
    """A results.jsonl that does not hold what it should is a usage error that names file and line."""
    said = refused(tmp_path_factory, "results.jsonl", number, path, value)
    assert said.startswith(f"results.jsonl:{number}: {message}")


def refused(places: pytest.TempPathFactory, name: str, number: int, path: tuple[str | int, ...], value: object) -> str:
    """Return why a run with another value in it is refused."""
    directory = places.mktemp("run")
    run_directory.write(directory, judged_run())
    rewritten(directory, name, number, *path, value=value)
    with pytest.raises(UsageError) as caught:
        run_directory.read(directory)
    assert "\n" not in caught.value.message
    return caught.value.message.removeprefix(f"{directory}/")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "Input data was truncated"),
        (b'{"a": NaN}', "JSON is malformed"),
        (b"\xff", "JSON is malformed"),
        (b"[]", "Expected `object`, got `array`"),
    ],
)
def test_hostile_line(tmp_path: Path, line: bytes, message: str) -> None:
    """A line that is no result is a usage error that names file and line, blank lines counted."""
    run_directory.write(tmp_path, stored_run())
    plain_rows(tmp_path).write_bytes(b"\n\n" + line)
    with pytest.raises(UsageError) as caught:
        run_directory.read(tmp_path)
    assert caught.value.message.startswith(f"{tmp_path}/results.jsonl:3: {NO_ROW}{message}")


STORED = "the configuration stored with run run-1 cannot be read: "


@each_row(
    ("path", "value", "message"),
    [
        (("schema",), "raggate/run/9", "schema is 'raggate/run/9', but this raggate reads"),
        (("schema",), MISSING, "schema is 'None', but this raggate reads 'raggate/run/1'"),
        (("run_id",), MISSING, INCOMPLETE + "(KeyError('run_id'))"),
        (("golden",), [], INCOMPLETE + "(TypeError("),
        (("config",), 5, INCOMPLETE + "(TypeError("),
        (("fingerprint",), 5, INCOMPLETE + "(AttributeError("),
        (("fingerprint", "notes"), ["x"], INCOMPLETE + "(ValueError("),
        (("fingerprint", "notes"), {"a.md": "1"}, INCOMPLETE + "(ValueError("),
        (("golden", "part_of"), "many", INCOMPLETE + "(ValueError("),
        (("golden", "part_of"), 0, INCOMPLETE + "(ValueError("),
        (("fingerprint", "modes"), 5, INCOMPLETE + "(ValueError("),
        (("fingerprint", "modes"), [["x"]], INCOMPLETE + "(ValueError("),
        (("duration_s",), "1", "duration_s: "),
        (("log",), 5, "log: "),
        (("stopped",), False, "stopped: "),
        (("interrupted",), "no", "interrupted: "),
        (("selection",), {"asked": [], "of": "3", "words": ""}, "selection.of: "),
        (("config", "gate", "max_error_rate"), "1", f"{STORED}gate.max_error_rate: "),
        (("config", "gate", "tolerance"), -1, f"{STORED}gate.tolerance: Input should be "),
        (("config", "ask"), 7, f"{STORED}ask: Input should be "),
        (("config", "api"), MISSING, f"{STORED}api: Field required"),
        (("config", "ignored"), 5, f"{STORED}ignored: Expected `array`"),
        (("config", "in_build_context"), [[]], f"{STORED}in_build_context[0]: Expected `str`"),
        (("config", "checkout"), 5, f"{STORED}checkout: Expected `object`"),
        (("config", "against"), {}, f"{STORED}against: Expected `str"),
        (("config", "kebab"), 5, f"{STORED}settings: Input should be "),
    ],
)
def test_hostile_config(
    tmp_path_factory: pytest.TempPathFactory, path: tuple[str, ...], value: object, message: str
) -> None:
    """A config.json that does not hold what it should is a usage error that names the file, or the key of a setting."""
    assert refused(tmp_path_factory, "config.json", 1, path, value).removeprefix("config.json: ").startswith(message)


def test_configuration_and_provenance_stand_side_by_side(tmp_path: Path) -> None:
    """The stored configuration is that of raggate.yml, defaults filled in, with what is known of the run beside it."""
    config = make_config()
    run_directory.write(tmp_path, stored_run(config=config, provenance=Provenance(against="2" * 40)))
    assert json.loads((tmp_path / "config.json").read_text())["config"] == {
        **config.model_dump(mode="json"),
        "raggate_version": None,
        "checkout": {},
        "against": "2" * 40,
        "ignored": [],
        "in_build_context": [],
        "in_vaults": [],
        "baseline_name": None,
        "baseline_commit": None,
        "reproduce": "",
    }


def test_trusted_configuration(tmp_path: Path) -> None:
    """With a configuration that counts in place of the stored one, nothing is taken of that, whatever it says."""
    run_directory.write(tmp_path, stored_run(provenance=Provenance(reproduce="rm -rf /", ignored=("a.md",))))
    rewritten(tmp_path, "config.json", 1, "config", "gate", value="none")
    trusted = make_config(suite="trusted")
    run = run_directory.read(tmp_path, config=trusted)
    assert (run.config, run.provenance) == (trusted, Provenance())


def test_hostile_golden(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A golden.jsonl that is damaged is a usage error that names file and line."""
    said = refused(tmp_path_factory, "golden.jsonl", 2, ("answerable",), "maybe")
    assert said.startswith("golden.jsonl:2: question 'q2': answerable: ")


@pytest.mark.parametrize("name", ["config.json", "golden.jsonl", "results.jsonl.gz"])
def test_file_is_missing(tmp_path: Path, name: str) -> None:
    """A directory that lacks a file is a usage error that names the file and asks what the directory is."""
    run_directory.write(tmp_path, stored_run())
    (tmp_path / name).unlink()
    with pytest.raises(UsageError) as caught:
        run_directory.read(tmp_path)
    assert caught.value.message == f"{tmp_path}/{name}: No such file or directory"
    assert caught.value.hint == "Name the directory of one run, such as `raggate check` leaves in .raggate/runs."


def test_what_judges_say_reads_back_equal(tmp_path: Path) -> None:
    """Scores, reasons, claims, votes and costs of judges are those that were written; other rows have none."""
    run = judged_run()
    run_directory.write(tmp_path, run, full_text=True)
    read = run_directory.read(tmp_path)
    assert (read.results, read.judging) == (run.results, run.judging)
    rows = [json.loads(line) for line in plain_rows(tmp_path).read_text().splitlines()]
    assert ["judgements" in row for row in rows] == [True, False, False]


def test_later_answers_are_kept_beside_the_first(tmp_path: Path) -> None:
    """Rows of later answers have `repeat`, those of first answers are as ever, and order does not matter in reading."""
    run = stored_run()
    again = tuple(
        replace(item, result=replace(item.result, repeat=repeat)) for repeat in (2, 3) for item in run.results
    )
    run_directory.write(tmp_path, replace(run, repeats=again), full_text=True)
    rows = [json.loads(line) for line in plain_rows(tmp_path).read_text().splitlines()]
    assert [row.get("repeat") for row in rows] == [None] * 3 + [2] * 3 + [3] * 3
    assert run_directory.read(tmp_path).results == run.results
    assert run_directory.read(tmp_path).repeats == again
    rows[3:] = rows[6:] + rows[3:6]
    plain_rows(tmp_path).write_bytes(b"".join(dumps(row) + b"\n" for row in rows))
    assert run_directory.read(tmp_path).repeats == again


@pytest.mark.parametrize(
    ("repeats", "message"),
    [
        ([2], "results.jsonl:1: an answer of 'q1' before its first"),
        ([1, 2, 2], "results.jsonl:3: 'q1' is already in line 2"),
        ([1, 0], "results.jsonl:2: repeat: expected 1 to 20, found 0"),
        ([1, 10**6], "results.jsonl:2: repeat: expected 1 to 20, found 1000000"),
        ([1, "x"], "results.jsonl:2: not a result row: Expected `int`, got `str` - at `$.repeat`"),
    ],
)
def test_hostile_repeats(tmp_path: Path, repeats: list[object], message: str) -> None:
    """Answers that are numbered twice, wildly, or without a first one are refused by line."""
    run_directory.write(tmp_path, stored_run())
    row = json.loads(plain_rows(tmp_path).read_text().splitlines()[0])
    rows = [dumps({**row, "repeat": repeat}) + b"\n" for repeat in repeats]
    plain_rows(tmp_path).write_bytes(b"".join(rows))
    with pytest.raises(UsageError) as raised:
        run_directory.read(tmp_path)
    assert message in raised.value.message


EXACT = f"sha256:{'a' * 64}"


@each_row(
    ("stored", "image"),
    [
        *((exact, exact) for exact in (EXACT, f"notes-api@{EXACT}", f"ghcr.io/octo/notes-api@{EXACT}")),
        *((other, "") for other in (7, None, "", "notes-api:latest", "sha256:1", f"@everyone @{EXACT}", f"{EXACT}\n")),
    ],
)
def test_the_image_that_was_measured_is_named_exactly_or_not(stored: object, image: str) -> None:
    """What a run directory says of its image is believed to be one where it names that image and no other."""
    assert run_directory.provenance({"api_image": stored}).api_image == image


def test_settings_of_very_many_values_are_not_checked() -> None:
    """Each that does not fit would take kilobytes: a file of 16 MiB, gigabytes."""
    with pytest.raises(UsageError, match="stored with run r has more than 100000 values"):
        run_directory.read_config({"waivers": [{}] * run_directory.MOST_VALUES}, "r")


def test_what_stands_beside_a_run_reads_back_equal(tmp_path: Path) -> None:
    """All but the address of the forge: whoever hands a run on could lead its readers anywhere."""
    row = make_delta(regressed=2, improved=1, unpaired=3, full_run=make_metric(0.75, 12))
    context = ReportContext(
        source_lines={"q1": SourceLine(path="vault/a.md", line=7)},
        preview=Preview(loosened=("gate.tolerance",), rows=(row,), vault=(NoteChange("added", "work/a b.md"),)),
        first_run=True,
        expired_waivers_resolved=True,
        dependencies=("requirements.txt (haystack-ai 2.20.0 → 3.4.0)",),
        recheck=Recheck(asked=(("hybrid", "q1"),), build="commit 0123", base=((make_case_score(),),)),
    )
    run_directory.write_context(tmp_path, replace(context, forge="https://forge.example/"))
    assert run_directory.read_context(tmp_path) == context
    (tmp_path / run_directory.ASIDE_FILE).write_text('{"forge": "https://evil.example/"}')
    assert run_directory.read_context(tmp_path) == ReportContext()


@pytest.mark.parametrize(
    "stored",
    ['{"preview": {"vault": [{"kind": "moved", "note": "a"}]}}', '{"first_run": "maybe"}', "[]", "{", '{"root": 5}'],
)
def test_hostile_words_beside_a_run(tmp_path: Path, stored: str) -> None:
    """What is no such file is a usage error that names it."""
    (tmp_path / run_directory.ASIDE_FILE).write_text(stored)
    with pytest.raises(UsageError, match=run_directory.ASIDE_FILE):
        run_directory.read_context(tmp_path)
