"""What merging a change would do to the gate, added to the verdict on the change. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from raggate.gate import wording
from raggate.models.comparison import Comparison
from raggate.models.verdict import Preview, Reason, Verdict


def foreseen(decided: Verdict, preview: Preview | None, comparison: Comparison) -> Verdict:
    """Add what the preview of a change found; a pass after which nothing could be measured any more is none.

    Args:
        decided: the verdict on the API, by the trusted files alone.
        preview: what the change's own files would mean, None where they are what counted.
        comparison: what was compared, for the headline.
    """
    if preview is None:
        return decided
    breaks = [
        Reason("breaks-gate", f"merging this change would break the gate for everyone: {problem}")
        for problem in preview.breaks
    ]
    warnings = (*decided.warnings, *_warnings(preview))
    if breaks and decided.outcome == "pass":
        headline = f"Nothing gated is worse than allowed, but {wording.clause(breaks[0].message)}."
        return replace(
            decided,
            outcome="cannot tell",
            sentences=(headline,),
            reasons=tuple(breaks),
            warnings=warnings,
        )
    sentences = decided.sentences
    if decided.outcome == "pass" and decided.recheck is None:
        sentences = wording.headline("pass", (), comparison, warnings)
    return replace(decided, sentences=sentences, reasons=(*decided.reasons, *breaks), warnings=warnings)


def _warnings(preview: Preview) -> Iterator[Reason]:
    for problem in preview.problems:
        yield Reason("preview", f"what this change would mean if merged is not known in full: {problem}")
    if preview.baseline == "removed":
        message = "merging this change removes the baseline: every run then ends with exit 3 until one is promoted"
        yield Reason("baseline-removed", message)
