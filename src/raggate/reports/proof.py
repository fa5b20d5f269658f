"""A proof as a page in Markdown: what was caught, what was missed and why, which questions are missing."""

from __future__ import annotations

from raggate.models.gate_proof import GateProof, Trial
from raggate.reports.parts import proof_words
from raggate.reports.parts.markup import folded, inert, table
from raggate.scoring import figures
from raggate.text.numbers import counted, points, setting

SHOWN_NOTES = 100


def render(proof: GateProof) -> str:
    """Render the page. Pure."""
    parts = [
        "# What the gate catches",
        f"**{inert(proof_words.headline(proof), limit=600)}**",
        f"Suite {inert(proof.suite)}, {counted(proof.questions, 'question')}, {inert(', '.join(proof.modes))}: "
        f"{inert(proof_words.watched(proof))}. {_visible(proof)}",
        _alarms(proof),
        "## Faults",
        _faults(proof),
        _misses(proof),
        _untried(proof),
        _unasked(proof),
        f"raggate {inert(proof.version)}, run {inert(proof.run_id)}, {setting(proof.duration_s)} s.",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _visible(proof: GateProof) -> str:
    watch = proof.watch
    allowed = "It is not gated"
    if watch.tolerance is not None:
        allowed = f"It may fall by {figures.tolerated(watch.metric, watch.tolerance)}"
    if watch.visible is None:
        return f"{allowed}; no test decides beside the tolerances."
    return f"{allowed}; the test of all questions sees a loss of {points(watch.visible)} four times out of five."


def _faults(proof: GateProof) -> str:
    metric = inert(figures.title(proof.watch.metric))
    head = ("", "fault", "size", metric, "answers changed", "the gate")
    rows = [
        (
            _mark(trial, proof),
            inert(trial.name),
            inert(trial.size or trial.kind),
            proof_words.drop(trial, proof.watch.metric),
            str(trial.changed),
            inert(proof_words.verdict_on(trial, proof)),
        )
        for trial in proof.trials
    ]
    return table(head, rows, numbers=(metric, "answers changed"))


def _mark(trial: Trial, proof: GateProof) -> str:
    if trial.caught:
        return "✅"
    return "❌" if trial.harmful(proof.harm) else "▫️"


def _alarms(proof: GateProof) -> str:
    alarms = proof.false_alarms
    lines = [f"- {inert(proof_words.alarm(trial))}: {inert(trial.reasons[0].message)}" for trial in alarms[:10]]
    return "\n".join(["## False alarms\n", *lines]) if alarms else ""


def _misses(proof: GateProof) -> str:
    missed = proof.missed
    lines = [
        f"- {inert(proof_words.fault_name(trial))}: {inert(proof_words.clause(trial), limit=600)}" for trial in missed
    ]
    return "\n".join(["## Why these were missed\n", *lines]) if missed else ""


def _untried(proof: GateProof) -> str:
    rows = [(inert(fault.name), inert(fault.size), inert(fault.why)) for fault in proof.untried]
    return folded(proof_words.untried(proof), table(("fault", "size", "why"), rows)) if rows else ""


def _unasked(proof: GateProof) -> str:
    if not proof.unasked:
        return ""
    names = [f"- {inert(note, limit=200)}" for note in proof.unasked[:SHOWN_NOTES]]
    more = len(proof.unasked) - SHOWN_NOTES
    names += [f"- and {more} more, in proof.json"] if more > 0 else []
    meaning = "What happens to them is seen by no question of the suite."
    missing = proof_words.missing_questions(proof)
    return f"## Missing questions\n\n{missing[:1].upper()}{missing[1:]}. {meaning}\n\n" + folded(
        "These notes", "\n".join(names)
    )
