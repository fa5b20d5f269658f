"""The label commands: what they print, what they write and how they exit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from click import Option
from msgspec.structs import replace

from builders import make_case, make_chunk, make_failure, make_labelled, make_result, make_run
from invoked import ended
from label_builders import export_csv
from raggate.base.errors import UsageError
from raggate.pipeline import run_directory
from raggate_interop.labels import checks
from raggate_interop.labels.command import labels
from raggate_interop.labels.metrics import LABEL_METRICS

QUERIES = 12


run = partial(ended, labels)


def write_labels(path: Path, *, votes: Sequence[tuple[str, str, str]] = (("ann", "yyn", "nny"),)) -> Path:
    """Write a retrieval export: for each query a `good` and a `bad` chunk, as each annotator labelled them."""
    rows = [
        {
            "record_uuid": f"r{index}",
            "query": f"Question {index}?",
            "annotator_id": annotator,
            "chunk_id": chunk,
            "chunk_rank": str(rank),
            "n_retrieved_chunks": "2",
            "labels": relevant,
        }
        for index in range(QUERIES)
        for annotator, good, bad in votes
        for rank, (chunk, relevant) in enumerate((("good", good), ("bad", bad)), 1)
    ]
    path.write_bytes(export_csv("retrieval", rows))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a retrieval export of one annotator."""
    return write_labels(tmp_path / "retrieval.csv")


def write_run(directory: Path, lists: Sequence[Sequence[str] | None], **fields: object) -> Path:
    """Write a run directory in which query i retrieved the chunks of list i; None is a failed call."""
    items = []
    for index, chunks in enumerate(lists):
        case = make_case(f"case-{index}", question=f"Question  {index}?")
        response = None if chunks is None else make_result(case.id, *(make_chunk(name) for name in chunks))
        result = response or make_result(case.id, failure=make_failure(), response=None)
        items.append(make_labelled(case, replace(result, mode=str(fields.get("mode", "hybrid")))))
    run_directory.write(directory, make_run(*items, stopped=fields.get("stopped")))
    return directory


GOOD = [["good"]] * QUERIES


def test_score_table(file: Path) -> None:
    """Without --out the metrics are printed with their intervals; K is inferred by default."""
    code, output = run("score", "--task", "retrieval", file, "--resamples", 10)
    assert code == 0
    assert output.splitlines()[0] == "retrieval: 12 queries, 1 annotator, K inferred, up to 2"
    lines = {line.split()[0]: line.split() for line in output.splitlines()[1:]}
    assert lines["topical_precision_at_k"][1:] == ["0.5000", "[0.5000,", "0.5000]", "bootstrap", "n=12"]
    assert lines["sufficiency_hit_at_k"][1:] == ["1.0000", "[0.7575,", "1.0000]", "wilson", "n=12"]


def test_score_of_an_export_directory(file: Path, tmp_path: Path) -> None:
    """A directory is read by its CSV files of the task; beside a meta file it is an annotation export by name."""
    home = tmp_path / "export_7"
    home.mkdir()
    file.rename(home / "retrieval.csv")
    (home / "generation.csv").write_bytes(export_csv("generation", [{"labels": "yyynn"}]))
    (home / "annotation_export.meta.json").write_text("{}")
    assert run("score", "--task", "generation", home, home / "annotation_export.meta.json", "--out", tmp_path)[0] == 0
    written = json.loads((tmp_path / "generation_scores.json").read_bytes())
    assert written["source"]["kind"] == "annotation_export"
    assert written["source"]["ref"] == "export_7"
    assert written["proper_action_rate"]["point"] == 1.0


def test_score_warns_of_incomplete_panels(tmp_path: Path) -> None:
    """Queries with chunks that nobody judged are said, as are ranks that count as irrelevant."""
    rows = [{"labels": "ynn", "n_retrieved_chunks": "3"}]
    path = tmp_path / "f.csv"
    path.write_bytes(export_csv("retrieval", rows))
    assert (
        "1 of 1 query has chunks without a label: the numbers are of the chunks that have one"
        in run("score", "--task", "retrieval", path)[1]
    )
    assert "2 of the ranks up to 3 have no label" in run("score", "--task", "retrieval", path, "--k", 3)[1]


