"""What changed since the baseline, and what the change's own files would mean if merged: lines under titles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from raggate.models.comparison import GoldenChanges, NoteChange
from raggate.models.verdict import Preview, Review
from raggate.scoring import figures
from raggate.text.numbers import written

SHOWN_NAMES = 12
"""Names that a line lists."""


def groups(review: Review) -> Iterator[tuple[str, list[str]]]:
    """Give them, what would break the gate first; nothing without lines."""
    preview, comparison = review.context.preview, review.comparison
    if preview is not None and (lines := list(_if_merged(preview))):
        yield "If merged (none of it counted here)", lines
    settings = [f"{key}: {before} → {now}" for key, before, now in comparison.config_changes]
    since = [*settings, *_golden(comparison.golden), *_notes(comparison.vault_changes)]
    if since:
        yield "Changed since the baseline", since


def _if_merged(preview: Preview) -> Iterator[str]:
    yield from (f"⛔ {problem}" for problem in (*preview.breaks, *preview.unseen))
    yield from (f"⚠️ {problem}" for problem in preview.problems)
    for key, before, now in sorted(preview.settings, key=lambda setting: setting[0] not in preview.loosened):
        loosens = " (loosens the gate)" if key in preview.loosened else ""
        other = " (measures or compares something else)" if key in preview.remeasured else ""
        yield f"{'⚠️ ' if loosens else ''}{key}: {before} → {now}{loosens or other}"
    yield from _golden(preview.golden)
    named = preview.weakened | {
        "text no longer private": preview.unmarked,
        "the new baseline makes the gate weaker": preview.lowered,
    }
    yield from (f"⚠️ {label} ({len(names)}): {_listed(names)}" for label, names in named.items() if names)
    yield from _notes(preview.vault)
    if preview.baseline != "same":
        yield f"baseline {preview.baseline}{preview.other_values}"
    yield from (f"⚠️ no later run passes beside the baseline: {reason}" for reason in preview.outdated)
    yield from (f"baseline {name}: {written(before)} → {written(now)}" for name, before, now in preview.values)
    edited = {"replies of judges": preview.replies, "answers that people graded": preview.graded}
    yield from (f"⚠️ {what}: {gone} gone or edited, {new} new" for what, (gone, new) in edited.items() if gone or new)
    for delta in preview.rows:
        before, now = (figures.value(delta.metric, value) for value in (delta.baseline, delta.current))
        yield f"its own questions and notes: {delta.metric} ({delta.mode}) {before} → {now}"
    for level, name, example in preview.unmet:
        yield f"{'⛔' if level == 'error' else '⚠️'} its own questions and notes: {name} is not met: {example}"


def _golden(golden: GoldenChanges) -> Iterator[str]:
    """List how golden sets differ, what loosens the gate first."""
    named = {
        "⚠️ questions removed": golden.removed,
        "⚠️ no longer must-pass": golden.released,
        "questions relabelled": golden.relabelled,
        "questions added": golden.added,
        "questions filed elsewhere": golden.refiled,
    }
    yield from (f"{label} ({len(names)}): {_listed(names)}" for label, names in named.items() if names)


def _notes(changes: Sequence[NoteChange]) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for change in changes:
        kinds.setdefault(change.kind, []).append(change.note)
    yield from (f"notes {kind} ({len(names)}): {_listed(names)}" for kind, names in kinds.items())


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
