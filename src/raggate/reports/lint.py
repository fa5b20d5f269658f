"""What `raggate lint` found, for people and for programs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from raggate.models.lint import CHECKS, LintFinding, LintReport, Severity, in_order
from raggate.models.lint_document import LintDocument, LintRow
from raggate.reports import outlook
from raggate.text.escape import log_line
from raggate.text.jsonio import dumps
from raggate.text.numbers import counted
from raggate.text.struct_fields import as_dict

SHOWN = 10
"""Findings of one check that a terminal shows."""


def all_findings(report: LintReport) -> tuple[LintFinding, ...]:
    """Return the findings with those on what the suite can show, which are about the configuration."""
    shown = outlook.sentences(report.outlook) if report.outlook is not None else ()
    own = [LintFinding(item.check, report.config, report.gate_line, "", item.text) for item in shown if item.check]
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
    return text + (outlook.render(report.outlook, report.ignored) if report.outlook is not None else "")


def _check(findings: list[LintFinding]) -> Iterator[str]:
    check = findings[0].check
    for finding in findings[:SHOWN]:
        yield f"{finding.path}:{finding.line}: {finding.severity} [{check}] {about(finding)}"
    if len(findings) > SHOWN:
        yield f"… and {len(findings) - SHOWN} more; --format json has all of them"
    yield f"→ {CHECKS[check].remedy}"


def about(finding: LintFinding) -> str:
    """Say what was found, of which key or case where the message does not say it."""
    return f"{finding.key}: {finding.message}" if finding.key not in finding.message else finding.message


def render_json(report: LintReport) -> str:
    """Render everything for programs, printable and with sorted keys."""
    return dumps({"schema": "raggate/lint/1", **as_dict(document(report))}, pretty=True).decode()


def document(report: LintReport) -> LintDocument:
    """Return everything for programs."""
    findings = tuple(
        LintRow(
            check=finding.check,
            severity=finding.severity,
            path=_encodable(finding.path),
            line=finding.line,
            key=_encodable(finding.key),
            message=_encodable(finding.message),
            fix=CHECKS[finding.check].remedy,
        )
        for finding in all_findings(report)
    )
    return LintDocument(config=report.config, findings=findings, outlook=report.outlook)


def _encodable(text: str) -> str:
    # an escape of YAML can make half a character, which JSON cannot hold
    return text.encode(errors="replace").decode()
