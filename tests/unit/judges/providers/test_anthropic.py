"""Anthropic's messages: what is sent, and what of an answer is a reply."""

from __future__ import annotations

import json
from typing import Any

from judging import Grade, make_judge, make_request
from raggate.judges.providers import PROVIDERS
from raggate.judges.replies import schema_of
from raggate.models.judging import NotJudged, Reply
from tables import each_row

ANTHROPIC = PROVIDERS["anthropic"]
JUDGE = make_judge("anthropic:claude", base_url="https://api.anthropic.com")


def answer(*content: dict[str, Any], stop: str = "end_turn") -> bytes:
    """Build the body of an answer."""
    usage = {"input_tokens": 20, "output_tokens": 6}
    return json.dumps({"model": "claude-x", "content": [*content], "stop_reason": stop, "usage": usage}).encode()


def test_the_schema_is_that_of_a_tool_that_must_be_used() -> None:
    """The system's text stands apart, temperature 0 is sent, and the reply is the input of a tool."""
    call = ANTHROPIC.call(make_request("Hello", judge=JUDGE), "key")
    assert call.url == "https://api.anthropic.com/v1/messages"
    assert call.headers == {"anthropic-version": "2023-06-01", "x-api-key": "key"}
    assert call.json == {
        "model": "claude",
        "system": "You grade.",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.0,
        "max_tokens": 2000,
        "tools": [{"name": "grade", "description": "Give the grade.", "input_schema": schema_of(Grade)}],
        "tool_choice": {"type": "tool", "name": "grade"},
    }


def test_what_the_tool_was_given_is_the_reply() -> None:
    """The input of the tool is the reply, whatever text stands before it."""
    used = {"type": "tool_use", "name": "grade", "input": {"score": 4}}
    reply = ANTHROPIC.read(answer({"type": "text", "text": "Let me see"}, used, stop="tool_use"))
    assert reply == Reply(text='{"score":4}', model="claude-x", input_tokens=20, output_tokens=6)


@each_row(
    ("body", "reason"),
    [
        (b"nonsense", "invalid_reply"),
        (b"{}", "refused"),
        (answer(), "refused"),
        (answer({"type": "text", "text": "5"}, stop="refusal"), "refused"),
    ],
)
def test_what_is_no_reply_has_a_reason(body: bytes, reason: str) -> None:
    """An answer that is declined or empty is a reason why nothing was judged."""
    reply = ANTHROPIC.read(body)
    assert isinstance(reply, NotJudged)
    assert reply.reason == reason


def test_a_reply_that_was_cut_off_says_so() -> None:
    """What a tool was given when the limit was reached is marked as cut off."""
    reply = ANTHROPIC.read(answer({"type": "tool_use", "input": {}}, stop="max_tokens"))
    assert reply == Reply(text="{}", model="claude-x", input_tokens=20, output_tokens=6, cut_off=True)
