"""What a change's own files would mean if merged: the trusted inputs x the change's -> Preview. It decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from raggate.base.errors import RaggateError, UsageError
from raggate.base.numbers import counted
from raggate.base.quote import cut
from raggate.base.yamlio import one_yaml_line as one_line
from raggate.config.gate_settings import DEFAULT_GATED, Gate
from raggate.config.loosening import loosened, remeasured
from raggate.config.schema import Config
from raggate.gate import baseline, completeness, noise, wording
from raggate.gate.compare import note_changes, removed_cases
from raggate.inputs.leaks import made_public, private_notes
from raggate.models.baseline import Baseline, RatchetEntry
from raggate.models.comparison import Comparison, Delta, Finding, GoldenChanges
from raggate.models.golden import Case, Golden, Vault
from raggate.models.scorecard import EPSILON, OVERALL, Direction, MetricValue, Scorecard, improvement
from raggate.models.verdict import BaselineState, Preview, Reason, Verdict
from raggate.scoring import figures, score
from raggate.scoring.score import METRICS_VERSION, slices_of

if TYPE_CHECKING:
    from raggate.inputs.trusted import Inputs, StoredFile

Values = Sequence[tuple[str, MetricValue, MetricValue]]
"""Metrics over all cases that differ between two baselines, by name, with both means."""

_SHOWN = 120


def weaker(
    old: Baseline, new: Baseline, values: Values, cases: Sequence[tuple[Case, Case]], settings: Config
) -> Iterator[str]:
    """Yield what a replaced baseline makes the gate hold later changes to less by, each in a few words."""
    for name, before, now in values:
        if before.value is not None and (
            now.value is None or improvement(now.direction, before.value, now.value) < -EPSILON
        ):
            yield figures.title(name)
    gone = {case.case_id for case in old.scorecard.cases} - {case.case_id for case in new.scorecard.cases}
    if gone:
        yield f"{counted(len(gone), 'question')} fewer"
    yield from (f"the record of what {name} lost" for name in _forgotten(old, new))
    asked = {(now.id, now.hash) for before, now in cases if before.hash == now.hash}
    same = {case.case_id for case in old.scorecard.cases if (case.case_id, case.hash) in asked}
    if lost := {case.case_id for case in new.scorecard.cases if (case.case_id, case.hash) not in asked} & same:
        yield f"{counted(len(lost), 'question')} no longer compared"
    explained = [
        f"{figures.title(metric)} ({cut(mode)})"
        # where nothing is asked again, noise excuses nothing
        for mode, slices in (new.scorecard.slices.items() if settings.recheck != "off" else ())
        for metric in slices.get(OVERALL, {})
        if settings.gate.rule(metric) is not None and _noise(new, mode, metric) > _noise(old, mode, metric) + EPSILON
    ]
    if explained:
        yield f"noise that explains more of {wording.some(explained)}"
    if untold := sorted(_told(old, settings.gate) - _told(new, settings.gate)):
        yield f"no record of {wording.some([cut(key) for key in untold])}"
    known, kept = old.scorecard.fingerprint, new.scorecard.fingerprint
    for noun in ("documents", "chunks") if known.get("vault") == kept.get("vault") else ():
        was, then = known.get(noun), kept.get(noun)
        if type(was) is int and type(then) is int and then < was:
            yield f"fewer {noun} in the index"


def _told(side: Baseline, gate: Gate) -> set[str]:
    card = side.scorecard
    told = {f"slice {name} ({mode})" for mode, names in card.slices.items() for name in names if name != OVERALL}
    told |= {field for _, field in score.known(card.fingerprint.get("fields"), gate.max_error_rate)}
    told |= {"retrieved lists"} if all(case.entries for case in card.cases) else set()
    return told | {key for key, value in card.fingerprint.items() if value is not None}


def _noise(baseline: Baseline, mode: str, metric: str) -> float:
    band = noise.band_of(baseline, mode, metric)
    return 0.0 if band is None else noise.lost_share(band)


def _forgotten(old: Baseline, new: Baseline) -> Iterator[str]:
    """Yield the metrics whose accepted drops are forgotten without a record, at a mean that is no better."""
    for mode, metrics in old.accepted.items():
        for metric, entry in metrics.items():
            before, now = (side.scorecard.slices.get(mode, {}).get(OVERALL, {}).get(metric) for side in (old, new))
            if before is None or now is None or before.value is None or now.value is None:
                continue
            kept = new.accepted.get(mode, {}).get(metric) or RatchetEntry(best=now.value, drops=0.0, since="")
            less = kept.drops < entry.drops - EPSILON or improvement(now.direction, entry.best, kept.best) < -EPSILON
            recorded = kept.lowered not in {None, entry.lowered}
            if less and not recorded and improvement(now.direction, before.value, now.value) <= EPSILON:
                yield figures.title(metric) if len(old.accepted) == 1 else f"{figures.title(metric)} ({cut(mode)})"


def changes(trusted: Inputs, change: Inputs, directions: dict[str, Direction]) -> Preview:
    """Return how the change's files differ from those that counted."""
    read = partial(baseline.read, directions=directions)
    state, sides, unreadable = _baseline_change(trusted.baseline, change.baseline, read)
    left, own, gate = sides[1] if sides else None, change.baseline, trusted.config.gate
    if state == "same" and own is not None and _must_agree(trusted) != _must_agree(change):
        left = read(own.data, own.place or own.name)
    metrics = [*dict.fromkeys((*DEFAULT_GATED, *gate.metrics, *gate.composite))]
    values = [*_values(*sides, metrics)] if sides else []
    before, now = (side.config.model_dump(mode="json", exclude_none=True) for side in (trusted, change))
    settings = tuple(_settings(before, now))
    keys = [key for key, _, _ in settings]
    new = {case.id: case for case in change.golden.cases}
    cases = [(case, new[case.id]) for case in sorted(trusted.golden.cases, key=attrgetter("id")) if case.id in new]
    looser = loosened(trusted.config, change.config, keys)
    return Preview(
        settings=tuple((_shown(key), before, now) for key, before, now in settings),
        loosened=tuple(map(_shown, looser)),
        remeasured=tuple(_shown(key) for key in remeasured(keys) if key not in looser),
        golden=golden_changes(trusted.golden, change.golden),
        weakened=_weakened(gate, cases),
        vault=note_changes(trusted.vault.notes, change.vault.notes),
        unmarked=_unmarked(trusted, change.vault),
        baseline=state,
        values=tuple((name, old.value, new.value) for name, old, new in values),
        lowered=tuple(weaker(*sides, values, cases, change.config)) if sides else (),
        outdated=tuple(_outdated(change, left)) if left is not None else (),
        edited=tuple(_edited(trusted, change)),
        breaks=(unreadable,) if unreadable else (),
    )


