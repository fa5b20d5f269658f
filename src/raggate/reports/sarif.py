"""SARIF 2.1.0, which code scanning and editors read: its frame, and what `raggate lint` found in it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from raggate.models.lint import CHECKS, LintFinding
from raggate.reports.lint import about
from raggate.text.escape import plain
from raggate.text.jsonio import dumps

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
MESSAGE_CHARACTERS = 1000


def render(findings: Sequence[LintFinding], version: str) -> str:
    """Render findings as one run of one tool; `version` is raggate's own."""
    return document([*_rules()], [*_results(findings)], version)


def document(
    rules: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]], version: str, **more: Sequence[dict[str, Any]]
) -> str:
    """Put results and their rules into one run of raggate, whose version may be unknown, with other parts of a run."""
    driver = {"name": "raggate", **({"semanticVersion": plain(version)} if version else {}), "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results, **more}
    return dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, pretty=True).decode()


def _rules() -> Iterator[dict[str, Any]]:
    for name, check in CHECKS.items():
        yield {
            "id": name,
            "shortDescription": {"text": check.title},
            "help": {"text": check.remedy},
            "defaultConfiguration": {"level": check.severity},
        }


def _results(findings: Sequence[LintFinding]) -> Iterator[dict[str, Any]]:
    order = {name: place for place, name in enumerate(CHECKS)}
    count: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        thing = (finding.check, finding.path, finding.key)
        count[thing] += 1
        text = f"{plain(about(finding), limit=MESSAGE_CHARACTERS, middle=True)}. {CHECKS[finding.check].remedy}"
        yield {
            "ruleId": finding.check,
            "ruleIndex": order[finding.check],
            "level": finding.severity,
            "message": {"text": text},
            "locations": [location(finding.path, finding.line)],
            # the same finding stays the same alert when lines above it come and go
            "partialFingerprints": {"raggateFinding/v1": digest("\0".join((*thing, str(count[thing]))))},
        }


def location(path: str, line: int) -> dict[str, Any]:
    """Name a line of a file of the repository."""
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(path)}, "region": {"startLine": line}}}


def _uri(path: str) -> str:
    # a relative reference may not look like a scheme
    return quote(path.encode(errors="replace"), safe="/")


def digest(text: str) -> str:
    """Return what tells results apart from run to run."""
    return sha256(text.encode(errors="replace")).hexdigest()[:32]
