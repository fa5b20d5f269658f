"""What every report of a proof says in the same words: how a fault came out, and what all of them come to."""

from __future__ import annotations

from msgspec.structs import replace

from raggate.errors import ExitCode
from raggate.models.gate_proof import GateProof, Trial
from raggate.models.scorecard import EPSILON
from raggate.models.verdict import Reason
from raggate.reports.parts.formatting import QUALITY
from raggate.scoring import figures
from raggate.text.numbers import counted, fixed, percent, setting
from raggate.text.quote import cut

EXIT_CODES = {
    "holds": ExitCode.PASS,
    "does not hold": ExitCode.REGRESSION,
    "cannot tell": ExitCode.CANNOT_TELL,
    "interrupted": ExitCode.INTERRUPTED,
}
SHOWN_REASONS = 2


def fault_name(trial: Trial) -> str:
    """Name a fault with its size."""
    return f"{trial.name}, {trial.size}" if trial.size else trial.name


def verdict_on(trial: Trial, proof: GateProof) -> str:
    """Say what the gate made of a fault, and by which reasons; what it warns of without a fault too is none of them."""
    if trial.caught:
        return f"caught: {alarm(trial)}"
    usual = {_about(warning) for repeat in proof.repeats for warning in repeat.warnings}
    own = tuple(warning for warning in trial.warnings if _about(warning) not in usual)
    return f"missed, warned ({_codes(own)})" if own else "missed"


def alarm(trial: Trial) -> str:
    """Say what the gate is red by, of a run without a fault too."""
    return f"{trial.outcome} ({_codes(_deciding(trial))})"


def _deciding(trial: Trial) -> tuple[Reason, ...]:
    """Return the reasons that decided, without the losses that are told beside them."""
    if trial.outcome not in {"cannot tell", "invariant broken"}:
        return trial.reasons
    return tuple(reason for reason in trial.reasons if reason.code not in QUALITY)


def _about(reason: Reason) -> Reason:
    """Return a reason without its sentence, whose numbers differ between runs."""
    return replace(reason, message="")


def _codes(reasons: tuple[Reason, ...]) -> str:
    codes = list(dict.fromkeys(map(_code, reasons)))
    more = f" and {len(codes) - SHOWN_REASONS} more" if len(codes) > SHOWN_REASONS else ""
    return ", ".join(codes[:SHOWN_REASONS]) + more


def _code(reason: Reason) -> str:
    """Name a reason in few words."""
    if reason.invariant is not None:
        return reason.invariant
    return f"{figures.title(reason.metric)} {reason.code}" if reason.metric is not None else reason.code


def drop(trial: Trial, metric: str) -> str:
    """Write the change of the watched metric; `=` for none."""
    if trial.drop is None:
        return figures.NONE
    return figures.SAME if abs(trial.drop) <= EPSILON else figures.difference(metric, -trial.drop)


def false_alarms(proof: GateProof) -> str:
    """Say in a clause how often the gate was not green without a fault, and how often that may be."""
    count = len(proof.false_alarms)
    if not proof.repeats:
        return "no run without a fault was judged"
    alarms = counted(count, "false alarm") if count else "no false alarm"
    limit = f", with 95% confidence in at most {fixed(100 * proof.alarm_limit, 1)}% of all"
    return f"{counted(len(proof.repeats), 'run')} without a fault gave {alarms}{limit}"


def watched(proof: GateProof) -> str:
    """Say what the faults are measured by."""
    watch = proof.watch
    value = figures.amount(watch.metric, watch.value)
    several = len(proof.modes)
    lowest = f", in the {'lower' if several == 2 else 'lowest'} of {several} modes" if several > 1 else ""
    return f"without a fault {figures.title(watch.metric)} is {value} over {counted(watch.n, 'question')}{lowest}"


def caught(proof: GateProof) -> str:
    """Say in a clause how many faults were caught of those that matter."""
    harmful, metric = proof.harmful, proof.watch.metric
    by = f"{figures.title(metric)} by {figures.tolerated(metric, proof.harm)} or more"
    if not proof.trials:
        return "no fault was tried"
    if not harmful:
        return f"no fault of {len(proof.trials)} lowers {by}"
    count = sum(trial.caught for trial in harmful)
    share, demanded = percent(proof.caught_share or 0.0), setting(100 * proof.min_caught)
    verb = "lowers" if len(harmful) == 1 else "lower"
    which = f"{counted(len(harmful), 'fault')} of {len(proof.trials)} {verb} {by}"
    return f"{which}, {count} of them caught ({share}; {demanded}% are required)"


def headline(proof: GateProof) -> str:
    """Say in two sentences what the proof comes to."""
    alarms = false_alarms(proof)
    return f"The proof {_OUTCOMES[proof.outcome]}: {caught(proof)}. {alarms[:1].upper()}{alarms[1:]}."


def untried(proof: GateProof) -> str:
    """Return how many faults were of no use."""
    verb = "say" if len(proof.untried) != 1 else "says"
    return f"{counted(len(proof.untried), 'fault')} {verb} nothing about this API"


_OUTCOMES = {
    "holds": "holds",
    "does not hold": "does not hold",
    "cannot tell": "says nothing",
    "interrupted": "was interrupted",
}


def missing_questions(proof: GateProof) -> str:
    """Return how many notes have no question."""
    number = len(proof.unasked)
    which = "the one note" if proof.notes == 1 else f"{number} of the {proof.notes} notes"
    return f"{which} {'has' if number == 1 else 'have'} no question"


def clause(trial: Trial) -> str:
    """Explain a miss."""
    return cut(trial.explanation, limit=500)
