"""What a suite can show, and which policy suits it, for a terminal. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from raggate.models.lint import CHECKS
from raggate.models.outlook import ModeOutlook, Outlook, catches_most
from raggate.text.escape import log_line
from raggate.text.numbers import counted, percent, points, setting
from raggate.text.quote import enumerated


class Sentence(NamedTuple):
    """One thing to say of a suite, and the check of `raggate lint` that says it; empty for what is a mere fact."""

    text: str
    check: str = ""


def render(outlook: Outlook, ignored: Collection[str] = ()) -> str:
    """Render it, one sentence a line; a line that asks for something to be done begins with "warning"."""
    asked = counted(outlook.questions, "question")
    if outlook.part_of is not None:
        asked = f"{outlook.questions} of {counted(outlook.part_of, 'question')}"
    lines = [f"suite {outlook.suite}: {asked}, gate.policy {outlook.policy}"]
    lines += [_warned(sentence) for sentence in sentences(outlook) if sentence.check not in ignored]
    return "\n".join(log_line(line, limit=500) for line in lines) + "\n"


def sentences(outlook: Outlook) -> Iterator[Sentence]:
    """Yield all there is to say, mode by mode, then of the policies."""
    for mode in outlook.modes:
        yield from _seen(mode, several=len(outlook.modes) > 1)
    yield from _odds(outlook)


def _warned(sentence: Sentence) -> str:
    warns = sentence.check and CHECKS[sentence.check].severity == "warning"
    return f"warning: {sentence.text}" if warns else sentence.text


def _seen(mode: ModeOutlook, *, several: bool) -> Iterator[Sentence]:
    where = f"mode {mode.mode}: " if several else ""
    units = f" in {counted(mode.units, 'group')}" if mode.units != mode.questions else ""
    questions = f"with {counted(mode.questions, 'question')}{units}"
    if mode.visible_drop is None:
        text = (
            f"{where}{questions} no loss can be distinguished from chance, so only an exceeded tolerance shows a loss"
        )
        yield Sentence(text, "no-visible-loss")
    else:
        text = f"{where}{questions} a drop under {points(mode.visible_drop)} can pass unseen"
        yield Sentence(text, "smallest-loss")
    if mode.heavy:
        share = f"{mode.heavy} of {counted(mode.questions, 'question')} ({percent(mode.heavy / mode.questions)})"
        yield Sentence(
            f"{where}{share} are of one group, which counts as a single question does: that all of them are "
            "lost is no evidence; ask more of other groups",
            "heavy-group",
        )
    if mode.fine:
        names = ", ".join(mode.fine[:3]) + (", …" if len(mode.fine) > 3 else "")
        metrics = counted(len(mode.fine), "gated metric")
        text = f"{where}the tolerance of {metrics} is finer than that, and chance alone can exceed it: {names}"
        yield Sentence(text, "fine-tolerance")
    if mode.small:
        small = enumerated([f"{name} ({count})" for name, count in mode.small])
        yield Sentence(
            f"{where}of fewer questions than gate.min_cases, so a loss warns unless the metric's own test "
            f"shows it, or no question is right any more: {small}",
            "few-questions",
        )


def _odds(outlook: Outlook) -> Iterator[Sentence]:
    if not outlook.odds:
        yield Sentence("how often the gate is red by chance is not known without a baseline that has single questions")
        return
    odds = {policy.policy: policy for policy in outlook.odds}
    neutral = ", ".join(f"`{name}` {percent(policy.neutral)}" for name, policy in odds.items())
    harmful = ", ".join(f"`{name}` {percent(policy.harmful)}" for name, policy in odds.items())
    gated = f"{counted(outlook.gated, 'gated metric')}, the finest tolerance {setting(outlook.finest)}"
    yield Sentence(f"{gated}: red on neutral changes, which rank every fifth question anew: {neutral}")
    yield Sentence(f"red on changes that lose every twentieth question besides: {harmful}")
    if outlook.slices_fail:
        yield Sentence("slices, which gate.slices makes red too, are not played through: no policy is red less often")
    best = odds[outlook.recommended]
    if not best.suits:
        most = "most" if catches_most(outlook.odds, best) else "as many as any"
        price = f"catches {most}, and is red on {percent(best.neutral)} of neutral changes"
        yield Sentence(f"no gate.policy suits this suite as it is: `{best.policy}` {price}; ask more questions")
    elif outlook.recommended == outlook.policy:
        yield Sentence(f"gate.policy `{outlook.policy}` suits this suite")
    else:
        text = f"gate.policy `{outlook.recommended}` suits this suite better than `{outlook.policy}`"
        yield Sentence(text, "policy")
