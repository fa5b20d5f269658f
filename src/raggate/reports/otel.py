"""A verdict as OpenTelemetry events `gen_ai.evaluation.result`: OTLP log records as JSON, one request a line. Pure.

The event and its attributes are those of the GenAI semantic conventions; the file is that of OTLP's file exporter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from raggate.models.publication import RunFailure
from raggate.models.scorecard import OVERALL, CaseScore
from raggate.models.verdict import Review
from raggate.text.dates import NO_TIME, milliseconds
from raggate.text.escape import plain
from raggate.text.jsonio import dump_line

EVENT = "gen_ai.evaluation.result"
PER_LINE = 500
"""Events of one line, so that no line outgrows what a collector takes at once."""


def render(review: Review, _prefix: str = "") -> Iterator[str]:
    """Render the verdict, and the gated metrics of each question in the trace that it was asked with, by lines."""
    run, verdict = review.run, review.verdict
    ended = milliseconds(run.started) + round(run.duration_s * 1000)
    resource = _resource(run.suite, run.run_id, run.provenance.raggate_version or "")
    metrics = _gated(review)
    scores = (_scores(case, metrics.get(case.mode, ()), trace_id, ended) for case, trace_id in _traced(review))
    first = _verdict(verdict.outcome, verdict.headline, ended)
    return _document(resource, chain([first], chain.from_iterable(scores)))


def _traced(review: Review) -> Iterator[tuple[CaseScore, str | None]]:
    """Yield each question with the trace of its first answer, which mostly stands where its scores do."""
    results = review.run.results
    others: dict[tuple[str, str], str | None] | None = None
    for place, case in enumerate(review.scorecard.cases):
        result = results[place].result if place < len(results) else None
        if result is not None and (result.mode, result.case_id) == (case.mode, case.case_id):
            yield case, result.trace_id
            continue
        if others is None:
            others = {(item.result.mode, item.case.id): item.result.trace_id for item in results}
        yield case, others.get((case.mode, case.case_id))


def render_failure(failure: RunFailure, _prefix: str = "") -> Iterator[str]:
    """Render that there is no verdict, as an event with an error."""
    event = _verdict(failure.label, failure.message, NO_TIME)
    event["attributes"].append(_attribute("error.type", failure.label.replace(" ", "-")))
    return _document(_resource(failure.suite or "", failure.run_id, ""), [event])


def _gated(review: Review) -> Mapping[str, Sequence[str]]:
    names: dict[str, list[str]] = {}
    for row in review.verdict.rows:
        if row.gated and row.delta.slice == OVERALL:
            names.setdefault(row.delta.mode, []).append(row.delta.metric)
    return names


def _scores(case: CaseScore, metrics: Sequence[str], trace_id: str | None, at: int) -> Iterator[dict[str, Any]]:
    about = [_attribute("raggate.case.id", plain(case.case_id)), _attribute("raggate.mode", plain(case.mode))]
    failed = [_attribute("error.type", plain(case.failure))] if case.failure else []
    for metric in metrics:
        value = case.values.get(metric)
        if value is not None:
            name, score = _attribute("gen_ai.evaluation.name", metric), {"doubleValue": float(value)}
            attributes = [name, {"key": "gen_ai.evaluation.score.value", "value": score}, *about, *failed]
            yield _event(attributes, at, trace_id)


def _verdict(outcome: str, headline: str, at: int) -> dict[str, Any]:
    attributes = {
        "gen_ai.evaluation.name": "raggate.verdict",
        "gen_ai.evaluation.score.label": outcome,
        "gen_ai.evaluation.explanation": plain(headline, limit=1500, middle=True),
    }
    return _event([_attribute(key, value) for key, value in attributes.items()], at)


def _event(attributes: list[dict[str, Any]], at: int, trace_id: str | None = None) -> dict[str, Any]:
    # whole numbers of 64 bits are texts in OTLP's JSON; 0 is a time that is not known
    time = f"{at * 1_000_000}"
    trace = {"traceId": trace_id} if trace_id else {}
    return {"timeUnixNano": time, "observedTimeUnixNano": time, "eventName": EVENT, "attributes": attributes, **trace}


def _attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def _resource(suite: str, run_id: str, version: str) -> dict[str, Any]:
    values = {"service.name": "raggate", "service.version": version, "raggate.suite": suite, "raggate.run.id": run_id}
    return {"attributes": [_attribute(key, plain(value)) for key, value in values.items() if value]}


def _document(resource: dict[str, Any], events: Iterable[dict[str, Any]]) -> Iterator[str]:
    left = iter(events)
    while records := list(islice(left, PER_LINE)):
        logs = {"scope": {"name": "raggate"}, "logRecords": records}
        yield dump_line({"resourceLogs": [{"resource": resource, "scopeLogs": [logs]}]}).decode()
