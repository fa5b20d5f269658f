"""The text of a reply -> what it says, or what is wrong with it. Nothing is guessed: a score is what JSON holds."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from raggate.text.jsonio import JsonObject
from raggate.text.quote import cut

MOST_CHARACTERS = 200_000
"""The longest reply that is read."""

LONGEST_TEXT = 400
MOST_ITEMS = 60
"""Characters of a text, and entries of a list, in the schema that a server of one's own generates by."""

# the whole reply, and nothing beside it: what stands in the middle of a text may be quoted from the answer
_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
_SHOWN_PROBLEMS = 3


class ReplyFormat(BaseModel):
    """What a reply must be: an object with these keys, all of them and no others, each of its own type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


F = TypeVar("F", bound=ReplyFormat)


@cache
def schema_of(expected: type[ReplyFormat]) -> JsonObject:
    """Return the JSON schema of a reply, as a request carries it. It is made once: every prompt asks for it."""
    return expected.model_json_schema()


def parse(text: str, expected: type[F]) -> F:
    """Read a reply: one JSON object, in a fence of Markdown or without.

    Raises:
        ValueError: when it is anything else, saying what was expected. Foreign text may stand in it.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"expected at most {MOST_CHARACTERS} characters")
    fenced = _FENCED.fullmatch(text)
    try:
        value = json.loads(fenced[1] if fenced else text, object_pairs_hook=distinct, parse_constant=_no_number)
        # JSON can spell half a character, which no file and no request can hold
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("expected text that can be written as UTF-8, found a lone surrogate") from None
    except RecursionError:
        raise ValueError("expected one JSON object, found nesting without end") from None
    except ValueError as error:
        raise ValueError(f"expected one JSON object and nothing else: {error}") from None
    try:
        return expected.model_validate(value)
    except ValidationError as error:
        raise ValueError("; ".join(map(_sentence, error.errors(include_url=False)[:_SHOWN_PROBLEMS]))) from None


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these keys and values, for `json.loads`.

    Raises:
        ValueError: for a key that occurs twice: one of its values would be lost, and nobody says which.
    """
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key occurs twice")
    return value


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _sentence(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"])) or "the reply"
    return f"{cut(place, limit=80)}: {problem['msg']}"


def bounded(schema: JsonObject, *, passages: int = MOST_ITEMS) -> JsonObject:
    """Return the same schema with a length for every text, which a server that generates by the schema then keeps to.

    A small model may otherwise never come to the end of a text, or of a list of passages. The reply is read without:
    nobody must count letters.

    Args:
        passages: how many there are, at least 1: a list of numbers names no more of them, and no others.
    """
    return {key: _bounded(value, passages) for key, value in schema.items()}


def _bounded(value: object, passages: int) -> object:
    if isinstance(value, list):
        return [_bounded(item, passages) for item in value]
    if not isinstance(value, dict):
        return value
    return {**{key: _bounded(item, passages) for key, item in value.items()}, **_limits(value, passages)}


def _limits(value: JsonObject, passages: int) -> JsonObject:
    match value:
        case {"type": "string"} if "enum" not in value:
            return {"minLength": 1, "maxLength": LONGEST_TEXT}
        case {"type": "array", "items": {"type": "integer"}}:
            return {"maxItems": passages, "items": {"type": "integer", "minimum": 1, "maximum": passages}}
        case {"type": "array"}:
            return {"maxItems": MOST_ITEMS}
        case _:
            return {}
