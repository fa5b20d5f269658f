"""What a change's own files would mean if merged: the trusted inputs x the change's -> Preview. It decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from raggate.config.loosening import loosened
from raggate.config.schema import DEFAULT_GATED
from raggate.errors import RaggateError, UsageError
from raggate.gate import baseline
from raggate.gate.compare import note_changes
from raggate.gate.other_systems import OtherSystem
from raggate.models.baseline import Baseline
from raggate.models.comparison import Delta, GoldenChanges
from raggate.models.golden import Case, Golden
from raggate.models.scorecard import OVERALL, Direction, Scorecard
from raggate.models.verdict import Preview
from raggate.text.quote import cut

if TYPE_CHECKING:
    from raggate.inputs.trusted import BaselineFile, Inputs

_SHOWN = 120


def changes(
    trusted: Inputs, change: Inputs, directions: dict[str, Direction], systems: Sequence[OtherSystem] = ()
) -> Preview:
    """Say how the change's files differ from those that counted.

    Args:
        trusted: the inputs that counted.
        change: what the change has in their place.
        directions: every metric with its direction, to read baselines.
        systems: the other systems whose metrics files are taken for baselines.
    """
    read = partial(baseline.read, directions=directions, systems=systems)
    state, values, unreadable = _baseline_change(trusted.baseline, change.baseline, read)
    settings = tuple(_settings(trusted.config.model_dump(mode="json"), change.config.model_dump(mode="json")))
    return Preview(
        settings=settings,
        loosened=loosened(trusted.config, change.config, [key for key, _, _ in settings]),
        golden=golden_changes(trusted.golden, change.golden),
        vault=note_changes(trusted.vault.notes, change.vault.notes),
        baseline=state,
        values=tuple(values),
        breaks=(unreadable,) if unreadable else (),
    )


def failed(error: RaggateError) -> Preview:
    """Say why there is no preview: the change's files cannot be used, or they could not be looked at or measured."""
    if isinstance(error, UsageError):
        return Preview(breaks=(error.message,))
    return Preview(problems=(error.message,))


def golden_changes(before: Golden, now: Golden) -> GoldenChanges:
    """Compare two golden sets by case id; what a score depends on tells relabelled cases from refiled ones."""
    old = {case.id: case for case in before.cases}
    new = {case.id: case for case in now.cases}
    both = sorted(set(old) & set(new))
    same = [name for name in both if old[name].hash == new[name].hash]
    return GoldenChanges(
        added=tuple(sorted(set(new) - set(old))),
        removed=tuple(sorted(set(old) - set(new))),
        relabelled=tuple(name for name in both if old[name].hash != new[name].hash),
        refiled=tuple(name for name in same if _filed(old[name]) != _filed(new[name])),
        released=tuple(name for name in both if old[name].must_pass and not new[name].must_pass),
    )


def advisory_rows(counted: Scorecard, change: Scorecard) -> tuple[Delta, ...]:
    """Set the metrics of the change's own questions and notes beside those that counted, each over all its cases."""
    return tuple(
        Delta.between((mode, OVERALL, metric), before, now)
        for mode, slices in change.slices.items()
        for metric, now in sorted(slices.get(OVERALL, {}).items())
        if metric in DEFAULT_GATED
        for before in [counted.slices.get(mode, {}).get(OVERALL, {}).get(metric)]
        if before is not None and (before.n or now.n)
    )


def _filed(case: Case) -> tuple[object, ...]:
    return case.category, case.difficulty, case.tags, case.group, case.vaults, case.must_pass


def _settings(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Name every key whose value differs, the innermost that exists on both sides."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}, key=str):
            inner = f"{path}.{key}" if path else str(key)
            yield from _settings(before.get(key), now.get(key), inner)
    elif before != now:
        yield cut(path, limit=_SHOWN), _format_value(before), _format_value(now)


def _format_value(value: object) -> str:
    return "–" if value is None else cut(value, limit=_SHOWN)


def _baseline_change(
    before: BaselineFile | None, now: BaselineFile | None, read: Callable[[bytes, str], Baseline]
) -> tuple[Any, list[tuple[str, float | None, float | None]], str | None]:
    if before is None or now is None:
        return ("same" if before is now else "added" if before is None else "removed"), [], None
    if before.data == now.data:
        return "same", [], None
    try:
        old, new = (read(side.data, side.name) for side in (before, now))
    except UsageError as error:
        return "replaced", [], error.message
    return "replaced", list(_values(old, new)), None


def _values(old: Baseline, new: Baseline) -> Iterator[tuple[str, float | None, float | None]]:
    several = len({*old.scorecard.slices, *new.scorecard.slices}) > 1
    for mode in dict.fromkeys((*old.scorecard.slices, *new.scorecard.slices)):
        before, now = (side.scorecard.slices.get(mode, {}).get(OVERALL, {}) for side in (old, new))
        for metric in DEFAULT_GATED:
            first, second = (values[metric].value if metric in values else None for values in (before, now))
            if first != second:
                yield f"{metric} ({mode})" if several else metric, first, second
