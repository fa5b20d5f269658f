"""Every command of the command line with --json: one document by the schema that ships, and nothing beside it.

What asks an API or a server is replaced by what it gives, of the same type; everything else is done for real.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from tools import output_schema

import helloworld_files
import kebab_builders
import proofs
import reviews
from builders import make_case, make_failure, make_result
from here import called
from label_builders import export_csv
from labelling_project import make_label_project
from raggate.base.errors import ExitCode
from raggate.cli import main
from raggate.models.baseline import Calibration
from raggate.models.golden import Selection
from raggate.models.public_verdict import Side, SideBySide
from raggate.models.scorecard import MetricValue
from raggate.models.smoke_test import FilledField, SmokeTest
from raggate.pipeline import run_directory
from raggate.pipeline.request import CheckResult, RunResult
from raggate.pipeline.shards import Merged
from raggate.reports import OF_RUN, MeasuredRun
from raggate.scoring.score import score
from raggate_interop.kebab import golden as kebab_golden

SHIPPED = json.loads((Path(main.__file__).parent / "output.schema.json").read_text(encoding="utf-8"))
RUN, OTHER = ".raggate/runs/20260102_030405", ".raggate/runs/20260101_030405"


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without room for keys that it does not describe, which are allowed to readers alone."""
    types = {
        name: {**content, "additionalProperties": False} if "properties" in content else content
        for name, content in schema["$defs"].items()
    }
    return {**schema, "additionalProperties": False, "$defs": types}


VALID = Draft202012Validator(closed(SHIPPED))

QUESTION = ("How hot is it?", "--anchor", "bread.md#Oven")
WORDS: dict[str, tuple[str, ...]] = {
    "baseline log": (),
    "baseline show": ("--baseline", "stored.json", "--slices"),
    "calibrate": (),
    "check": (),
    "compare": (RUN, "--baseline", OTHER),
    "convert": ("golden.jsonl", "q.json", "--from", "raggate", "--to", "substrate-array"),
    "demo": (),
    "diff": ("main",),
    "evaluate": ("--qrels", "qrels", "--run", "run.trec", "--per-query"),
    "export": (RUN, "out.trec"),
    "golden add": QUESTION,
    "golden import": ("more.csv",),
    "golden propose": (),
    "helloworld compare": ("helloworld/20251219_235258", "helloworld/20251219_235259"),
    "helloworld export": ("20260102", "--out", "exported"),
    "helloworld import": ("helloworld/20251219_235258", "--golden", "helloworld/eval_set.jsonl", "--out", "imported"),
    "helloworld redact": ("helloworld/20251219_235258", "--out", "redacted"),
    "helloworld score": ("helloworld/20251219_235258", "--golden", "helloworld/eval_set.jsonl"),
    "init": ("new",),
    "judge": (RUN,),
    "kebab aggregate": ("kebab/a", "--golden", "kebab/g.yaml"),
    "kebab compare": ("kebab/a", "kebab/b", "--golden", "kebab/g.yaml"),
    "kebab export": ("20260102", "--out", "kebab/exported"),
    "kebab import": ("kebab/a", "--golden", "kebab/g.yaml", "--out", "kebab/imported"),
    "kebab runs": ("kebab/runs.sqlite",),
    "kebab variants": ("kebab/a", "--golden", "kebab/g.yaml"),
    "label": ("runs/20260102_030405", "--as", "ann"),
    "labels agreement": ("labels.csv", "golden.labels.jsonl"),
    "labels check": ("labels.csv",),
    "labels join": (RUN, "labels.csv", "--baseline", OTHER),
    "labels score": ("labels.csv", "--task", "retrieval"),
    "lint": (),
    "merge": ("parts",),
    "probe": (),
    "promote": (OTHER, "-c", "none/raggate.yml", "--baseline", "stored.json", "--dry-run"),
    "prove": (),
    "run": ("--limit", "1"),
    "runs": (),
    "runs prune": ("--keep", "0", "--dry-run"),
    "substrate baseline update": ("metrics.json", "--dir", "kept", "--key", "a-b"),
    "substrate compare": ("metrics.json", "metrics.json"),
    "substrate results": ("latest",),
    "substrate score": ("queries.json", "results.jsonl"),
    "substrate trace": (RUN, "--out", "trace.jsonl"),
}
"""What each command is run with, in the directory of `place`."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository with questions, notes, stored runs and the files of other systems."""
    root = tmp_path_factory.mktemp("every")
    make_label_project(root)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org"]
    for name, asked in ((RUN, reviews.regression().run), (OTHER, reviews.passing().run)):
        (root / name).mkdir(parents=True)
        settings = asked.config.model_copy(update={"invariants": reviews.CHECKED})
        run = replace(asked, run_id=Path(name).name, config=settings)
        run_directory.write(root / name, run)
        measured = MeasuredRun(run=run, scorecard=score(run, run.config.score.k), compat={})
        run_directory.write_reports(root / name, OF_RUN, measured)
    (root / "none").mkdir()
    prepared(root, "promote", OTHER, "-c", "none/raggate.yml", "--baseline", "stored.json")
    (root / "baselines").mkdir()
    (root / "baselines" / "small.json").write_bytes((root / "stored.json").read_bytes())
    for command in (["init", "-q"], ["add", "baselines"], ["commit", "-qm", "a baseline"]):
        subprocess.run([*git, *command], cwd=root, check=True)
    (root / "summary.md").write_text("# A report\n")
    (root / "qrels").write_text("q1 0 a 1\n")
    (root / "run.trec").write_text("q1 Q0 a 1 2 t\n")
    (root / "more.csv").write_text("question,answer\nHow long does the dough rest?,two hours\n")
    write_labels(root)
    write_files_of_others(root)
    return root


