"""A proof for a terminal or a CI log: the table of faults, the misses with their reasons, what it comes to."""

from __future__ import annotations

from raggate.models.gate_proof import GateProof
from raggate.reports.parts import proof_words
from raggate.reports.parts.screen import Row, Screen
from raggate.scoring import figures
from raggate.text.numbers import counted, setting

SHOWN_ALARMS = 5
SHOWN_NOTES = 10
_STYLES = {"holds": "bold green", "does not hold": "bold red"}


def render(proof: GateProof, *, width: int, color: bool) -> str:
    """Render a proof for a console of `width` columns; without `color` there are no escape codes at all."""
    screen = Screen(width=width, color=color, wrap=False)
    title = f"raggate prove · suite {proof.suite} · {counted(proof.questions, 'question')} · {', '.join(proof.modes)}"
    screen.line()
    screen.line(title, style="bold", limit=600)
    screen.line(
        f"{proof_words.watched(proof)}; {proof_words.false_alarms(proof)}; {setting(proof.duration_s)} s in all",
        limit=600,
    )
    for trial in proof.false_alarms[:SHOWN_ALARMS]:
        screen.line(f"{proof_words.alarm(trial)}: {trial.reasons[0].message}", first="  - ", limit=600)
    screen.line()
    _table(proof, screen)
    if proof.missed:
        screen.title(f"Missed ({len(proof.missed)})")
    for trial in proof.missed:
        screen.line(f"{proof_words.fault_name(trial)}: {proof_words.clause(trial)}", first="  - ", limit=600)
    if proof.untried:
        screen.line()
        screen.line(f"{proof_words.untried(proof)}; proof.md says why", limit=600)
    if proof.unasked:
        screen.title(f"Missing questions ({proof_words.missing_questions(proof)})")
        screen.bullets(proof.unasked, most=SHOWN_NOTES, elsewhere="proof.md")
    screen.line()
    screen.line(proof_words.headline(proof), limit=600)
    code = int(proof_words.EXIT_CODES[proof.outcome])
    screen.line(f"proof: {proof.outcome} (exit {code})", style=_STYLES.get(proof.outcome, "bold yellow"))
    return screen.text()


def _table(proof: GateProof, screen: Screen) -> None:
    rows: list[Row] = []
    for trial in proof.trials:
        cells = (
            trial.name,
            trial.size or trial.kind,
            proof_words.drop(trial, proof.watch.metric),
            str(trial.changed),
            proof_words.verdict_on(trial, proof),
        )
        rows.append((cells, "red" if not trial.caught and trial.harmful(proof.harm) else None))
    head = ("fault", "size", figures.title(proof.watch.metric), "changed", "the gate")
    screen.table(head, rows, names=head[:2], words=head[4:])
