"""What merging a change would do to the gate, added to the verdict on the change. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from raggate.gate import wording
from raggate.models.comparison import Comparison
from raggate.models.verdict import Preview, Reason, Verdict


def foreseen(decided: Verdict, preview: Preview | None, comparison: Comparison) -> Verdict:
    """Add what the preview of a change found; a pass that would break the gate, or was not seen, is none.

    Args:
        decided: the verdict on the API, by the trusted files alone.
        preview: what the change's own files would mean, None where they are what counted.
    """
    if preview is None:
        return decided
    breaks = [
        Reason("breaks-gate", f"merging this change would break the gate for everyone: {problem}")
        for problem in preview.breaks
    ]
    breaks += [
        Reason("preview", f"this change could not be looked at in full: {problem}") for problem in preview.unseen
    ]
    if preview.retired:
        message = "merging this change takes this suite off the list: nothing asks its questions any more"
        breaks.append(Reason("retires-suite", message))
    # first, so that no number of others hides what makes the gate weaker
    warnings = (*_warnings(preview), *decided.warnings)
    if breaks and decided.outcome == "pass":
        return replace(
            decided,
            outcome="cannot tell",
            sentences=_broken(decided, wording.clause(breaks[0].message)),
            reasons=tuple(breaks),
            warnings=warnings,
        )
    sentences = decided.sentences
    if decided.outcome == "pass" and decided.recheck is None:
        sentences = wording.headline("pass", (), comparison, warnings)
    return replace(decided, sentences=sentences, reasons=(*decided.reasons, *breaks), warnings=warnings)


def _broken(decided: Verdict, problem: str) -> tuple[str, ...]:
    """Return why a pass is none; what it let pass is told too."""
    if decided.recheck is not None or any(wording.tolerated(decided.warnings)):
        return (f"{problem[0].upper()}{problem[1:]}.", *decided.sentences)
    return (f"Nothing gated is worse than allowed, but {problem}.",)


def _warnings(preview: Preview) -> Iterator[Reason]:
    for problem in preview.problems:
        yield Reason("preview", f"what this change would mean if merged is not known in full: {problem}")
    broken = [f"{name} ({example})" for level, name, example in preview.unmet if level == "error"]
    if broken:
        message = f"over this change's own questions and notes, the API breaks what must hold: {wording.some(broken)}"
        yield Reason("breaks-invariants", message)
    yield from (Reason(code, f"merging this change {effect}") for code, effect in _effects(preview))


def _effects(preview: Preview) -> Iterator[tuple[str, str]]:
    """Say by code what a merge does to the files that judge."""
    if preview.loosened:
        yield "loosens-gate", f"loosens the gate: {wording.some(preview.loosened)}"
    if preview.remeasured:
        names = wording.some(preview.remeasured)
        yield "measures-other", f"makes the gate measure or compare something else: {names}"
    if edited := list(_edited(preview)):
        yield "edits-golden", f"edits the questions that judge: {'; '.join(edited)}"
    if preview.unmarked:
        yield "unmarks-notes", f"makes text of private notes public: {wording.some(preview.unmarked)}"
    if preview.baseline == "removed":
        yield "baseline-removed", "removes the baseline: every run then ends with exit 3 until one is promoted"
    if preview.baseline == "replaced":
        weaker = f", which makes the gate weaker for later changes: {wording.some(preview.lowered)}"
        less = weaker if preview.lowered else ""
        yield "baseline-replaced", f"replaces the baseline{preview.other_values}{less}"
    if preview.outdated:
        yield "baseline-outdated", f"lets no run pass until one is promoted: {'; '.join(preview.outdated)}"
    if any(preview.replies):
        yield "edits-replies", f"edits the replies that judges grade by: {_edits(*preview.replies)}"
    if any(preview.graded):
        yield "edits-canary", f"edits the answers that people graded for judges: {_edits(*preview.graded)}"


def _edits(gone: int, new: int) -> str:
    return f"{gone} gone or edited, {new} new"


def _edited(preview: Preview) -> Iterator[str]:
    """Yield which questions would not count as they do now, each by what is done to it."""
    done = {
        "removed": preview.golden.removed,
        "no longer must-pass": preview.golden.released,
        "relabelled": preview.golden.relabelled,
        **preview.weakened,
    }
    for how, names in done.items():
        if names:
            yield f"{len(names)} {how} ({wording.some(names)})"
