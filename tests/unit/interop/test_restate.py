"""A baseline of means alone is held against means of the same questions by the same definitions, or against nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from builders import make_case, make_chunk, make_chunks, make_failure, make_labelled, make_result, make_run
from raggate.base.errors import UsageError
from raggate.config.gate_settings import Gate, Rule
from raggate.gate import baseline, compare, promote, verdict
from raggate.models.baseline import Baseline
from raggate.models.comparison import Delta
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import OVERALL
from raggate.models.verdict import Verdict
from raggate.scoring import score
from tables import each_row

GATE = Gate(metrics={"hit_at_5": Rule(tolerance=0.02)}, max_error_rate=0.5)
ANSWERABLE, UNANSWERABLE = 35, 15


def measured(hits: int, *, failed: int = 0, answerable: int = ANSWERABLE, **cases: Any) -> Run:
    """Build a run: of the answerable questions so many are found at rank 1; the last ones of all failed."""
    asked = [make_case(f"a{number:02}", **cases) for number in range(answerable)]
    asked += [make_case(f"u{number:02}", answerable=False) for number in range(UNANSWERABLE)]
    items: list[LabelledResult] = []
    for number, case in enumerate(asked):
        chunks = (make_chunk(rank=1),) if number < hits else make_chunks("other.md")
        lost = number >= len(asked) - failed
        items.append(
            make_labelled(case, make_result(case.id, *chunks, **({"failure": make_failure()} if lost else {})))
        )
    return make_run(*items, fingerprint={"modes": ["hybrid"]})


def read(content: dict[str, Any]) -> Baseline:
    """Read a metrics file as a baseline."""
    return baseline.read(json.dumps(content).encode(), "metrics.json", score.directions([5]))


def notes(recall: float = 0.70, **more: Any) -> Baseline:
    """Read a metrics.json of helloworld."""
    return read({"k": 5, "aggregate_metrics": {"recall_at_k_avg": recall, **more}})


def buckets(count: int, value: float = 0.70, **more: Any) -> Baseline:
    """Read a metrics file of substrate, or with `n` one of raggate."""
    return read({"by_retriever": {"hybrid": {"overall": {"hit_at_5": value, "count": count, **more}}}})


def judged(run: Run, held: Baseline) -> tuple[Verdict, Delta | None]:
    """Compare and decide; give the row of hit_at_5 too."""
    comparison = compare.compare(run, score.score(run, [5]), held)
    rows = [row for row in comparison.deltas if (row.metric, row.slice) == ("hit_at_5", OVERALL)]
    return verdict.decide(comparison, (), GATE), rows[0] if rows else None


@each_row(
    "held",
    [
        pytest.param(notes(), id="helloworld"),
        pytest.param(notes(answerable_tests=35, unanswerable_tests=15), id="helloworld-with-counts"),
        pytest.param(buckets(50), id="substrate"),
    ],
)
def test_loss_against_means_that_count_unanswerable_questions(held: Baseline) -> None:
    """27 of 35 found are 0.54 of all 50: worse than 0.70 of all 50, though raggate's own mean of the 35 is 0.77."""
    verdict, row = judged(measured(27), held)
    assert row is not None
    assert (row.baseline.value, row.current.value, row.current.n) == (0.70, 0.54, 50)
    assert row.run_value.value == pytest.approx(27 / 35)
    assert (verdict.outcome, [reason.code for reason in verdict.reasons]) == ("regression", ["worse"])


@each_row("held", [pytest.param(notes(), id="helloworld"), pytest.param(buckets(50), id="substrate")])
def test_unchanged_run_passes(held: Baseline) -> None:
    """35 of 35 found are 0.70 of all 50: the same."""
    verdict, row = judged(measured(35), held)
    assert row is not None
    assert row.delta == pytest.approx(0)
    assert verdict.outcome == "pass"
    assert any("follow the definitions of " in warning.message for warning in verdict.warnings)


@each_row(
    ("held", "sentence"),
    [
        pytest.param(notes(answerable_tests=34, unanswerable_tests=15), "over 49 questions, 15", id="fewer"),
        pytest.param(notes(answerable_tests=30, unanswerable_tests=20), "over 50 questions, 20", id="another-split"),
        pytest.param(buckets(49), "over 49 questions, those of this run over 50", id="substrate"),
        pytest.param(buckets(50, n={"hit_at_5": 50}), "a mean over 35 questions, but over 50", id="raggate"),
    ],
)
def test_means_over_other_questions_are_never_compared(held: Baseline, sentence: str) -> None:
    """Where a file tells that its means are over other numbers of questions, no verdict is possible."""
    verdict, _ = judged(measured(27), held)
    assert verdict.outcome == "cannot tell"
    assert sentence in verdict.reasons[0].message


def test_failed_calls_of_helloworld_are_counted_in() -> None:
    """Their error rate tells of calls without a row: 49 rows and one failed call are of the same 50 questions."""
    failed = {"operational_metrics": {"error_rate": 1 / 99}}
    verdict, _ = judged(measured(35), notes(answerable_tests=34, unanswerable_tests=15, **failed))
    assert verdict.outcome == "pass"


