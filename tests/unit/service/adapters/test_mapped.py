"""The mapped adapter without a server: settings that are refused, requests that are filled, bodies that are read."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from mapped_api import adapter, mapped
from raggate.base.errors import UsageError
from raggate.models.golden import Case
from raggate.models.run import Chunk, Response
from raggate.service.adapters.mapped import MappedAdapter
from tables import each_row

CASE = Case(id="c1", question="Where?", answerable=True)


@each_row(
    ("changes", "expected"),
    [
        ({"response__chunk": {}}, "Extra inputs are not permitted"),
        ({"response__errors": "a[1:]"}, "without [*]"),
        ({"response__stream": False}, "Input should be True"),
        ({"response__chunks": {"list": {}, "id": "i"}}, "expected a path, or names with the paths of parallel lists"),
        ({"response__chunks": {"list": {"a b": "a"}, "id": "i"}}, "should match pattern"),
        ({"response__chunks": {"list": {"i": "a[*]"}, "id": "i"}}, "expected a path to one value, without [*]"),
        ({"response__chunks": {"list": {"ids": "a"}, "id": "id"}}, "found 'id'. Did you mean 'ids'?"),
        (
            {"response__chunks": {"list": {"ids": "a"}, "id": "ids", "heading_path": ["ids", "h"]}},
            "expected 'heading_path' to begin with a name in 'list', found 'h'",
        ),
        ({"response__chunks": {"list": "a", "id": "i", "heading_path": []}}, "a list of 1 to 10 paths"),
        (
            {"response__chunks": {"list": "a", "id": "i", "heading_path": ["b[*].h"]}},
            "or to begin as 'list' does, found 'b[*].h'",
        ),
        ({"response__chunks": {"list": {"i": "a"}, "id": "i[*]"}}, "expected 'id' without [*]"),
        ({"response__chunks__list": "a[?(@.x>1)]"}, "expected a path such as"),
        ({"response__chunks": {"list": "a"}}, "at least one of 'id', 'doc_id' and 'rel_path'"),
        ({"response__chunks": {"list": "a", "id": "i", "path_prefix": "/"}}, "'rel_path' beside 'path_prefix'"),
        ({"response__abstained": {"a": ["x"], "b": []}}, "or one field with its values, such as `{state: [busy]}`"),
        ({"response__abstained": {"a": "x"}}, "expected a list of values, such as `{a: [busy]}`"),
        ({"response__abstained": {"a[*]": []}}, "expected a path to one value, without [*]"),
        ({"response__abstained": {"a": [["x"]]}}, "expected text, a number, true, false or null"),
        ({"path": "v2"}, "starts with /"),
        ({"path": "/v2#x"}, "no # or white space"),
        ({"path": "/v2?x={y}"}, "found {y}"),
        ({"body": {"q": "{question} {"}}, "expected {{ and }}"),
        ({"body": {"q": "{Question}"}}, "found {Question}. Did you mean {question}?"),
        ({"body": {"q": "x"}}, "expected {question} in"),
        ({"index": {"path": "/i"}}, "at least one of 'documents'"),
        ({"index__body": {"day": date(2026, 1, 1)}}, "expected what JSON has"),
        ({"headers": {"X": "{env.GITHUB_TOKEN}"}}, "not the runner's, Docker's or raggate's, found 'GITHUB_TOKEN'"),
        ({"response": ...}, "expected 'response' with `adapter: mapped`"),
        ({"tool": "search"}, "expected `adapter: mcp` with 'tool', found `adapter: mapped`"),
        ({"index__path": ...}, "index: expected 'path', and no 'tool', with `adapter: mapped`"),
        ({"headers": {"Host": "x"}}, "that raggate does not set"),
        ({"headers": {"X": "a\r\nB: c"}}, "printable ASCII"),
        ({"headers": {"X": "{question}"}}, "found {question}"),
        ({"headers": {"X-A": "1", "x-a": "2"}}, "each name once"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], expected: str) -> None:
    """A wrong path, placeholder, header or combination is an error when the configuration is read."""
    with pytest.raises(ValidationError) as caught:
        mapped(**changes)
    assert expected in str(caught.value)


def test_the_adapter_needs_its_secrets() -> None:
    """Without a variable that a header names, nothing is asked; values are never told."""
    with pytest.raises(UsageError, match="SEARCH_KEY, which"):
        adapter(environment={})
    with pytest.raises(UsageError) as caught:
        adapter(environment={"SEARCH_KEY": "s3c\nret"})
    assert "s3c" not in caught.value.message


def test_placeholders_keep_their_type_or_become_text() -> None:
    """Alone a placeholder is a number, a list or nothing at all; inside a longer text it is text."""
    body = {
        "q": "{question}",
        "n": ["{k}", "{detail}", "{vaults}"],
        "text": "{k} of {vaults} {{k}} {folders}.",
        "fixed": [1, None, True, 0.5],
        "gone": "{folders}",
    }
    case = Case(id="a/b", question="{k}", answerable=True, k=3, vaults=("x", "y"))
    call = adapter(mapped(body=body, path="/{case_id}/{mode}")).call(case, "hybrid")
    assert call.json == {"q": "{k}", "n": [3, ["x", "y"]], "text": "3 of x,y {k} .", "fixed": [1, None, True, 0.5]}
    assert call.path == "/a%2Fb/hybrid"
    assert getattr(call, "headers", None) == {"Authorization": "Bearer s3cret"}


def test_a_get_request_has_no_body() -> None:
    """A question can go into the query; what the case does not say is left out there too."""
    settings = mapped(path="/s?q={question}&in={vaults}&detail={detail}&a%20b=50%25&k={k}", body=...)
    call = adapter(settings).call(Case(id="a", question="ü &", answerable=True, vaults=("x", "y")), "m")
    assert (call.method, call.json) == ("GET", None)
    assert call.path == "/s?q=%C3%BC+%26&in=x%2Cy&a%20b=50%25&k=10"
    with pytest.raises(UsageError, match="URL of more than"):
        adapter(settings).call(Case(id="a", question="ü" * 9_000, answerable=True), "m")


@each_row("name", [".", ".."])
def test_a_case_cannot_climb_out_of_the_path(name: str) -> None:
    """An id of dots alone stays one step of the path."""
    settings = mapped(path="/v2/{case_id}/x")
    assert ".." not in adapter(settings).call(Case(id=name, question="q", answerable=True), "m").path


def read(body: object, *, retrieval_only: bool = False, **response: Any) -> Response:
    settings = mapped(response={"chunks": {"list": "hits", "id": "id"}, **response})
    return adapter(settings, retrieval_only=retrieval_only).parse(json.dumps(body).encode(), CASE)


def chunk(hit: object, **fields: Any) -> Chunk:
    settings = mapped(response={"chunks": {"list": "$", "id": "id", **fields}})
    (found,) = adapter(settings, retrieval_only=True).parse(json.dumps([hit]).encode(), CASE).chunks
    return found


@each_row(
    ("headings", "separator", "expected"),
    [
        (["A", "B"], None, "# A > ## B"),
        (["# A", "### B"], None, "# A > ### B"),
        (["A", " "], None, "# A"),
        (None, None, ""),
        ("# A > ## B", None, "# A > ## B"),
        ("A / B", " / ", "# A > ## B"),
    ],
)
def test_headings_become_a_heading_path(headings: object, separator: str | None, expected: str) -> None:
    """Lists and separated texts become headings with level marks; a text is taken as it is."""
    assert chunk({"id": "x", "h": headings}, heading_path="h", heading_separator=separator).heading_path == expected


@each_row(
    ("hit", "expected"),
    [
        ({"Header 1": "A", "Header 3": None}, "# A"),
        ({"Header 1": ["A", "B"], "Header 2": "C"}, "# A > ## B > ### C"),
        ({"Header 1": "# A", "Header 2": "## B"}, "# A > ## B"),
    ],
)
def test_each_level_of_the_headings_may_be_a_field_of_its_own(hit: dict[str, Any], expected: str) -> None:
    """Headings of several fields are joined in their order, and levels that are missing are left out."""
    paths = ['"Header 1"', '"Header 2"', '"Header 3"']
    assert chunk({"id": "x", **hit}, heading_path=paths).heading_path == expected


def test_a_chunk_has_all_its_parts() -> None:
    """Ids may be numbers, and optional parts may be null."""
    hit = {"id": 7, "d": 8, "p": "x/a.md", "v": 0.5, "l": None, "s": 2, "w": "home", "t": ""}
    paths = {"doc_id": "d", "rel_path": "p", "path_prefix": "x/", "score": "s"}
    found = chunk(hit, **paths, score_vector="v", score_lexical="l", vault="w", text="t")
    assert found == Chunk(
        chunk_id="7",
        rel_path="a.md",
        heading_path="",
        text="",
        score_final=2.0,
        score_vector=0.5,
        vault="home",
        doc_id="8",
    )


@each_row(("written", "score"), [("0.8700", 0.87), ("-3", -3.0), ("1e-3", 0.001), ("12", 12.0), ("-0.0", 0.0)])
def test_a_score_may_be_a_text(written: str, score: float) -> None:
    """Decimals that stand in quotes, as exact ones do, are the numbers that they say."""
    assert chunk({"id": "x", "s": written}, score="s").score_final == score


@each_row("written", ["", " 1", "0,87", "nan", "Infinity", "1e999", "1_0", "٣", "0x1", "87%", ".5", "1."])
def test_a_text_that_is_no_decimal_fails_the_call(written: str) -> None:
    """What only Python, or only somebody's eye, takes for a number is none."""
    with pytest.raises(ValueError, match=r"\[0\].s: expected a number, found"):
        chunk({"id": "x", "s": written}, score="s")


