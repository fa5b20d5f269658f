"""What the questions show together: the sentences below the table."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from builders import make_baseline, make_ranked_run, make_run
from raggate.config.gate_settings import Gate
from raggate.models.judging import (
    Canary,
    CanaryAgreement,
    Coverage,
    Judging,
    JudgingSummary,
    Spending,
    SpotCheck,
    Usage,
)
from raggate.models.run import Run
from raggate.models.verdict import Review
from raggate.reports import verdict_file
from raggate.reports.parts import evidence
from raggate.scoring.score import score
from reviews import CUTOFFS, passing, review, review_of

LOST = ([1] * 40, [None] * 3 + [1] * 37)
MOVED = (
    "hit@5, MRR@10 and nDCG@10 together: 1.0000 → 0.9250, 3 of 40 questions worse, 0 better. That "
    "questions like these got worse: p = 0.0498 (exact unconditional McNemar)."
)
SEEN = "With 40 questions a drop of 7 points is seen 4 times in 5, as a warning or red, and one of 16 points is red."


def compared(old: Run, new: Run, **gate: Any) -> Review:
    """Review a run beside another one."""
    return review_of(new, make_baseline(score(old, CUTOFFS)), gate=Gate(**gate))


def sides(**fields: Any) -> tuple[Run, Run]:
    """Build two runs of forty questions, of which the second loses three."""
    old, new = (make_ranked_run(*ranks, **fields) for ranks in LOST)
    return old, new


def test_what_moved_and_what_cannot_be_seen() -> None:
    """One sentence says how the questions moved and how likely that is by chance, one what is seen."""
    assert evidence.sentences(compared(*sides())) == [MOVED, SEEN]


def test_a_policy_that_is_often_red() -> None:
    """The odds of `threshold` stand beside what it sees."""
    old, _ = sides()
    (sentence,) = evidence.sentences(compared(old, old, policy="threshold"))
    assert sentence == (
        "With 40 questions a drop of 7 points is seen 4 times in 5, as a warning or red, and one of 9 points is red. A "
        "harmless change is red in 1 of 3 runs under `gate.policy: threshold`."
    )


def test_groups() -> None:
    """Questions of one note are counted with their groups, which are what the test counts."""
    old, _ = sides(groups=[f"note {n // 2}" for n in range(40)])
    (sentence,) = evidence.sentences(compared(old, old, tolerance=1))
    assert sentence == (
        "With 40 questions in 20 groups a drop of 14 points is seen 4 times in 5, as a warning or red, and one of 31 "
        "points is red."
    )


def test_several_modes() -> None:
    """Each mode that moved has its sentence, and p is said to be adjusted for their number."""
    old, new = sides()
    others = make_ranked_run(*LOST[0], mode="lexical").results
    first, last = evidence.sentences(compared(make_run(*old.results, *others), make_run(*new.results, *others)))
    assert first.startswith("hit@5, MRR@10 and nDCG@10 together (hybrid): 1.0000")
    assert first.endswith("p = 0.0996, adjusted for 2 modes (exact unconditional McNemar).")
    assert last.startswith("With 40 questions a drop of 9 points")


def test_too_few_questions() -> None:
    """Where no loss can be significant, that is said instead; of several modes the smallest one is named."""
    old = make_ranked_run(1, 1, 1, 1)
    (sentence,) = evidence.sentences(compared(old, old))
    assert (
        sentence
        == "With 4 questions no loss can be distinguished from chance, so only an exceeded tolerance shows a loss."
    )
    both = make_run(*old.results, *make_ranked_run(*[1] * 40, mode="lexical").results)
    (sentence,) = evidence.sentences(compared(both, both))
    assert sentence.startswith("With 4 questions (hybrid) no loss can be distinguished from chance")


def test_without_single_questions() -> None:
    """Where there are only means, or nothing that the composite is made of, tolerances are said to decide alone."""
    assert evidence.sentences(review("bare-metrics-file")) == [
        "The baseline has no individual questions to compare, so tolerances alone decide."
    ]
    old, new = sides()
    assert evidence.sentences(compared(old, new, composite=["answer_contains"])) == [
        "No metric of gate.composite, waived ones aside, applies to a question that is the same on both sides, so "
        "tolerances alone decide."
    ]


SUMMARY = JudgingSummary(
    scores={
        "groundedness": Coverage(
            expected=12,
            judged=10,
            reasons={"budget": 1, "timeout": 1},
            usage=Usage(replies=11, untold=1, input_tokens=9000, output_tokens=1000, usd=None),
        ),
        "faithfulness": Coverage(expected=10, judged=10),
    },
    canary=Canary(
        hash="h", scores={"groundedness": CanaryAgreement(cases=24, judged=23, kappa=0.8, low=0.7, high=0.9)}
    ),
    spot_check=SpotCheck(disagreement_rate=0.1, spot_check_n=20, by="second"),
)


def judged(summary: JudgingSummary = SUMMARY, **model: Any) -> Run:
    """Build a judged run."""
    judges = {"models": [{"model": "small", "build": "b1", **model}]}
    spending = Spending(calls=14, retries=2, refused=1, untold=1, tokens=10000, usd=0.012)
    return make_run(
        fingerprint={"judges": judges, "judging": summary.stored()}, judging=Judging(mode="auto", spending=spending)
    )


def test_every_number_of_judging_is_told() -> None:
    """Coverage with reasons, agreement with its interval and floor, the spot check, calls, tokens and cost."""
    assert [*evidence.judging_sentences(judged())] == [
        "Judged by small (b1): groundedness 10 of 12 (not judged: 1 budget, 1 timeout), faithfulness 10 of 10.",
        "Agreement with people, as kappa with quadratic weights: groundedness 0.8000 [0.7000, 0.9000] on 23 of 24 "
        "cases, floor 0.4.",
        "Judged once more by second: 10% disagree, of 20 answers.",
        "Spent on judges in this run: 14 calls, 2 of them retries, 1 not made because of the budget, 10000 tokens, "
        "usage not reported for 1 call, 0.012 dollars.",
    ]


def test_what_is_not_known_is_told_as_that() -> None:
    """No canary set, a spot check without a rate and a kappa that is not defined are no numbers."""
    plain = replace(SUMMARY, canary=None, spot_check=SpotCheck(disagreement_rate=None, spot_check_n=0))
    lines = [*evidence.judging_sentences(judged(plain))]
    assert lines[1] == "No canary set says whether that agrees with people."
    assert lines[2] == "Judged once more by the same judge in other words: no rate, of 0 answers."
    empty = Canary(hash="h", scores={"groundedness": CanaryAgreement(cases=2, judged=0)}, replayed=True)
    _, told, *_ = evidence.judging_sentences(judged(replace(SUMMARY, canary=empty)))
    assert told.endswith("groundedness not defined on 0 of 2 cases, floor 0.4, answered by the cassette.")


def test_programs_get_it_all() -> None:
    """verdict.json holds the summary and what was spent, with the seed's names of the spot check."""
    stored = json.loads("".join(verdict_file.render(replace(passing(), run=judged()))))["judging"]
    assert stored["spot_check"] == {"disagreement_rate": 0.1, "spot_check_n": 20, "by": "second"}
    assert stored["scores"]["groundedness"]["judged"] == 10
    assert stored["canary"]["scores"]["groundedness"]["kappa"] == 0.8
    assert stored["spending"]["calls"] == 14
    assert stored["by"] == ["small (b1)"]
