"""A baseline that takes the place of another -> what it makes the gate weaker by for later changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.config.schema import Config
from raggate.gate import noise_allowance, wording
from raggate.models.baseline import Baseline, RatchetEntry
from raggate.models.golden import Case
from raggate.models.scorecard import EPSILON, OVERALL, MetricValue, improvement
from raggate.scoring import answer_fields
from raggate.text.numbers import counted
from raggate.text.quote import cut

Values = Sequence[tuple[str, MetricValue, MetricValue]]
"""Metrics over all cases that differ between two baselines, by name, with both means."""

_COUNTS = ("documents", "chunks")


def parts(
    old: Baseline, new: Baseline, values: Values, cases: Sequence[tuple[Case, Case]], settings: Config
) -> Iterator[str]:
    """Name what the gate would hold later changes to less by, each in a few words.

    Args:
        old: the baseline that counted.
        new: the one in its place.
        values: the metrics that differ.
        cases: the questions of both sides, as they are on either.
        settings: the configuration that later changes are judged by.
    """
    yield from _lowered(old, new, values)
    yield from _unknown(old, new, cases)
    yield from _unseen(old, new, settings)


def _lowered(old: Baseline, new: Baseline, values: Values) -> Iterator[str]:
    """Name what a baseline holds to less than the one before: metrics, and questions that it does not have."""
    for name, before, now in values:
        if before.value is not None and (
            now.value is None or improvement(now.direction, before.value, now.value) < -EPSILON
        ):
            yield name
    gone = {case.case_id for case in old.scorecard.cases} - {case.case_id for case in new.scorecard.cases}
    if gone:
        yield f"{counted(len(gone), 'question')} fewer"
    yield from (f"what was given up of {name}" for name in _forgotten(old, new))


def _unknown(old: Baseline, new: Baseline, cases: Sequence[tuple[Case, Case]]) -> Iterator[str]:
    """Name what a baseline does not let the gate know any more of questions that stay as they are."""
    asked = {before.id: before.hash for before, now in cases if before.hash == now.hash}
    same, held = (
        {case.case_id for case in side.scorecard.cases if (case.hash == asked.get(case.case_id)) is kept}
        for side, kept in ((old, True), (new, False))
    )
    if lost := same & held:
        yield f"{counted(len(lost), 'question')} no longer compared"
    slices = [
        f"slice {cut(name)} ({cut(mode)})"
        for mode, names in old.scorecard.slices.items()
        for name in names
        if name not in new.scorecard.slices.get(mode, {name})
    ]
    if slices:
        yield wording.some(slices)


def _unseen(old: Baseline, new: Baseline, settings: Config) -> Iterator[str]:
    """Name what is not noticed any more, though every value is as it was."""
    before, now, gate = old.scorecard.fingerprint, new.scorecard.fingerprint, settings.gate
    explained = [
        f"{metric} ({cut(mode)})"
        # where nothing is asked again, noise excuses nothing
        for mode, slices in (new.scorecard.slices.items() if settings.recheck.confirm else ())
        for metric in slices.get(OVERALL, {})
        if gate.rule(metric) is not None and _noise(new, mode, metric) > _noise(old, mode, metric) + EPSILON
    ]
    if explained:
        yield f"noise that explains more of {wording.some(explained)}"
    fields = [answer_fields.known(side.get("fields"), gate.max_error_rate) for side in (before, now)]
    if gone := sorted({field for _, field in fields[0] - fields[1]}):
        yield f"answers without {wording.some(gone)}"
    # the hash of a vault is that of its notes
    same_notes, same_vault = (before.get(key) == now.get(key) for key in ("notes", "vault"))
    if "notes" in before and ("notes" not in now or same_notes != same_vault):
        yield "which notes it is of"
    elif same_vault:
        counts = [(noun, before.get(noun), now.get(noun)) for noun in _COUNTS]
        yield from (f"fewer {noun} in the index" for noun, was, then in counts if _fewer(was, then))
    if settings.invariants.lists_alike != "off" and (lost := _lists_lost(old, new)):
        yield f"{counted(lost, 'list')} no longer compared"


def _noise(baseline: Baseline, mode: str, metric: str) -> float:
    band = noise_allowance.band_of(baseline, mode, metric)
    return 0.0 if band is None else noise_allowance.lost_share(band)


def _lists_lost(old: Baseline, new: Baseline) -> int:
    without = {(case.mode, case.case_id) for case in new.scorecard.cases if not case.entries}
    return sum(bool(case.entries) and (case.mode, case.case_id) in without for case in old.scorecard.cases)


def _fewer(before: object, now: object) -> bool:
    return type(before) is int and (type(now) is not int or now < before)


def _forgotten(old: Baseline, new: Baseline) -> Iterator[str]:
    """Name the metrics whose accepted drops are forgotten without a record, at a mean that is no better."""
    for mode, metrics in old.accepted.items():
        for metric, entry in metrics.items():
            before, now = (side.scorecard.slices.get(mode, {}).get(OVERALL, {}).get(metric) for side in (old, new))
            if before is None or now is None or before.value is None or now.value is None:
                continue
            kept = new.accepted.get(mode, {}).get(metric) or RatchetEntry(best=now.value, drops=0.0, since="")
            less = kept.drops < entry.drops - EPSILON or improvement(now.direction, entry.best, kept.best) < -EPSILON
            recorded = not {kept.lowered, kept.moved} <= {None, entry.lowered, entry.moved}
            if less and not recorded and improvement(now.direction, before.value, now.value) <= EPSILON:
                yield metric if len(old.accepted) == 1 else f"{metric} ({cut(mode)})"
