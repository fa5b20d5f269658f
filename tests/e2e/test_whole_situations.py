"""Whole situations, from the command to the comment: a change of any of them shows as a difference with its name.

If you mean a change, run `pytest --snapshot-update tests/e2e/test_whole_situations.py`. Say in the commit which of them
changed, and why.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct, field
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from here import Done
from integration.test_fork_comment import Files, Stage as ForkStage, friendly, lenient, staged
from project import Project, make_project, make_small_project
from promotable import Measured, Stage as PromotionStage, measure, worse
from raggate.base.errors import RaggateError
from raggate.models.publication import Publication
from raggate.models.verdict import Review
from raggate.pipeline import check
from raggate.reports import comment

ROOT = Path(__file__).parents[2]
Change = Callable[[Project], object]


class Situation(Struct, frozen=True):
    """A state of a repository, and a command in it.

    Attributes:
        behaves: the variable FAKE_BEHAVIOUR of the API.
        change: what is changed after the baseline was promoted, and committed where `against` is set.
        words: the command.
        many: whether there are 24 questions, not 6.
        against: whether the state before the change is committed.
    """

    behaves: str = ""
    change: Change = lambda _: None
    words: tuple[str, ...] = ("check",)
    many: bool = False
    against: bool = False
    environment: dict[str, str] = field(default_factory=dict)


def settings(text: str) -> Change:
    """Add lines to the configuration."""
    return lambda project: project.config.write_text(f"{project.config.read_text()}{text}\n")


def edit(old: str, new: str) -> Change:
    """Replace text of the configuration."""
    return lambda project: project.edit(old, new)


def both(*changes: Change) -> Change:
    return lambda project: [change(project) for change in changes]


def write(name: str, content: str | bytes | None) -> Change:
    """Write a file, or remove it."""

    def change(project: Project) -> None:
        path = project.root / name
        if content is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    return change


def cases(change: Callable[[list[dict[str, Any]]], object]) -> Change:
    def apply(project: Project) -> None:
        rows = project.cases()
        change(rows)
        project.write_cases(rows)

    return apply


def of_first(**keys: Any) -> Change:
    return cases(lambda rows: rows[0].update(keys))


def unanswerable(rows: list[dict[str, Any]]) -> None:
    """Add two questions that the notes do not answer."""
    none = {"answerable": False, "gold_supports": [], "category": "factual", "difficulty": "easy"}
    rows += [{**none, "id": f"none-{n}", "question": f"zzz{n} qqq{n}"} for n in range(2)]


def without_baseline(project: Project) -> None:
    shutil.rmtree(project.root / "baselines")


def one_at_a_time(project: Project) -> None:
    """Let questions be asked in their order."""
    project.edit("concurrency: 4", "concurrency: 1")


def own_baseline(project: Project) -> None:
    """Promote a worse run as this change's own baseline."""
    assert project.command("run", FAKE_BEHAVIOUR="worse").code == 0
    done = project.command("promote", str(project.last_run()), "--allow-no-match", "hybrid", "--allow-regression")
    assert done.code in {0, 2}, done.err


def another_depth(files: Files) -> None:
    """Claim to have asked for more."""
    config = json.loads(files["config.json"])
    config["fingerprint"]["k"] = 50
    files["config.json"] = json.dumps(config).encode()


def without_a_question(files: Files) -> None:
    files["golden.jsonl"] = b"\n".join(files["golden.jsonl"].split(b"\n")[1:])
    files["results.jsonl"] = b"\n".join(files["results.jsonl"].split(b"\n")[1:])


def without_a_result(files: Files) -> None:
    """Drop the answer to a question."""
    files["results.jsonl"] = b"\n".join(files["results.jsonl"].split(b"\n")[1:])


SOON = edit("timeout: 20, settle", "timeout: 1, settle")
AGAINST = ("check", "--against", "HEAD")
WAIVER = """waivers:
  - {{cases: [{id}], reason: The note moves next week., until: "{until}"}}"""
FIRST = "anchovy-first"

