"""What reports tell of judging: who, how far, how well, and for how much; nothing where nothing was judged."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from builders import make_run
from raggate.models.judging import Judging, Spending, Usage
from raggate.models.judging_quality import Canary, CanaryAgreement, Coverage, JudgingSummary, SpotCheck
from raggate.models.run import Run
from raggate.reports import verdict_file
from raggate.reports.parts import judging
from reviews import passing

SUMMARY = JudgingSummary(
    min_coverage=0.9,
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
        hash="h", floor=0.4, scores={"groundedness": CanaryAgreement(cases=24, judged=23, kappa=0.8, low=0.7, high=0.9)}
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
    assert judging.sentences(judged()) == [
        "Judged by small (b1): groundedness 10 of 12 (not judged: 1 budget, 1 timeout), faithfulness 10 of 10.",
        "Agreement with people, as kappa with quadratic weights: groundedness 0.8000 [0.7000, 0.9000] on 23 of 24 "
        "cases; floor 0.4.",
        "Judged once more by second: 10% disagree, of 20 answers.",
        "Spent on judges in this run: 14 calls, 2 of them retries, 1 not made because of the budget, 10000 tokens, "
        "usage not reported for 1 call, 0.012 dollars.",
        "The replies behind the scores took groundedness 10000 tokens and 1 not reported, faithfulness none.",
    ]


def test_what_is_not_known_is_told_as_that() -> None:
    """No canary set, a spot check without a rate and a kappa that is not defined are no numbers."""
    plain = replace(SUMMARY, canary=None, spot_check=SpotCheck(disagreement_rate=None, spot_check_n=0))
    lines = judging.sentences(judged(plain))
    assert lines[1] == "No canary set says whether that agrees with people."
    assert lines[2] == "Judged once more by the same judge in other words: no rate, of 0 answers."
    empty = Canary(hash="h", floor=0.4, scores={"groundedness": CanaryAgreement(cases=2, judged=0)}, replayed=True)
    told = judging.sentences(judged(replace(SUMMARY, canary=empty)))[1]
    assert told.endswith("groundedness not defined on 0 of 2 cases; floor 0.4; answered by the cassette.")


def test_a_run_without_judges_says_nothing_of_them() -> None:
    """Where nothing was judged there is no line, no section and no key."""
    run = make_run()
    assert judging.sentences(run) == []
    assert judging.section(run).variants == ()
    review = passing()
    assert "judging" not in json.loads("".join(verdict_file.render(replace(review, run=run))))


def test_programs_get_it_all() -> None:
    """verdict.json holds the summary and what was spent, with the seed's names of the spot check."""
    stored = json.loads("".join(verdict_file.render(replace(passing(), run=judged()))))["judging"]
    assert stored["spot_check"] == {"disagreement_rate": 0.1, "spot_check_n": 20, "by": "second"}
    assert stored["scores"]["groundedness"]["judged"] == 10
    assert stored["canary"]["scores"]["groundedness"]["kappa"] == 0.8
    assert stored["spending"]["calls"] == 14
    assert stored["by"] == ["small (b1)"]


def test_the_name_of_a_judge_is_foreign() -> None:
    """A name that holds Markdown or a runner's command is shown as text."""
    section = judging.section(judged(build="[x](http://evil) <img src=x>\n::error::"))
    assert "<img" not in section.variants[0]
    assert "](http" not in section.variants[0]
