"""An API that nobody has described is called, and what raggate.yml says of it comes out; or what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from raggate.base.errors import CannotTell, UsageError
from raggate.base.http_client import httpx
from raggate.base.yamlio import block
from raggate.config import schema
from raggate.inputs.text_places import finder
from raggate.models.golden import Vault
from raggate.pipeline.discovery import Wanted, discover, refuse_other_engine
from raggate.service.engines import NO_WORDS
from tables import each_row
from tries import tried

URL = "http://api.example:8000"
PLAIN = schema.load(b"vault: {notes: notes}\napi: {url: 'http://x'}\n", "raggate.yml")
NOTES = {"Keys.md": {("Keys", "Spare key")}, "Food.md": {("Food",), ("Food", "Bread"), ("Food", "Bread", "Crust")}}
HITS = [
    {"id": "k1", "meta": {"file": "/v/Keys.md"}, "text": "a key", "score": 0.9},
    {"id": "f2", "meta": {"file": "/v/Food.md"}, "text": "bread", "score": 0.8},
]
SENT = {"schema": {"properties": {"text": {"type": "string"}, "n": {"type": "integer"}}}}
SEARCH = {"requestBody": {"content": {"application/json": SENT}}}
DESCRIBED = {"paths": {"/find": {"post": SEARCH}, "/livez": {"get": {}}}}


@dataclass
class Api:
    """An API of a few paths, and what it heard."""

    pages: dict[str, Any] = field(default_factory=dict)
    search: Callable[[dict[str, Any]], Any] = field(default=lambda body: {"hits": HITS[: body.get("limit", 2)]})
    path: str = "/find"
    heard: list[httpx.Request] = field(default_factory=list)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer one request."""
        self.heard.append(request)
        if request.method == "POST" and request.url.path == self.path:
            answer = self.search(json.loads(request.content))
            return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)
        page = self.pages.get(request.url.path)
        return httpx.Response(404) if page is None else httpx.Response(200, json=page)


def discovered(api: Api, url: str = URL, **wanted: Any) -> dict[str, Any]:
    """Discover an API."""
    asked = Wanted(url=url, question="key", **{"notes": NOTES, **wanted})
    return discover(asked, httpx.MockTransport(api))


def chunks_of(api: Api, **wanted: Any) -> dict[str, Any]:
    """Discover an API at its endpoint, and give the section of its chunks."""
    chunks: dict[str, Any] = discovered(api, f"{URL}/find", **wanted)["ask"]["response"]["chunks"]
    return chunks


def test_a_search_that_is_called_as_if_it_wrote_is_named() -> None:
    """What may not be tried unasked is told with why, and how it is asked: nothing was said to look like a search."""
    operation = {**SEARCH, "operationId": "submit_query_find_post"}
    pages = {"/openapi.json": {"paths": {"/find": {"post": operation}, "/livez": {"get": {}}}}, "/livez": "ok"}
    with pytest.raises(UsageError) as caught:
        discovered(api := Api(pages))
    assert str(caught.value.message).endswith(
        "describes nothing that looks like a search, except /find, whose name suggests that it may write"
    )
    assert caught.value.hint == f"Name the endpoint too: `--probe {URL}/find`."
    assert ("POST", "/find") not in [(request.method, request.url.path) for request in api.heard]
    assert discovered(Api(pages), f"{URL}/find")["ask"]["path"] == "/find"


READ = {"id": "id", "rel_path": "meta.file", "text": "text", "score": "score", "path_prefix": "/v/"}
"""Where the parts of HITS stand."""


def test_a_described_api() -> None:
    """OpenAPI names endpoint, question, count and health; the answer names the rest, and the notes the prefix."""
    sections = discovered(Api({"/openapi.json": DESCRIBED, "/livez": "ok"}))
    response = {"chunks": {"list": "hits", **READ}}
    body = {"text": "{question}", "n": "{k}"}
    assert sections == {
        "api": {"url": URL, "ready": {"health_path": "/livez"}},
        "ask": {"adapter": "mapped", "path": "/find", "body": body, "response": response},
    }


def test_an_endpoint_without_a_description() -> None:
    """The usual names are tried until one is understood; the count is a name that the API obeys."""

    def search(body: dict[str, Any]) -> Any:
        return {"hits": HITS[: body.get("limit", 2)]} if "question" in body else httpx.Response(422)

    sections = discovered(Api({"/health": {}}, search), url=f"{URL}/find")
    assert sections["ask"]["body"] == {"question": "{question}", "limit": "{k}"}


