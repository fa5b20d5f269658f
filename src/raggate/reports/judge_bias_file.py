"""What sways the judges of a run, for programs: `judge_bias.json`, whose keys docs/judges.md lists. Pure."""

from __future__ import annotations

from msgspec.structs import asdict

from raggate.models.judging_bias import (
    LEAST_QUESTIONS,
    Estimate,
    JudgeBias,
    LengthCorrelation,
    SelfPreference,
    SelfPreferences,
    Shift,
)
from raggate.reports.parts import bias_words
from raggate.text.escape import plain
from raggate.text.jsonio import dumps
from raggate.text.numbers import rounded

SCHEMA = "raggate/judge-bias/1"


def render(bias: JudgeBias) -> str:
    """Render the document."""
    value = {
        "schema": SCHEMA,
        "run_id": bias.run_id,
        "suite": bias.suite,
        "headline": plain(bias_words.headline(bias), limit=1000, middle=True),
        "judges": bias.judges,
        "seed": bias.seed,
        "wording": bias.wording,
        "answers": {"drawn": bias.drawn, "eligible": bias.eligible},
        "least_questions": LEAST_QUESTIONS,
        "shown": bias.shown,
        "shifts": [*map(_row, bias.shifts)],
        "length_correlations": [*map(_row, bias.lengths)],
        "self_preference": _self_preferences(bias.self_preferences),
        "mode": bias.mode,
        "spending": asdict(bias.spending),
        "usage": asdict(bias.usage),
        "recorded": bias.recorded,
    }
    return dumps(value, pretty=True).decode() + "\n"


def _row(row: Shift | LengthCorrelation | SelfPreference | Estimate) -> dict[str, object]:
    return {name: _value(value) for name, value in asdict(row).items()}


def _value(value: object) -> object:
    if isinstance(value, Estimate):
        return _row(value)
    return rounded(value) if isinstance(value, float) else value


def _self_preferences(part: SelfPreferences) -> dict[str, object]:
    return {
        "rows": [*map(_row, part.rows)],
        "reason": plain(part.reason) or None,
        "answered_by": part.answered_by,
        "source": part.source or None,
    }
