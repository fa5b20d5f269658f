"""What must hold of the API's answers, and what of it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants, sentences
from raggate.gate.invariants import answer_rules, probe_coverage
from raggate.gate.invariants.answer_invariants import CHECKS
from raggate.models.comparison import Finding
from raggate.models.run import Run


def check_answers(run: Run, levels: Invariants, gate: Gate) -> tuple[Finding, ...]:
    """Check every invariant that is not off; findings that break the gate come first.

    Of a question that is asked again, `gate` says how many calls may fail.
    """
    checks = {name: check for name, check in CHECKS.items() if getattr(levels, name) != "off"}
    suite, broken = answer_rules.broken(run, checks)
    findings = [_finding(name, getattr(levels, name), its.count, its.shortest) for name, its in broken.items()]
    gaps = probe_coverage.gaps(suite, levels, gate)
    findings += [_finding(name, level, 1, (why,), unseen=True) for name, level, why in gaps]
    return tuple(sorted(findings, key=lambda finding: finding.level))


def _finding(
    name: str, level: Literal["error", "warn"], count: int, examples: Sequence[str], *, unseen: bool = False
) -> Finding:
    return Finding(
        invariant=name,
        level=level,
        message=sentences()[name],
        count=count,
        examples=tuple(examples),
        unseen=unseen,
    )