def test_a_service_of_llama_index() -> None:
    """Its usual names are known: `similarity_top_k` for the count, and `header_path`, set apart by slashes."""
    hit = {"text": "x", "metadata": {"file": "Food.md", "header_path": "/Food/Bread/"}}

    def search(body: dict[str, Any]) -> Any:
        return {"nodes": [hit, hit][: body.get("similarity_top_k", 2)]}

    mapped = discovered(Api({"/health": {}}, search), url=f"{URL}/find")["ask"]
    assert mapped["body"] == {"query": "{question}", "similarity_top_k": "{k}"}
    chunks = mapped["response"]["chunks"]
    assert (chunks["heading_path"], chunks["heading_separator"]) == ("metadata.header_path", "/")


@each_row(
    ("told", "texts", "heading_path"),
    [
        # no headings, or parents alone
        ([None, None], ["a key", "bread"], {"from": "text"}),
        (["/Food/", "/Food/"], ["bread", "crust"], {"from": "text", "path": "meta.header_path"}),
        # half of the passages are enough, a third is not
        (["Food", "Food"], ["bread", "other"], {"from": "text", "path": "meta.header_path"}),
        (["Food", "Food", "Food"], ["bread", "other", "another"], "meta.header_path"),
        # what is told is all there is
        (["/Food/Bread/", "/Food/Bread/"], ["bread", "bread"], "meta.header_path"),
        ([None, None], ["other", "another"], None),
        ([None, None], [None, None], None),
    ],
)
def test_headings_that_the_text_tells_better(told: list[Any], texts: list[Any], heading_path: Any) -> None:
    """`from: text` is proposed where headings are missing or fewer, and their texts stand in one section."""
    notes = {
        ("a", "Food.md"): "# Food\n\n## Bread\n\nbread\n\n### Crust\n\ncrust\n",
        ("a", "Keys.md"): "# Keys\n\na key\n",
    }
    find = finder(Vault(directories={"a": Path("a")}, texts=notes, notes={}, hash=""))
    hits = []
    for above, text in zip(told, texts, strict=True):
        meta = {"file": "/v/Keys.md" if text == "a key" else "/v/Food.md"}
        meta |= {} if above is None else {"header_path": above}
        hits.append({"meta": meta, **({} if text is None else {"text": text})})
    chunks = chunks_of(Api({"/health": {}}, lambda _: {"nodes": hits}), find=find)
    assert chunks.get("heading_path") == heading_path
    assert chunks["path_prefix"] == "/v/"


def test_a_folder_of_this_machine_is_not_written_down() -> None:
    """The file is committed, and the folder is on no other machine; one that somebody names is taken."""
    api = Api({"/openapi.json": DESCRIBED, "/livez": "ok"})
    with pytest.raises(UsageError, match="no other machine has that folder") as caught:
        discovered(api, directories={"/w", "/v"})
    assert "--map path_prefix=" in caught.value.hint
    named = discovered(api, directories={"/v"}, fields={"path_prefix": "/data/"})
    assert named["ask"]["response"]["chunks"]["path_prefix"] == "/data/"


def test_a_body_that_somebody_said() -> None:
    """An API with names of its own is asked by the body that was given, which says how many chunks it wants."""

    def search(body: dict[str, Any]) -> Any:
        return {"hits": HITS[: body["page"]["size"]]} if body["utterance"] == "key" else httpx.Response(422)

    body = {"utterance": "{question}", "page": {"size": "{k}"}, "lang": "en"}
    ask = discovered(Api({"/openapi.json": DESCRIBED, "/health": {}}, search), f"{URL}/find", body=body)["ask"]
    assert (ask["path"], ask["body"]) == ("/find", body)


def test_a_health_that_somebody_said() -> None:
    """The path that tells that the API is up is taken as it was named, and must answer 200."""
    api = Api({"/up/now": {}})
    assert discovered(api, f"{URL}/find", health="/up/now")["api"]["ready"]["health_path"] == "/up/now"
    with pytest.raises(UsageError, match="none of /up answers 200") as caught:
        discovered(api, f"{URL}/find", health="/up")
    assert "`--health /" in (caught.value.hint or "")


def test_the_protocol_of_raggate_itself() -> None:
    """An API that speaks it needs no mapping."""
    api = Api(path="/api/v1/ask", search=lambda _: {"debug": {"retrieved_chunks": []}})
    assert discovered(api) == {"api": {"url": URL}, "ask": {"adapter": "ask"}}
    of_one = Api(path="/api/v1/ask", search=lambda _: {"debug": {"retrieved_chunks": [{"vault": "personal"}] * 2}})
    assert discovered(of_one)["vault"] == "personal"
    mixed = [{"vault": "personal"}, {"vault": "work"}]
    several = Api(path="/api/v1/ask", search=lambda _: {"debug": {"retrieved_chunks": mixed}})
    assert "vault" not in discovered(several)


