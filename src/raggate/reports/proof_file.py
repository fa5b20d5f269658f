"""A proof for programs: `proof.json`, whose keys docs/prove.md lists."""

from __future__ import annotations

from raggate.models.gate_proof import GateProof, Trial
from raggate.models.verdict import Reason
from raggate.reports.parts import proof_words
from raggate.text.escape import plain
from raggate.text.jsonio import dumps
from raggate.text.numbers import rounded, rounded_or_none

SCHEMA = "raggate/proof/1"


def render_json(proof: GateProof) -> str:
    """Render the document. Pure."""
    watch = proof.watch
    value = {
        "schema": SCHEMA,
        "suite": proof.suite,
        "run_id": proof.run_id,
        "started": proof.started,
        "raggate_version": proof.version,
        "outcome": proof.outcome,
        "exit_code": int(proof_words.EXIT_CODES[proof.outcome]),
        "headline": plain(proof_words.headline(proof), limit=600),
        "questions": proof.questions,
        "modes": list(proof.modes),
        "duration_s": proof.duration_s,
        "metric": {
            "name": watch.metric,
            "value": rounded(watch.value),
            "n": watch.n,
            "tolerance": watch.tolerance,
            "visible_drop": rounded_or_none(watch.visible),
        },
        "harm": proof.harm,
        "min_caught": proof.min_caught,
        "harmful": len(proof.harmful),
        "harmful_caught": sum(trial.caught for trial in proof.harmful),
        "repeats": {
            "planned": proof.planned,
            "made": len(proof.repeats),
            "false_alarms": len(proof.false_alarms),
            "limit": rounded(proof.alarm_limit),
            "alarms": [_trial(trial, proof) for trial in proof.false_alarms],
        },
        "faults": [_trial(trial, proof) for trial in proof.trials],
        "untried": [{"name": fault.name, "size": fault.size, "why": plain(fault.why)} for fault in proof.untried],
        "notes": proof.notes,
        "notes_without_questions": list(proof.unasked),
    }
    return dumps(value, pretty=True).decode()


def _trial(trial: Trial, proof: GateProof) -> dict[str, object]:
    return {
        "name": trial.name,
        "size": trial.size,
        "kind": trial.kind,
        "caught": trial.caught,
        "harmful": trial.harmful(proof.harm),
        "verdict": trial.outcome,
        "reasons": [_reason(reason) for reason in trial.reasons],
        "warnings": [_reason(reason) for reason in trial.warnings],
        "value": rounded_or_none(trial.value),
        "drop": rounded_or_none(trial.drop),
        "answers_changed": trial.changed,
        "notes": list(trial.notes),
        "explanation": plain(trial.explanation, limit=600),
    }


def _reason(reason: Reason) -> dict[str, str | None]:
    return {
        "code": reason.code,
        "metric": reason.metric,
        "invariant": reason.invariant,
        "message": plain(reason.message, limit=600, middle=True),
    }
