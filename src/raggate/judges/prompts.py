"""A rubric and what is to be graded -> the messages of a request.

Rubrics are files of the package. What is graded is foreign text, and reaches the model as the strings of a JSON object
alone, between two lines that name the hash of that object: no text can hold its own hash, so none can end the material.
What is the same for every answer comes first, up to the hash: a server that keeps what it has read reads that once.
Line breaks, characters that are not seen, and what models take for their own control tokens stand there as escapes of
JSON, which no tokenizer reads as such.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from importlib import resources
from typing import Literal

from raggate.judges.parse import ReplyFormat, bounded, schema_of
from raggate.models.judging import Message, Prompt
from raggate.text.jsonio import JsonObject, dumps, fields, printable
from raggate.text.quote import cut

Frame = Literal["first", "second", "question"]
"""The wording around the material. A spot check by the same model uses the second; `question` asks for no grade."""

# chat templates mark turns by <|…|>, <s>, <start_of_turn>, [INST], [gMASK] or [|…|]; servers read those in messages too
_CONTROL_TOKEN = re.compile(r"\[(?=\||/?[a-z]{0,3}[A-Z_]{3,40}\])")
_MARK_LENGTH = 16
_SHOWN = 160


def render(
    rubric: str,
    material: JsonObject,
    expected: type[ReplyFormat],
    *,
    frame: Frame = "first",
    limited: bool = False,
) -> Prompt:
    """Return the prompt that asks for a grade.

    Args:
        material: what is graded; every text in it is foreign.
        limited: whether the schema limits the length of texts and lists, which not every provider's own server allows.
    """
    data = as_data(material)
    mark = hashlib.sha256(data.encode()).hexdigest()[:_MARK_LENGTH]
    numbers = max(1, len(_passages(material)))
    schema = bounded(schema_of(expected), passages=numbers) if limited else schema_of(expected)
    return Prompt(
        name=rubric,
        template=template(rubric, expected, frame=frame),
        messages=(
            Message(role="system", text=_text(rubric)),
            Message(role="user", text=_text(f"frame_{frame}").format(mark=mark, material=data)),
        ),
        schema=schema,
        about=_about(material, mark),
    )


def template(rubric: str, expected: type[ReplyFormat], *, frame: Frame = "first") -> str:
    """Return the hash of all that a prompt holds before anything is graded: rubric, frame and schema."""
    parts = {"rubric": _text(rubric), "frame": _text(f"frame_{frame}"), "schema": schema_of(expected)}
    return hashlib.sha256(dumps(parts)).hexdigest()


def as_data(material: JsonObject) -> str:
    """Write what is graded as JSON in which no text begins a line, ends the material or is a control token."""
    return without_control_tokens(dumps(material, pretty=True).decode()).strip()


def without_control_tokens(text: str) -> str:
    """Write as escapes of JSON what is not seen, and what models take for their own control tokens."""
    return _CONTROL_TOKEN.sub(r"\\u005b", printable(text).replace("<", r"\u003c"))


def _about(material: JsonObject, mark: str) -> JsonObject:
    """Which answer it is, for people: the beginnings of its texts, and where passages are from, not their texts."""
    texts = {key: cut(value, limit=_SHOWN) for key in ("question", "answer", "claim") if (value := material.get(key))}
    sources = [fields(item).get("source") for item in _passages(material)]
    return {**texts, **({"sources": sources} if sources else {}), "material": mark}


def _passages(material: JsonObject) -> list[object]:
    passages = material.get("passages")
    return passages if isinstance(passages, list) else []


@lru_cache(maxsize=32)
def _text(name: str) -> str:
    return resources.files("raggate.judges").joinpath("rubrics", f"{name}.md").read_text(encoding="utf-8").strip()
