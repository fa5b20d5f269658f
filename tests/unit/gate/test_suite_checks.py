"""Before anything is asked: what a suite can show, and what weakens the gate."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from builders import (
    make_baseline,
    make_case,
    make_case_score,
    make_config,
    make_golden,
    make_ranked_run,
    make_scorecard,
)
from raggate.config import schema
from raggate.config.schema import Config
from raggate.gate import suite_checks
from raggate.gate.suite_checks import suite_outlook
from raggate.models.baseline import Baseline
from raggate.models.golden import Case, Golden, Support
from raggate.models.lint import LintFinding
from raggate.scoring.score import METRICS_VERSION, score
from tables import each_row

AT = "2026-06-01T10:00:00Z"
NOW = {"adapter": "ask", "k": 5, "retrieval_only": True}
SAME = {**NOW, "metrics_version": METRICS_VERSION, "cutoffs": [1]}
CASES = tuple(make_case(f"q{number}", line=number) for number in range(1, 5))


def baseline(*ranks: int | None, **fields: Any) -> Baseline:
    scores = [make_case_score(case.id, rank=rank, hash=case.hash) for case, rank in zip(CASES, ranks, strict=False)]
    scorecard = make_scorecard(*scores, fingerprint=fields.pop("fingerprint", SAME))
    return replace(make_baseline(scorecard), **{"provenance": {"measured": AT}, **fields})


def found(before: Baseline | None, cases: tuple[Case, ...] = CASES, at: str = AT) -> list[tuple[str, str, str]]:
    findings = suite_checks.check_baseline(make_config(), make_golden(*cases), before, NOW, at)
    return [(item.check, item.key, item.message) for item in findings]


def mapped(chunks: str, response: str = "", ask: str = "") -> Config:
    """Build a configuration of the adapter `mapped`."""
    section = f"path: '/s?q={{question}}', response: {{chunks: {{list: hits, rel_path: p{chunks}}}{response}}}"
    text = f"vault: {{n: n}}\napi: {{url: 'http://x'}}\nask: {{adapter: mapped, {section}{ask}}}\n"
    return schema.load(text.encode(), "raggate.yml")


def test_headings_that_no_answer_has() -> None:
    """Labels by headings are named where the configuration reads no headings; those of whole notes are not."""
    whole = make_case("whole", gold_supports=(Support(rel_path="a.md"),))
    named = make_case("named", line=2, gold_supports=(Support(rel_path="a.md", heading_path="# A"),))

    def checked(settings: Config, told: tuple[int, int] | None = None) -> list[tuple[str, str]]:
        fields = {} if told is None else {"fields": {"hybrid": {"heading_path": [*told], "rank": [5, 5]}}}
        baseline = None if told is None else make_baseline(make_scorecard(fingerprint=fields))
        findings = suite_checks.check_headings(settings, make_golden(whole, named), "g.jsonl", baseline)
        return [(item.check, item.key) for item in findings]

    unread = [("unread-heading", "named")]
    assert checked(mapped("")) == unread
    assert checked(mapped(", heading_path: h")) == []
    assert checked(make_config()) == []
    # of an API that could return them, the answers behind the baseline say whether it does
    assert [checked(make_config(), told) for told in ((0, 5), (1, 5), (0, 0))] == [unread, [], []]


def test_abstaining_that_no_answer_can_tell() -> None:
    """Unanswerable questions are named together where no answer can say that the API abstained."""
    cases = (make_case("q1"), *(make_case(name, answerable=False, gold_supports=(), line=7) for name in ("u1", "u2")))

    def checked(settings: Config, count: int = 3) -> list[tuple[int, str]]:
        findings = suite_checks.check_abstentions(settings, make_golden(*cases[:count]), "g.jsonl")
        return [(item.line, item.message[:24]) for item in findings]

    assert checked(mapped("")) == [(7, "2 unanswerable questions")]

    assert checked(mapped("", ", abstained: {a: []}")) == [(7, "2 unanswerable questions")]
    assert checked(mapped(""), count=1) == []
    assert checked(mapped("", ", abstained: {a: [none]}")) == []

    assert checked(make_config()) == []


def test_other_settings() -> None:
    """Settings that make means of different things are named, and so are cut-offs that are gone."""
    before = baseline(1, 2, 1, 3, fingerprint={**SAME, "k": 10, "cutoffs": [1, 3]})
    assert found(before) == [
        ("other-settings", "k", "the number of passages requested (ask.k) changed: 10 in the baseline, 5 now"),
        ("other-settings", "score.k", "cut-offs not scored any more: 3"),
    ]


def test_a_question_that_is_gone() -> None:
    """A case of the baseline that the golden set lost is named."""
    assert found(baseline(1, 2, 1, 3), CASES[:3]) == [
        ("removed-question", "q4", "is in the baseline, but not in the suite")
    ]


def test_impossible_questions() -> None:
    """A question that no mode found is named, unless it was relabelled since or its call failed; others are not."""
    assert found(baseline(1, 2, 1, 3)) == []
    assert found(baseline(1, None, 1, 3)) == [
        ("impossible-question", "q2", "no mode found it when the baseline was measured")
    ]
    relabelled = (CASES[0], make_case("q2", question="Something else?"), *CASES[2:])
    assert found(baseline(1, None, 1, 3), relabelled) == []
    card = baseline(1, None, 2, 3).scorecard
    failed = replace(card, cases=tuple(replace(case, failure="timeout") for case in card.cases))
    assert found(replace(baseline(1), scorecard=failed)) == []


WAIVER = {"case": "q1", "owner": "team", "reason": "known"}


def waiver_findings(waivers: list[dict[str, str]], **keys: Any) -> list[LintFinding]:
    settings, golden = make_config(waivers=waivers, **keys), make_golden(*map(make_case, ("q1", "q2", "q3", "q4")))
    return [*suite_checks.check_waivers(settings, golden, "raggate.yml", AT, lambda number: 30 + number)]


def test_waivers_that_are_over() -> None:
    """A waiver counts to the end of its last day."""
    given = [{**WAIVER, "expires": "2026-05-31"}, {**WAIVER, "expires": "2026-06-01"}]
    assert waiver_findings(given) == [
        LintFinding("expired-waiver", "raggate.yml", 30, "waivers[0]", "the waiver for 'q1' ended on 2026-05-31")
    ]


@each_row(
    ("waived", "expires", "modes", "messages"),
    [
        (["q1", "q2"], "2026-12-31", {}, []),
        (["q1"], "2027-06-03", {}, ["the waiver for 'q1' holds until 2027-06-03"]),
        (["q1", "q2", "q3"], "2026-12-31", {}, ["waivers leave 3 of 4 questions (hybrid) out of the means"]),
        (["q1", "q2", "q3", "q4"], "2026-05-31", {}, ["the waiver for"] * 4),
        (["q1", "q2", "q3"], "2026-12-31", {"mode": "lexical"}, ["waivers leave 3 of 4 questions (lexical)"]),
        (["q1"] * 3, "2026-12-31", {}, []),
    ],
)
def test_waivers_of_too_much(waived: list[str], expires: str, modes: dict[str, str], messages: list[str]) -> None:
    """A waiver for more than a year is remarked upon, and so are waivers that leave out most questions of a mode."""
    waivers = [{**WAIVER, "case": case, "expires": expires, **modes} for case in waived]
    found = waiver_findings(waivers, ask={"modes": ["hybrid", *modes.values()]})
    assert [finding.message[: len(message)] for finding, message in zip(found, messages, strict=True)] == messages
    assert {finding.check for finding in found} == (
        {"expired-waiver" if expires < AT else "broad-waiver"} if found else set()
    )


CUTOFFS = (1, 5, 10)


def asked(size: int, per_note: int = 1) -> Golden:
    groups = tuple(f"note {n // per_note}" if per_note > 1 else None for n in range(size))
    return make_golden(*make_ranked_run(*[1] * size, groups=groups).golden.cases)


def test_without_a_baseline() -> None:
    """The golden set alone tells what can be seen."""
    outlook = suite_outlook(make_config(), asked(40), None)
    (mode,) = outlook.modes
    assert (mode.questions, mode.units, mode.visible_drop) == (40, 40, pytest.approx(0.1591, abs=1e-4))
    assert (mode.told_drop, mode.enough, mode.harmless_red) == (pytest.approx(0.0684, abs=1e-4), (56, 133), 0.0)


def test_groups_are_what_counts() -> None:
    """Ten questions of each of four notes are four units, of which no loss can be distinguished from chance."""
    (mode,) = suite_outlook(make_config(), asked(40, per_note=10), None).modes
    assert (mode.units, mode.blind) == (4, True)


def test_questions_of_one_mode_only() -> None:
    """A mode has the questions that are asked in it, and several modes share the level."""
    cases = asked(40).cases
    settings = make_config(ask={"modes": ["hybrid", "lexical"]})
    hybrid, lexical = suite_outlook(settings, make_golden(*cases), None).modes
    (alone,) = suite_outlook(make_config(), make_golden(*cases), None).modes
    assert hybrid.visible_drop == lexical.visible_drop > alone.visible_drop


def test_baseline_with_noise() -> None:
    """An API that ranked some questions otherwise when asked twice hides larger drops."""
    noisy = {"repeated": {"asked": 10, "failed": 0, "differ": 2, "questions": []}}
    sides = [make_baseline(make_scorecard(fingerprint=fingerprint)) for fingerprint in ({}, noisy)]
    calm, churned = (suite_outlook(make_config(), asked(40), side).modes[0].visible_drop for side in sides)
    assert churned > calm * 1.5


def test_metrics_of_few_questions() -> None:
    """Gated metrics that few questions have are named, unless the whole suite is that small."""
    run = make_ranked_run(*[1] * 40)
    settings = make_config(gate={"metrics": {"hit_at_1": 0.1, "mrr_at_5": 0.1}, "min_cases": 50})
    (mode,) = suite_outlook(settings, run.golden, make_baseline(score(run, CUTOFFS))).modes
    assert mode.small == ()


def test_a_policy_that_is_often_red() -> None:
    """`threshold` with 24 questions is red in one of four harmless changes, and sees 5 points with no number."""
    (mode,) = suite_outlook(make_config(gate={"policy": "threshold"}), asked(24), None).modes
    assert (mode.harmless_red, mode.enough) == (0.25, (56, None))
