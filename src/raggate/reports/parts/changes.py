"""What changed since the baseline, and what the change's own files would mean if they were merged."""

from __future__ import annotations

from collections.abc import Sequence

from raggate.models.comparison import GoldenChanges, NoteChange
from raggate.models.verdict import Preview, Review
from raggate.reports.parts.budget import Section
from raggate.reports.parts.markup import folded, inert, listed, table
from raggate.scoring import figures
from raggate.text.escape import markdown as safe
from raggate.text.numbers import counted

SHOWN_SETTINGS = 40
SHOWN_NAMES = 30


def since_baseline(review: Review) -> Section:
    """Fold what differs from the baseline: configuration, golden set and vault."""
    comparison = review.comparison
    settings = [f"- {safe(key)}: {safe(before)} → {safe(now)}" for key, before, now in comparison.config_changes]
    groups = (
        _group("Configuration", settings),
        _group("Golden set", _golden_lines(comparison.golden)),
        _group("Vault", _note_lines(comparison.vault_changes)),
    )
    parts = [group for group in groups if group]
    counts = _counts(settings, comparison.golden, comparison.vault_changes)
    title = f"Changed since the baseline: {', '.join(counts)}"
    variants = (folded(title, "\n\n".join(parts)), f"<sub>{title}</sub>") if parts else ()
    return Section(name="changes since the baseline", rank=6, variants=variants)


def _counts(settings: Sequence[object], golden: GoldenChanges, notes: Sequence[NoteChange]) -> list[str]:
    lists = (golden.added, golden.removed, golden.relabelled, golden.refiled, golden.released)
    questions = {name for names in lists for name in names}
    counts = ((len(settings), "setting"), (len(questions), "question"), (len(notes), "note"))
    return [counted(count, noun) for count, noun in counts if count]


def _golden_lines(golden: GoldenChanges) -> list[str]:
    """List how golden sets differ, what loosens the gate first."""
    return [
        f"- {sign}{label} ({len(names)}): {listed(names, most=SHOWN_NAMES)}"
        for sign, label, names in (
            ("⚠️ ", "removed", golden.removed),
            ("⚠️ ", "no longer must-pass", golden.released),
            ("", "relabelled", golden.relabelled),
            ("", "added", golden.added),
            ("", "filed elsewhere", golden.refiled),
        )
        if names
    ]


def _weakened_lines(preview: Preview) -> list[str]:
    """List the questions that would count for less."""
    names = preview.weakened.items()
    return [f"- ⚠️ {label} ({len(ids)}): {listed(ids, most=SHOWN_NAMES)}" for label, ids in names if ids]


def _note_lines(changes: Sequence[NoteChange]) -> list[str]:
    kinds: dict[str, list[str]] = {}
    for change in changes:
        kinds.setdefault(change.kind, []).append(change.note)
    return [f"- {kind} ({len(names)}): {listed(names, most=SHOWN_NAMES)}" for kind, names in kinds.items()]


def _unmarked_lines(notes: Sequence[str]) -> list[str]:
    return [f"- ⚠️ text no longer private ({len(notes)}): {listed(notes, most=SHOWN_NAMES)}"] if notes else []


def if_merged(review: Review) -> Section:
    """Write what the change's own configuration, questions, notes and baseline would mean; problems come first."""
    preview = review.context.preview
    if preview is None or preview.empty:
        return Section(name="if merged", rank=3, variants=())
    # sorted is stable: settings keep their order otherwise
    settings = sorted(preview.settings, key=lambda setting: _mark(setting[0], preview)[0])
    red = (*preview.breaks, *preview.unseen)
    problems = [f"- ⛔ {inert(problem, limit=500, middle=True)}" for problem in red[:10]]
    problems += [f"- ⚠️ {inert(problem, limit=500, middle=True)}" for problem in preview.problems[:10]]
    parts = [
        "### If merged\n\n<sub>How this pull request changes the gate itself. None of it counted here.</sub>",
        _group("Problems", problems),
        _group("Configuration", _settings(settings, preview)),
        _group("Golden set", [*_golden_lines(preview.golden), *_weakened_lines(preview)]),
        _group("Vault", [*_unmarked_lines(preview.unmarked), *_note_lines(preview.vault)]),
        _baseline(preview),
        _outdated(preview.outdated),
        _edited_lines("Replies of judges", *preview.replies),
        _edited_lines("Answers that people graded", *preview.graded),
        _advisory(preview, several=review.scorecard.several_modes),
    ]
    short = [*parts[:2], _group("Configuration", _settings(settings, preview, most=5, width=60))]
    number = len(red) + len(preview.problems)
    counts = [counted(number, "problem")] if number else []
    counts += _counts(preview.settings, preview.golden, preview.vault)
    counts += [f"{len(preview.loosened)} loosened"] if preview.loosened else []
    counts += [f"baseline {preview.baseline}"] if preview.baseline != "same" else []
    counts += ["replies of judges"] if any(preview.replies) else []
    counts += ["answers that people graded"] if any(preview.graded) else []
    short += [f"<sub>{'; '.join(counts)}</sub>" if counts else ""]
    least = [f"**If merged**: {'; '.join(counts) or 'no change to the gate'}", "\n".join(problems[:1])]
    return Section(
        name="if merged",
        rank=3,
        variants=tuple("\n\n".join(part for part in variant if part) for variant in (parts, short, least)),
    )