CHECKS = {
    # how an API behaves
    "healthy": Situation(),
    "healthy-many": Situation(many=True),
    "worse": Situation("worse"),
    "worse-many": Situation("worse", many=True),
    "swapped": Situation("swap", many=True),
    "one-lost": Situation("lose:anchovy"),
    "two-lost-many": Situation("lose:anchovy,lose_too:ledger", many=True),
    "half-lost-many": Situation("lose:second", many=True),
    "noisy": Situation("noisy", many=True),
    "lost-at-first": Situation("fades", many=True),
    "refuses-all": Situation("refuse"),
    "answers-all-the-same": Situation("ignore_retrieval_only"),
    "headings-none": Situation("headings:none"),
    "headings-last": Situation("headings:last"),
    "headings-plain": Situation("headings:plain"),
    "headings-slug": Situation("headings:slug"),
    "headings-lower": Situation("headings:lower"),
    "paths-elsewhere": Situation("paths:docs/"),
    "foreign-chunks": Situation("strays"),
    "smaller-index": Situation("incomplete_index:3"),
    "uncounted-index": Situation("uncounted"),
    "counts-early": Situation("counts_early"),
    "one-call-failed": Situation("fail_at:3"),
    "one-call-failed-many": Situation("fail_at:3", many=True),
    "some-503": Situation("flaky_503:4"),
    "all-500": Situation("error_500"),
    "garbage": Situation("garbage"),
    "wrong-schema": Situation("wrong_schema"),
    "huge-answer": Situation("huge", SOON),
    "long-heading": Situation("long_heading"),
    "dies-at-start": Situation("die_at_start"),
    "dies-later": Situation("die_after:4"),
    "never-healthy": Situation("never_healthy", SOON),
    "never-indexed": Situation("never_indexed", SOON),
    "vault-edited-while-asked": Situation("edit_vault_after:2"),
    # first runs
    "first-run": Situation(change=without_baseline),
    "first-run-no-headings": Situation("headings:none", without_baseline),
    "first-run-empty-golden": Situation(change=both(without_baseline, write("golden.jsonl", ""))),
    # configuration and files
    "no-configuration": Situation(change=write("raggate.yml", None)),
    "unknown-key": Situation(change=settings("gaet: {}")),
    "wrong-type": Situation(change=settings("gate: {tolerance: much}")),
    "broken-golden": Situation(change=write("golden.jsonl", '{"id": 1\n')),
    "double-id": Situation(change=cases(lambda rows: rows.append(rows[0]))),
    "note-that-is-gone": Situation(change=of_first(gold_supports=[{"rel_path": "no.md", "heading_path": "# No"}])),
    "broken-baseline": Situation(change=write("baselines/small.json", "{")),
    "edited-baseline": Situation(
        change=lambda p: write(
            "baselines/small.json", (p.root / "baselines/small.json").read_text().replace("1", "0", 1)
        )(p)
    ),
    "bare-metrics": Situation(
        change=write("baselines/small.json", '{"hit_at_5": 1.0, "mrr_at_10": 1.0}'), behaves="lose:anchovy"
    ),
    # what decides
    "threshold": Situation("lose:anchovy", settings("gate: {policy: threshold}"), many=True),
    "evidence": Situation("lose:anchovy", settings("gate: {policy: evidence}"), many=True),
    "evidence-half": Situation("lose:second", settings("gate: {policy: evidence}"), many=True),
    "no-tolerance": Situation("lose:anchovy", settings("gate: {tolerance: 0}"), many=True),
    "wide-tolerance": Situation("lose:anchovy", settings("gate: {tolerance: 0.5}"), many=True),
    "floor": Situation("worse", settings("gate: {tolerance: 1, floors: {hit_at_5: 0.9}}"), many=True),
    "must-pass": Situation("lose:anchovy", of_first(must_pass=True), many=True),
    "waived": Situation("lose:anchovy", settings(WAIVER.format(id=FIRST, until="2999-01-01"))),
    "waiver-over": Situation("lose:anchovy", settings(WAIVER.format(id=FIRST, until="2020-01-01"))),
    "unanswerable": Situation(change=both(cases(unanswerable), without_baseline)),
    "two-modes": Situation("lose:anchovy", settings("ask: {modes: [hybrid, vector]}")),
    "question-removed": Situation(change=cases(lambda rows: rows.pop())),
    "question-relabelled": Situation(change=of_first(question="what of anchovy matter?")),
    "part-asked": Situation("lose:anchovy", words=("check", "--case", FIRST)),
    "part-asked-healthy": Situation(words=("check", "--case", FIRST)),
    "run-alone": Situation("worse", words=("run",)),
    "lint": Situation(words=("lint",)),
    "golden-show": Situation(words=("golden", "show", FIRST)),
    "baseline-show": Situation(words=("baseline", "show")),
    # a change that is judged by the commit before it
    "change-healthy": Situation(words=AGAINST, against=True),
    "change-worse": Situation("worse", words=AGAINST, against=True, many=True),
    "change-loosens": Situation("worse", settings("gate: {tolerance: 1.0}"), AGAINST, many=True, against=True),
    "change-deletes-baseline": Situation("worse", without_baseline, AGAINST, against=True),
    "change-brings-baseline": Situation("worse", own_baseline, AGAINST, against=True),
    "change-adds-question": Situation(
        change=cases(lambda rows: rows.append({**rows[0], "id": "new", "question": "new?"})),
        words=AGAINST,
        against=True,
    ),
    "change-removes-questions": Situation(
        "worse", cases(lambda rows: rows.__delitem__(slice(0, 5))), AGAINST, against=True
    ),
    "change-edits-note": Situation(
        change=write("vault/personal/Notes/anchovy.md", "# Anchovy\n\n## First\n\nNothing.\n"),
        words=AGAINST,
        against=True,
    ),
    "change-adds-note": Situation(
        change=write("vault/work/Notes/zebra.md", "# Zebra\n\n## First\n\nA zebra.\n"), words=AGAINST, against=True
    ),
    "change-breaks-golden": Situation(change=write("golden.jsonl", "{"), words=AGAINST, against=True),
    "change-breaks-settings": Situation(change=settings("gaet: {}"), words=AGAINST, against=True),
    "change-waives": Situation(
        "lose:anchovy", settings(WAIVER.format(id=FIRST, until="2999-01-01")), AGAINST, against=True
    ),
    "demo": Situation(words=("demo",)),
}