def failed(error: RaggateError) -> Preview:
    """The preview of a change whose files cannot be used, or could not be looked at, with the reason."""
    if isinstance(error, UsageError):
        return Preview(breaks=(error.message,))
    return Preview(unseen=(error.message,))


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


def unmet(own: Sequence[Finding], counted: Sequence[Finding]) -> tuple[tuple[str, str, str], ...]:
    """Return what does not hold of the change's own questions and notes, and did: level, name, breach with example."""
    before = {finding.invariant for finding in counted}
    return tuple(
        (finding.level, finding.invariant, " ".join([finding.message, *finding.examples[:1]]))
        for finding in own
        if finding.invariant not in before
    )


def _filed(case: Case) -> tuple[object, ...]:
    return case.category, case.difficulty, case.tags, case.group, case.vaults, case.must_pass, case.modes


def _weakened(gate: Gate, cases: Sequence[tuple[Case, Case]]) -> dict[str, tuple[str, ...]]:
    done: dict[str, list[str]] = {
        "put into another group": [old.id for old, new in cases if old.group != new.group],
        "asked in fewer modes": [
            old.id
            for old, new in cases
            if new.modes is not None and (old.modes is None or not set(old.modes) <= set(new.modes))
        ],
    }
    if gate.slices == "fail":
        left = [old.id for old, new in cases if not set(slices_of(old)) <= set(slices_of(new))]
        done["taken out of a gated slice"] = left
    return {how: tuple(names) for how, names in done.items() if names}


