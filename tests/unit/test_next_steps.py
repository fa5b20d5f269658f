"""What a check tells those who have to act on it: what promoting needs, what a must-pass question lacks, what to do."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import make_case, make_chunk, make_config, make_golden, make_labelled, make_result, make_run
from raggate.base.errors import UsageError
from raggate.gate import promote
from raggate.gate.evaluation import evaluate_run
from raggate.models.baseline import Baseline
from raggate.models.golden import Case
from raggate.models.run import Run
from raggate.models.verdict import Reason, Review
from raggate.reports import comment, terminal
from raggate.scoring.score import score
from tables import each_row

SETTINGS = make_config(score={"k": [1, 5]}, invariants={"notes_exist": "off", "list_deep_enough": "off"})
GOLD, LOST = make_chunk("c1"), make_chunk("c2", rel_path="b.md", heading_path="# B")


def run_of(cases: dict[Case, bool], **fields: Any) -> Run:
    """Measure cases, each found at rank 1 or not found."""
    items = [make_labelled(case, make_result(case.id, GOLD if found else LOST)) for case, found in cases.items()]
    fingerprint = {"k": 5, "modes": ["hybrid"], **fields.pop("fingerprint", {})}
    return make_run(*items, golden=make_golden(*cases), config=SETTINGS, fingerprint=fingerprint, **fields)


def judged(run: Run, before: Run) -> Review:
    """Judge a run against another one as a baseline."""
    baseline = Baseline(source="baselines/default.json", scorecard=score(before, [1, 5]), provenance={})
    return evaluate_run(run, score(run, [1, 5]), baseline)


def shown(review: Review) -> tuple[str, str]:
    """Return the page for a terminal and the Markdown page, each in one line."""
    return " ".join(terminal.render(review, width=200, color=False).split()), comment.render_whole(review).replace(
        "\n", " "
    )


CASES = tuple(make_case(f"q{number:02}") for number in range(50))
ALL = dict.fromkeys(CASES, True)


def test_a_pass_that_promotion_refuses_says_so() -> None:
    """A run within the tolerance whose promotion needs permission says what would go down, as promote says it."""
    before = run_of(ALL, run_id="before")
    run = run_of({**ALL, CASES[0]: False})
    review = judged(run, before)
    assert review.verdict.outcome == "pass"
    baseline = review.comparison.baseline
    with pytest.raises(UsageError) as refused:
        promote.propose(run, review.scorecard, baseline, run.config.gate, promote.Terms())
    assert review.lowers
    assert all(reason.message in refused.value.message for reason in review.lowers)
    record = "The gate lets this loss pass, but its promotion keeps a record"
    for page in shown(review):
        assert record in page
        unescaped = page.replace("&#64;&#8288;", "@")
        assert "you need --allow-regression and a --reason: hit@1 (hybrid) 100.0 → 98.0%" in unescaped


def test_a_pass_that_can_be_promoted_says_nothing() -> None:
    """A run that is as good as the baseline is promoted without a word, and none is said."""
    review = judged(run_of(ALL), run_of(ALL, run_id="before"))
    assert (review.verdict.outcome, review.lowers) == ("pass", ())
    assert not any("--allow-regression" in page for page in shown(review))


@each_row("known", [True, False], ids=["failed-before", "added"])
def test_a_must_pass_question_stands_in_full(known: bool) -> None:
    """A must-pass question that fails without having broken is told with what was asked, expected and came instead."""
    must = make_case("must", question="Where is it?", must_pass=True)
    before = run_of({**ALL, must: False} if known else ALL, run_id="before")
    review = judged(run_of({**ALL, must: False}), before)
    assert review.verdict.outcome == "regression"
    (missed,) = [flip for flip in review.fallen if flip.kind == "missed"]
    assert (missed.case_id, missed.gold) == ("must", "a.md › A")
    stands = "not found, as in the baseline" if known else "not found, added since the baseline"
    on_terminal, page = shown(review)
    for text in (
        "Where is it?",
        "b.md › B" if missed.displaced_by else "ot among the passages returned",
        stands,
        "must pass",
    ):
        assert text in on_terminal
        assert text in page
    assert "expected: a.md › A" in page
    assert "expected: a.md › A" in on_terminal


def test_what_is_gone_and_what_is_not_alike_have_a_next_step() -> None:
    """Removed questions and another k say what can be done about them."""
    before = run_of(ALL, run_id="before")
    fewer = judged(run_of(dict.fromkeys(CASES[1:], True)), before)
    assert fewer.verdict.outcome == "cannot tell"
    assert "q00; put it back, or promote a run without it" in fewer.verdict.headline
    other = judged(run_of(ALL, fingerprint={"k": 8}), before)
    assert other.verdict.headline == (
        "No verdict is possible: the number of passages requested (ask.k) changed: 5 in the baseline, 8 now; undo "
        "that change, "
        "or promote a run with the new setting."
    )
    others = judged(run_of({make_case(case.id, question=f"{case.question} By whom?"): True for case in CASES}), before)
    assert others.verdict.outcome == "cannot tell"
    for page in shown(others):
        assert "promote that run" in page
    foreign = judged(replace(run_of(ALL), suite="other"), before)
    assert "name this suite's own baseline" in foreign.verdict.headline


def test_what_others_judged_is_no_loss_that_passes() -> None:
    """Where grades were compared with nothing, that comes first, and nobody is told that a loss may be promoted."""
    before = run_of(ALL, run_id="before")
    run = run_of({**ALL, **dict.fromkeys(CASES[:1], False)})
    review = judged(run, before)
    others = Reason("other-judges", "who judged the baseline is not known")
    for page in shown(replace(review, lowers=(*review.lowers, others))):
        assert (
            "To promote this run you need --allow-regression and a --reason: who judged the baseline is not known; "
            in page
        )
        assert "may be promoted with its record" not in page
