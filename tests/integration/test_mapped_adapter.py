"""A differently shaped API asked through the suite by the mapped adapter: right answers, wrong shapes, hostile text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from builders import make_case, make_support
from fakes.other_api import OtherApi
from mapped_api import adapter, mapped
from raggate.base.certificates import checked_by
from raggate.base.http_client import httpx
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Result
from raggate.models.service import IndexState
from raggate.scoring.score import label
from raggate.service.ask import questions_of
from raggate.service.http_channel import OverHttp
from raggate.service.line_pipes import Serving
from tables import each_row

NOTES = [
    ("work/Keys.md", ["Keys", "Spare"], "the spare key is under the mat"),
    ("personal/Food.md", ["Food"], "bread is made of flour and water"),
    ("work/Ports.md", [], "the service listens on port 9000"),
]
CASES = (
    make_case("q1", question="Where is the spare key?", gold_supports=(make_support("Keys.md", "# Keys"),)),
    make_case("q2", question="bread of flour?", vaults=("personal",), gold_supports=(make_support("Food.md", None),)),
    make_case("q3", question="Zebras?", answerable=False),
)


def ask(api: OtherApi, cases: Sequence[Case] = CASES, **changes: Any) -> tuple[Result, ...]:
    """Ask some cases; `changes` are of the settings of the adapter."""
    settings = Ask(retrieval_only=False)
    questions = questions_of(cases, settings.modes)
    over_http = OverHttp(adapter(mapped(**changes)), settings)
    return over_http.ask(questions, Serving(base_url=api.base_url), on_result=lambda *_: None).results


def test_a_golden_set_is_asked_and_found() -> None:
    """Chunks, answer, abstention and references of another API arrive as if the notes API had given them."""
    with OtherApi(NOTES) as api:
        first, second, third = ask(api)
    assert first.response
    assert second.response
    assert third.response
    chunk = first.response.chunks[0]
    assert (chunk.chunk_id, chunk.rel_path, chunk.vault) == ("1000", "Keys.md", "work")
    assert (chunk.heading_path, chunk.text) == ("# Keys > ## Spare", "the spare key is under the mat")
    assert chunk.score_final == 4.0
    assert label(CASES[0], first).labels.matches[0] == (0,)
    assert first.response.answer == "the spare key is under the mat"
    assert [(one.vault, one.rel_path) for one in first.response.references] == [("work", "Keys.md")]
    assert label(CASES[1], second).labels.matches[0] == (0,)
    assert (third.response.abstained, third.response.answer, third.response.chunks) == (True, "", ())
    assert not first.response.abstained


@each_row(
    ("body", "expected"),
    [
        (b"<html>", "the body: expected JSON, found '<html>'"),
        ([], "the body: expected a mapping with the key 'data', found a list"),
        ({}, "data.hits: expected a list, found nothing; the body has no keys (question"),
        ({"data": {"hits": {}}}, "data.hits: expected a list, found a mapping with no keys"),
        ({"data": {"hits": [7]}}, "data.hits[0]: expected a mapping with the key 'meta', found 7"),
        (
            {"data": {"hits": [{"_id": True, "meta": {"file": "a"}, "body": ""}]}},
            "data.hits[0]._id: expected an id, text or a whole number, found true",
        ),
        (
            {"data": {"hits": [{"_id": 1, "meta": {"file": "a", "section": ["A", 2]}, "body": ""}]}},
            "data.hits[0].meta.section[1]: expected text, found 2",
        ),
        ({"data": {"hits": []}}, "data.reply.text: expected text, found nothing; data has the key hits"),
        ({"data": {"hits": [], "reply": {"text": "x", "cites": [{}]}}}, "data.reply.cites[0].source: expected text"),
        ({"data": {"hits": [], "reply": {"text": "x", "outcome": {}}}}, "data.reply.outcome: expected text, a number"),
    ],
)
def test_a_wrong_shape_is_a_failure_that_names_place_and_case(body: object, expected: str) -> None:
    """What is missing or of another kind fails the call as `schema`, with the path, what was expected, and the case."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with OtherApi(script=lambda _: (200, content)) as api:
        (result,) = ask(api, CASES[:1])
    assert result.failure is not None
    assert result.failure.kind == "schema"
    assert result.failure.message.startswith(expected)
    assert result.failure.message.endswith("(question 'q1')")