@each_row(
    ("keys", "food", "separator"),
    [
        ("Keys / Spare key", "Food / Bread / Crust", " / "),
        ("Keys / Spare key", "Pets / Cats", " / "),
        ("Keys::Spare key", "Food::Bread", "::"),
        ("Keys > Spare key", "Food > Bread", None),
        ("# Keys > ## Spare key", "# Food", None),
        ("Keys / Spare key", "Food | Bread", None),
        ("Keys Spare key", "Food Bread", None),
        ("Keys", "Food", None),
        ("Spare key", 7, None),
    ],
)
def test_what_sets_headings_apart_is_recognised(keys: Any, food: Any, separator: str | None) -> None:
    """Headings in one text are held against those of their notes, so that labels that name a heading match."""
    hits = [{**HITS[0], "section": keys}, {**HITS[1], "section": food}]
    chunks = chunks_of(Api({"/health": {}}, lambda _: {"hits": hits}))
    assert chunks.get("heading_separator") == separator


@each_row(
    ("lines", "read_as", "at", "none"),
    [
        (
            ("event: sources", f"data: {json.dumps({'docs': HITS})}", "", "data: hello", ""),
            True,
            "sources[*].docs[*]",
            None,
        ),
        ((*(json.dumps({"type": "hit", **hit}) for hit in HITS), '{"type": "done"}'), "type", "hit", {"hit": []}),
        (map(json.dumps, HITS), True, "$", None),
    ],
)
def test_a_stream_is_read(lines: Iterable[str], read_as: str | bool, at: str, none: dict[str, Any] | None) -> None:
    """An answer in pieces is recognised as one in one piece is; a kind of which none may come is no failure."""
    text = "\n".join(lines) + "\n"
    api = Api({"/health": {}}, lambda _: httpx.Response(200, text=text))
    response = discovered(api, f"{URL}/find")["ask"]["response"]
    assert response["stream"] == read_as
    assert response["chunks"].pop("none", None) == none
    assert response["chunks"] == {"list": at, **READ}


@each_row(
    ("answer", "said", "hint"),
    [
        (httpx.Response(401), "HTTP 401", "`--header"),
        (httpx.Response(202, json={"job": "7"}), 'HTTP 202 {"job":"7"}', "`--question`"),
        (httpx.Response(302), "HTTP 302", "raggate follows no redirects"),
        (httpx.Response(404), "HTTP 404", "the path of its search"),
        (httpx.Response(400, json={"errors": [{"message": "no query"}]}), "no query", "GraphQL"),
        (httpx.Response(200, html="<html>Log in"), "HTTP 200, not JSON: <html>Log in", "`--question`"),
        (httpx.Response(200, text="hello"), "HTTP 200, not JSON: hello", "`--question`"),
        (httpx.Response(422, json={"problem": "utterance is missing"}), "utterance is missing", "`--body"),
        (httpx.Response(400, text="no"), "HTTP 400", "`--body"),
        (httpx.Response(503, text="busy"), "HTTP 503 busy", "`--question`"),
        (httpx.Response(200), "HTTP 200, an empty body", "`--question`"),
    ],
)
def test_what_helps_is_said(answer: httpx.Response, said: str, hint: str) -> None:
    """What came instead of chunks is shown once for all requests that it answered, with what helps against it."""
    api = Api({"/health": {}}, lambda _: httpx.Response(answer.status_code, content=answer.content))
    with pytest.raises(UsageError) as caught:
        discovered(api, f"{URL}/find")
    assert caught.value.message.count(said) == 1
    assert hint in (caught.value.hint or "")


@each_row(
    ("api", "wanted", "said"),
    [
        (Api(), {}, "has no API description"),
        (Api({}, lambda _: {"hits": [{"where": "x", "text": "y"}]}), {"url": f"{URL}/find"}, "where and text"),
        (
            Api({}, lambda _: httpx.Response(401)),
            {"url": f"{URL}/find"},
            "POST /find (query) and 5 other requests: HTTP 401",
        ),
        (Api(), {"url": f"{URL}/find"}, "raggate cannot tell when the API is up"),
        (Api(), {"fields": {"relpath": "x"}}, "Did you mean 'rel_path'"),
        (Api(), {"fields": {"question": "x"}}, "expected one of list, none, id, doc_id, rel_path"),
        (Api(), {"url": "http://169.254.169.254/latest"}, "cloud metadata"),
        (Api(), {"url": "http://u:p@x.example"}, "without user name"),
        (Api(), {"url": "file:///etc/passwd"}, "expected a URL"),
    ],
)
def test_what_is_missing_is_said(api: Api, wanted: dict[str, Any], said: str) -> None:
    """Where nobody can be asked, it is a usage error that names what is missing."""
    with pytest.raises(UsageError) as caught:
        discovered(api, **wanted)
    assert said in caught.value.message