def _unmarked(trusted: Inputs, vault: Vault) -> tuple[str, ...]:
    """Return the private notes whose text becomes public although the marks stay the same. Other marks are settings.

    Such a note has lost its mark, is a public note under another name, or has words in a row in one that changed.
    """
    before = trusted.vault
    private = private_notes(before, trusted.config.private)
    if not private:
        return ()
    public = vault.notes.keys() - private_notes(vault, trusted.config.private)
    changed = [note for note in public if vault.notes[note] != before.notes.get(note)]
    moved = {vault.notes[note] for note in changed}
    now = vault.named_texts
    leaked = made_public(before.named_texts, frozenset(private), (now[note] for note in changed))
    return tuple(note for note in private if note in public or note in leaked or before.notes[note] in moved)


def _settings(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted({*before, *now}, key=str):
            inner = f"{path}.{key}" if path else str(key)
            yield from _settings(before.get(key), now.get(key), inner)
    elif before != now:
        yield path, _format_value(before), _format_value(now)


def _format_value(value: Any) -> str:
    if value is None:
        return "–"
    return _shown(value if isinstance(value, str) else one_line(value, unescaped=True))


def _shown(value: object) -> str:
    return cut(value, limit=_SHOWN)


def _baseline_change(
    before: StoredFile | None, now: StoredFile | None, read: Callable[[bytes, str], Baseline]
) -> tuple[BaselineState, tuple[Baseline, Baseline] | None, str | None]:
    if before is None or now is None:
        return ("same" if before is now else "added" if before is None else "removed"), None, None
    if before.data == now.data:
        return "same", None, None
    try:
        sides = (read(side.data, side.place or side.name) for side in (before, now))
        return "replaced", (next(sides), next(sides)), None
    except UsageError as error:
        return "replaced", None, error.message


def _outdated(change: Inputs, left: Baseline) -> Iterator[str]:
    """Yield why no later run passes beside the baseline that a change leaves."""
    settings = change.config
    yield from completeness.setting_obstacles(left, settings.suite, _known_by(change), settings.ask.modes)
    modes = {*left.scorecard.slices} & {*settings.ask.modes}
    removed = sorted(removed_cases(change.golden.cases, left, modes)) if left.paired else ()
    if removed:
        yield wording.removed(removed)
    notes = left.scorecard.fingerprint.get("notes")
    if settings.gate.on_vault_change == "refuse" and isinstance(notes, dict) and notes != change.vault.notes:
        yield "the notes changed since the baseline, and gate.on_vault_change is `refuse`"


def _must_agree(inputs: Inputs) -> tuple[object, ...]:
    """What runs must have as the baseline has it."""
    return inputs.golden.hash, inputs.vault.hash, inputs.config.gate, _known_by(inputs)


def _known_by(inputs: Inputs) -> dict[str, Any]:
    settings = {key: value for key, value in inputs.fingerprint().items() if key not in {"golden", "vault"}}
    scored = {"metrics_version": METRICS_VERSION, "cutoffs": [*inputs.config.score.k]}
    return {**settings, **scored, "suite": inputs.config.suite}


def _values(old: Baseline, new: Baseline, metrics: Sequence[str]) -> Iterator[tuple[str, MetricValue, MetricValue]]:
    several = len({*old.scorecard.slices, *new.scorecard.slices}) > 1
    for mode in dict.fromkeys((*old.scorecard.slices, *new.scorecard.slices)):
        before, now = (side.scorecard.slices.get(mode, {}).get(OVERALL, {}) for side in (old, new))
        for metric in metrics:
            known = before.get(metric) or now.get(metric)
            if known is not None:
                first, second = (values.get(metric) or known.without_cases() for values in (before, now))
                if first.value != second.value:
                    yield f"{metric} ({cut(mode)})" if several else metric, first, second


def _edited(trusted: Inputs, change: Inputs) -> Iterator[tuple[str, int, int]]:
    for what, *sides in (
        ("replies of judges", trusted.cassette, change.cassette),
        ("answers that people graded", trusted.canary, change.canary),
    ):
        old, new = (set(side.data.split(b"\n")) - {b""} if side else set() for side in sides)
        if old != new:
            yield what, len(old - new), len(new - old)


def foreseen(decided: Verdict, preview: Preview | None, comparison: Comparison) -> Verdict:
    """Add what the preview of a change found; a pass that would break the gate, or was not seen, is none."""
    if preview is None:
        return decided
    breaks = [Reason("breaks-gate", f"merging this change would break the gate: {why}") for why in preview.breaks]
    breaks += [Reason("preview", f"raggate could not read all of this change: {why}") for why in preview.unseen]
    if preview.retired:
        message = "merging this change takes this suite off the list: its questions are no longer asked"
        breaks.append(Reason("retires-suite", message))
    # first, so that no number of others hides what makes the gate weaker
    warnings = (*_warnings(preview), *decided.warnings)
    outcome, sentences = decided.outcome, decided.sentences
    if outcome == "pass" and breaks:
        outcome, problem = "cannot tell", wording.clause(breaks[0].message)
        if decided.recheck is not None or any(wording.tolerated(decided.warnings)):
            sentences = (f"{problem[0].upper()}{problem[1:]}.", *sentences)
        else:
            sentences = (f"No gated metric is worse than allowed, but {problem}.",)
    elif outcome == "pass" and decided.recheck is None:
        tests = decided.evidence.tests if decided.evidence is not None else ()
        sentences = wording.headline("pass", (), comparison, warnings, tests)
    reasons = (*decided.reasons, *breaks)
    return replace(decided, outcome=outcome, sentences=sentences, reasons=reasons, warnings=warnings)


def _warnings(preview: Preview) -> Iterator[Reason]:
    for problem in preview.problems:
        yield Reason("preview", f"the preview of the merge is incomplete: {problem}")
    broken = [f"{breach} ({name})" for level, name, breach in preview.unmet if level == "error"]
    if broken:
        message = f"with this change's own questions and notes the API breaks invariants: {wording.some(broken)}"
        yield Reason("breaks-gate", message)
    yield from (Reason(code, f"merging this change {effect}") for code, effect in _effects(preview))


def _effects(preview: Preview) -> Iterator[tuple[str, str]]:
    if preview.loosened:
        yield "loosens-gate", f"loosens the gate: {wording.some(preview.loosened)}"
    if preview.remeasured:
        yield "edits-gate", f"changes what the gate measures or compares: {wording.some(preview.remeasured)}"
    golden = preview.golden
    done = {"removed": golden.removed, "no longer must-pass": golden.released, "relabelled": golden.relabelled}
    edits = [
        f"{len(names)} {how} ({wording.some(names)})" for how, names in (done | dict(preview.weakened)).items() if names
    ]
    if edits:
        yield "edits-gate", f"edits the questions that judge: {', '.join(edits)}"
    if preview.unmarked:
        yield "unmarks-notes", f"makes text of private notes public: {wording.some(preview.unmarked)}"
    if preview.baseline == "removed":
        yield "baseline-outdated", "removes the baseline: then every run fails (exit 3) until you promote one"
    if preview.baseline == "replaced":
        weaker = f", which makes the gate weaker for later changes: {wording.some(preview.lowered)}"
        yield "edits-gate", f"replaces the baseline{weaker if preview.lowered else ''}"
    if preview.outdated:
        why = "; ".join(preview.outdated)
        yield "baseline-outdated", f"makes every run fail until you promote a new baseline: {why}"
    for what, gone, new in preview.edited:
        yield "edits-gate", f"edits the {what}: {gone} gone or edited, {new} new"
