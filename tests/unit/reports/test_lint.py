"""What `raggate lint` found, in each form: complete, in order, and harmless whatever the files hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from own_source import MODULES, source
from raggate.base.jsonio import as_dict
from raggate.models.lint import CHECKS, LintFinding, LintReport, ModeOutlook, Outlook, in_order
from raggate.reports import lint, sarif
from raggate.reports.lint import _outlook as render
from tries import tried

MODE = ModeOutlook(
    mode="hybrid",
    questions=50,
    units=50,
    visible_drop=0.12,
    told_drop=0.06,
    enough=(56, 133),
    harmless_red=0.22,
    small=(("abstention_accuracy", 4), ("recall_all_at_10", 6)),
)
WHAT_IT_SHOWS = Outlook(suite="notes", policy="evidence", questions=50, modes=(MODE,))


def test_everything() -> None:
    """What cannot be seen, what that means for tolerances and metrics, and which policy suits, with its numbers."""
    assert render(WHAT_IT_SHOWS).splitlines() == [
        "suite notes: 50 questions, gate.policy evidence",
        "with 50 questions a drop of 6 points is seen 4 times in 5, as a warning or red, and one of 12 points is red",
        "it takes 56 questions to see a drop of 5 points as a warning or red, and 133 to see it red",
        "warning: with 50 questions a harmless change is red in 1 of 5 runs under gate.policy threshold",
        "warning: of fewer questions than gate.min_cases, so a loss warns unless the metric's own test shows it, "
        "or no question is right any more: abstention_accuracy (4) and recall_all_at_10 (6)",
    ]


def test_small_suite_without_a_baseline() -> None:
    """Where no loss can be distinguished from chance that is a warning, and of several modes each is named."""
    blind = replace(MODE, questions=8, units=4, blind=True, enough=(56, None), harmless_red=0.0, small=())
    outlook = Outlook(suite="x", policy="evidence", questions=8, modes=(blind, replace(blind, mode="lexical")))
    blindness = (
        "with 8 questions in 4 groups no loss can be distinguished from chance, so only an exceeded tolerance shows a "
        "loss"
    )
    enough = "it takes 56 questions to see a drop of 5 points as a warning or red; no number shows it red"
    assert render(outlook).splitlines()[1:] == [
        line
        for mode in ("hybrid", "lexical")
        for line in (f"warning: mode {mode}: {blindness}", f"mode {mode}: {enough} under this policy")
    ]


OUTLOOK = Outlook(
    suite="notes",
    policy="evidence",
    questions=9,
    modes=(ModeOutlook(mode="hybrid", questions=9, units=4, visible_drop=0.2, told_drop=0.2, blind=True),),
)
SCHEMA = Path(__file__).parents[2] / "data" / "sarif-2.1.0-subset.schema.json"
LEAK = LintFinding("leaked-heading", "golden/g.jsonl", 3, "q3", "quotes the heading 'Rain barrel'")
UNASKED = [LintFinding("unasked-note", f"vault/n{n}.md", 1, "", "no question names this note") for n in range(12)]
EXPIRED = LintFinding("expired-waiver", "raggate.yml", 1, "waivers[0]", "the waiver for 'q1' ended on 2026-05-31")
FOREIGN = st.text(max_size=40) | st.sampled_from(["\x1b[2J", "\n::error::x", "##[error]", "\u202e", "\ud800", "%0A,:"])


def report(*findings: LintFinding) -> LintReport:
    """Build a report of inputs that cannot be used further."""
    return LintReport(config="raggate.yml", findings=in_order([*findings]))


def test_terminal() -> None:
    """Errors come first; each check says what to do once, and shows ten of its findings."""
    assert lint.render(report(LEAK, *UNASKED, EXPIRED)).splitlines() == [
        "raggate.yml:1: error [expired-waiver] waivers[0]: the waiver for 'q1' ended on 2026-05-31",
        "→ Remove the waiver, or renew it with a reason.",
        "golden/g.jsonl:3: warning [leaked-heading] q3: quotes the heading 'Rain barrel'",
        "→ Ask in the words of somebody who does not know the note.",
        *sorted(f"vault/n{n}.md:1: note [unasked-note] no question names this note" for n in range(12))[:10],
        "… and 2 more; --format json has all of them",
        "→ Ask something that only this note answers.",
        "14 findings: 1 error, 1 warning, 12 notes",
        "",
    ]


def test_a_check_that_is_ignored() -> None:
    """It is left out of every form, also what is said of the suite as a whole."""
    told = replace(report(LEAK, EXPIRED), outlook=OUTLOOK)
    quiet = replace(told, ignored=frozenset({"leaked-heading", "no-visible-loss"}))
    assert {item.check for item in lint.all_findings(told)} - {item.check for item in lint.all_findings(quiet)} == {
        "leaked-heading",
        "no-visible-loss",
    }
    assert "distinguished from chance" in lint.render(told)
    assert "distinguished" not in lint.render(quiet)
    assert "leaked" not in lint.render(quiet)


def test_every_check_is_made_somewhere() -> None:
    """No id is listed that nothing finds."""
    code = "".join(source(name) for name in MODULES if name != "models/lint.py")
    assert [name for name in CHECKS if f'"{name}"' not in code] == []


def test_json() -> None:
    """Programs get every finding with its severity and what to do."""
    value = as_dict(lint.document(report(LEAK, *UNASKED)))
    assert len(value["findings"]) == 13
    assert value["findings"][0] == {
        "check": "leaked-heading",
        "severity": "warning",
        "path": "golden/g.jsonl",
        "line": 3,
        "key": "q3",
        "message": "quotes the heading 'Rain barrel'",
        "fix": CHECKS["leaked-heading"].remedy,
    }


def in_sarif(*findings: LintFinding) -> dict[str, Any]:
    """Render findings as SARIF and hold them against the standard."""
    log: dict[str, Any] = json.loads(sarif.render_findings(findings, "1.2.3"))
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(log)
    return log


def test_sarif() -> None:
    """Each result names its rule, which stands at its index, and its line."""
    [run] = in_sarif(LEAK, *UNASKED)["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert [rules[result["ruleIndex"]]["id"] for result in results] == [result["ruleId"] for result in results]
    assert results[0]["locations"] == [
        {"physicalLocation": {"artifactLocation": {"uri": "golden/g.jsonl"}, "region": {"startLine": 3}}}
    ]
    assert len({result["partialFingerprints"]["raggateFinding/v1"] for result in results}) == 13


def test_an_alert_stays_the_same_when_its_line_moves() -> None:
    """The fingerprint is of check, file and case, not of the line."""
    [[first], [moved]] = (in_sarif(item)["runs"][0]["results"] for item in (LEAK, LEAK._replace(line=7)))
    assert first["partialFingerprints"] == moved["partialFingerprints"]


def test_a_path_with_letters_of_its_own() -> None:
    """A path is a relative reference, whatever the note is called."""
    [run] = in_sarif(UNASKED[0]._replace(path="vault/a:b c#ü.md"))["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "vault/a%3Ab%20c%23%C3%BC.md"


@given(FOREIGN, FOREIGN, FOREIGN)
@tried(40)
def test_whatever_the_files_hold(path: str, key: str, message: str) -> None:
    """No text of a file ends a line, moves the cursor or is a command of the runner."""
    finding = LintFinding("leaked-heading", path or "p", 1, key, message)
    shown = lint.render(report(finding))
    assert len(shown.splitlines()) == 4
    for text in (shown, sarif.render_findings([finding], "1.0.0")):
        assert text.replace("\n", "").replace("\u200b", "").isprintable()
        assert not any(line.startswith("::") or "##[" in line for line in text.splitlines())
    in_sarif(finding)