def _mark(key: str, preview: Preview) -> tuple[int, str, str]:
    """Give the place of a setting, what stands before it, and what after it."""
    if key in preview.loosened:
        return 0, "⚠️ ", " **(loosens the gate)**"
    if key in preview.remeasured:
        return 1, "", " **(measures or compares something else)**"
    return 2, "", ""


def _settings(
    settings: Sequence[tuple[str, str, str]], preview: Preview, *, most: int = SHOWN_SETTINGS, width: int = 120
) -> list[str]:
    lines = [_setting(setting, _mark(setting[0], preview), width=width) for setting in settings[:most]]
    return [*lines, f"- … and {len(settings) - most} more"] if len(settings) > most else lines


def _group(title: str, lines: Sequence[str]) -> str:
    return f"**{title}**\n\n" + "\n".join(lines) if lines else ""


def _setting(setting: tuple[str, str, str], mark: tuple[int, str, str], *, width: int) -> str:
    key, before, now = (safe(part, limit=width) for part in setting)
    _, sign, meaning = mark
    return f"- {sign}{key}: {before} → {now}{meaning}"


def _baseline(preview: Preview) -> str:
    if preview.baseline == "same":
        return ""
    sentence = {
        "added": "**Baseline**: added.",
        "removed": "**Baseline**: ⚠️ removed. After a merge there is nothing to compare with.",
        "replaced": f"**Baseline**: replaced{preview.other_values}.",
    }[preview.baseline]
    if preview.lowered:
        names = listed(preview.lowered, most=SHOWN_NAMES)
        sentence = (
            f"**Baseline**: ⚠️ replaced{preview.other_values}, and makes the gate weaker for later changes: {names}."
        )
    if not preview.values:
        return sentence
    lines = [
        [
            safe(figures.title(metric), limit=120),
            figures.amount(metric, before, beside=now),
            figures.amount(metric, now, beside=before),
        ]
        for metric, before, now in preview.values[:60]
    ]
    return f"{sentence}\n\n" + table(("metric", "stored", "replaced by"), lines, numbers=("stored", "replaced by"))


def _outdated(reasons: Sequence[str]) -> str:
    """Say why later runs do not pass beside the baseline that a change leaves."""
    lines = [f"- ⚠️ {inert(reason, limit=500, middle=True)}" for reason in reasons]
    return _group("After a merge no run passes until one is promoted", lines)


def _edited_lines(what: str, gone: int, new: int) -> str:
    return f"**{what}**: ⚠️ {gone} gone or edited, {new} new." if gone or new else ""


def _advisory(preview: Preview, *, several: bool) -> str:
    if not (preview.rows or preview.unmet):
        return ""
    lines = []
    for delta in preview.rows[:60]:
        mode = f" ({safe(delta.mode, limit=60)})" if several else ""
        cases = f"{delta.baseline.n}, {delta.current.n}"
        name = safe(figures.title(delta.metric), limit=120)
        lines.append([f"{name}{mode}", figures.change(delta), figures.course(delta), cases])
    head = ("metric", "change", "counted → its own", "questions")
    note = "Measured on this pull request's own questions and notes; it decides nothing."
    measured = table(head, lines, numbers=head[1:]) if lines else ""
    parts = (f"**A run of its own**\n\n<sub>{note}</sub>", "\n".join(map(_unmet, preview.unmet[:20])), measured)
    return "\n\n".join(filter(None, parts))


def _unmet(entry: tuple[str, str, str]) -> str:
    level, name, example = entry
    sign = "⛔" if level == "error" else "⚠️"
    return f"- {sign} invariant {safe(name, limit=60)} is not met: {inert(example, limit=300, middle=True)}"
