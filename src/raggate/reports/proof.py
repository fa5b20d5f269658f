"""A proof as a page in Markdown, for a terminal, and as proof.json, whose keys docs/prove.md lists. Pure."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from msgspec.structs import replace

from raggate.base.errors import ExitCode
from raggate.base.escape import plain
from raggate.base.jsonio import dumps
from raggate.base.numbers import counted, fixed, percent, points, rounded, rounded_or_none, setting
from raggate.base.quote import cut, listed
from raggate.models.gate_proof import GateProof, Trial
from raggate.models.scorecard import EPSILON
from raggate.models.verdict import Reason
from raggate.reports.parts.document import Bullets, Paragraph, Part, Table, bold, bulleted, line, page, utf8_bytes
from raggate.reports.parts.formatting import QUALITY
from raggate.reports.terminal import Screen
from raggate.scoring import figures

SHOWN_ALARMS = 10
TERMINAL_NOTES = 10
_STYLES = {"holds": "bold green", "does not hold": "bold red"}

EXIT_CODES = {
    "holds": ExitCode.PASS,
    "does not hold": ExitCode.REGRESSION,
    "cannot tell": ExitCode.CANNOT_TELL,
    "interrupted": ExitCode.INTERRUPTED,
}
SHOWN_REASONS = 2
_OUTCOMES = {"cannot tell": "says nothing", "interrupted": "was interrupted"}
SHOWN_NOTES = 100
SCHEMA = "raggate/proof/1"


def render_terminal(proof: GateProof, *, width: int, color: bool) -> str:
    """Render a proof for a console of `width` columns; without `color` there are no escape codes at all."""
    screen = Screen(width=width, color=color, wrap=False)
    for part in _parts(proof):
        screen.part(part, most=TERMINAL_NOTES, elsewhere="proof.md")
    screen.line()
    screen.line(headline(proof), limit=600)
    screen.line(
        f"proof: {proof.outcome} (exit {EXIT_CODES[proof.outcome]:d})", style=_STYLES.get(proof.outcome, "bold yellow")
    )
    return screen.text()


def _parts(proof: GateProof) -> list[Part]:
    about = f"Suite {proof.suite}, {counted(proof.questions, 'question')}, {', '.join(proof.modes)}: {watched(proof)}."
    alarms = [
        f"{trial.name if trial in proof.harmless_red else 'no change'}: {alarm(trial)}: {trial.reasons[0].message}"
        for trial in (*proof.false_alarms, *proof.harmless_red)[:SHOWN_ALARMS]
    ]
    missed = [
        f"{', '.join(filter(None, (trial.name, trial.size)))}: {cut(trial.explanation, limit=500)}"
        for trial in proof.missed
    ]
    names = [(fault.name, fault.size, fault.why) for fault in proof.untried]
    untold = (Table(("fault", "size", "why"), names),)
    useless = f"Faults that say nothing about this API ({len(names)})"
    seen = line(f"Notes without a question: {len(proof.unasked)} of {proof.notes}. Nothing sees what happens to them.")
    notes = (Paragraph((seen,)), Bullets([(line(note),) for note in proof.unasked], SHOWN_NOTES))
    return [
        Part(name="the suite", blocks=(Paragraph((line(f"{about} {_visible(proof)}"),)),), level=2),
        Part(name="alarms", title="False alarms", blocks=bulleted(alarms), level=2),
        Part(name="faults", title="Faults", blocks=(_faults(proof),), level=2),
        Part(name="missed", title="Why these were missed", blocks=bulleted(missed), level=2),
        Part(name="untried", title=useless, blocks=untold, folded=True),
        Part(name="notes", title="Missing questions", blocks=notes if proof.unasked else (), level=2),
    ]


def verdict_on(trial: Trial, proof: GateProof) -> str:
    """The gate's verdict on a fault, with its reasons; warnings that appear without the fault are left out."""
    if trial.caught:
        return f"caught: {alarm(trial)}"
    # the numbers in a sentence differ between runs
    usual = {replace(warning, message="") for repeat in proof.repeats for warning in repeat.warnings}
    own = [warning for warning in trial.warnings if replace(warning, message="") not in usual]
    return f"missed, warned ({_codes(own)})" if own else "missed"


def alarm(trial: Trial) -> str:
    """Return the reasons that make the gate red, without losses that are reported beside what decided."""
    beside = QUALITY if trial.outcome in {"cannot tell", "invariant broken"} else ()
    return f"{trial.outcome} ({_codes(reason for reason in trial.reasons if reason.code not in beside)})"


def _codes(reasons: Iterable[Reason]) -> str:
    """Name reasons in few words."""
    metrics = ((reason, f"{figures.title(reason.metric)} " if reason.metric else "") for reason in reasons)
    codes = dict.fromkeys(reason.invariant or f"{metric}{reason.code}" for reason, metric in metrics)
    return listed([*codes], SHOWN_REASONS)


def drop(trial: Trial, metric: str) -> str:
    """Write the change of the watched metric; `=` for none."""
    if trial.drop is None:
        return figures.NONE
    return figures.SAME if abs(trial.drop) <= EPSILON else figures.difference(metric, -trial.drop)


