"""How the answers of a run were judged: who, how far, how well that agrees with people, and what it took. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raggate.models.judging import Spending, Usage
from raggate.models.judging_quality import Canary, CanaryAgreement, JudgingSummary, SpotCheck, judges_of
from raggate.models.run import Run
from raggate.reports.parts.budget import Section
from raggate.text.escape import markdown as safe
from raggate.text.numbers import counted, dollars, percent, setting, written
from raggate.text.struct_fields import as_dict


def section(run: Run) -> Section:
    """Write it in small print; nothing where nothing was judged."""
    lines = [safe(line, limit=500, middle=True) for line in sentences(run)]
    text = "<br>\n".join(lines)
    return Section(name="how the answers were judged", rank=3, variants=(f"<sub>{text}</sub>",) if lines else ())


def stored(run: Run) -> dict[str, Any] | None:
    """Return it for programs; None where nothing was judged."""
    summary = JudgingSummary.of(run.fingerprint)
    if summary is None:
        return None
    spending = None if run.judging is None else as_dict(run.judging.spending)
    mode = None if run.judging is None else run.judging.mode
    return {**summary.stored(), "by": list(_judges(run)), "spending": spending, "mode": mode}


def sentences(run: Run) -> list[str]:
    """Say it in a line for each: coverage, canary, spot check, cost."""
    summary = JudgingSummary.of(run.fingerprint)
    return [] if summary is None else [*_lines(run, summary)]


def _lines(run: Run, summary: JudgingSummary) -> Iterator[str]:
    how_far = ", ".join(_coverage(name, summary) for name in summary.scores)
    yield f"Judged by {', '.join(_judges(run)) or 'judges that are not named'}: {how_far}."
    yield (
        _canary(summary.canary) if summary.canary is not None else "No canary set says whether that agrees with people."
    )
    if (check := summary.spot_check) is not None:
        yield f"{spot_check(check)}."
    if run.judging is not None:
        yield f"Spent on judges in this run: {spent(run.judging.spending)}."
    yield f"The replies behind the scores took {', '.join(_took(name, summary) for name in summary.scores)}."


def spot_check(check: SpotCheck) -> str:
    """Return how far a second opinion disagrees."""
    rate = "no rate" if check.disagreement_rate is None else f"{percent(check.disagreement_rate)} disagree"
    return f"Judged once more by {check.who}: {rate}, of {counted(check.spot_check_n, 'answer')}"


def _judges(run: Run) -> Iterator[str]:
    for model, build in judges_of(run.fingerprint):
        yield f"{model} ({build})" if build else model


def _coverage(name: str, summary: JudgingSummary) -> str:
    coverage = summary.scores[name]
    gaps = f" (not judged: {coverage.gaps})" if coverage.gaps else ""
    return f"{name} {coverage.judged} of {coverage.expected}{gaps}"


def _canary(canary: Canary) -> str:
    if not canary.scores:
        return "The canary set has no case of what was judged."
    agreements = ", ".join(f"{name} {_agreement(agreement)}" for name, agreement in canary.scores.items())
    replayed = "; answered by the cassette" if canary.replayed else ""
    floor = setting(canary.floor)
    return f"Agreement with people, as kappa with quadratic weights: {agreements}; floor {floor}{replayed}."


def _agreement(agreement: CanaryAgreement) -> str:
    if agreement.kappa is None or agreement.low is None or agreement.high is None:
        return f"not defined on {agreement.judged} of {counted(agreement.cases, 'case')}"
    interval = f"[{written(agreement.low)}, {written(agreement.high)}]"
    return f"{written(agreement.kappa)} {interval} on {agreement.judged} of {counted(agreement.cases, 'case')}"


def spent(spending: Spending) -> str:
    """Say what judges took: calls, tokens and money."""
    cost = "cost not known" if spending.usd is None else dollars(spending.usd)
    untold = f", usage not reported for {counted(spending.untold, 'call')}" if spending.untold else ""
    refused = f", {spending.refused} not made because of the budget" if spending.refused else ""
    calls = f"{counted(spending.calls, 'call')}, {spending.retries} of them retries{refused}"
    return f"{calls}, {counted(spending.tokens, 'token')}{untold}, {cost}"


def _took(name: str, summary: JudgingSummary) -> str:
    usage: Usage = summary.scores[name].usage
    if not usage.replies:
        return f"{name} none"
    untold = f" and {usage.untold} not reported" if usage.untold else ""
    cost = "" if usage.usd is None else f", {dollars(usage.usd)}"
    return f"{name} {counted(usage.input_tokens + usage.output_tokens, 'token')}{untold}{cost}"
