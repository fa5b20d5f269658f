"""What `raggate lint` found as SARIF 2.1.0, which code scanning and editors read. Pure."""

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
    driver = {"name": "raggate", "semanticVersion": version, "rules": [*_rules()]}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [*_results(findings)]}
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
        place = {"artifactLocation": {"uri": _uri(finding.path)}, "region": {"startLine": finding.line}}
        yield {
            "ruleId": finding.check,
            "ruleIndex": order[finding.check],
            "level": finding.severity,
            "message": {"text": text},
            "locations": [{"physicalLocation": place}],
            # the same finding stays the same alert when lines above it come and go
            "partialFingerprints": {"raggateFinding/v1": _digest("\0".join((*thing, str(count[thing]))))},
        }


def _uri(path: str) -> str:
    # a relative reference may not look like a scheme
    return quote(path.encode(errors="replace"), safe="/")


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:32]
