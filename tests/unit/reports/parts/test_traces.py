"""Links from lost questions to their traces: where they are, and what no address is."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from builders import make_config
from pages import data_of
from raggate.config.ask_settings import Ask
from raggate.models.run import LabelledResult
from raggate.models.verdict import Review
from raggate.reports import markdown, terminal
from raggate.reports.page import report
from raggate.reports.parts import traces
from reviews import beside, regression
from tables import each_row

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
VIEWER = "https://traces.example/?a=1&id={trace_id}"


def traced(trace_url: str | None = VIEWER) -> Review:
    """Return a regression whose questions have a trace, with a viewer."""
    review = regression()

    def sent(item: LabelledResult) -> LabelledResult:
        return replace(item, result=replace(item.result, trace_id=TRACE))

    run = replace(review.run, results=tuple(map(sent, review.run.results)))
    flips = tuple(replace(flip, trace_id=TRACE) for flip in review.comparison.flips)
    settings = make_config().model_copy(update={"ask": Ask(trace_url=trace_url)})
    return replace(review, run=replace(run, config=settings), comparison=replace(review.comparison, flips=flips))


def test_a_lost_question_links_to_its_trace() -> None:
    """The comment and the page link it, and a terminal has the address."""
    address = f"https://traces.example/?a=1&id={TRACE}"
    assert f"trace: [`{TRACE}`]({address.replace('&', '&amp;')})" in markdown.render(traced())
    assert address in terminal.render(traced(), width=200, color=False)
    assert {facts["trace_at"] for facts in data_of(report.render(traced()), "details")["details"]} == {address}


def test_without_a_viewer_there_is_the_id_alone() -> None:
    """That is so where none is configured, and in a first run, whose settings are those of the change."""
    assert f"trace: `{TRACE}`" in markdown.render(traced(None))
    assert all("trace_at" not in facts for facts in data_of(report.render(traced(None)), "details")["details"])
    assert traces.address(beside(traced(), first_run=True), TRACE) == ""
    assert traces.address(traced(), None) == ""


@each_row(
    "template",
    [
        "https://t.example/{trace_id}",
        "http://127.0.0.1:16686/trace/{trace_id}?uiFind=a%7B#x",
        "https://[::1]:3000/explore?q={trace_id}&from=now-1h",
    ],
)
def test_an_address(template: str) -> None:
    """Scheme and host stand before the trace, which is all that is filled in."""
    assert Ask(trace_url=template).trace_url == template


@each_row(
    "template",
    [
        "https://t.example/",
        "https://{trace_id}/",
        "https://t.example{trace_id}",
        "https://t.example/{trace_id}/{trace_id}",
        "https://t.example/{trace_id}?q={span_id}",
        "javascript://t.example/{trace_id}",
        "ftp://t.example/{trace_id}",
        "https://me:secret@t.example/{trace_id}",
        "https://t.example/a b{trace_id}",
        "https://t.example/{trace_id})[x](javascript:1",
        'https://t.example/{trace_id}"><script>',
        "https://t.example/{trace_id}\n",
        "https://t.example/{trace_id}" + "x" * 500,
        "//t.example/{trace_id}",
    ],
)
def test_no_address(template: str) -> None:
    """Another scheme, a trace in the host, none or two of them, and what could leave a link are refused."""
    with pytest.raises(ValidationError, match="expected an address of http or https"):
        Ask(trace_url=template)


def test_no_trace_no_address() -> None:
    """A viewer of traces that are never sent is a mistake."""
    with pytest.raises(ValidationError, match="no question has a trace then"):
        Ask(trace_url=VIEWER, traceparent=False)
