"""The types of a GraphQL API -> queries that search, written whole, and cut down to what is read."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from raggate.service.discovery.graphql import own_query, queries
from tables import each_row


def named(name: str, kind: str = "SCALAR") -> dict[str, Any]:
    """Give a reference to a type."""
    return {"kind": kind, "name": name}


def some(inner: dict[str, Any]) -> dict[str, Any]:
    """Give a type that may not be null."""
    return {"kind": "NON_NULL", "name": None, "ofType": inner}


def many(inner: dict[str, Any]) -> dict[str, Any]:
    """Give a list, as schemas usually have it."""
    return some({"kind": "LIST", "name": None, "ofType": some(inner)})


def entry(name: str, kind: dict[str, Any], **args: dict[str, Any]) -> dict[str, Any]:
    """Give a field with its arguments."""
    return {"name": name, "type": kind, "args": [{"name": key, "type": value} for key, value in args.items()]}


def schema(*fields: dict[str, Any], **types: list[dict[str, Any]]) -> dict[str, Any]:
    """Give what an API answers: the fields of its root, and those of other types; input types begin with `In`."""
    objects = [{"kind": "OBJECT", "name": name, "fields": of} for name, of in types.items() if name[:2] != "In"]
    inputs = [
        {"kind": "INPUT_OBJECT", "name": name, "inputFields": of} for name, of in types.items() if name[:2] == "In"
    ]
    scalars = [named(name) for name in ("String", "Int", "Float", "ID")]
    root = {"kind": "OBJECT", "name": "Root", "fields": list(fields)}
    return {"data": {"__schema": {"queryType": {"name": "Root"}, "types": [*scalars, root, *objects, *inputs]}}}


TEXT, NUMBER = named("String"), named("Int")
HIT = [entry("path", some(TEXT)), entry("headings", many(TEXT)), entry("text", TEXT)]


def texts(answer: Any) -> list[str]:
    """Give the queries as the configuration has them."""
    return [request.body["query"] for request in queries(answer, "/graphql") if request.body]


def test_a_search_is_found_and_asked_for_all_its_fields() -> None:
    """The field that takes a question is asked with it and a count, and its leaves are listed."""
    answer = schema(entry("search", many(named("Hit", "OBJECT")), query=some(TEXT), limit=NUMBER), Hit=HIT)
    (request,) = queries(answer, "/graphql")
    assert request.template() == {
        "method": "POST",
        "path": "/graphql",
        "body": {
            "query": "query($q: String!) {{ search(query: $q, limit: {k}) {{ path headings text }} }}",
            "variables": {"q": "{question}"},
        },
    }
    assert request.in_words == "POST /graphql (search)"


def test_only_what_is_read_stays_in_the_query() -> None:
    """Fields that no part of a chunk needs are left out, also those within others."""
    edge = [entry("node", named("Hit", "OBJECT")), entry("cursor", TEXT)]
    page = [entry("edges", many(named("Edge", "OBJECT"))), entry("total", NUMBER)]
    search = entry("search", named("Page", "OBJECT"), q=TEXT, first=NUMBER)
    deep, flat = queries(schema(search, Page=page, Edge=edge, Hit=HIT), "/g")
    chunks = {
        "list": "data.search.edges",
        "rel_path": "node.path",
        "heading_path": "node.headings[0]",
        "path_prefix": "x",
    }
    assert "cursor" in deep.body["query"]  # type: ignore[index]
    assert "edges" not in flat.body["query"]  # type: ignore[index]
    (narrow,) = [deep.narrowed(chunks).body]
    assert narrow is not None
    assert narrow["query"] == "query($q: String!) {{ search(q: $q) {{ edges {{ node {{ path headings }} }} }} }}"


def test_what_chunks_stand_in_stays_in_the_query() -> None:
    """A note that is named beside the list of its chunks is asked for beside it."""
    group = [entry("path", TEXT), entry("id", TEXT), entry("hits", many(named("Hit", "OBJECT")))]
    search = entry("search", many(named("Group", "OBJECT")), q=TEXT)
    (request, *_) = queries(schema(search, Group=group, Hit=HIT), "/g")
    chunks = {"list": "data.search[*].hits[*]", "rel_path": "data.search[*].path", "text": "text"}
    body = request.narrowed(chunks).body
    assert body is not None
    assert body["query"] == "query($q: String!) {{ search(q: $q) {{ path hits {{ text }} }} }}"


def test_a_search_within_others_and_an_input_object() -> None:
    """A field without arguments is looked into, and a question may be a field of an argument, as Weaviate has it."""
    hybrid = [{"name": "query", "type": TEXT}, {"name": "alpha", "type": named("Float")}]
    get = [entry("Notes", many(named("Hit", "OBJECT")), hybrid=named("InHybrid", "INPUT_OBJECT"), limit=NUMBER)]
    answer = schema(entry("Get", named("All", "OBJECT")), All=get, Hit=HIT, InHybrid=hybrid)
    assert texts(answer) == [
        "query($q: String!) {{ Get {{ Notes(hybrid: {{query: $q}}, limit: {k}) {{ path headings text }} }} }}"
    ]


@each_row(
    "field",
    [
        entry("search", many(named("Hit", "OBJECT")), query=TEXT, tenant=some(TEXT)),
        entry("search", many(named("Hit", "OBJECT")), limit=NUMBER),
        entry("search", many(TEXT), query=TEXT),
        entry("sea rch", many(named("Hit", "OBJECT")), query=TEXT),
        entry('x" }', many(named("Hit", "OBJECT")), query=TEXT),
    ],
)
def test_what_cannot_be_asked_is_left_alone(field: dict[str, Any]) -> None:
    """Something else that is required, no place for a question, no fields in the result, or a name that is none."""
    assert texts(schema(field, Hit=HIT)) == []


def test_what_says_that_it_writes_is_left_alone() -> None:
    """A query should change nothing, and one that says by its name that it does is not tried."""
    hits = many(named("Hit", "OBJECT"))
    answer = schema(entry("deleteByQuery", hits, query=TEXT), entry("notes", hits, query=TEXT), Hit=HIT)
    assert [text.partition("{{ ")[2].partition("(")[0] for text in texts(answer)] == ["notes"]


def test_the_likeliest_comes_first() -> None:
    """A field that says by its name that it searches is asked before one that does not."""
    hits = many(named("Hit", "OBJECT"))
    answer = schema(entry("user", hits, text=TEXT), entry("searchNotes", hits, text=TEXT), Hit=HIT)
    assert [request.in_words for request in queries(answer, "/g")] == ["POST /g (searchNotes)", "POST /g (user)"]


def test_types_that_hold_each_other_are_looked_through_so_deep() -> None:
    """A query of types without end stays short."""
    loop = [entry(f"f{number}", named("Loop", "OBJECT")) for number in range(20)] + [entry("path", TEXT)]
    sizes = [len(text) for text in texts(schema(entry("search", named("Loop", "OBJECT"), q=TEXT), Loop=loop))]
    assert sizes
    assert max(sizes) < 5_000


@each_row(
    ("text", "variables"),
    [
        ("query($q: String!, $n: Int) { x(q: $q, n: $n) { y } }", {"q": "{question}", "n": "{k}"}),
        ("query($limit:Int!,$other:Int,$text:String){x}", {"text": "{question}", "limit": "{k}"}),
        ("query($lang: String!, $query: String!) { x }", {"query": "{question}"}),
    ],
)
def test_a_query_of_ones_own(text: str, variables: dict[str, str]) -> None:
    """Its variables say where the question and the count go; its braces are braces."""
    request = own_query(text, "/g")
    assert request is not None
    assert request.body == {"query": text.replace("{", "{{").replace("}", "}}"), "variables": variables}
    assert request.narrowed({"list": "data.x"}) is request


def test_a_query_without_a_question() -> None:
    """A query that takes no text asks nothing."""
    assert own_query("{ notes { path } }", "/g") is None


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=3) | st.sampled_from(["OBJECT", "String", "Root", "query"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "kind", "type", "ofType", "args", "fields"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(JSON, max_size=4))
def test_whatever_types_there_are(types: Any) -> None:
    """Any answer gives queries or none."""
    assert isinstance(queries({"data": {"__schema": {"queryType": {"name": "Root"}, "types": types}}}, "/g"), list)
