"""Where an unknown API's answer holds its chunks, and which of their keys raggate can read."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from raggate.base.field_paths import find_all, parse
from raggate.config.mapped_settings import ChunkFields
from raggate.service.discovery.shapes import recognise
from tables import each_row
from tries import tried

HIT = {"path": "a.md", "text": "x"}
BOTH = {"rel_path": "path", "text": "text"}


@each_row(
    ("root", "path", "fields"),
    [
        (
            {"hits": [{"_id": 7, "meta": {"file": "a.md", "section": ["A", "B"]}, "body": "x", "score": 2.5}]},
            "hits",
            {"rel_path": "meta.file", "text": "body", "heading_path": "meta.section", "score": "score", "id": "_id"},
        ),
        ({"groups": [{"hits": [HIT]}, {"hits": []}]}, "groups[*].hits[*]", BOTH),
        ([HIT], "$", BOTH),
        (
            [[{"page_content": "x", "metadata": {"source": "a.md"}}, 0.9]],
            "$",
            {"rel_path": "[0].metadata.source", "text": "[0].page_content", "score": "[1]"},
        ),
        (
            {"data": [{"file_id": "f", "filename": "a.md", "score": 0.9, "content": [{"type": "text", "text": "T"}]}]},
            "data",
            {"rel_path": "filename", "text": "content[0].text", "score": "score"},
        ),
        # what it holds says more than what it is called
        (
            {"r": [{"source": "crawler", "odd key": "x/a.md", "text": "t"}]},
            "r",
            {"rel_path": '"odd key"', "text": "text"},
        ),
        # decimals may stand in quotes, which sorts 10.0 below 9.5 only as text
        ({"r": [{**HIT, "score": "10.0"}, {**HIT, "score": "9.5"}]}, "r", {**BOTH, "score": "score"}),
        # a distance rises down the list, and is no score
        ({"r": [{**HIT, "score": 0.1}, {**HIT, "score": 0.2}]}, "r", BOTH),
        # the longer list is of something else
        ({"log": [{"id": 1}, {"id": 2}], "found": [HIT]}, "found", BOTH),
        # an id that counts the list names another chunk in the next answer
        ({"r": [{**HIT, "id": "0"}, {**HIT, "id": "1"}]}, "r", BOTH),
        ({"r": [{**HIT, "id": 2}, {**HIT, "id": 1}]}, "r", {**BOTH, "id": "id"}),
        # the first of each group would leave the others out
        ({"sources": [{"id": "s", "score": 1, "documents": [HIT, HIT]}]}, "sources[*].documents[*]", BOTH),
        # the note may be named by what the chunks stand in; scores then fall within a group alone
        (
            {"groups": [{"doc": {"path": "a.md"}, "hits": [{"text": "x", "score": score}]} for score in (3, 1)]},
            "groups[*].hits[*]",
            {"rel_path": "groups[*].doc.path", "text": "text"},
        ),
        # a list of notes whose texts stand in lists of theirs, as Elasticsearch has its inner hits
        (
            {"hits": [{"_score": 2.0, "_source": {"path": "a.md"}, "inner": {"hits": [{"_source": {"text": "x"}}]}}]},
            "hits[*].inner.hits[*]",
            {"rel_path": "hits[*]._source.path", "text": "_source.text"},
        ),
        # but a part of a chunk is none
        ({"hits": [{**HIT, "marks": [{"text": "x"}]}, {**HIT, "marks": [{"text": "y"}]}]}, "hits", BOTH),
        # a path below the notes is better than one of some machine
        (
            {"r": [{"path": "/home/me/notes/a.md", "file_name": "a.md", "text": "x"}]},
            "r",
            {"rel_path": "file_name", "text": "text"},
        ),
        # as LlamaIndex names the headings
        (
            {"nodes": [{"text": "x", "metadata": {"file": "a.md", "header_path": "/A/"}}]},
            "nodes",
            {"rel_path": "metadata.file", "text": "text", "heading_path": "metadata.header_path"},
        ),
        # what is not in every entry is not mapped
        ({"r": [{**HIT, "id": "1"}, HIT]}, "r", BOTH),
    ],
)
def test_a_shape_is_recognised(root: Any, path: str, fields: dict[str, str]) -> None:
    """The list whose entries tell most is that of the chunks, and each part has the likeliest path."""
    shape = recognise(root, {"a.md"})
    assert shape is not None
    assert (shape.list, shape.fields) == (path, fields)


@each_row("root", [None, [], {"hits": []}, {"hits": ["a.md"]}, {"rows": [["a.md", "x"]]}, {"hits": [{"n": 1}]}])
def test_no_list_of_chunks_is_none(root: Any) -> None:
    """An answer without a list of mappings that tell a note or a text has no shape."""
    assert recognise(root, {"a.md"}) is None


def test_a_list_that_was_named_is_the_one() -> None:
    """Who says where the chunks stand is believed, and told what their texts are."""
    root = {"first": [HIT], "second": [{"name": "b"}]}
    shape = recognise(root, set(), at="second")
    assert shape is not None
    assert (shape.list, dict(shape.fields), shape.texts) == ("second", {}, ["name"])
    assert recognise(root, set(), at="first.x") is None


NAMES = st.sampled_from(["hits", "path", "text", "score", "id", "a b", "x.y", '"', "\n", "data", "[0]", "headings"])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=30
)


@tried(60)
@given(VALUES)
def test_whatever_an_api_answers_its_paths_are_sound(root: Any) -> None:
    """What is recognised in any answer are paths that lead to its chunks, and that the configuration takes."""
    shape = recognise(root, {"a.md"})
    if shape is not None:
        assert len(find_all(parse(shape.list), root, limit=1000) or ()) >= shape.entries > 0
        ChunkFields(list=shape.list, doc_id="id", **shape.fields)
