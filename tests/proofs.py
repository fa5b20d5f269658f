"""Proofs, built by hand: what `raggate prove` says of a suite of 203 questions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from raggate.models.gate_proof import GateProof, Trial, Untried, Watch
from raggate.models.verdict import Reason

WORSE = Reason(code="worse", message="hit_at_5 went from 0.8736 to 0.8046", mode="hybrid", metric="hit_at_5")


def trial(**fields: Any) -> Trial:
    """Build a trial, by default of a fault that changed 20 answers and was let through."""
    return Trial(
        **{"name": "notes dropped", "size": "5% of the notes", "kind": "answers", "outcome": "pass", "changed": 20}
        | {"value": 0.8736, "drop": 0.0, **fields}
    )


PROOF = GateProof(
    suite="notes",
    run_id="20260102_030405",
    started="2026-01-02T03:04:05Z",
    version="0.0.0",
    questions=203,
    modes=("hybrid",),
    watch=Watch(metric="hit_at_5", value=0.8736, n=174, tolerance=0.05, visible=0.0351),
    min_caught=0.9,
    planned=50,
    repeats=(trial(name="none", size="", changed=0),) * 50,
    harmless=(trial(name="harmless change 1", size="", harmed=0.02),) * 40,
    alarm_limit=0.0722,
    trials=(
        trial(
            size="10% of the notes",
            outcome="regression",
            reasons=(WORSE, replace(WORSE, metric="hit_at_3"), replace(WORSE, metric="hit_at_10")),
            value=0.8046,
            drop=0.069,
            harmed=0.064,
        ),
        trial(
            value=0.8448,
            drop=0.0288,
            notes=("work/a.md", "work/b.md"),
            warnings=(replace(WORSE, code="slice-worse", slice="tag=x"),),
            explanation="hit@5 fell by 2.9 pt, and up to 5 pt is allowed",
        ),
        trial(
            name="a removed note comes back",
            size="2% of the questions",
            outcome="invariant broken",
            reasons=(Reason(code="invariant-notes_exist", message="does not hold", invariant="notes_exist"),),
        ),
        trial(
            name="first-folder-skipped",
            size="",
            kind="patch",
            outcome="cannot tell",
            reasons=(Reason(code="not-booted", message="build step 1 of 1 exited with code 1"),),
            value=None,
            drop=None,
        ),
    ),
    untried=(Untried(name="wrong vault", size="every chunk", why="this fault changes no answer of your API"),),
    unasked=tuple(f"work/{letter}.md" for letter in "abcdefghijkl"),
    notes=160,
    duration_s=61.2,
)
"""It holds: the one harmful fault was caught, no harmless change is red, and none of 50 equal runs."""

FAILED = replace(
    PROOF,
    repeats=(*PROOF.repeats[:2], trial(name="none", size="", outcome="regression", reasons=(WORSE,), drop=0.06)),
    harmless=(*PROOF.harmless[:39], trial(name="harmless change 40", size="", outcome="regression", reasons=(WORSE,))),
    alarm_limit=0.1132,
    trials=(
        *PROOF.trials,
        trial(
            size="20% of the notes",
            harmed=0.153,
            drop=0.2,
            value=0.6736,
            explanation="not explained: hit@5 fell by 20.0 pt",
        ),
    ),
)
"""It does not hold: a fault was missed, and an equal run was red, as was a harmless change."""
