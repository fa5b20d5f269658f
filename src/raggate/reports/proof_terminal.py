"""A proof for a terminal or a CI log: the table of faults, the misses with their reasons, what it comes to."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table
from rich.text import Text

from raggate.models.gate_proof import GateProof
from raggate.reports.parts import proof_words
from raggate.scoring import figures
from raggate.text.escape import log_line
from raggate.text.numbers import counted, setting

SHOWN_ALARMS = 5
SHOWN_NOTES = 10
_STYLES = {"holds": "bold green", "does not hold": "bold red"}


def render(proof: GateProof, *, width: int, color: bool) -> str:
    """Render a proof for a console of `width` columns; without `color` there are no escape codes at all."""
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, force_terminal=color, no_color=not color, highlight=False, emoji=False, markup=False
    )
    title = f"raggate prove · suite {proof.suite} · {counted(proof.questions, 'question')} · {', '.join(proof.modes)}"
    console.print()
    _line(console, title, "bold")
    _line(
        console,
        f"{proof_words.watched(proof)}; {proof_words.false_alarms(proof)}; {setting(proof.duration_s)} s in all",
    )
    for trial in proof.false_alarms[:SHOWN_ALARMS]:
        _line(console, f"  - {proof_words.alarm(trial)}: {trial.reasons[0].message}")
    console.print()
    console.print(_table(proof))
    _misses(proof, console)
    if proof.untried:
        _line(console, f"\n{proof_words.untried(proof)}; proof.md says why")
    _unasked(proof, console)
    console.print()
    _line(console, proof_words.headline(proof))
    code = int(proof_words.EXIT_CODES[proof.outcome])
    console.print(Text(f"proof: {proof.outcome} (exit {code})", style=_STYLES.get(proof.outcome, "bold yellow")))
    return stream.getvalue()


def _line(console: Console, text: str, style: str = "") -> None:
    begin = "\n" if text.startswith("\n") else ""
    indent = "  " if text.startswith("  ") else ""
    console.print(Text(begin + indent + log_line(text, limit=600), style=style), soft_wrap=True)


def _table(proof: GateProof) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("fault", "size"):
        table.add_column(name, no_wrap=True)
    for name in (figures.title(proof.watch.metric), "changed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("the gate", overflow="fold")
    for trial in proof.trials:
        style = "red" if not trial.caught and trial.harmful(proof.harm) else ""
        cells = (
            log_line(trial.name),
            log_line(trial.size or trial.kind),
            proof_words.drop(trial, proof.watch.metric),
            str(trial.changed),
            log_line(proof_words.verdict_on(trial, proof)),
        )
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table


def _misses(proof: GateProof, console: Console) -> None:
    if proof.missed:
        console.print(Text(f"\nMissed ({len(proof.missed)})", style="bold"))
    for trial in proof.missed:
        _line(console, f"  - {proof_words.fault_name(trial)}: {proof_words.clause(trial)}")


def _unasked(proof: GateProof, console: Console) -> None:
    if not proof.unasked:
        return
    console.print(Text(f"\nMissing questions ({proof_words.missing_questions(proof)})", style="bold"))
    for note in proof.unasked[:SHOWN_NOTES]:
        _line(console, f"  - {note}")
    if len(proof.unasked) > SHOWN_NOTES:
        _line(console, f"  … and {len(proof.unasked) - SHOWN_NOTES} more in proof.md")
