"""Judged metrics: what judges said, by hand, and nothing where they said nothing."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_case, make_chunk, make_failure, make_labelled, make_response, make_result, make_run
from raggate.models.judging import Judgement
from raggate.models.run import LabelledResult
from raggate.scoring.metrics import METRICS
from raggate.scoring.score import score
from tables import each_row

JUDGED = {name: metric for name, metric in METRICS.items() if metric.judged}


def judged(value: float | None, name: str = "groundedness", *, failed: bool = False, **case: Any) -> LabelledResult:
    """Build an answer with one judgement; None for one that was not judged."""
    fields: dict[str, Any] = {"failure": make_failure()} if failed else {}
    fields = fields or {
        "response": make_response(make_chunk(), answer=case.pop("answer", "So."), **case.pop("api", {}))
    }
    golden = make_case(**case)
    item = make_labelled(golden, make_result(golden.id, **fields))
    judgement = Judgement(score=name, value=value, reason="timeout" if value is None else None)
    return replace(item, judgements=(Judgement(score="other", value=1.0), judgement))


@each_row("metric", JUDGED)
@each_row("value", [0.0, 1.0, None])
def test_a_metric_is_what_was_judged(metric: str, value: float | None) -> None:
    """The value is that of the metric's own score, and there is none where it was not judged."""
    case = {"answerable": metric != "judged_abstention_accuracy", "recency_conflict_rule": "cite_both"}
    item = judged(value, JUDGED[metric].judged, **case)
    assert JUDGED[metric].function(item) == value
    assert JUDGED[metric].function(replace(item, judgements=())) is None


@each_row("metric", JUDGED)
def test_a_failed_call_is_the_worst_value(metric: str) -> None:
    """An API that does not answer does not get out of the mean."""
    case = {"answerable": metric != "judged_abstention_accuracy", "recency_conflict_rule": "cite_both"}
    assert JUDGED[metric].function(judged(None, failed=True, **case)) == 0.0


@each_row(
    ("answerable", "answer", "abstained", "expected"),
    [(True, "No.", True, 0.0), (True, " ", False, 0.0), (False, "No.", True, None), (True, "Yes.", False, None)],
)
def test_a_refusal_is_not_correct(answerable: bool, answer: str, abstained: bool, expected: float | None) -> None:
    """Refusing an answerable question is 0 points without a judge; an unanswerable one has no correct answer."""
    item = judged(None, "correctness", answerable=answerable, answer=answer, api={"abstained": abstained})
    assert METRICS["correctness"].function(item) == expected


def test_what_does_not_apply_is_null() -> None:
    """Abstaining is judged of unanswerable questions alone, and the rule of a recency case where there is one."""
    assert METRICS["judged_abstention_accuracy"].function(judged(1.0, "abstention")) is None
    assert METRICS["judged_recency_conflict"].function(judged(1.0, "recency_conflict")) is None


def test_means_are_over_what_was_judged() -> None:
    """Of 5, 2 and an answer that was not judged the mean is 3.5 over 2, with 1 unscored."""
    items = [judged(value, case_id=name) for name, value in (("a", 5.0), ("b", 2.0), ("c", None))]
    card = score(make_run(*items, fingerprint={"judges": {"scores": ["groundedness"]}}), [1])
    mean = card.slices["hybrid"]["overall"]["groundedness"]
    assert (mean.value, mean.n, mean.unscored, mean.direction) == (3.5, 2, 1, "higher")
    assert "correctness" not in card.slices["hybrid"]["overall"]


def test_a_run_without_judges_has_no_judged_metric() -> None:
    """Where nobody judges, no judged metric is there at all, not even without a value."""
    card = score(make_run(judged(5.0)), [1])
    assert not {*card.cases[0].values, *card.slices["hybrid"]["overall"]} & {*JUDGED}
