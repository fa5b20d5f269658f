"""Answers that come although only retrieval was asked for are noticed by both adapters, and kept by neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import make_case
from mapped_api import adapter, mapped
from raggate.config.ask_settings import Ask
from raggate.models.run import Response
from raggate.service.adapters.ask import AskAdapter
from tables import each_row

SAID = "A sentence that only a model writes."


def asked(answer: object, latency: dict[str, object] | None = None, *, only: bool = True, **more: object) -> Response:
    """Read a body of the notes API."""
    body = {"answer": answer, "references": [], "debug": {"retrieved_chunks": [], "latency": latency or {}}, **more}
    return AskAdapter(Ask(retrieval_only=only), ("personal",)).parse(json.dumps(body).encode(), make_case())


@each_row(
    ("answer", "fields", "expected"),
    [
        pytest.param(SAID, {}, True, id="text"),
        pytest.param("", {}, False, id="none"),
        pytest.param(" \n", {}, False, id="blanks"),
        pytest.param("", {"latency": {"generation_ms": 810}}, True, id="time for it"),
        pytest.param("", {"latency": {"generation_ms": 0}}, False, id="no time"),
        pytest.param("", {"latency": {"generation_ms": 0.004}}, False, id="time to skip it"),
        pytest.param("I cannot say.", {"abstained": True}, False, id="a phrase to abstain with"),
        pytest.param("", {"abstained": True, "latency": {"generation_ms": 300}}, True, id="a model abstained"),
        pytest.param(SAID, {"only": False}, False, id="asked for"),
    ],
)
def test_the_ask_adapter_notices(answer: object, fields: dict[str, Any], expected: bool) -> None:
    """Text or a time for its generation tells it; a standing phrase and a skipped step do not."""
    found = asked(answer, **fields)
    assert found.unasked == expected
    assert fields.get("only") is False or found.answer is None


@each_row(
    ("reply", "expected"),
    [
        pytest.param({"text": SAID}, True, id="text"),
        pytest.param({"text": ""}, False, id="none"),
        pytest.param({"text": SAID, "outcome": "refused"}, False, id="a phrase to abstain with"),
        pytest.param({"text": 7}, False, id="no text"),
        pytest.param("a reply that is no mapping", False, id="another shape"),
        pytest.param(None, False, id="no reply"),
    ],
)
def test_the_mapped_adapter_notices(reply: object, expected: bool) -> None:
    """What stands where answers stand tells it, and is no error whatever it is, where none was asked for."""
    fields = {"chunks": {"list": "hits", "rel_path": "file"}, "answer": "reply.text"}
    fields["abstained"] = {"path": "outcome", "equals": ["refused"]}
    settings = mapped(response=fields)
    outcome = reply.get("outcome") if isinstance(reply, dict) else None
    body = json.dumps({"hits": [], "reply": reply, "outcome": outcome}).encode()
    found = adapter(settings, retrieval_only=True).parse(body, make_case())
    assert (found.unasked, found.answer) == (expected, None)


def test_an_answer_that_was_asked_for_is_kept() -> None:
    """Without retrieval only, the mapped adapter reads the answer and finds nothing to notice."""
    fields = {"chunks": {"list": "hits", "rel_path": "file"}, "answer": "reply"}
    found = adapter(mapped(response=fields)).parse(json.dumps({"hits": [], "reply": SAID}).encode(), make_case())
    assert (found.unasked, found.answer) == (False, SAID)