def write_labels(root: Path) -> None:
    """Write labels of two people, and what they score."""
    rows = [
        {"record_uuid": "r1", "annotator_id": who, "chunk_id": "c1", "chunk_rank": "1", "labels": "yyn"}
        for who in ("ann", "bob")
    ]
    case = reviews.regression().run.golden.cases[0]
    grades = [{"case": "q1", "rel_path": "bread.md", "by": who, "grade": 2} for who in ("ann", "bob")]
    (root / "golden.labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in grades))
    (root / "labels.csv").write_bytes(export_csv("retrieval", [{**row, "query": case.question} for row in rows]))
    prepared(root, "labels", "score", "labels.csv", "--task", "retrieval", "--out", "scores")


def write_files_of_others(root: Path) -> None:
    """Write runs of helloworld, kebab and substrate."""
    helloworld_files.write_run(root / "helloworld")
    helloworld_files.write_run(root / "helloworld", "20251219_235259")
    helloworld_files.write_golden(root / "helloworld")
    rows, golden = kebab_builders.three_queries()
    for name in ("a", "b"):
        (root / "kebab" / name).mkdir(parents=True)
        (root / "kebab" / name / "per_query.jsonl").write_bytes(kebab_builders.jsonl(rows))
    grouped = [query.model_copy(update={"group": query.id}) for query in golden.values()]
    (root / "kebab" / "g.yaml").write_bytes(kebab_golden.write_golden(grouped))
    kebab_builders.write_database(root / "kebab" / "runs.sqlite", {"r1": rows})
    (root / "queries.json").write_text(json.dumps([{"query": "One?", "expected_docs": ["a"], "difficulty": "easy"}]))
    listed = {"query": "One?", "mode": "fts", "results": [{"rank": 1, "doc_id": "a"}]}
    (root / "results.jsonl").write_text(json.dumps(listed) + "\n")
    prepared(root, "substrate", "score", "queries.json", "results.jsonl", "--out", "metrics.json")


def prepared(root: Path, *words: str) -> None:
    done = called(lambda: main.run_command(words), at=root, environment={})
    assert done.code == 0, done.err


def stand_ins(root: Path) -> dict[str, Callable[..., Any]]:
    """Return what asks an API or a server -> what stands in for it."""
    red, good = reviews.regression(), reviews.passing()
    directory = root / RUN
    part = replace(good.run, selection=Selection(asked=("q1",), of=30, words="--limit 1"))
    scorecard = red.scorecard
    noise = Calibration(run=good.run, scorecard=scorecard, boots=1, pairs=2, alarms={"evidence": 0, "threshold": 0})
    sides = [
        Side(kind=kind, name="main", commit="a" * 40, run_id="r", directory=directory) for kind in ("revision", "image")
    ]  # type: ignore[arg-type]
    case = make_case()
    field = FilledField(name="text", source="chunks[].text", filled=1, of=1)
    probed = SmokeTest(
        case=case, result=make_result(case.id, failure=make_failure()), fields=(field,), unknown=("Why.",)
    )
    value = MetricValue(value=0.5, n=2, unscored=0, direction="higher")
    return {
        "raggate.pipeline.report_files.check": lambda *_: CheckResult(review=red, directory=directory),
        "raggate.pipeline.check.run": lambda _: RunResult(run=part, directory=directory),
        "raggate.pipeline.shards.merge": lambda *_: Merged(
            result=RunResult(run=good.run, directory=directory), shards=2, left_out=("parts/shard-1-of-2: killed",)
        ),
        "raggate.pipeline.measure.calibrate": lambda *_, **__: (RunResult(run=good.run, directory=directory), noise),
        "raggate.pipeline.side_by_side.diff": lambda *_: SideBySide(base=sides[0], head=sides[1], review=red),
        "raggate.pipeline.smoke_test.smoke_test": lambda *_: probed,
        "raggate.prove.proof.prove": lambda *_: (directory, proofs.PROOF),
        "raggate.pipeline.rejudge.judge_directory": lambda *_, **__: [("hybrid", "groundedness", value)],
        "raggate.cli.demo._make_baseline": lambda _: scorecard,
        "raggate.cli.demo._check": lambda *rest: good if rest[-1].expected == ExitCode.PASS else red,
        "raggate.cli.label._serve": lambda *_: None,
    }


def told(place: Path, name: str, words: tuple[str, ...]) -> dict[str, Any]:
    """Run a command; standard output is one document that the schema accepts, of this command and with a result."""
    arguments = ["--json", *name.split(), *words]
    done = called(lambda: main.run_command(arguments), at=place, environment={})
    document: dict[str, Any] = json.loads(done.out)
    problems = [f"{'/'.join(map(str, error.path))}: {error.message[:300]}" for error in VALID.iter_errors(document)]
    assert problems == [], (name, problems)
    assert (document["command"], document["exit_code"]) == (name, done.code)
    assert document["result"] is not None, (name, document["error"])
    return document


@pytest.fixture
def stood_in(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the repository while everything that asks an API or a server is replaced."""
    for target, stand_in in stand_ins(place).items():
        monkeypatch.setattr(target, stand_in)
    return place


def test_every_command_is_here() -> None:
    """There is a row for each command there is, and for no other."""
    assert set(WORDS) == set(output_schema.commands())


@pytest.mark.parametrize("name", WORDS)
def test_a_command(stood_in: Path, name: str) -> None:
    """It prints one document by the schema, whose result has all keys that are described and no other."""
    result = told(stood_in, name, WORDS[name])["result"]
    assert name != "run" or result["partial"] == {"asked": 1, "of": 30}
