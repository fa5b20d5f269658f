"""What every report on what sways judges says in the same words: the tables, and what they come to. Not escaped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from raggate.models.judging_bias import (
    LEAST_QUESTIONS,
    BiasFinding,
    Estimate,
    JudgeBias,
    LengthCorrelation,
    SelfPreference,
    Shift,
    Variant,
)
from raggate.reports.parts.judging import spent
from raggate.text.numbers import counted, percent, written

_SHOWN_NAMES = 8
_VARIANTS: Mapping[Variant, str] = {
    "again": "asked again",
    "reversed": "order reversed",
    "shuffled": "order shuffled",
    "longer": "made longer",
    "shorter": "made shorter",
}

_SOURCES = {
    "response": "each answer says",
    "configuration": "the settings of the run say",
    "command line": "the command line says",
}


class Table(Struct, frozen=True, kw_only=True):
    """A table of a report: its title, the names of the columns, the cells, and what is said below it."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def headline(bias: JudgeBias) -> str:
    """Say in a sentence what the measurement comes to."""
    rows = bias.tested
    if not rows:
        why = "they cannot tell any answer from itself in another order or length"
        return f"Nothing was tried that could sway the judges: {why}."
    shown = [_named(row) for row in rows if row.finding == "shown"]
    lenient = [_named(row) for row in rows if row.finding == "lenient or partial"]
    few = sum(row.finding == "too few" for row in rows)
    if few == len(rows):
        return f"Too few questions to see whether anything sways the judges: at least {LEAST_QUESTIONS} are needed."
    sentences = [
        f"Judges are swayed: {_listed(shown)}." if shown else "",
        f"Partial to its own kind, or lenient to all: {_listed(lenient)}." if lenient else "",
        "" if shown or lenient else f"No bias is shown by {counted(len(rows) - few, 'comparison')}.",
        f"Too few questions for {few} more." if few else "",
    ]
    return " ".join(filter(None, sentences))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return "; ".join(names[:_SHOWN_NAMES]) + more


def measured(bias: JudgeBias) -> str:
    """Say what was measured, and what it took."""
    tokens = bias.usage.input_tokens + bias.usage.output_tokens
    replies = f", not counting {bias.usage.untold} whose server did not report it" if bias.usage.untold else ""
    return (
        f"{bias.drawn} of {counted(bias.eligible, 'answer')}, mode {bias.mode}: {spent(bias.spending)}. "
        f"All replies behind the numbers took {counted(tokens, 'token')}{replies}."
    )


def tables(bias: JudgeBias) -> Iterator[Table]:
    """Give what was measured, a table for each kind."""
    yield _shifts(bias)
    yield _lengths(bias)
    yield _self_preferences(bias)


def _shifts(bias: JudgeBias) -> Table:
    gaps = [
        f"{_named(row)}: not judged: " + ", ".join(f"{reason} {number}" for reason, number in row.not_judged.items())
        for row in bias.shifts
        if row.not_judged
    ]
    return Table(
        title="The same answer in another order and length",
        head=("judge", "score", "answer", "answers", "grades moved", "shift", "moved beyond asking again", "bias"),
        rows=tuple(map(_shift, bias.shifts)),
        notes=(
            "Intervals are 95% intervals. A bias is shown if p < 0.05 for a shift, or for grades that another order "
            "moves by more than asking the same again does, by Holm's method for all that was tested.",
            *gaps,
        ),
    )


def _shift(row: Shift) -> tuple[str, ...]:
    moved = "–"
    if row.moved is not None and row.moved_low is not None and row.moved_high is not None:
        moved = f"{percent(row.moved)} [{percent(row.moved_low)}, {percent(row.moved_high)}]"
    finding = "–" if row.variant == "again" and row.finding != "too few" else _finding(row.finding, row.questions)
    number = str(row.answers) if row.answers == row.questions else f"{row.answers} to {row.questions} questions"
    variant = _VARIANTS[row.variant]
    return row.judge, row.score, variant, number, moved, _estimate(row.shift), _estimate(row.beyond), finding


def _lengths(bias: JudgeBias) -> Table:
    notes = (
        "It is no evidence of a bias: a longer answer may be the better one. Answers made longer without new content "
        "show one.",
    )
    if not bias.lengths:
        notes = ("The run has no grades to correlate with the length of its answers.",)
    return Table(
        title="Grades in the run, and the length of its answers",
        head=("judge", "score", "answers", "rank correlation with length"),
        rows=tuple((row.judge, row.score, str(row.answers), _rho(row)) for row in bias.lengths),
        notes=notes,
    )


def _rho(row: LengthCorrelation) -> str:
    if row.rho is not None and row.low is not None and row.high is not None:
        return f"{written(row.rho, sign=True)} [{written(row.low, sign=True)}, {written(row.high, sign=True)}]"
    return _finding("too few", row.questions) if row.questions < LEAST_QUESTIONS else "not defined: one does not vary"


def _self_preferences(bias: JudgeBias) -> Table:
    part = bias.self_preferences
    source = _SOURCES.get(part.source, part.source)
    models = ", ".join(f"{model} {number}" for model, number in part.answered_by.items())
    by = (f"Answered by, as {source}: {models}.",) if models else ()
    lenient = (
        "Without a preference nobody can see whether a judge is lenient to its own kind or to everybody; that takes "
        f"answers to {LEAST_QUESTIONS} questions by another family.",
    )
    if part.rows:
        notes = (*by, *(lenient if any(row.preference is None for row in part.rows) else ()))
    else:
        notes = (*by, f"Not known: {part.reason}.")
    return Table(
        title="Judges of answers by their own family",
        head=("judge", "family", "score", "above other judges", "on others' answers", "preference", "bias"),
        rows=tuple(
            (
                row.judge,
                row.family,
                row.score,
                f"{_estimate(row.own)} on {counted(row.own_questions, 'question')}",
                f"{_estimate(row.others)} on {counted(row.other_questions, 'question')}",
                _estimate(row.preference),
                _finding(row.finding, row.own_questions),
            )
            for row in part.rows
        ),
        notes=notes,
    )


def _finding(finding: BiasFinding, questions: int) -> str:
    return f"{counted(questions, 'question')}: too few to tell" if finding == "too few" else finding


def _estimate(part: Estimate | None) -> str:
    if part is None:
        return "–"
    mean = written(part.mean, sign=True)
    if part.low is None or part.high is None:
        return mean
    return f"{mean} [{written(part.low, sign=True)}, {written(part.high, sign=True)}]"


def _named(row: Shift | SelfPreference) -> str:
    what = _VARIANTS[row.variant] if isinstance(row, Shift) else "answers of its own family"
    return f"{row.judge}, {row.score}, {what}"