def test_what_stands_beside_a_list_is_read_for_each_of_its_chunks() -> None:
    """Where an answer groups its chunks by note, the path of the note is the group's; a message names its place."""
    body = {
        "groups": [{"doc": {"path": "a.md", "top": "A"}, "hits": [{"h": "B"}, {"h": "C"}]}, {"doc": {}, "hits": []}]
    }
    chunks = {"list": "groups[*].hits[*]", "rel_path": "groups[*].doc.path", "heading_path": ["groups[*].doc.top", "h"]}
    reader = adapter(mapped(response={"chunks": chunks}), retrieval_only=True)
    response = reader.parse(json.dumps(body).encode(), CASE)
    places = [(chunk.rel_path, chunk.heading_path) for chunk in response.chunks]
    assert places == [("a.md", "# A > ## B"), ("a.md", "# A > ## C")]
    body["groups"][1]["hits"] = [{}]
    with pytest.raises(
        ValueError, match=r"^groups\[1\].doc.path: expected text, found nothing; groups\[1\].doc has no keys"
    ):
        reader.parse(json.dumps(body).encode(), CASE)


def test_without_an_id_chunks_are_known_by_what_they_are() -> None:
    """The same chunk has the same id in every answer, and another text another one."""
    first, same, other = (chunk({"p": "a.md", "t": text}, id=None, rel_path="p", text="t") for text in "xxy")
    assert first.chunk_id == same.chunk_id != other.chunk_id


