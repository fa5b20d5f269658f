"""A partial run: each question against its own past, never a pass, and nothing that only a whole run can show."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_failure, make_golden, make_labelled, make_result
from raggate.base.errors import CannotTell
from raggate.config.gate_settings import Gate, Waiver
from raggate.gate import promote
from raggate.gate.evaluation import evaluate_run
from raggate.models.golden import Selection
from raggate.models.run import LabelledResult, Run
from raggate.models.scorecard import Key
from raggate.models.verdict import Review
from raggate.scoring.score import score
from reviews import CHECKED, CUTOFFS, QUESTIONS, answer, baseline_of, case_of, gold_of, good, others, run_of
from tables import each_row

BASELINE = baseline_of(run_of(good()))
WHOLE = make_golden(*(item.case for item in good()))


def part(*items: LabelledResult, **fields: Any) -> Run:
    asked = tuple(dict.fromkeys(item.case.id for item in items))
    fields.setdefault("golden", WHOLE)
    selection = Selection(asked=fields.pop("asked", asked), of=len(fields["golden"].cases), words="-k x")
    return replace(run_of(items, golden=fields.pop("golden"), **fields), selection=selection)


def reviewed(run: Run, baseline: Any = BASELINE) -> Review:
    """Judge a run as `raggate check` does."""
    run = replace(run, config=run.config.model_copy(update={"invariants": CHECKED}))
    return evaluate_run(run, score(run, CUTOFFS), baseline)


def well(number: int) -> LabelledResult:
    return answer(QUESTIONS[number], gold_of(QUESTIONS[number]), *others(4))


def badly(number: int) -> LabelledResult:
    return answer(QUESTIONS[number], *others())


@each_row(
    ("items", "outcome", "code", "said", "missed"),
    [
        ([well(3)], "partial", 5, ("None of these questions got worse. This is no verdict on the whole suite.",), {}),
        ([well(3), badly(4)], "failed in part", 1, ("1 question broke: q04.",), {}),
        ([badly(7)], "failed in part", 1, ("1 must-pass question not passed: q07.",), {("hybrid", "q07"): "hit_at_5"}),
    ],
    ids=["nothing worse", "one broke, though a tolerance would let it pass", "a must-pass question"],
)
def test_each_question_is_judged_by_itself(
    items: list[LabelledResult], outcome: str, code: int, said: tuple[str, ...], missed: dict[Key, str]
) -> None:
    """A part never passes, one question that breaks fails it, and the first sentence says how much was asked."""
    verdict = reviewed(part(*items)).verdict
    assert (verdict.outcome, verdict.exit_code, verdict.sentences[1:]) == (outcome, code, said)
    assert verdict.sentences[0] == f"Partial: {len(items)} of 26 questions chosen (-k x)."
    assert verdict.missed == missed


def test_a_part_that_was_not_measured_says_nothing() -> None:
    """Where calls failed, or the run broke off, no question is said to be as good as before."""
    failed = make_labelled(QUESTIONS[3], make_result("q03", failure=make_failure()))
    assert reviewed(part(failed)).verdict.outcome == "cannot tell"
    stopped = reviewed(part(well(3), stopped="gave up")).verdict
    assert (stopped.outcome, [reason.code for reason in stopped.reasons]) == ("cannot tell", ["stopped"])


def test_no_statistics_of_a_few() -> None:
    """No interval, tolerance, limit, slice or test of a part is shown, and the values are over what was asked."""
    review = reviewed(part(well(3), badly(4)))
    assert {row.delta.slice for row in review.verdict.rows} == {"overall"}
    assert {(row.allowed, row.floor, row.delta.interval, row.delta.uncompared) for row in review.verdict.rows} == {
        (None, None, None, None)
    }
    assert review.verdict.evidence is None
    assert {row.status for row in review.verdict.rows if not row.gated} == {"not gated"}
    hits = next(row.delta for row in review.verdict.rows if row.delta.metric == "hit_at_5")
    assert (hits.baseline.value, hits.baseline.n, hits.current.value, hits.current.n) == (1.0, 2, 0.5, 2)


def test_a_loss_that_is_waived_is_not_denied() -> None:
    """What a waiver lets pass is no failure, and is not said to be as good as before."""
    run = part(badly(3), well(4))
    waiver = Waiver(case=QUESTIONS[3].id, owner="jo", reason="known", expires="2999-01-01")
    verdict = reviewed(replace(run, config=run.config.model_copy(update={"waivers": (waiver,)}))).verdict
    assert verdict.outcome == "partial"
    assert verdict.sentences[1] == (
        f"None of these questions got worse except the waived {QUESTIONS[3].id}. This is no verdict on the whole suite."
    )


def test_without_its_mark_a_partial_run_lacks_answers() -> None:
    """Who takes the mark out of a run directory gets a run that cannot tell, not a whole one."""
    review = reviewed(replace(part(well(3)), selection=None))
    assert review.verdict.outcome == "cannot tell"
    assert "not-asked" in [reason.code for reason in review.verdict.reasons]


@each_row(
    ("baseline", "code"),
    [(None, "no-baseline"), (replace(BASELINE, scorecard=replace(BASELINE.scorecard, cases=())), "incomparable")],
)
def test_nothing_to_compare_with(baseline: Any, code: str) -> None:
    """Without a baseline, or with one that has means alone, nothing is said of the questions."""
    verdict = reviewed(part(well(3)), baseline).verdict
    assert verdict.outcome == "cannot tell"
    assert verdict.sentences[0].startswith("Partial: 1 of 26 questions chosen")
    assert code in [reason.code for reason in verdict.reasons]


def test_a_new_question_alone_compares_nothing() -> None:
    """Of a question that the baseline does not have, a partial run cannot say that it is no worse."""
    new = case_of(50)
    run = part(answer(new, gold_of(new)), golden=make_golden(*WHOLE.cases, new))
    verdict = reviewed(run).verdict
    assert verdict.outcome == "cannot tell"
    assert "little-overlap" in [reason.code for reason in verdict.reasons]


def test_a_partial_run_is_no_baseline() -> None:
    """Promotion refuses it by name, with its mark or without."""
    run = part(well(3))
    for refused, why in (
        (run, "partial: 1 of 26 questions chosen"),
        (replace(run, selection=None), "25 questions of the golden set lack results"),
    ):
        with pytest.raises(CannotTell, match=f"cannot become a baseline: .*{why}"):
            promote.refuse_unmeasured(refused, score(refused, CUTOFFS), (), Gate())


def test_a_new_question_beside_an_old_one() -> None:
    """A question that the baseline does not have as it is asked now has not got worse, and is counted."""
    new = case_of(50)
    relabelled = replace(well(4), case=replace(well(4).case, hash="other"))
    lost = replace(relabelled, result=badly(4).result, labels=badly(4).labels)
    golden = make_golden(*(case for case in WHOLE.cases if case.id != lost.case.id), lost.case, new)
    run = part(well(3), answer(new, *others()), lost, golden=golden)
    verdict = reviewed(run).verdict
    assert verdict.outcome == "partial"
    assert verdict.sentences[1].startswith(
        "None of these questions got worse (2 of them are new or changed since the baseline)"
    )