FORKS: dict[str, tuple[str, Callable[[Files], object]]] = {
    "fork-healthy": ("", lambda _: None),
    "fork-worse": ("worse", lambda _: None),
    "fork-forges-settings": ("worse", lenient),
    "fork-forges-verdict": ("worse", friendly),
    "fork-drops-question": ("", without_a_question),
    "fork-drops-answer": ("", without_a_result),
    "fork-asks-otherwise": ("", another_depth),
}

EXAMPLE = {
    "example-healthy": {},
    "example-no-vector": {"NOTES_DISABLE": "vector"},
    "example-small-chunks": {"NOTES_CHUNK_MAX": "120"},
    "example-high-threshold": {"NOTES_MIN_SCORE": "0.5"},
    "example-fewer-folders": {"NOTES_FOLDER_COUNT": "1"},
    "example-lost-folder": {"NOTES_DROP_FOLDERS": "work/Runbooks"},
    "example-other-weights": {"NOTES_LEXICAL_WEIGHT": "0.1"},
}

VOLATILE = [
    (r"&#8288;|(?<=[0-9a-f])\u2060(?=[0-9a-f])", ""),
    (r"\d{8}_\d{6}([-_]\d+)?", "RUN"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+(&#58;\d+)?(Z|\+00:00)", "TIME"),
    (r"20(?!20|99)\d\d-\d\d-\d\d", "DAY"),
    # the baseline of the example is as old as its last promotion
    (r"\d+ days? old", "the same day"),
    (r"\b[0-9a-f]{64}\b", "DIGEST"),
    (r"\b[0-9a-f]{40}\b", "COMMIT"),
    (r"\b[0-9a-f]{32}\b", "TRACE"),
    (r"(?<=@|`|;)[0-9a-f]{7,12}\b", "HASH"),
    (r"127\.0\.0\.1:\d+", "HOST"),
    (r"\b\d+(\.\d+)?(&nbsp;| )?m?s\b", "T"),
    (r"(?m)^(raggate: (asked|waiting) .*|  \| \"(GET|POST) .*)\n", ""),
]


def steady(text: str, *roots: Path) -> list[str]:
    """Return the lines of a text without what differs from run to run."""
    for root in roots:
        text = text.replace(str(root), "ROOT")
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text.splitlines()


def of_review(review: Review) -> dict[str, Any]:
    verdict = review.verdict
    metrics = {
        f"{mode}/{name}": value.value
        for mode, slices in review.scorecard.slices.items()
        for name, value in slices.get("overall", {}).items()
    }
    return {
        "verdict": verdict.outcome,
        "exit": int(verdict.exit_code),
        "reasons": [f"{reason.code}: {reason.message}" for reason in verdict.reasons],
        "warnings": [f"{reason.code}: {reason.message}" for reason in verdict.warnings],
        "metrics": metrics,
        "comment": steady(comment.render(review, Publication())),
    }


def of_command(project: Project, done: Done, reviews: list[Review]) -> dict[str, Any]:
    """Return what a command came to: its exit code, its words, and what it decided."""
    outcome: dict[str, Any] = {"exit": done.code, "error": steady(done.err, project.root)}
    if not reviews:
        return {**outcome, "output": steady(done.out, project.root)}
    flips = project.verdict()["flips"]
    broke = {f"{flip['case_id']} {flip['kind']}": (flip["cause"] or {}).get("code") for flip in flips}
    return {**outcome, **of_review(reviews[-1]), "questions": broke}


@pytest.fixture
def decided(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """One JSON file for each situation."""
    return snapshot.use_extension(JSONSnapshotExtension)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Six questions with a baseline."""
    project = make_small_project(tmp_path_factory.mktemp("few"))
    one_at_a_time(project)
    project.promote()
    return project


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Twenty-four questions with a baseline."""
    project = make_project(tmp_path_factory.mktemp("many"))
    one_at_a_time(project)
    project.promote()
    return project


@pytest.fixture
def reviews(monkeypatch: pytest.MonkeyPatch) -> list[Review]:
    """The reviews that checks come to, in their order."""
    kept: list[Review] = []
    conclude = check.conclude

    def concluded(*arguments: Any, **named: Any) -> Any:
        result = conclude(*arguments, **named)
        kept.append(result.review)
        return result

    monkeypatch.setattr(check, "conclude", concluded)
    return kept


@pytest.mark.parametrize("name", CHECKS)
def test_a_situation_is_decided_as_before(
    name: str, request: pytest.FixtureRequest, tmp_path: Path, reviews: list[Review], decided: SnapshotAssertion
) -> None:
    """A command in a repository ends as before: verdict, exit code, reasons, metrics, broken questions and comment."""
    situation = CHECKS[name]
    project: Project = request.getfixturevalue("many" if situation.many else "few").copied(tmp_path)
    if situation.against:
        project.commit()
    situation.change(project)
    reviews.clear()
    done = project.command(*situation.words, **({"FAKE_BEHAVIOUR": situation.behaves} if situation.behaves else {}))
    # the demo has a repository of its own
    assert of_command(project, done, [] if name == "demo" else reviews) == decided


@pytest.mark.parametrize("name", FORKS)
def test_a_fork_is_judged_as_before(name: str, tmp_path: Path, decided: SnapshotAssertion) -> None:
    """The second stage comes to the same verdict and comment of what a fork measured, or forged."""
    project = make_project(tmp_path, notes=3)
    one_at_a_time(project)
    project.promote()
    (project.root / "elsewhere").mkdir()
    behaves, forge = FORKS[name]
    with staged(project) as stage:
        outcome = judged(stage, behaves, forge)
    if outcome.review is not None:
        assert of_review(outcome.review) == decided
        return
    assert outcome.failure is not None
    shown = comment.render(outcome.failure, Publication())
    assert {"exit": int(outcome.code), "comment": steady(shown, tmp_path)} == decided


def judged(stage: ForkStage, behaves: str, forge: Callable[[Files], object]) -> Any:
    """Judge what a fork has measured with an API that behaves like this, and changed afterwards."""
    files = stage.measured(1 if behaves else 0, **({"FAKE_BEHAVIOUR": behaves} if behaves else {}))
    forge(files)
    return stage.judge(files)


@pytest.fixture(scope="module")
def promotable(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """A repository with a baseline whose head was measured."""
    return measure(tmp_path_factory.mktemp("promotable"))


@pytest.mark.parametrize("name", ["measured-at-head", "adopted", "adopted-worse"])
def test_a_promotion_ends_as_before(
    name: str, promotable: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: SnapshotAssertion
) -> None:
    """A promotion by a workflow ends with the same code, pull request and words."""
    monkeypatch.chdir(promotable.project.root)
    error = ""
    with PromotionStage.on(promotable, tmp_path) as stage:
        inputs: dict[str, str] = {}
        if name.startswith("adopted"):
            inputs["run_id"] = stage.ran(worse(promotable.run) if name == "adopted-worse" else None)
        try:
            code = stage.step(**inputs)
        except RaggateError as refused:
            code, error = int(refused.exit_code), f"{refused.message} {refused.hint}"
        pulls = [
            steady(f"{pull.title}\n{pull.body}", promotable.project.root) for pull in stage.repository.pulls.values()
        ]
    assert {"exit": code, "error": steady(error), "pulls": pulls} == decided


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The gate of this repository, with its own example API."""
    root = tmp_path_factory.mktemp("example")
    for name in ("golden", "baselines"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copytree(ROOT / "examples" / "notes-api", root / "examples" / "notes-api")
    text = (ROOT / "raggate.yml").read_text(encoding="utf-8")
    (root / "raggate.yml").write_text(text, encoding="utf-8")
    return Project(root)


@pytest.mark.go
@pytest.mark.skipif(shutil.which("go") is None, reason="no Go on PATH; `make test` provides it")
@pytest.mark.parametrize("name", EXAMPLE)
def test_the_example_is_judged_as_before(
    name: str, example: Project, reviews: list[Review], decided: SnapshotAssertion
) -> None:
    """A switch of the example API leads to the same verdict, broken questions, causes and comment."""
    done = example.command("check", **EXAMPLE[name])
    assert of_command(example, done, reviews) == decided
