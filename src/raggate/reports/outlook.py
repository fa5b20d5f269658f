"""What a suite can show, and which policy suits it, for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from raggate.models.outlook import ModeOutlook, Outlook
from raggate.text.escape import log_line
from raggate.text.numbers import counted, percent, points, setting
from raggate.text.quote import enumerated


def render(outlook: Outlook) -> str:
    """Render it, one sentence a line; a line that asks for something to be done begins with "warning"."""
    lines = [f"suite {outlook.suite}: {counted(outlook.questions, 'question')}, gate.policy {outlook.policy}"]
    for mode in outlook.modes:
        lines += _seen(mode, several=len(outlook.modes) > 1)
    lines += _odds(outlook)
    return "\n".join(log_line(line, limit=500) for line in lines) + "\n"


def _seen(mode: ModeOutlook, *, several: bool) -> Iterator[str]:
    where = f"mode {mode.mode}: " if several else ""
    units = f" in {counted(mode.units, 'group')}" if mode.units != mode.questions else ""
    questions = f"with {counted(mode.questions, 'question')}{units}"
    if mode.visible_drop is None:
        yield f"warning: {where}{questions} no loss can be told from chance, so it takes a tolerance that is exceeded"
    else:
        yield f"{where}{questions} a drop under {points(mode.visible_drop)} can pass unseen"
    if mode.heavy:
        share = f"{mode.heavy} of {counted(mode.questions, 'question')} ({percent(mode.heavy / mode.questions)})"
        yield (
            f"warning: {where}{share} are of one group, which counts as a single question does: that all of them are "
            "lost is no evidence; ask more of other groups"
        )
    if mode.fine:
        names = ", ".join(mode.fine[:3]) + (", …" if len(mode.fine) > 3 else "")
        metrics = counted(len(mode.fine), "gated metric")
        yield f"warning: {where}the tolerance of {metrics} is finer than that, and chance alone can exceed it: {names}"
    if mode.small:
        small = enumerated([f"{name} ({count})" for name, count in mode.small])
        yield (
            f"warning: {where}of fewer questions than gate.min_cases, so a loss warns unless a test of the metric "
            f"itself shows it: {small}"
        )


def _odds(outlook: Outlook) -> Iterator[str]:
    if not outlook.odds:
        yield "how often the gate is red by chance is not known without a baseline that holds single questions"
        return
    odds = {policy.policy: policy for policy in outlook.odds}
    neutral = ", ".join(f"`{name}` {percent(policy.neutral)}" for name, policy in odds.items())
    harmful = ", ".join(f"`{name}` {percent(policy.harmful)}" for name, policy in odds.items())
    gated = f"{counted(outlook.gated, 'gated metric')} at {setting(outlook.finest)}"
    yield f"{gated}: red on neutral changes, which rank every fifth question anew: {neutral}"
    yield f"red on changes that lose every twentieth question besides: {harmful}"
    if outlook.slices_fail:
        yield "slices, which gate.slices makes red too, are not played through: no policy is red less often"
    if outlook.recommended == outlook.policy:
        yield f"gate.policy `{outlook.policy}` suits this suite"
    else:
        yield f"warning: gate.policy `{outlook.recommended}` suits this suite better than `{outlook.policy}`"
