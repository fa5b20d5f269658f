"""OpenAI's chat completions, which GitHub Models, llama.cpp, vLLM and Ollama speak too."""

from __future__ import annotations

from typing import Any

from raggate.base.jsonio import fields
from raggate.base.quote import cut, quoted
from raggate.config.judge_settings import MAX_TOKENS
from raggate.judges.providers.http_call import HttpCall, answer_of, endpoint_url, text_of, tokens_of
from raggate.models.judging import SEED, TEMPERATURE, JudgeRequest, NotJudged, Reply


def call(request: JudgeRequest, api_key: str) -> HttpCall:
    """`POST <base>/v1/chat/completions`, with temperature, seed and the schema of the reply."""
    # OpenAI's own server has given the limit another name, which most others do not know
    limit = "max_completion_tokens" if request.model.endpoint == "openai" else "max_tokens"
    body: dict[str, object] = {
        "model": request.model.served_as,
        "messages": [{"role": message.role, "content": message.text} for message in request.prompt.messages],
        "temperature": TEMPERATURE,
        "seed": SEED,
        limit: MAX_TOKENS,
        "stream": False,
    }
    if request.model.json_schema:
        schema = {"name": request.prompt.name, "strict": True, "schema": request.prompt.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    url = endpoint_url(request.model.address, "chat/completions")
    return HttpCall(url=url, json=body, headers=headers)


def read(body: bytes) -> Reply | NotJudged:
    """Return the reply that a body holds, or why it holds none."""
    answer = answer_of(body)
    if isinstance(answer, NotJudged):
        return answer
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        return NotJudged(reason="refused", detail="the server's answer has no choice")
    choice = fields(choices[0])
    message = fields(choice.get("message"))
    if (problem := _refusal(choice, message)) is not None:
        return problem
    usage = fields(answer.get("usage"))
    return Reply(
        text=str(message["content"]),
        model=text_of(answer.get("model")),
        input_tokens=tokens_of(usage.get("prompt_tokens")),
        output_tokens=tokens_of(usage.get("completion_tokens")),
        cut_off=choice.get("finish_reason") == "length",
    )


def _refusal(choice: dict[str, Any], message: dict[str, Any]) -> NotJudged | None:
    finish, refusal, content = choice.get("finish_reason"), message.get("refusal"), message.get("content")
    if isinstance(refusal, str) and refusal:
        return NotJudged(reason="refused", detail=f"the model declined: {cut(refusal)}")
    if finish == "content_filter":
        return NotJudged(reason="refused", detail="the server's filter removed the reply")
    if not isinstance(content, str) or not content.strip():
        return NotJudged(reason="refused", detail=f"the reply has no text (finish_reason {quoted(finish)})")
    return None
