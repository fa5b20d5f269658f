"""What a reply says is what its JSON holds, and nothing else in it."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from judging import Grade
from raggate.judges.replies import (
    ContextRelevancyReply,
    GroundednessReply,
    bounded,
    parse,
    schema_of,
)
from tables import each_row


@each_row(
    "text",
    [
        '{"score": 3}',
        '\n {"score":3}\n',
        '```json\n{"score": 3}\n```',
    ],
)
def test_an_object_is_read_with_and_without_a_fence(text: str) -> None:
    """A JSON object is read, also in a fence of Markdown that is the whole reply."""
    assert parse(text, Grade) == Grade(score=3)


@each_row(
    "text",
    [
        "",
        "[5]",
        'The score is {"score": 5}',
        '{"score": 5}\nI am sure.',
        'Sure!\n```json\n{"score": 5}\n```',
        '```json\n{"score": 1}\n```\n```json\n{"score": 5}\n```',
        '{"score": 1, "score": 5}',
        '{"score": "5"}',
        '{"score": true}',
        '{"score": NaN}',
        '{"score": 5, "note": "well done"}',
        '{"score": 5',
        "{'score': 5}",
        "[" * 100_000,
    ],
)
def test_what_is_not_the_one_object_is_no_reply(text: str) -> None:
    """Text beside the object, two of them, a key twice, other keys or types: none of it is a score."""
    with pytest.raises(ValueError, match=r"."):
        parse(text, Grade)


@given(st.text())
def test_any_text_is_a_reply_or_an_error(text: str) -> None:
    """Whatever a server sends is read as a score or refused, and nothing else is raised."""
    with suppress(ValueError):
        assert parse(text, Grade).model_fields_set == {"score"}


REPLY = {
    "reasoning": "It says so.",
    "supported_claims": ["220 degrees"],
    "unsupported_claims": [],
    "uncited_major_claims": [],
    "score": 1,
}


@each_row("change", [{"reasoning": ""}, {"reasoning": " \n"}, {"score": True}, {"score": False}])
def test_a_grade_needs_reasons_and_a_number(change: dict[str, object]) -> None:
    """A grade without reasons is none, and true is no point, though Python takes it for 1."""
    assert parse(json.dumps(REPLY), GroundednessReply).score == 1
    with pytest.raises(ValueError, match=f"^{next(iter(change))}: .*expected"):
        parse(json.dumps({**REPLY, **change}), GroundednessReply)


def test_half_a_character_is_no_reply() -> None:
    """A lone surrogate, which no file can hold, is refused, and a pair of them is a character."""
    with pytest.raises(ValueError, match="lone surrogate"):
        parse(json.dumps({**REPLY, "reasoning": "\ud83d"}), GroundednessReply)
    assert parse(json.dumps({**REPLY, "reasoning": "\U0001f600"}), GroundednessReply).reasoning == "\U0001f600"


def test_a_server_of_ones_own_is_bound_to_lengths_and_passages() -> None:
    """Its schema wants reasons, ends lists in time, and lets one name three of three passages; others have no lengths.

    Not every provider's own server takes a schema with lengths.
    """
    assert bounded(schema_of(GroundednessReply))["properties"]["reasoning"]["minLength"] == 1  # type: ignore[index]
    assert "minLength" not in json.dumps(schema_of(GroundednessReply))
    numbers = {"minimum": 1, "maximum": 3, "type": "integer"}
    listed = bounded(schema_of(ContextRelevancyReply), passages=3)["properties"]["helpful_passages"]  # type: ignore[index]
    assert (listed["items"], listed["maxItems"]) == (numbers, 3)
    assert bounded(schema_of(GroundednessReply), passages=3)["properties"]["supported_claims"]["maxItems"] == 60  # type: ignore[index]
