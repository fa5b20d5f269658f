"""Where a question's passage stood and stands, in words."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from builders import make_config, make_flip, make_support
from pages import data_of
from raggate.config.ask_settings import Ask
from raggate.models.run import LabelledResult
from raggate.models.verdict import Review
from raggate.reports import comment, terminal
from raggate.reports.page import report
from raggate.reports.parts import questions
from raggate.reports.parts.questions import misses_title
from reviews import beside, first_run, regression
from tables import each_row


@each_row(
    ("fields", "written"),
    [
        pytest.param({"before": 1, "after": 7}, "rank 1 → 7", id="fell"),
        pytest.param({"before": 1, "after": None}, "rank 1 → not found", id="lost"),
        pytest.param({"before": None, "after": 2}, "not found → rank 2", id="found"),
        pytest.param(
            {"metric": "recall_all_at_5", "before": 2, "after": None},
            "complete at rank 2 → incomplete",
            id="incomplete",
        ),
        pytest.param({"metric": "abstention_accuracy"}, "abstained → did not abstain", id="stopped-abstaining"),
        pytest.param({"metric": "false_abstention_rate"}, "did not abstain → abstained", id="refused"),
    ],
)
def test_rank_change(fields: dict[str, Any], written: str) -> None:
    """A flip is written as where the passage was and where it is."""
    assert questions.rank_change(make_flip(**fields)) == written


@each_row(
    ("fields", "written"),
    [
        pytest.param({"before": 1, "after": 7}, "hit@1 worse, rank 1 → 7", id="lower"),
        pytest.param({"before": 7, "after": None}, "hit@1 worse, rank 7 → not found", id="lost"),
        pytest.param({"before": 2, "after": 2}, "hit@1 worse, rank 2, as in the baseline", id="same-rank"),
        pytest.param({"before": None, "after": None}, "hit@1 worse, not found, as in the baseline", id="in-neither"),
        pytest.param(
            {"metric": "recall_all_at_10", "before": 6, "after": None},
            "recall all@10 worse, complete at rank 6 → incomplete",
            id="one-passage-of-several",
        ),
        pytest.param(
            {"since": "added", "after": 9}, "hit@1 lower than usual, rank 9, added since the baseline", id="added"
        ),
        pytest.param({"support": None, "metric": "x"}, "x worse", id="without-passages"),
    ],
)
def test_a_question_that_fell(fields: dict[str, Any], written: str) -> None:
    """A question that got worse without breaking says by which metric, and where its passages stood and stand."""
    flip = make_flip(**{"kind": "fell", "metric": "hit_at_1", "support": make_support(), **fields})
    assert questions.rank_change(flip) == written


def test_questions_that_need_several_passages_may_be_found_in_part() -> None:
    """A question whose passages came back incompletely is not said to be not found."""
    review = first_run()
    (miss,) = review.misses
    in_part = replace(review, misses=(miss, replace(miss, case_id="other", metric="recall_all_at_5")))
    assert misses_title(review) == "Questions that were not found (1)"
    assert misses_title(in_part) == "Questions that were not found, or not completely (2)"


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
    assert f"trace: [`{TRACE}`]({address.replace('&', '&amp;')})" in comment.render_whole(traced())
    assert address in terminal.render(traced(), width=200, color=False)
    assert {facts["trace_at"] for facts in data_of(report.render(traced()), "details")["details"]} == {address}


def test_without_a_viewer_there_is_the_id_alone() -> None:
    """That is so where none is configured, and in a first run, whose settings are those of the change."""
    assert f"trace: `{TRACE}`" in comment.render_whole(traced(None))
    assert all("trace_at" not in facts for facts in data_of(report.render(traced(None)), "details")["details"])
    assert questions.trace_address(beside(traced(), first_run=True), TRACE) == ""
    assert questions.trace_address(traced(), None) == ""


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
