"""What sways the judges of a stored run: some of its answers graded in other orders and lengths, on request.

Nothing of the run is changed: results, metrics and verdict stay as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from raggate.config.imported import ImportedConfig
from raggate.errors import CannotTell, UsageError
from raggate.gate.judge_bias import conclusions, shifts
from raggate.gate.length_correlation import length_correlations
from raggate.gate.self_preference import family, preferences
from raggate.judges import session
from raggate.judges.bias import BiasPlan, draw, eligible, grade_variants
from raggate.judges.judging import identity
from raggate.judges.session import Bench
from raggate.judges.variants import WORDING
from raggate.models.judging import Parameters, Spending, usage_of
from raggate.models.judging_bias import AnswerGrades, JudgeBias, SelfPreference, SelfPreferences
from raggate.models.run import LabelledResult, Run
from raggate.pipeline import run_directory
from raggate.pipeline.jury import Jury
from raggate.pipeline.rejudge import Rejudging, stored_run
from raggate.reports import OF_BIAS
from raggate.text.jsonio import fields
from raggate.text.numbers import counted

SEED = 0
"""What answers are drawn by: the same ones in every measurement, so that a cassette serves the next one."""


class _Answering(Struct, frozen=True):
    """Who answered: gives the model of an answer, empty where that is not known, and says who names it."""

    model: Callable[[LabelledResult], str]
    source: str


def measure_bias(asked: Rejudging, *, n: int, answered_by: str | None = None) -> JudgeBias:
    """Measure what sways the judges, and write that into the run directory.

    Args:
        asked: which run, and who judges.
        n: how many answers are graded, at most.
        answered_by: the model that generated the answers; None for what the run tells of it.

    Raises:
        UsageError: for a directory, configuration or cassette that cannot be read, or a run without whole answers.
        CannotTell: when no answer has two grades that could be held against each other.
    """
    run, judges = stored_run(asked)
    answers = eligible(run.results)
    if not answers:
        raise UsageError(f"run {run.run_id} has no answer with a text, so judges have nothing to grade")
    if run.shortfall:
        asked.say(run.shortfall)
    judges.warn_of_missing_keys()
    answering = _answering(run, answered_by)
    drawn = draw(answers, n, SEED)
    plan = _plan(judges, answering)
    grades, spending = _grades(judges, plan, drawn)
    bias = _report(run, judges, plan, grades, answering, spending, (len(drawn), len(answers)))
    if not any(row.answers for row in bias.shifts):
        raise CannotTell(
            f"no answer of run {run.run_id} was graded twice, so nothing is known of the judges: {_reasons(grades)}",
            hint="docs/judges.md has a table of the reasons.",
        )
    run_directory.write_reports(asked.directory, OF_BIAS, bias)
    return bias


def _plan(judges: Jury, answering: _Answering) -> BiasPlan:
    settings = judges.settings
    return BiasPlan(
        # who judges a sample once more is a judge, too
        models=tuple(map(session.judge_model, settings.asked().values())),
        parameters=Parameters(max_tokens=settings.max_tokens),
        scores=tuple(settings.scores),
        answered_by=answering.model,
        each_claim=settings.claims == "each",
        seed=SEED,
    )


def _grades(judges: Jury, plan: BiasPlan, drawn: Sequence[LabelledResult]) -> tuple[tuple[AnswerGrades, ...], Spending]:
    by = ", ".join(map(plan.label, plan.models))
    judges.say(f"measuring what sways judges: {counted(len(drawn), 'answer')}, each as it is and changed, by {by}")

    async def work(bench: Bench) -> tuple[AnswerGrades, ...]:
        return await grade_variants(drawn, plan, bench.first, judges.progress(len(drawn)))

    grades, spending = judges.ask(work)
    judges.say_spending(spending)
    return grades, spending


def _report(
    run: Run,
    judges: Jury,
    plan: BiasPlan,
    grades: Sequence[AnswerGrades],
    answering: _Answering,
    spending: Spending,
    numbers: tuple[int, int],
) -> JudgeBias:
    rows, own_kind = conclusions(shifts(grades), preferences(grades))
    every = [item for row in grades for item in (row.original, *row.variants.values())]
    return JudgeBias(
        run_id=run.run_id,
        suite=run.suite,
        judges=identity(judges.plan(plan.models)),
        seed=plan.seed,
        wording=WORDING,
        drawn=numbers[0],
        eligible=numbers[1],
        shifts=rows,
        lengths=length_correlations(run.results),
        self_preferences=_self_preferences(own_kind, grades, answering, list(map(plan.label, plan.models))),
        mode=judges.settings.mode,
        spending=spending,
        usage=usage_of(every),
        recorded=len(judges.tape.recorded),
    )


def _answering(run: Run, answered_by: str | None) -> _Answering:
    """Give who answered: by the command line, else by each answer, else by the settings of another system's run."""
    if answered_by is not None:
        return _Answering(lambda _: answered_by, "command line")
    if any(item.result.response and item.result.response.model for item in run.results):
        return _Answering(_own_model, "response")
    settings = run.config.settings if isinstance(run.config, ImportedConfig) else {}
    model = settings.get("llm_model") or fields(settings.get("llm")).get("model_id")
    if isinstance(model, str) and model:
        return _Answering(lambda _: model, "configuration")
    return _Answering(lambda _: "", "")


def _own_model(item: LabelledResult) -> str:
    return (item.result.response.model if item.result.response else None) or ""


def _self_preferences(
    rows: tuple[SelfPreference, ...], grades: Sequence[AnswerGrades], answering: _Answering, judges: Sequence[str]
) -> SelfPreferences:
    models = {row.answer: row.answered_by for row in grades if row.answered_by}
    reason = "" if rows else _why_none(set(models.values()), judges)
    return SelfPreferences(
        rows=rows, reason=reason, answered_by=dict(sorted(Counter(models.values()).items())), source=answering.source
    )


def _why_none(models: set[str], judges: Sequence[str]) -> str:
    """Say why no judge could be held against others of another family."""
    if not models:
        return (
            "nothing says which model generated the answers: --answered-by names it, or ask.mapped.response.model "
            "says where answers do"
        )
    if len(judges) < 2:
        return "there is one judge alone, and its grades are held against those of judges of another family"
    if len({family(judge) for judge in judges} - {""}) < 2:
        return "the judges are not of two families that are known, and each is held against those of another family"
    return "no answer is by a model of the family of a judge"


def _reasons(grades: Sequence[AnswerGrades]) -> str:
    counts = Counter(
        item.reason for row in grades for item in (row.original, *row.variants.values()) if item.reason is not None
    )
    return ", ".join(f"{reason} {number}" for reason, number in sorted(counts.items())) or "no judge saw any difference"
