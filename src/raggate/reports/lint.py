"""What `raggate lint` found, and what a suite can show, for people and for programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import groupby

from raggate.base.escape import log_line
from raggate.base.numbers import counted, points
from raggate.base.quote import enumerated
from raggate.models.lint import (
    CHECKS,
    LintDocument,
    LintFinding,
    LintReport,
    LintRow,
    ModeOutlook,
    Outlook,
    Severity,
    in_order,
)

SHOWN = 10
"""Findings of one check that a terminal shows."""


def _outlook(outlook: Outlook, ignored: Collection[str] = ()) -> str:
    """Render it, one sentence a line; a line that asks for something to be done begins with "warning"."""
    asked = counted(outlook.questions, "question")
    if outlook.part_of is not None:
        asked = f"{outlook.questions} of {counted(outlook.part_of, 'question')}"
    lines = [f"suite {outlook.suite}: {asked}, gate.policy {outlook.policy}"]
    for text, check in _outlook_sentences(outlook):
        if check not in ignored:
            lines.append(f"warning: {text}" if CHECKS[check].severity == "warning" else text)
    return "\n".join(log_line(line, limit=500) for line in lines) + "\n"


def _outlook_sentences(outlook: Outlook) -> list[tuple[str, str]]:
    """Return what the suite can show, each with the check of `raggate lint` that says it."""
    several = len(outlook.modes) > 1
    return [sentence for mode in outlook.modes for sentence in _seen(mode, several=several)]


def enough_questions(mode: ModeOutlook) -> str:
    """Return how many questions it takes to see a drop of 5 points."""
    told, red = (f"{number:,}" if number else "" for number in mode.enough)
    seen = f"it takes {told or 'more than 100,000'} questions to see a drop of 5 points as a warning or red"
    return f"{seen}, and {red} to see it red" if red else f"{seen}; no number shows it red under this policy"


def _seen(mode: ModeOutlook, *, several: bool) -> Iterator[tuple[str, str]]:
    where = f"mode {mode.mode}: " if several else ""
    units = f" in {counted(mode.units, 'group')}" if mode.units != mode.questions else ""
    questions = f"{where}with {counted(mode.questions, 'question')}{units}"
    if mode.blind:
        blind = "no loss can be distinguished from chance, so only an exceeded tolerance shows a loss"
        yield f"{questions} {blind}", "no-visible-loss"
    else:
        seen = f"a drop of {points(mode.told_drop)} is seen 4 times in 5, as a warning or red"
        yield f"{questions} {seen}, and one of {points(mode.visible_drop)} is red", "smallest-loss"
    if mode.questions:
        yield f"{where}{enough_questions(mode)}", "smallest-loss"
    if mode.harmless_red:
        odds = f"1 of {round(1 / mode.harmless_red)} runs"
        yield f"{questions} a harmless change is red in {odds} under gate.policy threshold", "often-red"
    if mode.small:
        small = enumerated([f"{name} ({count})" for name, count in mode.small])
        warns = "a loss warns unless the metric's own test shows it, or no question is right any more"
        yield f"{where}of fewer questions than gate.min_cases, so {warns}: {small}", "few-questions"


def all_findings(report: LintReport) -> tuple[LintFinding, ...]:
    """Return the findings with those on what the suite can show, which are about the configuration."""
    shown = _outlook_sentences(report.outlook) if report.outlook is not None else ()
    own = [LintFinding(check, report.config, report.gate_line, "", text) for text, check in shown]
    return in_order([item for item in (*report.findings, *own) if item.check not in report.ignored])


def render(report: LintReport) -> str:
    """Render for a terminal: the findings by check, each check with what to do; then what the suite can show."""
    findings = [item for item in report.findings if item.check not in report.ignored]
    lines = [line for _, group in groupby(findings, key=lambda item: item.check) for line in _check([*group])]
    if findings:
        sizes = Counter(finding.severity for finding in findings)
        severities: tuple[Severity, ...] = ("error", "warning", "note")
        # a finding to be known is called a note, as the files of the vault are
        by_severity = ", ".join(counted(sizes[name], name) for name in severities if sizes[name])
        lines += [f"{counted(len(findings), 'finding')}: {by_severity}", ""]
    text = "".join(f"{log_line(line, limit=600)}\n" if line else "\n" for line in lines)
    return text + (_outlook(report.outlook, report.ignored) if report.outlook is not None else "")


def _check(findings: list[LintFinding]) -> Iterator[str]:
    check = findings[0].check
    for finding in findings[:SHOWN]:
        yield f"{finding.path}:{finding.line}: {finding.severity} [{check}] {about(finding)}"
    if len(findings) > SHOWN:
        yield f"… and {len(findings) - SHOWN} more; --format json has all of them"
    yield f"→ {CHECKS[check].remedy}"


def about(finding: LintFinding) -> str:
    """Return the text of a finding, with its key or case if the message lacks it."""
    return f"{finding.key}: {finding.message}" if finding.key not in finding.message else finding.message


def document(report: LintReport) -> LintDocument:
    """Return everything for programs."""
    findings = tuple(
        LintRow(
            check=finding.check,
            severity=finding.severity,
            line=finding.line,
            fix=CHECKS[finding.check].remedy,
            # an escape of YAML can make half a character, which JSON cannot hold
            **{name: getattr(finding, name).encode(errors="replace").decode() for name in ("path", "key", "message")},
        )
        for finding in all_findings(report)
    )
    return LintDocument(config=report.config, findings=findings, outlook=report.outlook)