def test_failed_calls_of_the_run_are_misses() -> None:
    """Helloworld leaves failed calls out of its means; here they cannot hide a loss."""
    _, row = judged(measured(20, failed=30), notes())
    assert row is not None
    assert (row.current.value, row.current.n) == (0.4, 50)


def test_file_of_answerable_queries_alone() -> None:
    """A set of substrate has no question that expects nothing; then the answerable ones alone are compared."""
    verdict, row = judged(measured(27), buckets(35, 27 / 35))
    assert row is not None
    assert (row.current.value, row.current.n, verdict.outcome) == (pytest.approx(27 / 35), 35, "pass")


def test_matching_is_theirs() -> None:
    """By helloworld `# A` begins `# Apples`, by substrate a document is enough; by raggate neither."""
    case = make_case("a1")
    run = make_run(make_labelled(case, make_result("a1", make_chunk(heading_path="# Apples", rank=1))))
    values: Sequence[float | None] = [
        row.current.value
        for held in (notes(1.0), buckets(1, 1.0), buckets(1, 1.0, n={"hit_at_5": 1}))
        for row in [judged(run, held)[1]]
        if row is not None
    ]
    assert values == [1.0, 1.0, 0.0]


def test_other_names_of_a_mode() -> None:
    """A file that says `fts` is held against the mode `bm25` of a run."""
    case = make_case("a1")
    run = make_run(make_labelled(case, make_result("a1", make_chunk(rank=1), mode="bm25")))
    held = read({"by_retriever": {"fts": {"overall": {"hit_at_5": 1.0, "count": 1}}}})
    verdict, row = judged(run, held)
    assert row is not None
    assert (row.mode, row.delta, verdict.outcome) == ("bm25", 0.0, "pass")


def test_difficulties_are_restated_too() -> None:
    """Buckets of a difficulty are by the definitions of the file, and another number of questions in one is told."""
    easy = [make_case(name, difficulty="easy") for name in ("a1", "a2")]
    answered, missed = make_result("a1", make_chunk(rank=1)), make_result("a2")
    run = make_run(make_labelled(easy[0], answered), make_labelled(easy[1], missed))
    level = {"hit_at_5": 0.5, "count": 2}
    content = {"by_retriever": {"hybrid": {"overall": level, "by_difficulty": {"easy": level}}}}
    comparison = compare.compare(run, score.score(run, [5]), read(content))
    (row,) = [row for row in comparison.deltas if (row.metric, row.slice) == ("hit_at_5", "difficulty=easy")]
    assert (row.baseline.value, row.current.value, row.current.n) == (0.5, 0.5, 2)
    content["by_retriever"]["hybrid"]["by_difficulty"] = {"easy": {**level, "count": 3}}
    assert "for difficulty=easy are over 3 questions" in judged(run, read(content))[0].reasons[0].message


def test_labels_that_a_system_cannot_read() -> None:
    """Questions labelled by ids alone have no mean by definitions that count places in notes or documents."""
    ids = {"gold_supports": (), "expected_chunk_ids": ("c1",)}
    for held, sentence in ((notes(), "name ids alone"), (buckets(50), "name none")):
        verdict, _ = judged(measured(35, **ids), held)
        assert (verdict.outcome, sentence in verdict.reasons[0].message) == ("cannot tell", True)
    one = make_run(make_labelled(make_case("a1", **ids), make_result("a1", make_chunk())))
    for held, sentence in ((notes(), "names ids alone: a1"), (buckets(50), "names none: a1")):
        message = judged(one, held)[0].reasons[0].message
        assert f"and 1 question of this run {sentence}" in message


def test_ranks_that_their_scripts_stop_at() -> None:
    """A chunk of rank 0, by which helloworld divides, is told and not raised."""
    run = make_run(make_labelled(make_case("a1"), make_result("a1", make_chunk(rank=0))))
    verdict, _ = judged(run, notes())
    assert (verdict.outcome, "no rank above 0" in verdict.reasons[0].message) == ("cannot tell", True)


def test_answers_that_were_not_asked_for_are_no_loss() -> None:
    """A retrieval-only run has no attribution by raggate, and none is made up of its empty answers."""
    run = measured(35)
    run = make_run(*run.results, fingerprint={"retrieval_only": True})
    comparison = compare.compare(run, score.score(run, [5]), notes(attribution_hit_rate=0.9))
    (row,) = [row for row in comparison.deltas if (row.metric, row.slice) == ("attribution_hit_rate", OVERALL)]
    assert (row.current.value, row.current.n) == (None, 0)


@each_row(
    "held",
    [
        pytest.param(notes(answerable_tests=34, unanswerable_tests=15), id="helloworld"),
        pytest.param(buckets(49), id="substrate"),
        pytest.param(buckets(50, n={"hit_at_5": 50}), id="raggate"),
    ],
)
def test_promotion_over_means_of_other_questions(held: Baseline) -> None:
    """A rise over other questions is none: such a file is replaced with a permission alone."""
    run = measured(27)
    scorecard = score.score(run, [5])
    with pytest.raises(UsageError, match="is worse than the present baseline"):
        promote.propose(run, scorecard, held, GATE, promote.Terms.of("", "", allow_regression=False))
    allowed = promote.Terms.of("a baseline of our own", "", allow_regression=True)
    assert promote.propose(run, scorecard, held, GATE, allowed).reasons