def state(api: OtherApi, **changes: Any) -> IndexState:
    with httpx.Client(base_url=api.base_url, verify=checked_by(api.base_url)) as client:
        return adapter(mapped(**changes)).index_state(client, Readiness(health_path="/live"))


def test_health_and_index_are_asked_where_the_settings_say() -> None:
    """Health, number of documents and whether indexing goes on come from the mapped requests, with the headers."""
    with OtherApi() as api:
        assert state(api) == IndexState(healthy=True, indexing=False, documents=2)
        assert api.heard[0].headers["authorization"] == "Bearer s3cret"
        api.pages["/stats"] = (200, {"index": {"files": 1, "busy": "yes"}})
        assert state(api) == IndexState(healthy=True, indexing=True, documents=1)
        api.pages["/stats"] = (503, {"error": "later"})
        assert state(api).indexing
        api.pages["/live"] = (200, {"state": "starting"})
        assert state(api, index=...) == IndexState(healthy=True, indexing=False)
        api.pages["/live"] = (500, "no")
        assert not state(api).healthy


def test_an_index_that_is_counted_by_a_request_with_a_body() -> None:
    """A count that an engine gives for a POST is asked for as written, braces and all, with the headers."""
    body = {"exact": True, "q": "{ Get }"}
    with OtherApi(script=lambda _: (200, b'{"index": {"files": 7, "busy": "no"}}')) as api:
        assert state(api, index__body=body).documents == 7
    assert api.heard[-1].body == body
    assert api.heard[-1].headers["content-type"] == "application/json"
    assert api.heard[-1].headers["authorization"] == "Bearer s3cret"


def test_an_index_that_is_not_there_is_not_still_indexing() -> None:
    """A name that is wrong is told with the names there are, which an API that is no known engine is not asked for."""
    listing = {"/_cat/indices": (200, [{"index": "noted"}])}
    with OtherApi(pages=listing) as api:
        seen = state(api, index={"path": "/notes/_count", "chunks": "count"})
        assert (seen.healthy, seen.indexing, seen.unseen) == (True, True, True)
        assert seen.detail.startswith("GET /notes/_count: HTTP 404 ")
        assert seen.detail.endswith("; it has no index 'notes'; its index: 'noted'")
        assert state(api, index={"path": "/count", "chunks": "count"}).detail.endswith('{"error": "no such page"}')
        assert [heard.path for heard in api.heard] == ["/live", "/notes/_count", "/_cat/indices", "/live", "/count"]


@each_row(
    ("answer", "said"),
    [
        ({"errors": [{"message": "Cannot query field Notez"}]}, "the API reports an error: 'Cannot query field Notez'"),
        ({"data": {"Aggregate": {"Notez": None}}}, "expected a whole number, 0 or more, found nothing"),
    ],
)
def test_an_index_that_answers_an_error_is_not_there(answer: object, said: str) -> None:
    """An engine that says so behind the status 200, or counts nothing, is asked for the names there are."""
    index = {"path": "/v1/graphql", "body": {"query": "{}"}, "chunks": "data.Aggregate.Notez[0].meta.count"}
    pages = {"/v1/schema": (200, {"classes": [{"class": "Notes"}]})}
    with OtherApi(pages=pages, script=lambda _: (200, json.dumps(answer).encode())) as api:
        seen = state(api, index={**index, "body": {"q": "{}"}})
        assert seen.unseen
        assert said in seen.detail
        assert seen.detail.endswith("; its collection: 'Notes'")


@each_row("answer", [{"errors": [{"message": "no"}]}, {"count": -1}, {"count": 5}, {}])
def test_an_index_of_another_shape_breaks_the_protocol(answer: object) -> None:
    """An API that is no known engine must count as the settings say."""
    index = {"path": "/count", "chunks": "count", "documents": "documents"}
    with (
        OtherApi(pages={"/count": (200, answer)}) as api,
        pytest.raises(ValueError, match=r"expected a whole number|reports an error"),
    ):
        state(api, index=index)


def test_an_empty_index_may_leave_out_its_notes() -> None:
    """Some engines count no notes while there is nothing to count; null says that a count is not known."""
    index = {"path": "/count", "chunks": "count", "documents": "documents"}
    with OtherApi(pages={"/count": (200, {"count": 0})}) as api:
        assert state(api, index=index).documents == 0
        api.pages["/count"] = (200, {"count": 0, "documents": None})
        assert state(api, index=index).documents is None
