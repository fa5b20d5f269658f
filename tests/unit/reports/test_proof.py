"""The reports of a proof: page, terminal and document, and that foreign text in them stays text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from proofs import FAILED, PROOF, trial
from raggate.models.gate_proof import GateProof
from raggate.models.verdict import Reason
from raggate.reports import proof
from raggate.reports.proof import verdict_on
from rendered import problems
from tables import each_row

HOSTILE = "x](http://evil.example) <img src=x> @everyone | `a` \x1b[31m ::error::boom ##[group]\n# New"
CASES = {"holds": PROOF, "does not hold": FAILED}


def hostile() -> GateProof:
    """Build a proof in which every foreign text is hostile."""
    reason = replace(PROOF.trials[0].reasons[0], message=HOSTILE)
    bad = trial(name=HOSTILE, size="", kind="env", outcome="regression", reasons=(reason,), notes=(HOSTILE,))
    missed = trial(name=HOSTILE, explanation=f"one of these notes: {HOSTILE}")
    return replace(
        PROOF,
        repeats=(bad,),
        trials=(bad, missed),
        untried=tuple(replace(fault, why=HOSTILE) for fault in PROOF.untried),
        unasked=(HOSTILE,),
    )


@pytest.mark.parametrize("name", CASES)
def test_page(name: str, snapshot: SnapshotAssertion) -> None:
    """The page names every fault with what the gate made of it, every miss with its reason, and missing questions."""
    assert proof.render(CASES[name]) == snapshot


@pytest.mark.parametrize("name", CASES)
def test_screen(name: str, snapshot: SnapshotAssertion) -> None:
    """The screen says the same in a table, and ends with the exit code."""
    assert proof.render_terminal(CASES[name], width=120, color=False) == snapshot


def test_document(snapshot: SnapshotAssertion) -> None:
    """The document for programs has every fault with its numbers."""
    assert proof.render_json(PROOF) == snapshot


def test_what_is_warned_of_anyway_is_no_warning_of_a_fault() -> None:
    """A warning that a run without a fault has too is not named as what a missed fault was warned by."""
    usual = Reason(code="list-deep", message="in 40 of 40 answers", invariant="list_deep_enough")
    now = replace(usual, message="in 39 of 40 answers")
    other = Reason(code="slice-worse", message="x", metric="hit_at_5", slice="category=a")
    proof = replace(PROOF, repeats=(trial(warnings=(usual, replace(other, slice="category=b"))), trial()))
    said = [verdict_on(trial(warnings=each), proof) for each in ((now,), (now, other), ())]
    assert said == ["missed", "missed, warned (hit@5 slice-worse)", "missed"]


@each_row(("outcome", "named"), [("cannot tell", "too-many-errors"), ("regression", "too-many-errors, hit@5 worse")])
def test_what_decided_is_named(outcome: Any, named: str) -> None:
    """Where too many calls failed, no loss is named as what a fault was caught by."""
    reasons = (Reason(code="too-many-errors", message="x"), *PROOF.trials[0].reasons[:1])
    assert verdict_on(trial(outcome=outcome, reasons=reasons), PROOF) == f"caught: {outcome} ({named})"


@each_row(
    ("changes", "sentence"),
    [
        (
            {},
            "The proof holds: 1 of 1 harmful fault caught (100%; 90% are required); 0 of 40 harmless changes red (with "
            "95% confidence at most 7% of all); the same build was asked 50 more times, none red.",
        ),
        (
            {"trials": FAILED.trials},
            "The proof does not hold: 1 of 2 harmful faults caught (50%; 90% are required); the worst miss loses the "
            "passage of 15.3% of the questions; 0 of 40 harmless changes red (with 95% confidence at most 7% of all); "
            "the same build was asked 50 more times, none red.",
        ),
        (
            {"harmless": (*PROOF.harmless[:20], *FAILED.harmless[-1:] * 20), "alarm_limit": 0.6389},
            "The proof does not hold: 20 of 40 harmless changes red (with 95% confidence at most 64% of all); 1 of 1 "
            "harmful fault caught (100%; 90% are required); the same build was asked 50 more times, none red.",
        ),
    ],
)
def test_headline(changes: dict[str, Any], sentence: str) -> None:
    """The weakest of three figures comes first: faults caught, harmless changes red, and equal runs red."""
    assert proof.headline(replace(PROOF, **changes)) == sentence


def test_edge_numbers() -> None:
    """One note is one note, the lowest of several modes is called that, and a false alarm catches nothing."""
    alone = replace(PROOF, unasked=PROOF.unasked[:1], notes=1, modes=("hybrid", "vector"))
    assert proof.watched(alone) == ("without a fault hit@5 is 87.4% over 174 questions, in the lower of 2 modes")
    for report in (proof.render(FAILED), proof.render_terminal(FAILED, width=120, color=False)):
        assert "- no change: regression (" in report
        assert "- caught" not in report


def test_foreign_text_is_only_text() -> None:
    """Names and words of the API make no link, no mention, no block, no escape code and no workflow command."""
    page = proof.render(hostile())
    assert list(problems(page)) == []
    assert len([line for line in page.splitlines() if line.startswith("# ")]) == 1
    screen = proof.render_terminal(hostile(), width=900, color=False)
    assert "\x1b" not in screen
    assert not any(line.lstrip().startswith("::") for line in screen.splitlines())
    assert "##[" not in screen
    assert not any(line.startswith("# New") for line in screen.splitlines())
    document = proof.render_json(hostile())
    assert "\x1b" not in document
    assert "##[" not in document
    assert json.loads(document)["faults"][0]["name"] == HOSTILE
