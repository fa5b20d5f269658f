"""The indexes that an engine has are named beside one that it has not; whatever it tells is bounded and quoted."""

from __future__ import annotations

from typing import Any

from raggate.service.engines import indexes_beside
from tables import each_row

CATALOGUE = [{"index": ".tasks"}, {"index": "noted"}, {"index": "books"}]


@each_row(
    ("path", "listing", "answer", "said"),
    [
        (
            "/notes/_search",
            "/_cat/indices?format=json&h=index",
            CATALOGUE,
            "it has no index 'notes'; its indexes: 'noted' and 'books'",
        ),
        ("/notes/_count", "/_cat/indices?format=json&h=index", CATALOGUE[:1], "it has no index at all"),
        (
            "/solr/no%20tes/query",
            "/solr/admin/cores?indexInfo=false&wt=json",
            {"status": {"notes": {}, "books": {}}},
            "it has no core 'no tes'; its cores: 'notes' and 'books'",
        ),
        (
            "/collections/notes/points/count",
            "/collections",
            {"result": {"collections": [{"name": "n"}]}},
            "it has no collection 'notes'; its collection: 'n'",
        ),
        (
            "/v1/graphql",
            "/v1/schema",
            {"classes": [{"class": "Notes"}, {"class": "Books"}]},
            "its collections: 'Books' and 'Notes'",
        ),
        (
            "/v1/vector_stores/VECTOR_STORE",
            "/v1/vector_stores",
            {"data": [{"id": "vs_1"}]},
            "it has no vector store 'VECTOR_STORE'; its vector store: 'vs_1'",
        ),
        (
            "/v2/projects/PROJECT/search/",
            "/v2/projects/",
            {"projects": [{"external_id": "1-2"}]},
            "it has no project 'PROJECT'; its project: '1-2'",
        ),
    ],
)
def test_the_names_there_are(path: str, listing: str, answer: Any, said: str) -> None:
    """Each engine is known by the path that is asked, and its own indexes are listed, the most alike first."""
    assert indexes_beside(path, {listing: answer}.get) == said


@each_row(
    ("path", "answer"),
    [
        ("/stats", CATALOGUE),
        ("/noted/_search", CATALOGUE),  # it is there, so its name is not what is wrong
        ("/notes/_search", None),
        ("/notes/_search", {"index": "noted"}),
        ("/notes/_search", [["noted"]]),
        ("/solr/notes/query", {"status": ["noted"] * 2000}),
        ("/collections/notes", {"result": {"collections": None}}),
    ],
)
def test_nothing_is_said_without_a_list(path: str, answer: Any) -> None:
    """An API that is no engine, an index that is there, and an answer that is no list name nothing."""
    said = indexes_beside(path, lambda _: answer)
    assert said == "" or (path.startswith("/solr") and said.count("noted") <= 10)


def test_hostile_names_are_bounded_and_quoted() -> None:
    """Of many long names with signs of the terminal ten are shown, cut and quoted, and how many more there are."""
    names = [f"\x1b[2J::error::{number:03}" + "x" * 5000 for number in range(500)]
    said = indexes_beside("/notes/_count", lambda _: [{"index": name} for name in names])
    assert said.isprintable()
    assert len(said) < 1000
    assert said.endswith(" and 490 more")
