"""Every preset is a configuration, and reads what its engine answered, or an answer of the shape that it documents."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from raggate.base.errors import UsageError
from raggate.cli import first_config
from raggate.config import schema
from raggate.config.schema import Config
from raggate.models.golden import Case
from raggate.models.run import Response
from raggate.service.adapters.mapped import MappedAdapter, filled_json, values_of
from raggate.service.adapters.mapped_response import state_of
from raggate.service.adapters.mcp import McpAdapter
from tables import each_row

ROOT = Path(__file__).parents[3]
ANSWERS = ROOT / "tests" / "data" / "presets"
NAMES = sorted(item.name.removesuffix(".yml") for item in files("raggate.cli").joinpath("presets").iterdir())
CASE = Case(id="q1", question='Where is the "spare" key?', answerable=True)
BASE = {"rel_path": "Keys.md", "text": "The spare key is under the mat.", "heading_path": "# Keys > ## Spare"}
NOTE = (
    "# Keys\n\nKeys of the garden are numbered.\n\n## Spare\n\nThe spare key is under the mat.\n\n## Lost\n\n"
    "Whoever loses a key pays 25 euros for a new lock."
)
WHOLE = {"heading_path": "", "text": NOTE}
TELLS_LESS = {
    "hayhooks": {"text": "\n\nThe spare key is under the mat.\n\n"},
    "llama-stack": {"heading_path": "", "text": f"{NOTE}\n"},
    "r2r": {"heading_path": ""},
    "basic-memory": WHOLE,
    "basic-memory-mcp": WHOLE,
    "khoj": {"heading_path": "", "text": "# Keys\n## Spare\nThe spare key is under the mat."},
}
NO_SCORE = {"weaviate", "chroma", "langserve", "basic-memory", "basic-memory-mcp", "khoj"}
TRIED: dict[str, str] = json.loads((ANSWERS / "tried.json").read_bytes())
"""Preset -> the software and version whose real answer is in the file of that name; the others are documented."""


def loaded(name: str, url: str = "") -> Config:
    text = "suite: notes\nvault: {notes: notes}\n" + first_config.preset(name, url)
    return schema.load(text.encode(), "raggate.yml")


def read(name: str, answer: Any) -> Response:
    settings = loaded(name)
    if settings.ask.adapter == "mcp":
        return McpAdapter.of(settings, {})._read(answer)
    return MappedAdapter(settings.ask, ("notes",), {"ES_API_KEY": "k"}).parse(json.dumps(answer).encode(), CASE)


@each_row("name", NAMES)
def test_a_preset_reads_its_engines_answer(name: str) -> None:
    """The note, the heading and the text of the chunk come out as the notes have them, and the score if it falls."""
    (chunk,) = read(name, json.loads((ANSWERS / f"{name}.json").read_bytes())).chunks
    told = {"rel_path": chunk.rel_path, "text": chunk.text, "heading_path": chunk.heading_path}
    assert told == BASE | TELLS_LESS.get(name, {})
    assert (chunk.score_final is None) == (name in NO_SCORE)


@each_row("name", NAMES)
def test_the_docs_say_what_a_preset_was_tried_with(name: str) -> None:
    """Each preset has its row, which names the software of the answer here, or says that there was none."""
    row = f"| `{name}` | {TRIED[name]} |" if name in TRIED else f"| `{name}` | not tried:"
    assert row in (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")


@each_row(
    ("name", "answer", "counts"),
    [
        ("opensearch", {"hits": {"total": {"value": 510}}, "aggregations": {"documents": {"value": 65}}}, (65, 510)),
        ("elasticsearch", {"hits": {"total": {"value": 510}}, "aggregations": {"documents": {"value": 65}}}, (65, 510)),
        ("solr", {"response": {"numFound": 510}, "facets": {"count": 510, "documents": 65}}, (65, 510)),
        ("solr", {"response": {"numFound": 0}, "facets": {"count": 0}}, (0, 0)),
        ("weaviate", {"data": {"Aggregate": {"Notes": [{"meta": {"count": 510}}]}}}, (None, 510)),
        ("qdrant", {"result": {"points_count": 510}}, (None, 510)),
        ("vespa", {"root": {"fields": {"totalCount": 510}}}, (None, 510)),
        ("r2r", {"results": [], "total_entries": 65}, (65, None)),
        ("llama-stack", {"status": "completed", "file_counts": {"completed": 65}}, (65, None)),
        ("basic-memory", {"total": 65}, (65, None)),
        ("basic-memory-mcp", {"result": {"total": 65}}, (65, None)),
    ],
)
def test_a_preset_counts_what_its_engine_can(name: str, answer: object, counts: tuple[int | None, int | None]) -> None:
    """The number of notes or of chunks is read where the engine tells it, also of an index that is empty."""
    index = loaded(name).ask.index
    assert index is not None
    state = state_of(index, answer)
    assert (state.documents, state.chunks) == counts
    assert not state.indexing


def sent_by(name: str) -> list[Any]:
    """Return the values that a preset sends for the question."""
    settings = loaded(name)
    if settings.ask.adapter == "mcp":
        return values(filled_json(settings.ask.body, values_of(CASE, "hybrid", settings.ask)))
    call = MappedAdapter(settings.ask, ("notes",), {"ES_API_KEY": "k"}).call(CASE, "hybrid")
    return [*values(call.json), *(value for _, value in parse_qsl(urlsplit(call.path).query))]


def values(part: Any) -> list[Any]:
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
    return [part] if inner is None else [value for item in inner for value in values(item)]


@each_row("name", NAMES)
def test_a_preset_asks_the_question_whole(name: str) -> None:
    """The question goes out as it is, as a value of its own, so that no sign of it means anything."""
    sent = sent_by(name)
    assert CASE.question in sent
    counts = {10, "10"} & {value for value in sent if isinstance(value, int | str)}
    assert name == "langserve" or counts or any("limit: 10" in str(value) for value in sent)


@each_row(
    ("name", "answer", "said"),
    [
        ("opensearch", {"timed_out": True, "hits": {"hits": []}}, "reports an error: 'true'"),
        ("solr", {"responseHeader": {"partialResults": True}, "response": {"docs": []}}, "reports an error"),
        ("weaviate", {"data": {"Get": None}, "errors": [{"message": "no class Notes"}]}, "no class Notes"),
        (
            "vespa",
            {"root": {"fields": {"totalCount": 0}, "errors": [{"code": 8, "message": "bad query"}]}},
            "bad query",
        ),
        ("vespa", {"root": {"fields": {"totalCount": 3}}}, "root.children: expected a list, found nothing"),
        ("hayhooks", {"detail": "no such pipeline"}, "expected a list, found nothing"),
    ],
)
def test_an_error_of_an_engine_is_no_empty_answer(name: str, answer: object, said: str) -> None:
    """What an engine says beside a status 200 when something went wrong fails the call."""
    with pytest.raises(ValueError, match=r"expected|reports") as caught:
        read(name, answer)
    assert said in str(caught.value)


@each_row(
    ("name", "answer"),
    [
        ("opensearch", {"timed_out": False, "hits": {"hits": []}}),
        ("vespa", {"root": {"fields": {"totalCount": 0}}}),
        ("chroma", {"ids": [[]], "documents": [[]], "metadatas": [[]]}),
        ("weaviate", {"data": {"Get": {"Notes": []}}}),
    ],
)
def test_nothing_found_is_an_empty_answer(name: str, answer: object) -> None:
    """An engine that finds nothing has answered."""
    assert read(name, answer).chunks == ()


@each_row("name", NAMES)
def test_a_preset_loosens_nothing(name: str) -> None:
    """A preset says how an API is reached and read: gate, invariants and all else stay as they are by default."""
    made = loaded(name)
    plain = schema.load(b"vault: {notes: notes}\nsuite: notes\napi: {url: 'http://x'}\n", "raggate.yml")
    assert made.model_copy(update={"api": plain.api, "ask": plain.ask}) == plain
    asked = {"adapter", "modes", "path", "tool", "body", "headers", "index", "response"}
    assert made.ask.model_dump(exclude=asked) == plain.ask.model_dump(exclude=asked)


def test_another_address() -> None:
    """An address that is given takes the place of the usual one, and only one without a path does; names are known."""
    with pytest.raises(UsageError, match=r"expected one of basic-memory, .*chroma.*Did you mean 'opensearch'"):
        first_config.preset("opensarch", "")
    assert loaded("r2r", "https://r2r.example:1").api.url == "https://r2r.example:1"
    with pytest.raises(UsageError, match="expected the address without a path"):
        loaded("r2r", "http://x/v3")
    with pytest.raises(UsageError, match="starts its own server"):
        loaded("basic-memory-mcp", "http://x")
    hostile = 'http://x"}\ngate: {tolerance: 1}\n#'
    with pytest.raises(UsageError):
        loaded("r2r", hostile)
