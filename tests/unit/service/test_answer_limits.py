"""Every text of an answer has a bound."""

from __future__ import annotations

import time
from typing import Any

import pytest
from msgspec.structs import fields, replace

from raggate.inputs.notes import NoteTitles, NoteWords
from raggate.models.golden import Case, Support
from raggate.models.run import Chunk, Reference, Response, Result
from raggate.scoring import score
from raggate.service.answer_limits import MAX_NAME, MAX_PATH, MAX_TEXT, bounded
from tables import each_row

CHUNK = Chunk(chunk_id="c", rel_path="a.md", heading_path="# A", text="t", vault="v", doc_id="d")
REFERENCE = Reference(vault="v", rel_path="a.md", heading_path="# A", chunk_index=0)
LIMITS = {"text": MAX_TEXT, "rel_path": MAX_PATH, "heading_path": MAX_PATH}


def texts_of(noun: type[Any]) -> list[str]:
    return [field.name for field in fields(noun) if "str" in str(field.type) and field.name != "text_hash"]


def with_text(name: str, text: str) -> Response:
    value: dict[str, Any] = {
        "chunks": (CHUNK,),
        "references": (REFERENCE,),
        "selected_folders": (text,),
        "available_folders": (text,),
        "latency": {text: 1.0},
        "cost": {text: 1.0},
        "coverage": {"chunker_version": text},
    }
    return replace(Response(chunks=()), **{name: value.get(name, text)})


@each_row("name", texts_of(Chunk))
def test_each_text_of_a_chunk(name: str) -> None:
    """Each text of a chunk may be as long as its bound, and one character more breaks the protocol."""
    limit = LIMITS.get(name, MAX_NAME)
    whole: dict[str, Any] = {name: "x" * limit}
    fits = Response(chunks=(CHUNK, replace(CHUNK, **whole)))
    assert bounded(fits) is fits
    whole[name] += "x"
    said = f"{name} of passage 2: expected at most {limit} characters, found {limit + 1}"
    with pytest.raises(ValueError, match=said):
        bounded(Response(chunks=(CHUNK, replace(CHUNK, **whole))))


@each_row("name", [*texts_of(Response), "coverage"])
def test_each_text_beside_the_chunks(name: str) -> None:
    """Each text that an answer has beside chunks and references has a bound."""
    bounded(with_text(name, "x" * MAX_NAME))
    with pytest.raises(ValueError, match="expected at most"):
        bounded(with_text(name, "x" * (MAX_TEXT + 1)))


LONG = "x" * 1_001


@each_row("coverage", [{LONG: 1}, {"by_type": {LONG: 1}}, {"by_type": {"md": LONG}}], ids=["key", "inner key", "text"])
def test_texts_of_the_coverage(coverage: dict[str, Any]) -> None:
    """Keys and texts of what the API tells of its index have a bound, also inside of it."""
    with pytest.raises(ValueError, match="index coverage: expected at most 1000"):
        bounded(Response(chunks=(), coverage=coverage))


@each_row("unit", ["\u0327\u0301", "> # ", "#", " ", ">", "a ", "\u0f73\u0301"])
def test_the_largest_answer_is_labelled_at_once(unit: str) -> None:
    """An answer at all of its bounds is labelled in seconds, whatever text it is made of."""
    path, text = (unit * MAX_PATH)[:MAX_PATH], (unit * MAX_TEXT)[:MAX_TEXT]
    chunks = [replace(CHUNK, heading_path=f"{path[8:]}{number}", text=text) for number in range(8)]
    supports = tuple(
        Support(rel_path="a.md", heading_path=path if number % 2 else None, snippets=(text[:20_000],))
        for number in range(32)
    )
    case = Case(id="q", question="a b c", answerable=True, gold_supports=supports)
    response = Response(chunks=tuple(chunks))
    result = Result(case_id="q", mode="hybrid", response=response, failure=None, retries=0, elapsed_ms=1.0)
    begun = time.process_time()
    assert len(score.label(case, result).labels.matches) == 8
    assert time.process_time() - begun < 8  # hours once


@each_row(
    "text",
    [
        pytest.param("&#" + "1" * 5_000 + ";", id="a character reference that no number is"),
        pytest.param("&#x" + "1" * 50_000 + ";", id="a hexadecimal one"),
        pytest.param("&#" + "0" * 5_000 + "65;", id="leading zeros"),
        pytest.param("a" + "\u0327\u0301" * 100_000, id="combining marks"),
        pytest.param("# {#a}" + " " * 100_000 + "x", id="white space after an attribute"),
    ],
)
def test_hostile_text_is_held_against_a_note(text: str) -> None:
    """Any text and heading path is looked up in a note of the same text at once, and without an exception."""
    begun = time.process_time()
    assert NoteWords(text, ("a.md",)).look_up(text)[0]
    NoteTitles(text, "v", "a.md").holds(text)
    assert time.process_time() - begun < 10
