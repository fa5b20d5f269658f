"""Anthropic's messages. There is no seed; the schema of the reply is that of a tool the model must use."""

from __future__ import annotations

from typing import Any

from raggate.base.jsonio import dumps, fields
from raggate.base.quote import quoted
from raggate.config.judge_settings import MAX_TOKENS
from raggate.judges.providers.http_call import HttpCall, answer_of, endpoint_url, text_of, tokens_of
from raggate.models.judging import TEMPERATURE, JudgeRequest, NotJudged, Reply

API_VERSION = "2023-06-01"


def call(request: JudgeRequest, api_key: str) -> HttpCall:
    """`POST <base>/v1/messages`."""
    messages = request.prompt.messages
    body: dict[str, object] = {
        "model": request.model.served_as,
        "system": "\n\n".join(message.text for message in messages if message.role == "system"),
        "messages": [
            {"role": message.role, "content": message.text} for message in messages if message.role != "system"
        ],
        "temperature": TEMPERATURE,
        "max_tokens": MAX_TOKENS,
    }
    if request.model.json_schema:
        tool = {
            "name": request.prompt.name,
            "description": "Give the grade.",
            "input_schema": request.prompt.schema,
        }
        body |= {"tools": [tool], "tool_choice": {"type": "tool", "name": request.prompt.name}}
    headers = {"anthropic-version": API_VERSION, **({"x-api-key": api_key} if api_key else {})}
    return HttpCall(url=endpoint_url(request.model.address, "messages"), json=body, headers=headers)


def read(body: bytes) -> Reply | NotJudged:
    """Return the reply that a body holds, or why it holds none."""
    answer = answer_of(body)
    if isinstance(answer, NotJudged):
        return answer
    stop = answer.get("stop_reason")
    text = _text(answer.get("content"))
    if stop == "refusal" or not text.strip():
        return NotJudged(reason="refused", detail=f"the reply has no text (stop_reason {quoted(stop)})")
    usage = fields(answer.get("usage"))
    return Reply(
        text=text,
        model=text_of(answer.get("model")),
        input_tokens=tokens_of(usage.get("input_tokens")),
        output_tokens=tokens_of(usage.get("output_tokens")),
        cut_off=stop == "max_tokens",
    )


def _text(content: object) -> str:
    blocks: list[dict[str, Any]] = [fields(block) for block in content] if isinstance(content, list) else []
    used = next((block.get("input") for block in blocks if block.get("type") == "tool_use"), None)
    if isinstance(used, dict):
        return dumps(used).decode()
    return text_of(next((block.get("text") for block in blocks if block.get("type") == "text"), ""))