def repeated(proof: GateProof) -> str:
    """Return in a clause how often the gate was not green without any change."""
    if not proof.repeats:
        return "the API was not asked again"
    red = f"{len(proof.false_alarms)} of them" if proof.false_alarms else "none"
    return f"the same build was asked {counted(len(proof.repeats), 'more time')}, {red} red"


def harmless(proof: GateProof) -> str:
    """Return in a clause how often the gate was not green by a change that harms nobody on average."""
    limit, made = fixed(100 * proof.alarm_limit, 0), counted(len(proof.harmless), "harmless change")
    return f"{len(proof.harmless_red)} of {made} red (with 95% confidence at most {limit}% of all)"


def watched(proof: GateProof) -> str:
    """Return the metrics that the faults are measured by."""
    watch = proof.watch
    value = figures.amount(watch.metric, watch.value)
    several = len(proof.modes)
    lowest = f", in the {'lower' if several == 2 else 'lowest'} of {several} modes" if several > 1 else ""
    return f"without a fault {figures.title(watch.metric)} is {value} over {counted(watch.n, 'question')}{lowest}"


def caught(proof: GateProof) -> str:
    """Return in a clause how many faults were caught of those by which some reader gets less, and the worst miss."""
    harmful = proof.harmful
    if not harmful:
        return f"no fault of {len(proof.trials)} takes a passage from a reader"
    count = sum(trial.caught for trial in harmful)
    share, demanded = percent(proof.caught_share or 0.0), setting(100 * proof.min_caught)
    missed = max((trial.harmed for trial in harmful if not trial.caught), default=0.0)
    worst = f"; the worst miss loses the passage of {_share(missed)} of the questions" if missed else ""
    return f"{count} of {counted(len(harmful), 'harmful fault')} caught ({share}; {demanded}% are required){worst}"


def _share(share: float) -> str:
    return f"{fixed(100 * share, 1)}%"


def headline(proof: GateProof) -> str:
    """Return what the proof comes to, its weakest figure first."""
    figures = [
        (proof.caught_share if proof.caught_share is not None else 0.0, caught(proof)),
        (1 - len(proof.harmless_red) / max(1, len(proof.harmless)), harmless(proof)),
        (1 - len(proof.false_alarms) / max(1, len(proof.repeats)), repeated(proof)),
    ]
    told = "; ".join(clause for _, clause in sorted(figures, key=lambda figure: figure[0]))
    return f"The proof {_OUTCOMES.get(proof.outcome, proof.outcome)}: {told}."


def render(proof: GateProof) -> str:
    """Render the page. Pure."""
    made = f"raggate {proof.version}, run {proof.run_id}, {setting(proof.duration_s)} s."
    first = (Paragraph((line(bold(headline(proof), 600)),)),)
    parts = [
        Part(name="headline", title="What the gate catches", blocks=first, level=1),
        *_parts(proof),
        Part(name="run", blocks=(Paragraph((line(made),)),)),
    ]
    return page([part for part in parts if part.blocks], utf8_bytes, sys.maxsize)


def _visible(proof: GateProof) -> str:
    watch, allowed = proof.watch, "It is not gated"
    if watch.tolerance is not None:
        allowed = f"It may fall by {figures.tolerated(watch.metric, watch.tolerance)}"
    test = "no test decides beside the tolerances"
    if watch.visible is not None:
        test = f"the test of all questions sees a loss of {points(watch.visible)} four times out of five"
    return f"{allowed}; {test}."


def _faults(proof: GateProof) -> Table:
    metric = figures.title(proof.watch.metric)
    head = ("fault", "size", "readers lose", metric, "answers changed", "the gate")
    rows = [
        (
            f"{'✅' if trial.caught else '❌' if trial.harmful else '▫️'} {trial.name}",
            trial.size or trial.kind,
            _share(trial.harmed) if trial.harmed else "–",
            drop(trial, proof.watch.metric),
            str(trial.changed),
            verdict_on(trial, proof),
        )
        for trial in proof.trials
    ]
    return Table(head, rows, head[2:5], whole=True)


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
        "exit_code": int(EXIT_CODES[proof.outcome]),
        "headline": plain(headline(proof), limit=600),
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
        "min_caught": proof.min_caught,
        "harmful": len(proof.harmful),
        "harmful_caught": sum(trial.caught for trial in proof.harmful),
        "repeats": {
            "planned": proof.planned,
            "made": len(proof.repeats),
            "false_alarms": len(proof.false_alarms),
            "alarms": [*map(_trial, proof.false_alarms)],
        },
        "harmless": {
            "made": len(proof.harmless),
            "red": len(proof.harmless_red),
            "limit": rounded(proof.alarm_limit),
            "alarms": [*map(_trial, proof.harmless_red)],
        },
        "faults": [*map(_trial, proof.trials)],
        "untried": [{"name": fault.name, "size": fault.size, "why": plain(fault.why)} for fault in proof.untried],
        "notes": proof.notes,
        "notes_without_questions": list(proof.unasked),
    }
    return dumps(value, pretty=True).decode()


def _trial(trial: Trial) -> dict[str, object]:
    return {
        "name": trial.name,
        "size": trial.size,
        "kind": trial.kind,
        "caught": trial.caught,
        "harmed": rounded(trial.harmed),
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
