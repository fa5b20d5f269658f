"""Histories of baselines for the tests of what is made of them."""

from __future__ import annotations

from typing import Any

from builders import make_baseline, make_metric, make_scorecard
from raggate.models.history import History, Revision
from raggate.models.scorecard import OVERALL


def revision(number: int, values: dict[str, float | None] | None = None, **fields: Any) -> Revision:
    """Build the version of a day in January 2026; metrics named `…_rate` are lower-is-better. No values: unreadable."""
    modes = fields.pop("modes", None) or ({} if values is None else {"hybrid": values})
    cases, golden = fields.pop("cases", 10), fields.pop("golden", "g")
    run_id = fields.pop("run_id", f"run-{number}")
    slices = {
        mode: {
            OVERALL: {
                name: make_metric(value, 0 if value is None else 10, direction="lower" if "rate" in name else "higher")
                for name, value in metrics.items()
            }
        }
        for mode, metrics in modes.items()
    }
    scorecard = make_scorecard(
        run_id=run_id, slices=slices, counts={mode: {OVERALL: cases} for mode in modes}, fingerprint={"golden": golden}
    )
    defaults = {
        "commit": str(number) * 40,
        "stamp": f"2026-01-{number:02}T00:00:00Z",
        "subject": "s",
        "path": "b.json",
        "baseline": make_baseline(scorecard) if modes else None,
        "problem": "" if modes else "not valid JSON",
    }
    return Revision(**{**defaults, **fields})


def history(*revisions: Revision, **fields: Any) -> History:
    """Build a history, newest first."""
    return History(path="b.json", revisions=revisions, **fields)
