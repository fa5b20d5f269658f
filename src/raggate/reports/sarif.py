"""SARIF 2.1.0, which code scanning and editors read: questions that were lost, and what `raggate lint` found. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from raggate.base.escape import plain
from raggate.base.jsonio import dumps
from raggate.config.schema import Config
from raggate.models.lint import CHECKS, LintFinding
from raggate.models.publication import RunFailure
from raggate.models.verdict import Review
from raggate.reports import lint
from raggate.reports.junit import about, of_failure
from raggate.reports.parts import formatting, questions

if TYPE_CHECKING:
    from raggate.reports import Ended

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION = "2.1.0"
MESSAGE_CHARACTERS = 1000

RULES = {
    "broke": ("question-broke", "A question that was found before is not found any more"),
    "fell": ("question-fell", "A question is found, but further down than before"),
    "missed": ("must-pass-missed", "A question that must pass does not"),
}
_ORDER = [rule for rule, _ in RULES.values()]


def render_findings(findings: Sequence[LintFinding], version: str) -> str:
    """Render findings as one run of one tool; `version` is raggate's own."""
    rules = [
        {
            "id": name,
            "shortDescription": {"text": check.title},
            "help": {"text": check.remedy},
            "defaultConfiguration": {"level": check.severity},
        }
        for name, check in CHECKS.items()
    ]
    return document(rules, [*_findings(findings)], version)


def document(
    rules: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]], version: str, **more: Sequence[dict[str, Any]]
) -> str:
    """Put results and their rules into one run of raggate, whose version may be unknown, with other parts of a run."""
    driver = {"name": "raggate", **({"semanticVersion": plain(version)} if version else {}), "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results, **more}
    return dumps({"$schema": SCHEMA, "version": VERSION, "runs": [run]}, pretty=True).decode()


def _findings(findings: Sequence[LintFinding]) -> Iterator[dict[str, Any]]:
    order = {name: place for place, name in enumerate(CHECKS)}
    count: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        thing = (finding.check, finding.path, finding.key)
        count[thing] += 1
        text = f"{plain(lint.about(finding), limit=MESSAGE_CHARACTERS, middle=True)}. {CHECKS[finding.check].remedy}"
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
    # a relative reference may not look like a scheme
    uri = quote(path.encode(errors="replace"), safe="/")
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}}


def digest(text: str) -> str:
    """Return what tells results apart from run to run."""
    return sha256(text.encode(errors="replace")).hexdigest()[:32]


def render(ended: Ended, prefix: str = "") -> str:
    """Render what was lost, an error if it makes the verdict red, else a note; without a verdict nothing."""
    results: list[dict[str, Any]] = []
    level, version, whole = "error", "", False
    if isinstance(ended, RunFailure):
        (outcome,) = of_failure(ended)
        texts = [outcome.message, *outcome.details]
    else:
        verdict = ended.verdict
        level = "note" if verdict.exit_code == 0 else "error"
        reasons = formatting.deciding(ended) or formatting.warnings(ended)
        texts = [verdict.headline, *(reason.message for reason in reasons)]
        # code scanning refuses what was not successful; from all else it takes the absence of a result for a fix
        measured = verdict.outcome not in {"cannot tell", "interrupted"}
        results = [*_results(ended, prefix)] if measured else []
        version, whole = ended.run.provenance.raggate_version or "", measured and ended.run.selection is None
    shown = (plain(text, limit=MESSAGE_CHARACTERS, middle=True) or "–" for text in texts)
    notes = [{"level": level, "message": {"text": text}} for text in shown]
    rules = [{"id": rule, "shortDescription": {"text": title}} for rule, title in RULES.values()]
    invocation = {"executionSuccessful": whole, "toolExecutionNotifications": notes}
    return document(rules, results, version, invocations=[invocation])


def _results(review: Review, prefix: str) -> Iterator[dict[str, Any]]:
    config = review.run.config
    names = {flip.case_id for flip in review.lost}
    lines = {case.id: case.line for case in review.run.golden.cases if case.id in names}
    for flip in review.lost:
        line = lines.get(flip.case_id, 0)
        if not isinstance(config, Config) or line < 1:
            continue
        rule, _ = RULES[flip.kind]
        first = f"{plain(flip.case_id, limit=100)} ({plain(flip.mode)}): {plain(flip.question)}"
        red = review.verdict.exit_code != 0 and review.verdict.is_red(flip)
        related = {}
        if (place := review.context.source_lines.get(flip.case_id)) is not None:
            message = {"message": {"text": "the passage that answers it"}}
            note = {"id": 1, **location(f"{prefix}{place.path}", place.line), **message}
            related = {"relatedLocations": [note]}
        yield {
            "ruleId": rule,
            "ruleIndex": _ORDER.index(rule),
            "level": "error" if red else "note",
            "message": {"text": " · ".join([first, plain(questions.rank_change(flip)), *about(flip)])},
            "locations": [location(f"{prefix}{config.golden}", line)],
            **related,
            "partialFingerprints": {"raggateQuestion/v1": digest(f"{rule}\0{flip.mode}\0{flip.case_id}")},
        }
