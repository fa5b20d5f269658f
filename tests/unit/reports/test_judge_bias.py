"""What sways the judges, as a page, as text and as a document; and that foreign text in them stays text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from raggate.models.judging import Spending, Usage
from raggate.models.judging_bias import (
    Estimate,
    JudgeBias,
    LengthCorrelation,
    SelfPreference,
    SelfPreferences,
    Shift,
)
from raggate.reports import OF_BIAS, judge_bias, judge_bias_file
from raggate.reports.parts import bias_words
from rendered import problems
from reviews import HOSTILE


def shift(variant: Any, **fields: Any) -> Shift:
    """Build a row over 24 questions, of which a quarter moved."""
    known = {"answers": 24, "questions": 24, "moved": 0.25, "moved_low": 0.12, "moved_high": 0.449}
    known |= {"shift": Estimate(mean=-0.25, low=-0.5, high=0.0123456, p=0.04), "finding": "not shown"}
    return Shift(judge="small", score="groundedness", variant=variant, **{**known, **fields})


BEYOND = Estimate(mean=0.2, low=0.1, high=0.3, p=0.001)
OWN = Estimate(mean=0.5, low=0.2, high=0.8, p=0.001)
ROW = SelfPreference(
    judge="gpt-small",
    family="gpt",
    score="groundedness",
    own_questions=24,
    other_questions=0,
    own=OWN,
    finding="lenient or partial",
)
BIAS = JudgeBias(
    run_id="20261122_101500",
    suite="small",
    judges={"models": [{"model": "small", "build": "b1", "endpoint": "local"}], "temperature": 0.0},
    seed=0,
    wording=1,
    drawn=24,
    eligible=30,
    shifts=(
        shift("again", moved=0.0, moved_low=0.0, moved_high=0.138, shift=Estimate(mean=0.0)),
        shift("reversed", beyond=BEYOND, finding="shown"),
        shift("longer", answers=30, not_judged={"budget": 2, "timeout": 1}),
        shift("shorter", answers=3, questions=3, finding="too few"),
    ),
    lengths=(
        LengthCorrelation(judge="small", score="groundedness", answers=30, questions=30, rho=0.4, low=0.1, high=0.65),
        LengthCorrelation(judge="small", score="correctness", answers=30, questions=30),
        LengthCorrelation(judge="large", score="correctness", answers=12, questions=12),
    ),
    self_preferences=SelfPreferences(rows=(ROW,), answered_by={"gpt-4o": 24}, source="command line"),
    mode="auto",
    spending=Spending(calls=100, retries=4, refused=2, untold=1, tokens=54000, usd=0.12),
    usage=Usage(replies=118, untold=1, input_tokens=50000, output_tokens=9000, usd=None),
    recorded=96,
)
NOT_KNOWN = replace(
    BIAS,
    shifts=(BIAS.shifts[0], BIAS.shifts[3]),
    lengths=(),
    self_preferences=SelfPreferences(reason="nothing says which model generated the answers"),
)
CASES = {"shown": BIAS, "not known": NOT_KNOWN}


def hostile() -> JudgeBias:
    """Build a measurement in which every foreign text is hostile."""
    return replace(
        BIAS,
        run_id=HOSTILE,
        suite=HOSTILE,
        shifts=tuple(replace(row, judge=HOSTILE) for row in BIAS.shifts),
        lengths=tuple(replace(row, judge=HOSTILE, score=HOSTILE) for row in BIAS.lengths),
        self_preferences=SelfPreferences(
            rows=(replace(ROW, judge=HOSTILE, family=HOSTILE),), answered_by={HOSTILE: 24}, source="response"
        ),
    )


@pytest.mark.parametrize("name", CASES)
def test_page(name: str, page: SnapshotAssertion) -> None:
    """The page says what is shown first, then every number with its interval, and what is not known and why."""
    assert judge_bias.render_markdown(CASES[name]) == page


@pytest.mark.parametrize("name", CASES)
def test_terminal(name: str, snapshot: SnapshotAssertion) -> None:
    """The terminal has the same tables, and what they come to in the last line."""
    assert judge_bias.render_terminal(CASES[name]) == snapshot


def test_hostile_text_is_inert_everywhere() -> None:
    """No judge, model or suite makes a link, a mention, a command or a control character."""
    assert list(problems(judge_bias.render_markdown(hostile()))) == []
    text = judge_bias.render_terminal(hostile())
    assert not [line for line in text.splitlines() if line.startswith("::") or "##[" in line.replace("\u200b", "x")]
    assert "\x1b" not in text
    assert "\x1b" not in judge_bias_file.render(hostile())


def test_the_document_has_every_number() -> None:
    """Rounded values with their intervals, chances, counts, reasons, spending and who judged."""
    stored = json.loads(judge_bias_file.render(BIAS))
    assert stored["schema"] == "raggate/judge-bias/1"
    assert stored["shifts"][1] == {
        "judge": "small",
        "score": "groundedness",
        "variant": "reversed",
        "answers": 24,
        "questions": 24,
        "not_judged": {},
        "moved": 0.25,
        "moved_low": 0.12,
        "moved_high": 0.449,
        "shift": {"mean": -0.25, "low": -0.5, "high": 0.0123, "p": 0.04},
        "beyond": {"mean": 0.2, "low": 0.1, "high": 0.3, "p": 0.001},
        "finding": "shown",
    }
    assert stored["self_preference"]["rows"][0]["preference"] is None
    assert stored["answers"] == {"drawn": 24, "eligible": 30}
    assert (stored["shown"], stored["least_questions"], stored["spending"]["refused"]) == (1, 20, 2)
    assert set(OF_BIAS) == {"judge_bias.md", "judge_bias.json"}


def test_nothing_is_claimed_of_too_few() -> None:
    """Where every row has too few questions, the headline says that and no more; where some have, it counts them."""
    assert bias_words.headline(NOT_KNOWN) == (
        "Too few questions to see whether anything sways the judges: at least 20 are needed."
    )
    # one passage has no other order, and a score of passages alone does not see how long the answer is
    assert bias_words.headline(replace(NOT_KNOWN, shifts=BIAS.shifts[:1])) == (
        "Nothing was tried that could sway the judges: they cannot tell any answer from itself in another order or "
        "length."
    )
    assert bias_words.headline(replace(NOT_KNOWN, shifts=(BIAS.shifts[2], BIAS.shifts[3]))) == (
        "No bias is shown by 1 comparison. Too few questions for 1 more."
    )