def test_what_somebody_said_counts() -> None:
    """A part that was named is taken as it was named."""
    api = Api({"/health": {}}, lambda _: {"a": [{"where": "x", "text": "y"}], "hits": HITS})
    chunks = chunks_of(api, fields={"list": "a", "rel_path": "where"})
    assert chunks == {"list": "a", "rel_path": "where", "text": "text"}


def test_only_the_host_that_was_named_is_called() -> None:
    """Servers, references and redirects that the API names are not followed."""
    elsewhere = {**DESCRIBED, "servers": [{"url": "http://evil.example"}]}
    redirect = httpx.Response(302, headers={"location": "http://evil.example/find"})
    api = Api({"/openapi.json": elsewhere}, lambda _: redirect)
    with pytest.raises(UsageError, match="no answer has a list"):
        discovered(api)
    assert {request.url.host for request in api.heard} == {"api.example"}


def test_a_huge_answer_is_not_read() -> None:
    """What is larger than an answer may be is no answer."""
    big = httpx.Response(200, content=b'{"hits": [' + b" " * (5 << 20) + b"]}")
    with pytest.raises(UsageError, match="no answer has a list"):
        discovered(Api({"/openapi.json": DESCRIBED}, lambda _: big))


NAMES = st.sampled_from(
    ["hits", "path", "text", "score", "{k}", "a b", '"', "\n", "paths", "/q", "get", "x" * 200, "::error::"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["Keys.md", "{v}/Keys.md"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=30
)


@tried(30)
@given(VALUES, VALUES, st.sampled_from([200, 200, 200, 302, 500]))
def test_whatever_an_api_says_is_a_configuration_or_an_error(document: Any, answer: Any, status: int) -> None:
    """No API makes a file that cannot be read, that says more than how it is asked, or a crash."""
    api = Api({"/openapi.json": document, "/health": {}}, lambda _: httpx.Response(status, json=answer))
    try:
        sections = discovered(api, f"{URL}/find")
    except UsageError:
        return
    text = block({"vault": {"notes": "notes"}, **sections}, {"ask": {"response": {}}})
    try:
        loaded = schema.load(text.encode(), "raggate.yml")
    except UsageError:
        return
    assert loaded.model_dump(exclude={"api", "ask"}) == PLAIN.model_dump(exclude={"api", "ask"})
    assert loaded.api.url == URL


def test_no_https_there() -> None:
    """An address with the wrong scheme is not taken for an API that is down."""

    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)")

    with pytest.raises(CannotTell) as caught:
        discover(Wanted(url="https://api.example", question="x"), httpx.MockTransport(refuse))
    assert "`http://`" in (caught.value.hint or "")


@each_row(
    ("page", "answer", "preset"),
    [
        ("/", {"tagline": "You Know, for Search"}, "elasticsearch"),
        ("/", {"tagline": "The OpenSearch Project: https://opensearch.org/"}, "opensearch"),
        ("/", {"title": "qdrant - vector search engine"}, "qdrant"),
        ("/v1/meta", {"modules": {}}, "weaviate"),
        ("/solr/admin/info/system", {"solr_home": "/x"}, "solr"),
        ("/api/v2/heartbeat", {"nanosecond heartbeat": 1}, ""),
    ],
)
@each_row("url", [URL, f"{URL}/notes/_search"])
def test_an_engine_that_is_known_has_a_preset(page: str, answer: dict[str, Any], preset: str, url: str) -> None:
    """An engine is recognised by a page that it alone has; before Chroma, which takes no words, goes an embedder."""
    with pytest.raises(UsageError) as caught:
        discovered(Api({page: answer}), url)
    known = f"This is an engine with a preset: `--preset {preset} --probe {URL}`."
    assert caught.value.hint == (known if preset else NO_WORDS)


@each_row(
    ("page", "answer", "said", "hint"),
    [
        ("/api/v2/heartbeat", {"nanosecond heartbeat": 1}, f"{URL} takes vectors and no words", NO_WORDS),
        ("/v1/meta", {"modules": {}}, f"{URL} is not for the preset chroma", "It is weaviate: `--preset weaviate`."),
    ],
)
def test_a_preset_is_refused_at_another_engine(page: str, answer: dict[str, Any], said: str, hint: str) -> None:
    """Before anything is written, an engine that the preset is not for says so by a page that it alone has."""
    with pytest.raises(UsageError) as caught:
        refuse_other_engine("chroma", URL, httpx.MockTransport(Api({page: answer})))
    assert (str(caught.value), caught.value.hint) == (said, hint)


@each_row("pages", [{}, {"/": {"tagline": "You Know, for Search"}}, {"/": ["a", 1]}])
def test_a_preset_is_taken_where_nothing_speaks_against_it(pages: dict[str, Any]) -> None:
    """Its own engine, a service that is no engine, and one whose pages say nothing are taken as they are."""
    refuse_other_engine("elasticsearch", URL, httpx.MockTransport(Api(pages)))
