"""The trace that a question was asked with."""

from __future__ import annotations

from msgspec.structs import replace

from builders import make_flip, make_labelled, make_result, make_run
from raggate.gate.traces import with_traces
from raggate.models.run import LabelledResult

ID = "4bf92f3577b34da6a3ce929d0e0e4736"


def asked(trace_id: str | None, mode: str) -> LabelledResult:
    """Give the answer to the question q1 in a mode."""
    return make_labelled(result=replace(make_result("q1"), mode=mode, trace_id=trace_id))


def test_each_question_gets_its_own() -> None:
    """Question and mode name the trace; one without has none, and groups stay apart."""
    run = make_run(asked(ID, "hybrid"), asked(None, "bm25"))
    first = make_flip("q1", mode="hybrid")
    second, third = make_flip("q1", mode="bm25"), make_flip("q2", mode="hybrid")
    broke, fell = with_traces(run, (), [first, second], [third])
    assert [flip.trace_id for flip in (*broke, *fell)] == [ID, None, None]
    assert broke == (replace(first, trace_id=ID), second)
