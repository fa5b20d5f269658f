"""What must hold of the API's answers, and what of it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from raggate.config.gate_settings import Gate
from raggate.config.invariant_settings import Invariants, sentences
from raggate.config.schema import Config
from raggate.gate.invariants import probe_rules
from raggate.gate.invariants.answer_invariants import CHECKS
from raggate.gate.invariants.answer_rules import Suite, broken as broken_rules
from raggate.models.comparison import Finding
from raggate.models.run import ProbeAnswer, ProbeKind, Run
from raggate.models.scorecard import EPSILON
from raggate.scoring.repeats import Repeated
from raggate.text.numbers import counted, setting

Gap = tuple[bool, str]
"""Whether nothing at all was seen, and why not."""

_KINDS: dict[str, ProbeKind] = {
    "top_is_prefix": "prefix",
    "headings_findable": "heading",
    "spelling_ignored": "spelling",
    "nonsense_abstains": "nonsense",
    "reindex_idempotent": "reindex",
    "private_withheld": "private",
    "principals_isolated": "principal",
}
"""By invariant: the probes that are asked for it."""

_NO_DOUBTS: Mapping[tuple[str, str], str] = MappingProxyType({})
_HELD_AGAINST_SUITE = frozenset(("prefix", "spelling", "reindex"))


def coverage_gaps(suite: Suite, levels: Invariants, gate: Gate) -> Iterator[tuple[str, Literal["error", "warn"], str]]:
    """Name each invariant that is switched on and that not all was seen of, with a level and why.

    The level is its own where nothing was seen of it, else a warning. A run that was cut short has not come to it,
    which is told by itself; a partial run asks none of that.
    """
    run = suite.run
    for name in (*_KINDS, "must_be_deterministic") if run.stopped is None and run.selection is None else ():
        level = getattr(levels, name)
        gap = None if level == "off" else _gap(suite, _KINDS[name]) if name in _KINDS else _repeats_gap(run, gate)
        if gap is not None:
            nothing_seen, why = gap
            yield name, level if nothing_seen else "warn", why


def _gap(suite: Suite, kind: ProbeKind) -> Gap | None:
    run, asked = suite.run, suite.run.probes.of(kind)
    if kind == "private":
        return _private_gap(run, asked)
    if kind == "principal":
        unseen = "; ".join(_principal_gaps(run, asked))
        return (True, unseen) if unseen else None
    if not asked:
        return True, "nothing was asked: no question or heading is fit for it"
    return _unjudged(asked, probe_rules.doubts(suite) if kind in _HELD_AGAINST_SUITE else {})


def _repeats_gap(run: Run, gate: Gate) -> Gap | None:
    """Say that questions got no answer when asked again: an API could fail whenever it would rank them otherwise."""
    repeated = Repeated.of(run.fingerprint)
    if repeated is None or not repeated.compared:
        return True, "no question was answered twice, so nothing shows"
    # of questions that are all asked several times, each may be answered twice and some not every time
    later, lost = len(run.repeats), sum(item.result.response is None for item in run.repeats)
    asked = counted(repeated.asked, "question") + repeated.counting
    questions = f"{repeated.failed} of {asked} got no answer when asked again"
    calls = f"{lost} of {counted(later, 'later call')} failed"
    for failed, number, why in ((repeated.failed, repeated.asked, questions), (lost, later, calls)):
        if failed > gate.max_error_rate * number + EPSILON:
            return True, f"{why}; gate.max_error_rate allows {setting(gate.max_error_rate)}"
    return None


def _private_gap(run: Run, asked: Sequence[ProbeAnswer]) -> Gap | None:
    # the suite's own answers are looked at too, and are all there is of a program
    if not isinstance(run.config, Config) or not run.config.private.marks or run.config.api.program is not None:
        return None
    if not run.probes.private:
        return True, "no note of the vaults is marked as private or deleted"
    return _unjudged(asked) if asked else (True, "no private note was asked for")


def _principal_gaps(run: Run, asked: Sequence[ProbeAnswer]) -> Iterator[str]:
    """Name principals that got nothing at all, by which nobody knows whether they could have."""
    for name in probe_rules.principals_of(run):
        own = _of_principal(asked, name)
        if not any(answer.result.response and answer.result.response.chunks for answer in own):
            gap = _unjudged(own)
            why = f": {gap[1]}" if gap else ""
            yield f"{name} got no chunk for {counted(len(own), 'question')}{why}"


def _of_principal(asked: Sequence[ProbeAnswer], name: str) -> Sequence[ProbeAnswer]:
    return [answer for answer in asked if answer.probe.principal == name]


def _unjudged(asked: Sequence[ProbeAnswer], doubts: Mapping[tuple[str, str], str] = _NO_DOUBTS) -> Gap | None:
    """Return how many probes could not be judged, and why: no answer, or a doubt about what it is held against."""
    failures, first_failure, left_out = 0, "", Counter[str | None]()
    for answer in asked:
        if answer.result.failure is None:
            left_out[doubts.get((answer.probe.mode, answer.probe.case_id))] += 1
        else:
            first_failure = first_failure if failures else answer.result.failure.message
            failures += 1
    parts = []
    if failures:
        parts.append(f"{failures} of {counted(len(asked), 'question')} got no answer: {first_failure}")
    for doubt, count in left_out.items():
        if doubt is not None:
            parts.append(f"{count} of {counted(len(asked), 'answer')} left out: {doubt}")
    judged = left_out[None]
    return ((len(asked) - judged) * 2 > len(asked), "; ".join(parts)) if parts else None


def check_answers(run: Run, levels: Invariants, gate: Gate) -> tuple[Finding, ...]:
    """Check every invariant that is not off; findings that break the gate come first.

    Of a question that is asked again, `gate` says how many calls may fail.
    """
    checks = {name: check for name, check in CHECKS.items() if getattr(levels, name) != "off"}
    suite, broken = broken_rules(run, checks)
    findings = [_finding(name, getattr(levels, name), its.count, its.shortest) for name, its in broken.items()]
    gaps = coverage_gaps(suite, levels, gate)
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
