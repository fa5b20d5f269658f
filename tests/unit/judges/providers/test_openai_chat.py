"""OpenAI's chat completions: what is sent, and what of an answer is a reply."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, strategies as st

from judging import Grade, make_judge, make_request
from raggate.judges.providers import PROVIDERS
from raggate.judges.replies import schema_of
from raggate.models.judging import NotJudged, Reply
from tables import each_row

OPENAI = PROVIDERS["openai"]


def answer(**choice: Any) -> bytes:
    """Build the body of an answer with one choice."""
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    return json.dumps({"model": "small-b1", "choices": [choice], "usage": usage}).encode()


def test_temperature_and_seed_are_always_sent() -> None:
    """A temperature of 0 is sent and not left to the server, and so is the seed, with the schema of the reply."""
    call = OPENAI.call(make_request("Hello"), "key")
    assert call.url == "http://127.0.0.1:1/v1/chat/completions"
    assert call.headers == {"Authorization": "Bearer key"}
    assert call.json == {
        "model": "small",
        "messages": [{"role": "system", "content": "You grade."}, {"role": "user", "content": "Hello"}],
        "temperature": 0.0,
        "seed": 1,
        "max_tokens": 2000,
        "stream": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "grade", "strict": True, "schema": schema_of(Grade)},
        },
    }


def test_openai_has_another_name_for_the_limit() -> None:
    """OpenAI's own server is told the limit under its newer name."""
    sent = OPENAI.call(make_request(judge=make_judge("openai:gpt-4o", base_url=None)), "key").json
    assert "max_tokens" not in sent
    assert sent["max_completion_tokens"] == 2000


@each_row(
    ("base_url", "url"),
    [
        ("http://127.0.0.1:8081", "http://127.0.0.1:8081/v1/chat/completions"),
        ("http://127.0.0.1:8081/", "http://127.0.0.1:8081/v1/chat/completions"),
        ("https://api.openai.com/v1", "https://api.openai.com/v1/chat/completions"),
        ("https://proxy.example/openai/v1/", "https://proxy.example/openai/v1/chat/completions"),
    ],
)
def test_the_version_is_added_where_the_address_has_none(base_url: str, url: str) -> None:
    """An address is taken with its version, as clients of OpenAI have it, and without, as llama.cpp shows it."""
    assert OPENAI.call(make_request(judge=make_judge(base_url=base_url)), "").url == url


def test_github_models_has_no_version_in_its_address() -> None:
    """GitHub Models is asked below its own path."""
    judge = make_judge("github:gpt-4o", base_url=None)
    call = PROVIDERS["github"].call(make_request(judge=judge), "token")
    assert call.url == "https://models.github.ai/inference/chat/completions"


def test_a_reply_that_was_cut_off_says_so() -> None:
    """A reply that ends at the limit is one, with that mark: whether it is whole is told by reading it."""
    reply = OPENAI.read(answer(finish_reason="length", message={"content": '{"score"'}))
    assert reply == Reply(text='{"score"', model="small-b1", input_tokens=12, output_tokens=3, cut_off=True)


def test_counts_that_are_no_counts_are_not_told() -> None:
    """Tokens that are missing, 0, negative or text are unknown, and never counted as 0."""
    zero = {"prompt_tokens": 0, "completion_tokens": 0}
    for usage in ({}, None, zero, {"prompt_tokens": -1, "completion_tokens": "3"}, {"prompt_tokens": True}):
        body = json.dumps({"choices": [{"message": {"content": "x"}}], "usage": usage}).encode()
        assert OPENAI.read(body) == Reply(text="x")


@each_row(
    ("body", "reason"),
    [
        (b"", "invalid_reply"),
        (b"<html>", "invalid_reply"),
        (b"[]", "refused"),
        (b"{}", "refused"),
        (b'{"choices": []}', "refused"),
        (b'{"choices": [null]}', "refused"),
        (answer(finish_reason="length", message={"content": ""}), "refused"),
        (answer(finish_reason="content_filter", message={"content": '{"score": 5}'}), "refused"),
        (answer(finish_reason="stop", message={"content": None, "refusal": "I cannot."}), "refused"),
        (answer(finish_reason="stop", message={"content": ""}), "refused"),
        (answer(finish_reason="tool_calls", message={"content": None}), "refused"),
    ],
)
def test_what_is_no_reply_has_a_reason(body: bytes, reason: str) -> None:
    """An answer that is filtered, declined or empty is a reason why nothing was judged."""
    reply = OPENAI.read(body)
    assert isinstance(reply, NotJudged)
    assert reply.reason == reason
    assert reply.detail


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["choices", "message", "content", "usage", "model", "type", "input"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_a_reply_or_a_reason(value: object) -> None:
    """Whatever JSON a server answers with, each provider reads it as a reply or a reason, and raises nothing."""
    for provider in PROVIDERS.values():
        assert isinstance(provider.read(json.dumps(value).encode()), Reply | NotJudged)
