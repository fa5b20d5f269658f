"""Names of modes: aliases, and which mode a question is asked in."""

from __future__ import annotations

from typing import Any

import pytest

from raggate.config.ask_settings import Ask
from raggate.config.question_settings import asked_in, distinct_modes
from tables import each_row


@each_row(
    ("named", "mode", "expected"),
    [
        pytest.param(None, "anything", True, id="a question that names no mode"),
        pytest.param(("vector",), "vector", True, id="the same name"),
        pytest.param(("vector",), "hybrid", False, id="another mode"),
        pytest.param(("bm25",), "fts", True, id="an alias is asked"),
        pytest.param(("fts",), "bm25", True, id="an alias is named"),
        pytest.param(("hybrid",), "hybrid_rerank", True, id="hybrid covers hybrid_rerank"),
        pytest.param(("hybrid_rerank",), "hybrid", False, id="and not the other way round"),
        pytest.param(("vector",), "vector_rerank", False, id="no other mode is covered"),
        pytest.param((), "hybrid", False, id="no mode at all"),
        pytest.param(("vector",), "no-mode", True, id="an API that is sent no mode"),
        pytest.param((), "no-mode", False, id="no mode at all, and none is sent"),
    ],
)
def test_asked_in(named: tuple[str, ...] | None, mode: str, *, expected: bool) -> None:
    """A question is asked in the modes it names, whatever name they go by; `hybrid` covers `hybrid_rerank`."""
    assert asked_in(named, mode) is expected


RESPONSE = {"chunks": {"list": "hits", "rel_path": "path", "text": "text"}}
MAPPED = {"path": "/search", "body": {"q": "{question}"}, "response": RESPONSE}


@each_row(
    ("section", "modes"),
    [
        ({"adapter": "mapped", **MAPPED}, ["no-mode"]),
        ({"adapter": "mapped", **MAPPED, "headers": {"x-mode": "{mode}"}}, ["hybrid"]),
        ({"adapter": "mapped", **MAPPED, "modes": ["lexical"]}, ["lexical"]),
        ({}, ["hybrid"]),
    ],
)
def test_the_mode_of_an_api_that_is_sent_none(section: dict[str, Any], modes: list[str]) -> None:
    """An API that is sent no mode is asked in `no-mode`, unless the file names modes."""
    assert Ask.model_validate(section).modes == modes


def test_distinct_modes() -> None:
    """Two names of one mode in a list are refused; the modes of a list stay as they are written."""
    assert distinct_modes(["fts", "vector", "hybrid", "hybrid_rerank"]) == ["fts", "vector", "hybrid", "hybrid_rerank"]
    with pytest.raises(ValueError, match="one of 'fts' and 'bm25', which are one mode"):
        distinct_modes(["fts", "vector", "bm25"])