def test_score_refuses(file: Path, tmp_path: Path) -> None:
    """Files of another task, K for answers, and files that are not there are usage errors."""
    with pytest.raises(UsageError, match="no labels of the task grounding"):
        run("score", "--task", "grounding", file)
    with pytest.raises(UsageError, match="No such file"):
        run("score", "--task", "grounding", tmp_path / "none.csv")
    with pytest.raises(UsageError, match="no label files about grounding"):
        run("score", "--task", "grounding", tmp_path)
    answers = tmp_path / "g.csv"
    answers.write_bytes(export_csv("generation", [{"labels": "yyynn"}]))
    with pytest.raises(UsageError, match="--k is for the task retrieval"):
        run("score", "--task", "generation", answers, "--k", 3)


def test_agreement(tmp_path: Path) -> None:
    """Alpha per label and kappa per pair are printed; what is undefined is a dash."""
    path = write_labels(
        tmp_path / "f.csv", votes=[("a", "yyn", "nnn"), ("b", "yyn", "nnn"), ("c\x1b[31m", "yyn", "nyn")]
    )
    code, output = run("agreement", path, "--resamples", 20)
    assert code == 0
    lines = output.splitlines()
    assert lines[0] == "retrieval: 72 judgments"
    assert lines[1].split()[:3] == ["topically_relevant", "alpha", "1.0000"]
    assert lines[3].split()[:3] == ["misleading", "alpha", "–"]
    assert lines[4].split() == ["a", "/", "b", "kappa", "1.0000", "units=24"]
    assert "\x1b" not in output
    assert "alpha 1.0000" in run("agreement", path, "--constant", 1)[1].splitlines()[3]


def sheet(path: Path, *rows: tuple[str, str, str, str, str]) -> Path:
    """Write a generation export of records, annotators, labels, whether for calibration, and days of May 2026."""
    names = ("record_uuid", "annotator_id", "labels", "calibration", "created_at")
    path.parent.mkdir(parents=True, exist_ok=True)
    dated = [dict(zip(names, (*row[:4], f"2026-05-{row[4]}T08:00:00Z"), strict=True)) for row in rows]
    path.write_bytes(export_csv("generation", dated))
    return path


YES, NO = "yyyyy", "nnnnn"
MIXED = (
    ("r1", "a", YES, "True", "01"),
    ("r1", "b", YES, "True", "02"),
    ("r2", "a", NO, "True", "03"),
    ("r2", "b", NO, "True", "04"),
    # outside the calibration set people judge the same thing by accident alone
    ("r3", "a", YES, "False", "05"),
    ("r3", "b", NO, "False", "06"),
)


GRADED = "".join(
    json.dumps({"case": case, "rel_path": "a.md", "by": who, "grade": grade, "at": f"2026-01-0{day}T00:00:00Z"}) + "\n"
    for case, who, grade, day in (
        ("q1", "ann", 3, 1),
        ("q1", "bob", 2, 1),
        ("q2", "ann", 0, 1),
        ("q2", "bob", 0, 2),
        ("q3", "ann", 1, 2),
        ("q3", "cy", 0, 2),
    )
)


def test_agreement_of_a_label_file(tmp_path: Path) -> None:
    """Grades that `raggate label` wrote: two of three passages are agreed on, and each two people have a kappa."""
    path = tmp_path / "golden.labels.jsonl"
    path.write_text(GRADED)
    code, output = run("agreement", path)
    lines = output.splitlines()
    assert (code, lines[0]) == (0, f"{path}: 3 passages graded by several of 3 annotators")
    # of the pairs within passages 2 of 3 agree; 3 of 6 votes are yes: alpha = 1 - (2/6) / (2 * 3 * 3 / (6 * 5))
    assert lines[1].split() == ["answers", "alpha", "0.4444", "agreement", "0.6667"]
    assert [line.split("kappa")[0].strip() for line in lines[2:]] == ["ann / bob", "ann / cy"]


