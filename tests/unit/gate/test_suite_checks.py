"""What weakens the gate before anything is asked: waivers that are over, small slices, a baseline that does not fit."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from builders import make_baseline, make_case, make_case_score, make_config, make_golden, make_scorecard
from raggate.config import schema
from raggate.config.schema import Config
from raggate.gate import suite_checks
from raggate.models.baseline import Baseline
from raggate.models.golden import Case, Support
from raggate.models.lint import LintFinding
from raggate.scoring.score import METRICS_VERSION
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


def test_a_baseline_that_fits() -> None:
    """Nothing is said of a young baseline of the same questions and settings."""
    assert found(baseline(1, 2, 1, 3)) == []


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
    assert checked(mapped("", ", answer: a")) == [(7, "2 unanswerable questions")]
    assert checked(mapped("", ", abstained: {a: []}")) == [(7, "2 unanswerable questions")]
    assert checked(mapped(""), count=1) == []
    assert checked(mapped("", ", abstained: {a: [none]}")) == []
    assert checked(mapped("", ", answer: a", ", retrieval_only: false")) == []
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
    """A question that no mode found is named; one that was relabelled since is not, nor one whose call failed."""
    assert found(baseline(1, None, 1, 3)) == [
        ("impossible-question", "q2", "no mode found it when the baseline was measured")
    ]
    relabelled = (CASES[0], make_case("q2", question="Something else?"), *CASES[2:])
    assert found(baseline(1, None, 1, 3), relabelled) == []
    card = baseline(1, None, 2, 3).scorecard
    failed = replace(card, cases=tuple(replace(case, failure="timeout") for case in card.cases))
    assert found(replace(baseline(1), scorecard=failed)) == []


def test_waivers_that_are_over() -> None:
    """A waiver counts to the end of its last day."""
    waiver = {"case": "q1", "owner": "team", "reason": "known", "expires": "2026-05-31"}
    expired = make_config(waivers=[waiver, {**waiver, "expires": "2026-06-01"}])
    golden = make_golden(*map(make_case, ("q1", "q2", "q3")))
    assert [*suite_checks.check_waivers(expired, golden, "raggate.yml", AT, lambda number: 30 + number)] == [
        LintFinding("expired-waiver", "raggate.yml", 30, "waivers[0]", "the waiver for 'q1' ended on 2026-05-31")
    ]


@each_row(
    ("waived", "expires", "modes", "messages"),
    [
        (["q1", "q2"], "2026-12-31", {}, []),
        (["q1"], "2027-06-02", {}, []),
        (["q1"], "2027-06-03", {}, ["the waiver for 'q1' holds until 2027-06-03"]),
        (["q1", "q2", "q3"], "2026-12-31", {}, ["waivers leave 3 of 4 questions (hybrid) out of the means"]),
        (["q1", "q2", "q3", "q4"], "2026-05-31", {}, ["the waiver for"] * 4),
        (["q1", "q2", "q3"], "2026-12-31", {"mode": "lexical"}, ["waivers leave 3 of 4 questions (lexical)"]),
        (["q1"] * 3, "2026-12-31", {}, []),
        (
            ["q1", "q2", "q3", "q4"],
            "2999-01-01",
            {},
            [*["the waiver for"] * 4, "waivers leave 4 of 4 questions (hybrid) out of the means"],
        ),
    ],
)
def test_waivers_of_too_much(waived: list[str], expires: str, modes: dict[str, str], messages: list[str]) -> None:
    """A waiver for more than a year is remarked upon, and so are waivers that leave out most questions of a mode."""
    waivers = [{"case": case, "owner": "team", "reason": "known", "expires": expires, **modes} for case in waived]
    settings = make_config(waivers=waivers, ask={"modes": ["hybrid", *modes.values()]})
    golden = make_golden(*map(make_case, ("q1", "q2", "q3", "q4")))
    found = [*suite_checks.check_waivers(settings, golden, "raggate.yml", AT, lambda number: 30 + number)]
    assert [finding.message[: len(message)] for finding, message in zip(found, messages, strict=True)] == messages
    assert {finding.check for finding in found} == (
        {"expired-waiver" if expires < AT else "broad-waiver"} if found else set()
    )