@each_row(("path", "expected"), [("/v/work2/a.md", ("a.md", "work2")), ("/v/home/a.md", ("/v/home/a.md", None))])
def test_the_longest_prefix_tells_the_vault(path: str, expected: tuple[str, str | None]) -> None:
    """A vault whose name begins another one's does not take its notes; an unknown vault leaves the path alone."""
    section = mapped(response={"chunks": {"list": "$", "rel_path": "p", "path_prefix": "/v/{vault}/"}})
    asked = MappedAdapter(section, ("work", "work2"), {"SEARCH_KEY": "x"})
    (found,) = asked.parse(json.dumps([{"p": path}]).encode(), CASE).chunks
    assert (found.rel_path, found.vault) == expected


@each_row(
    ("rule", "said", "expected"),
    [
        ("x", None, False),
        ({"x": [1]}, True, False),
        ({"x": [1]}, 1.0, True),
        ({"x": ["no", None]}, None, True),
        ({"x": ["no", None]}, "yes", False),
        ({"x": []}, " \n", True),
        ({"x": []}, 0, False),
    ],
)
def test_abstaining_is_told_by_a_rule(rule: object, said: object, expected: bool) -> None:
    """True itself, one of some values, or emptiness mean that the API abstained; 1 and true are not the same."""
    assert read({"hits": [], "x": said}, abstained=rule).abstained is expected


def test_an_empty_answer_is_no_abstention_where_none_was_asked_for() -> None:
    """With retrieval_only neither answer nor emptiness counts, and references are not read."""
    fields: dict[str, Any] = {"answer": "a", "abstained": {"a": []}}
    fields["references"] = {"list": "r", "rel_path": "$"}
    found = read({"hits": [], "r": 7}, retrieval_only=True, **fields)
    assert (found.answer, found.abstained, found.references) == (None, False, ())
    found = read({"hits": [], "r": ["a.md"]}, **fields)
    assert (found.answer, found.abstained, found.references[0].rel_path) == ("", True, "a.md")


KEYS = st.sampled_from("data hits reply text outcome cites source took _id meta file body".split())
LEAVES = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4)
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner), max_leaves=20)


@given(body=st.binary(max_size=60) | JSON.map(orjson.dumps))
def test_no_body_does_more_than_fail(body: bytes) -> None:
    """Whatever a body holds, it is a response, or a ValueError that names the case."""
    try:
        found = adapter().parse(body, CASE)
    except ValueError as error:
        assert str(error).endswith("(question 'c1')")  # noqa: PT017 - either is right
    else:
        assert isinstance(found, Response)
