"""What was not seen of an invariant that has questions of its own: nothing seen is not the same as held. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from raggate.config.invariant_settings import Invariants
from raggate.config.schema import Config
from raggate.gate import isolation, metamorphic
from raggate.models.probe import ProbeKind
from raggate.models.run import ProbeAnswer, Run
from raggate.text.numbers import counted

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

_HELD_AGAINST_SUITE = frozenset(("prefix", "spelling", "reindex"))


def gaps(run: Run, levels: Invariants) -> Iterator[tuple[str, Literal["error", "warn"], str]]:
    """Name each invariant that is switched on and that not all was seen of, with a level and why.

    The level is its own where nothing was seen of it, else a warning. A run that was cut short has not come to it,
    which is told by itself.
    """
    for name, kind in _KINDS.items() if run.stopped is None else ():
        level = getattr(levels, name)
        gap = None if level == "off" else _gap(run, kind)
        if gap is not None:
            nothing_seen, why = gap
            yield name, level if nothing_seen else "warn", why


def _gap(run: Run, kind: ProbeKind) -> Gap | None:
    asked = run.probes.of(kind)
    if kind == "private":
        return _private_gap(run, asked)
    if kind == "principal":
        return next(_principal_gaps(run, asked), None)
    if not asked:
        return True, "nothing was asked: no question or heading is fit for it"
    return _unanswered(asked) or (_unsteady(run, asked) if kind in _HELD_AGAINST_SUITE else None)


def _private_gap(run: Run, asked: Sequence[ProbeAnswer]) -> Gap | None:
    # the suite's own answers are looked at too, and are all there is of a program
    if not isinstance(run.config, Config) or not run.config.private.marks or run.config.api.program is not None:
        return None
    if not run.probes.private:
        return True, "no note of the vaults is marked as private or deleted"
    return _unanswered(asked) if asked else (True, "no private note was asked for")


def _principal_gaps(run: Run, asked: Sequence[ProbeAnswer]) -> Iterator[Gap]:
    """Name principals that got nothing at all, by which nobody knows whether they could have."""
    for name in isolation.principals_of(run):
        own = [answer for answer in asked if answer.probe.principal == name]
        if not any(answer.result.response and answer.result.response.chunks for answer in own):
            gap = _unanswered(own) if own else None
            why = f": {gap[1]}" if gap else ""
            yield True, f"{name} got no chunk for {counted(len(own), 'question')}{why}"


def _unanswered(asked: Sequence[ProbeAnswer]) -> Gap | None:
    failures = [answer.result.failure for answer in asked if answer.result.failure is not None]
    if not failures:
        return None
    questions = counted(len(asked), "question")
    return len(failures) * 2 > len(asked), f"{len(failures)} of {questions} got no answer: {failures[0].message}"


def _unsteady(run: Run, asked: Sequence[ProbeAnswer]) -> Gap | None:
    alike = metamorphic.steady(run)
    other = [answer for answer in asked if (answer.probe.mode, answer.probe.case_id) not in alike]
    if not other:
        return None
    of = f"{len(other)} of {counted(len(asked), 'answer')}"
    return len(other) * 2 > len(asked), f"{of} left out: the question is ranked otherwise when asked again unchanged"