def test_grades_of_other_words_are_not_compared(tmp_path: Path) -> None:
    """Who judged a question before it was reworded does not disagree with who judged it afterwards."""
    path = tmp_path / "golden.labels.jsonl"
    votes = (("ann", 3, "0123abcd"), ("bob", 0, "4567abcd"), ("cy", 3, "0123abcd"))
    rows = [
        {"case": "q1", "rel_path": "a.md", "by": who, "grade": grade, "asked": asked} for who, grade, asked in votes
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [line.split("kappa")[0].strip() for line in run("agreement", path)[1].splitlines()[2:]] == ["ann / cy"]


def test_grades_that_nobody_shares(tmp_path: Path) -> None:
    """One person alone agrees with nobody: exit 3. A report of an annotation export has no place for grades."""
    path = tmp_path / "golden.labels.jsonl"
    path.write_text(GRADED.splitlines()[0])
    assert run("agreement", path)[0] == 3
    with pytest.raises(UsageError, match="cannot hold grades"):
        run("agreement", path, "--out", tmp_path / "out")


def test_agreement_is_told_by_the_calibration_set(tmp_path: Path) -> None:
    """Where rows are marked as calibration only those count, which is said; --production counts the others too."""
    path = sheet(tmp_path / "f.csv", *MIXED)
    lines = run("agreement", path)[1].splitlines()
    assert lines[0] == "generation: 4 of 6 judgments (the calibration set)"
    assert lines[1].split()[:3] == ["proper_action", "alpha", "1.0000"]
    lines = run("agreement", path, "--production")[1].splitlines()
    assert lines[0] == "generation: 6 judgments"
    assert lines[1].split()[:3] == ["proper_action", "alpha", "0.4444"]


def test_agreement_of_nothing_is_no_agreement(tmp_path: Path) -> None:
    """A selection that leaves nothing to compare exits 3; an unknown name is an error."""
    path = sheet(tmp_path / "f.csv", *MIXED[:4])
    code, output = run("agreement", path, "--exclude-annotator", "b")
    assert (code, output.startswith("generation: 2 of 4 judgments")) == (0, True)
    assert run("agreement", path, "--exclude-annotator", "a", "--exclude-annotator", "b")[0] == 3
    with pytest.raises(UsageError, match="no row is by 'x'") as caught:
        run("agreement", path, "--exclude-annotator", "x")
    assert caught.value.hint == "Annotators here are a, b."
    path.write_bytes(export_csv("generation", [{"labels": YES, "calibration": "perhaps"}]))
    with pytest.raises(UsageError, match=r"f.csv:2: column calibration: is 'perhaps', expected True or False"):
        run("agreement", path)


def test_an_export_is_found_by_its_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The id of an export stands for its files, and the reports name the export as it names itself."""
    home = tmp_path / "annotation" / "exports" / "may"
    sheet(home / "generation.csv", *MIXED)
    (home / "annotation_export.meta.json").write_text('{"export_id": "2026-05", "tasks": ["generation"]}')
    monkeypatch.chdir(tmp_path)
    code, output = run("agreement", "may", "--out", "iaa", "--resamples", 20)
    assert (code, output.splitlines()[-1]) == (0, "wrote iaa/report.json")
    report = json.loads((tmp_path / "iaa" / "report.json").read_text())
    assert set(report) == {"export_id", "created_at", "tasks", "n_bootstrap_resamples", "ci_level"}
    assert (report["export_id"], report["n_bootstrap_resamples"], report["ci_level"]) == ("2026-05", 20, 0.95)
    task = report["tasks"][0]
    interval = {"alpha": 1.0, "ci_lower": 1.0, "ci_upper": 1.0}
    counts = {"n_items": 2, "n_annotators": 2, "pct_agreement": 1.0}
    assert task["labels"][0] == {"label": "proper_action", **interval, **counts}
    assert task["pairwise_kappa"] == [{"annotator_a": "a", "annotator_b": "b", "kappa": 1.0, "n_shared_items": 2}]
    run("score", "--task", "generation", "may", "--out", "scores")
    source = json.loads((tmp_path / "scores" / "generation_scores.json").read_bytes())["source"]
    assert (source["kind"], source["ref"]) == ("annotation_export", "2026-05")


def test_check(tmp_path: Path) -> None:
    """Findings are printed with their place; only --strict makes them exit 4, and --allow lets some pass."""
    path = tmp_path / "f.csv"
    rows = [{"labels": "nyn", "n_retrieved_chunks": "2"}, {"labels": "ynn", "chunk_id": "c2", "chunk_rank": "1"}]
    path.write_bytes(export_csv("retrieval", rows))
    code, output = run("check", path)
    assert code == 0
    assert f"{path}:2: evidence_requires_relevance: retrieval: evidence_sufficient=True" in output
    assert f"{path}:3: rank_shared: rank 1 is chunk 'c1'" in output
    assert "2 judgments by 1 annotator, 0 discarded; 1 of 1 retrieval panel known to be complete; 2 findings" in output
    assert run("check", path, "--strict")[0] == 4
    allowed = ("--allow", "rank_shared", "--allow", "evidence_requires_relevance")
    assert run("check", path, "--strict", *allowed)[0] == 0
    with pytest.raises(UsageError, match="'nothing' is not a finding"):
        run("check", path, "--allow", "nothing")


def test_join_with_too_much_unjudged(file: Path, tmp_path: Path) -> None:
    """Above the limit of unjudged chunks there is no verdict; the queries with most of them are named."""
    lists = [["good"]] * 9 + [["new"]] * 3
    directory = write_run(tmp_path / "run", lists)
    code, output = run("join", directory, file, "--k", 1)
    assert code == 3
    assert "cannot tell: 3 of the 12 chunks in the first 1 (25%, limit 20%) have no label" in output
    assert "100% unjudged: Question 10?" in output
    assert run("join", directory, file, "--k", 1, "--unjudged-limit", 0.25)[0] == 0


def test_join_of_strangers(file: Path, tmp_path: Path) -> None:
    """A run whose questions nobody labelled has measured nothing."""
    other = write_labels(tmp_path / "other.csv")
    other.write_bytes(other.read_bytes().replace(b"Question", b"Frage"))
    code, output = run("join", write_run(tmp_path / "run", GOOD), other)
    assert code == 3
    assert "nothing was measured" in output
    assert "12 queries without any label: not scored" in output


@pytest.mark.parametrize(
    ("current", "code", "status"),
    [
        (GOOD, 0, "same"),
        ([["bad"]] * 8 + [["good"]] * 4, 1, "worse"),
        ([["bad"]] + [["good"]] * 11, 0, "maybe worse"),
    ],
)
def test_join_baseline(
    file: Path, tmp_path: Path, current: Sequence[Sequence[str] | None], code: int, status: str
) -> None:
    """A certain loss beyond the tolerance exits 1; an uncertain one is said and exits 0."""
    ours, theirs = write_run(tmp_path / "new", current), write_run(tmp_path / "old", GOOD)
    exit_code, output = run("join", ours, file, "--k", 1, "--baseline", theirs)
    assert exit_code == code
    line = next(line for line in output.splitlines() if "sufficiency_hit_at_k" in line and "->" in line)
    assert line.endswith(f"n=12  {status}")
    assert run("join", ours, file, "--k", 1, "--baseline", theirs, "--tolerance", 1)[0] == 0


@pytest.mark.parametrize("failed", [1, 6, 11])
def test_join_with_failed_calls(file: Path, tmp_path: Path, failed: int) -> None:
    """Where more calls failed than a gate lets pass, on either side, nothing is better or worse: exit 3."""
    good = write_run(tmp_path / "good", GOOD)
    broken = write_run(tmp_path / "broken", [None] * failed + [["good"]] * (QUERIES - failed))
    sentence = f"{failed} of the 12 calls for labelled queries failed, more than the allowed 2%"
    for arguments, side in (((broken,), ""), ((broken, good), ""), ((good, broken), "baseline: ")):
        baseline = ("--baseline", arguments[1]) if len(arguments) > 1 else ()
        code, output = run("join", arguments[0], file, "--k", 1, *baseline)
        assert code == 3
        assert f"cannot tell: {side}{sentence}" in output


def test_repeated_rows(tmp_path: Path) -> None:
    """Rows in which one annotator judges a chunk again are warned of by `score`, and `join` cannot tell."""
    votes = [("ann", "nnn", "nnn")] * 3 + [("bob", "ynn", "nnn"), ("cy", "ynn", "nnn")]
    path = write_labels(tmp_path / "f.csv", votes=votes)
    code, output = run("score", path, "--task", "retrieval")
    assert code == 0
    assert f"48 rows repeat a judgment of the same annotator, the first at {path}:4" in output
    assert "mean_reciprocal_rank_at_k     1.0000" in output
    code, output = run("join", write_run(tmp_path / "run", GOOD), path, "--k", 1)
    assert code == 3
    assert "cannot tell: 48 rows repeat" in output


def test_join_baseline_with_other_questions(file: Path, tmp_path: Path) -> None:
    """A run that did not ask what the baseline asked cannot be compared, however good it is."""
    ours, theirs = write_run(tmp_path / "new", GOOD[:-1]), write_run(tmp_path / "old", GOOD)
    code, output = run("join", ours, file, "--k", 1, "--baseline", theirs)
    assert code == 3
    assert "1 labelled queries of the baseline were not asked: Question 11?" in output


def test_join_needs_one_list_for_a_question(file: Path, tmp_path: Path) -> None:
    """Several modes need --mode, and one question asked twice cannot be told apart."""
    case = make_case("a", question="Question 0?")
    both = [make_labelled(case, make_result(case.id, make_chunk("good"), mode=mode)) for mode in ("bm25", "vector")]
    run_directory.write(tmp_path / "modes", make_run(*both))
    with pytest.raises(UsageError, match="the run has the modes bm25, vector"):
        run("join", tmp_path / "modes", file)
    assert run("join", tmp_path / "modes", file, "--mode", "vector", "--k", 1)[0] == 0
    again = make_case("b", question=" Question  0? ")
    twice = [make_labelled(item, make_result(item.id, make_chunk("good"))) for item in (case, again)]
    run_directory.write(tmp_path / "twice", make_run(*twice))
    with pytest.raises(UsageError, match="'Question 0\\?' is asked twice"):
        run("join", tmp_path / "twice", file)


OF_EVERY_COMMAND = {"--json", "-q", "--quiet", "-v", "--verbose"}


def test_documented() -> None:
    """The page for users names every command, option, metric, finding and status."""
    page = (Path(__file__).parents[4] / "docs" / "labelling.md").read_text(encoding="utf-8")
    findings = (*checks.RULES, checks.REPEATED, checks.SHARED_RANK, checks.OTHER_QUERY, checks.INCOMPLETE)
    for name in (*LABEL_METRICS, *findings):
        assert f"`{name}`" in page
    for command in labels.commands.values():
        assert f"raggate labels {command.name} " in page
        options = {option for item in command.params if isinstance(item, Option) for option in item.opts}
        for option in options - {"--seed", "--mode", *OF_EVERY_COMMAND}:
            assert f"{option}" in page


def test_hostile_texts_are_harmless(tmp_path: Path) -> None:
    """Questions from files cannot write workflow commands or escape codes into the log."""
    path = write_labels(tmp_path / "f.csv")
    path.write_bytes(path.read_bytes().replace(b"r1,", b"::error::\x1b[31m,"))
    output = run("join", write_run(tmp_path / "run", [["x"]]), path, "--k", 1)[1]
    assert "\x1b" not in output
    assert not [line for line in output.splitlines() if line.lstrip().startswith("::")]
    assert "::error::" not in output
