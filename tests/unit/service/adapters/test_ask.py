"""The notes API's protocol: what is sent, what is read, what is refused."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import orjson
import pytest
from hypothesis import given, strategies as st

from builders import make_case
from mapped_api import adapter as mapped_adapter, mapped
from raggate.base.escape import log_line
from raggate.base.http_client import httpx
from raggate.config.ask_settings import Ask
from raggate.config.service_settings import Readiness
from raggate.models.golden import Case
from raggate.models.run import Chunk, Reference, Response
from raggate.models.service import IndexState
from raggate.service.adapters.ask import MAX_STATE_BYTES, AskAdapter
from tables import each_row

VAULTS = ("personal", "work")
CASE = Case(id="c1", question="Where is the key?", answerable=True)


def adapter(**settings: Any) -> AskAdapter:
    return AskAdapter(Ask(**settings), VAULTS)


def chunk(*, vault: int = 0, **changes: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "chunk_id": "ab" * 16,
        "rel_path": "Keys.md",
        "heading_path": "# Keys",
        "text": "Under the mat.",
        "rank": 1,
        "score_vector": 0.7,
        "score_lexical": 0.1,
        "score_final": 0.52,
        **changes,
    }
    if vault:
        source = f"{vault}|{fields['rel_path']}|{fields['heading_path']}|{fields['text']}"
        fields["chunk_id"] = sha256(source.encode()).hexdigest()[:32]
    return fields


def answer(*chunks: object, debug: dict[str, Any] | None = None, **changes: Any) -> bytes:
    inner = {"retrieved_chunks": list(chunks), **(debug or {})}
    outer = {"answer": "Under the mat.", "references": [], "debug": inner, **changes}
    return orjson.dumps({name: value for name, value in outer.items() if value is not ...})


def refusal(body: bytes, **settings: Any) -> str:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is the result
        adapter(**settings).parse(body, CASE)
    return str(caught.value)


def test_call_sends_scope_detail_and_own_k() -> None:
    """Vaults, folders, detail and the case's own k go into the body."""
    case = Case(id="c", question="q", answerable=True, vaults=("work",), folders=("a/b",), detail="brief", k=3)
    call = adapter(k=7, retrieval_only=False).call(case, "hybrid")
    assert call.query == {"debug": "true"}
    assert call.json == {
        "question": "q",
        "k": 3,
        "mode": "hybrid",
        "vaults": ["work"],
        "folders": ["a/b"],
        "detail": "brief",
    }


def test_parse_reads_everything_the_protocol_has() -> None:
    """A complete body becomes a complete response."""
    body = answer(
        chunk(vault=2),
        references=[{"vault": "work", "rel_path": "Keys.md", "heading_path": "# Keys", "chunk_index": 0}],
        abstained=True,
        abstain_reason="no_relevant_context",
        debug={
            "folder_selection": {
                "selected_folders": ["work/"],
                "available_folders": ["personal/", "work/"],
                "reasoning": "Keys are at work.",
            },
            "latency": {"retrieval_ms": 4, "total_ms": 5.5},
            "indexing_coverage": {"docs_processed": 3, "chunk_token_stats": {"min": 1}, "index_version": "c4"},
        },
    )
    assert adapter(retrieval_only=False).parse(body, CASE) == Response(
        chunks=(
            Chunk(
                chunk_id=chunk(vault=2)["chunk_id"],
                rel_path="Keys.md",
                heading_path="# Keys",
                text="Under the mat.",
                rank=1,
                score_final=0.52,
                score_vector=0.7,
                score_lexical=0.1,
                vault="work",
            ),
        ),
        answer="Under the mat.",
        references=(Reference(vault="work", rel_path="Keys.md", heading_path="# Keys", chunk_index=0),),
        abstained=True,
        abstain_reason="no_relevant_context",
        selected_folders=("work/",),
        available_folders=("personal/", "work/"),
        folder_reasoning="Keys are at work.",
        latency={"retrieval_ms": 4.0, "total_ms": 5.5},
        coverage={"docs_processed": 3, "chunk_token_stats": {"min": 1}, "index_version": "c4"},
    )


def test_parse_tolerates_what_the_protocol_leaves_out() -> None:
    """Absent abstention, lexical score, rank, folders, latency and coverage are not errors."""
    bare = chunk()
    del bare["score_lexical"], bare["rank"]
    response = adapter(retrieval_only=False).parse(answer(bare), CASE)
    (found,) = response.chunks
    assert (found.score_lexical, found.rank, found.vault) == (None, None, None)
    assert (response.abstained, response.abstain_reason) == (False, None)
    assert (response.selected_folders, response.available_folders) == (None, None)
    assert (response.latency, response.coverage) == ({}, None)


def test_no_answer_when_none_was_asked_for() -> None:
    """With retrieval only, an answer given all the same is not taken, and a missing one is no error."""
    assert adapter().parse(answer(), CASE).answer is None
    assert adapter().parse(answer(answer=..., references=...), CASE).answer is None


def test_what_is_not_plausible_is_left_out() -> None:
    """Only non-negative numbers named *_ms are times; of the coverage, numbers, texts and flat mappings are kept."""
    latency = {"total_ms": 3, "judge_ms": -1, "note_ms": "x", "ok_ms": True, "total": 4, "a b_ms": 1, "huge_ms": 1e308}
    coverage = {"docs_processed": 3, "list": [1], "deep": {"a": {}}, "flat": {"a": "b"}, "null": None, "yes": True}
    response = adapter().parse(answer(debug={"latency": latency, "indexing_coverage": coverage}), CASE)
    assert response.latency == {"total_ms": 3.0}
    assert response.coverage == {"docs_processed": 3, "flat": {"a": "b"}}


@each_row(
    ("body", "message"),
    [
        (b"<html>no", "the body: expected JSON, found '<html>no': unexpected character"),
        (b"\xff{}", "the body: expected JSON, found '\ufffd{}'"),
        (b"[1]", "the body: expected a mapping, found a list"),
        (b'{"answer": ""}', "debug: found nothing. raggate can only score"),
        (b'{"answer": "", "debug": 7}', "debug: expected a mapping, found a whole number"),
        (answer(answer=None), "answer: found nothing"),
        (answer(abstained="yes"), "abstained: expected true or false, found text"),
        (answer(*[chunk()] * 1001), "debug.retrieved_chunks: expected a list of length <= 1000"),
        (answer(chunk(), 5), "debug.retrieved_chunks[1]: expected a mapping, found a whole number"),
        (answer({"chunk_id": "", "rel_path": "", "heading_path": ""}), "debug.retrieved_chunks[0].text: found nothing"),
        (answer(chunk(rank=True)), "debug.retrieved_chunks[0].rank: expected a whole number, found true or false"),
        (answer(chunk(score_final="1")), "debug.retrieved_chunks[0].score_final: expected a number, found text"),
        (answer(references=None), "references: found nothing"),
        (answer(references=[{}] * 1001), "references: expected a list of length <= 1000"),
        (answer(references=[{"vault": 1}]), "references[0].vault: expected text, found a whole number"),
        (
            answer(debug={"folder_selection": {"available_folders": ["a", 2]}}),
            "debug.folder_selection.available_folders[1]: expected text, found a whole number",
        ),
        (
            answer(debug={"indexing_coverage": {"docs_processed": -1}}),
            "debug.indexing_coverage.docs_processed: expected a whole number, 0 or more, found -1",
        ),
        (
            answer(debug={"indexing_coverage": {"index_version": 4}}),
            "debug.indexing_coverage.index_version: expected text, found 4",
        ),
        (
            answer(debug={"indexing_coverage": {str(n): n for n in range(101)}}),
            "debug.indexing_coverage: expected a mapping of length <= 100",
        ),
    ],
)
def test_every_deviation_is_refused_with_place_expectation_and_finding(body: bytes, message: str) -> None:
    """A body that breaks the protocol is refused with where, what was expected and what was found."""
    assert message in refusal(body, retrieval_only=False)


def test_numbers_beyond_a_double_are_refused_and_huge_integers_are_floats() -> None:
    """No score is infinite: what does not fit a double is no JSON, what fits is taken."""
    body = answer(chunk()).decode()
    assert "infinity" in refusal(body.replace("0.52", "1e999").encode())
    (found,) = adapter().parse(body.replace("0.52", "1" + "0" * 30).encode(), CASE).chunks
    assert found.score_final == 1e30


@each_row("vaults", [(), ("personal",), ("work",), ("elsewhere",), ("personal", "work")])
def test_vault_is_recovered_from_the_id_whatever_the_scope(vaults: tuple[str, ...]) -> None:
    """The same path and text in both vaults is told apart by the id, also where the case's scope says otherwise."""
    case = Case(id="c", question="q", answerable=True, vaults=vaults)
    chunks = adapter().parse(answer(chunk(vault=1), chunk(vault=2), chunk(vault=3), chunk()), case).chunks
    assert [found.vault for found in chunks] == ["personal", "work", None, None]


def test_explicit_vault_wins() -> None:
    """An API that says the vault is believed; null and an empty name count as not saying."""
    told = [chunk(vault=2) | {"vault": name} for name in ("other", None, "")]
    chunks = adapter().parse(answer(*told, chunk() | {"vault": ""}), CASE).chunks
    assert [found.vault for found in chunks] == ["other", "work", "work", None]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
chunks = st.dictionaries(
    st.sampled_from("chunk_id rel_path heading_path text rank score_final vault".split()), json_values
)
debugs = st.fixed_dictionaries(
    {"retrieved_chunks": st.lists(chunks, max_size=3) | json_values},
    optional=dict.fromkeys(("folder_selection", "latency", "indexing_coverage"), json_values),
)
near_misses = st.fixed_dictionaries(
    {"debug": debugs | json_values, "answer": st.text() | json_values},
    optional=dict.fromkeys(("references", "abstained", "abstain_reason"), json_values),
)


@given(st.binary(max_size=200) | near_misses.map(lambda value: json.dumps(value).encode()), st.booleans())
def test_any_bytes_parse_or_are_refused(body: bytes, retrieval_only: bool) -> None:
    """Whatever the API sends is a response or a ValueError, never anything else."""
    message = ""
    try:
        adapter(retrieval_only=retrieval_only).parse(body, CASE)
    except ValueError as error:
        message = str(error)
    # held as it came, and harmless where it is shown; what would order a CI about is parted
    assert log_line(message, limit=len(message) + 1).replace("\u200b", "").isprintable()


COVERAGE = {"docs_processed": 12, "chunks_embedded": 34}
PAGES: dict[str, httpx.Response | Exception] = {
    "/api/health": httpx.Response(200, json={"status": "healthy"}),
    "/api/index/status": httpx.Response(200, json={"is_indexing": False, "status": "idle"}),
    "/api/v1/ask": httpx.Response(200, content=answer(debug={"indexing_coverage": COVERAGE})),
}


def state(changed: dict[str, httpx.Response | Exception], **settings: Any) -> tuple[IndexState, list[httpx.Request]]:
    """Look at an API that is well but for the pages that end with these names."""
    seen: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        path = request.url.path
        page = next((page for name, page in changed.items() if path.endswith(name)), PAGES[path])
        if isinstance(page, Exception):
            raise page
        return page

    with httpx.Client(transport=httpx.MockTransport(respond), base_url="http://api") as client:
        return adapter(**settings).index_state(client, Readiness()), seen


def test_state_of_an_api_that_is_up() -> None:
    """Health, indexing, documents and chunks come from three requests."""
    found, seen = state({}, modes=["lexical"])
    assert found == IndexState(healthy=True, indexing=False, documents=12, chunks=34)
    assert [request.method for request in seen] == ["GET", "GET", "POST"]
    assert dict(seen[2].url.params) == {"debug": "true", "retrieval_only": "true"}
    sent = orjson.loads(seen[2].content)
    assert (sent["k"], sent["mode"]) == (3, "lexical")


@each_row(
    ("page", "detail"),
    [
        (httpx.Response(503, text='{"status":\n"unhealthy"}'), 'GET /api/health: HTTP 503 {"status": "unhealthy"}'),
        (httpx.Response(302, headers={"location": "/x"}), "GET /api/health: HTTP 302"),
        (httpx.Response(200, json={"status": "degraded"}), 'GET /api/health: its status is "degraded"'),
        (httpx.Response(200, json={"status": "Out of-Service"}), 'its status is "Out of-Service"'),
        (httpx.Response(200, json={"status": False}), "its status is false"),
    ],
)
def test_unhealthy_api(page: httpx.Response, detail: str) -> None:
    """An unhealthy API is not asked further, and the state says what it said."""
    found, seen = state({"health": page})
    assert (found.healthy, found.documents, len(seen)) == (False, None, 1)
    assert detail in found.detail


@each_row(
    "page",
    [
        *(httpx.Response(200, text="ok"), httpx.Response(200, json=[]), httpx.Response(200)),
        *(httpx.Response(200, json={"status": said}) for said in ("ok", "UP", "pass", None, 0, {"db": "down"})),
    ],
)
def test_health_that_does_not_say_no_is_healthy(page: httpx.Response) -> None:
    """A health page that answers 200 is enough, whatever word it has for it, or none."""
    assert state({"health": page})[0].healthy


@each_row(
    ("page", "indexing", "detail"),
    [
        (httpx.Response(404, text="no"), False, "GET /api/index/status: HTTP 404 no"),
        (httpx.Response(503, text="later"), True, "GET /api/index/status: HTTP 503 later"),
        (httpx.Response(200, json={"status": "idle"}), False, "does not report is_indexing"),
        (httpx.Response(200, json={"is_indexing": True}), True, ""),
    ],
)
def test_what_the_index_page_says(page: httpx.Response, indexing: bool, detail: str) -> None:
    """A missing index page does not hold the API up, a failing one does; what it has so far is told."""
    found, _ = state({"status": page})
    assert (found.healthy, found.indexing, found.documents) == (True, indexing, 12)
    assert detail in found.detail


@each_row("said", ["true", 0, [True]])
def test_whether_it_is_indexing_is_told_by_true_or_false(said: object) -> None:
    """What may mean yes in another word is not taken for no."""
    with pytest.raises(ValueError, match="is_indexing: expected true or false, found"):
        state({"status": httpx.Response(200, json={"is_indexing": said})})


LONG = json.dumps({"files": ["x" * 100] * 1000})[1:]


@each_row("beside", [LONG, '"eta": NaN}', '"eta": -Infinity}'], ids=("a-long-list", "no-number", "no-end"))
def test_whatever_stands_beside_it_an_answer_tells_no(beside: str) -> None:
    """However long an answer is, and with numbers that JSON does not have, it says that the API is not ready."""
    assert not state({"health": httpx.Response(200, text=f'{{"status": "down", {beside}')})[0].healthy
    assert state({"status": httpx.Response(200, text=f'{{"is_indexing": true, {beside}')})[0].indexing


@each_row("page", ["health", "status"])
def test_an_answer_that_is_not_read_to_its_end_tells_nothing(page: str) -> None:
    """What its first bytes say is not taken for the whole."""
    with pytest.raises(httpx.ReadError, match=f"more than {MAX_STATE_BYTES} bytes"):
        state({page: httpx.Response(200, content=b"x" * (MAX_STATE_BYTES + 1))})


@each_row(
    ("page", "detail"),
    [
        (httpx.Response(503, text="\x1b[1mno store"), "POST /api/v1/ask: HTTP 503 \x1b[1mno store"),
        (httpx.Response(200, text="<html>"), "POST /api/v1/ask: the body: expected JSON"),
        (httpx.Response(200, json={"answer": ""}), "an API that honours ?debug=true"),
        (httpx.Response(200, content=answer()), "has no debug.indexing_coverage"),
        (httpx.ReadTimeout("slow"), "no answer in time"),
    ],
)
def test_failing_probe_is_told_not_raised(page: httpx.Response | Exception, detail: str) -> None:
    """When the probing question fails the API is up all the same, its documents are unknown, and the state says why."""
    found, _ = state({"ask": page})
    assert (found.healthy, found.documents, found.chunks) == (True, None, None)
    assert detail in found.detail


@each_row("page", ["health", "status", "ask"])
def test_unreachable_api_raises(page: str) -> None:
    """An API that cannot be reached is an httpx error, at whichever request."""
    with pytest.raises(httpx.HTTPError):
        state({page: httpx.ConnectError("refused")})


SAID = "A sentence that only a model writes."


@each_row(
    ("said", "abstained", "milliseconds", "expected"),
    [
        pytest.param(SAID, False, None, True, id="text"),
        pytest.param(" \n", False, None, False, id="blanks"),
        pytest.param("", False, 810, True, id="time for it"),
        pytest.param("", False, 0.004, False, id="time to skip it"),
        pytest.param("I cannot say.", True, None, False, id="a phrase to abstain with"),
        pytest.param("", True, 300, True, id="a model abstained"),
    ],
)
def test_the_ask_adapter_notices(said: str, abstained: bool, milliseconds: float | None, expected: bool) -> None:
    """Text or a time for its generation tells it; a standing phrase and a skipped step do not."""
    body = answer(answer=said, abstained=abstained, debug={"latency": {"generation_ms": milliseconds}})
    found = adapter(retrieval_only=True).parse(body, CASE)
    assert (found.unasked, found.answer) == (expected, None)
    assert not adapter(retrieval_only=False).parse(body, CASE).unasked


@each_row(
    ("reply", "expected"),
    [
        pytest.param({"text": SAID}, True, id="text"),
        pytest.param({"text": SAID, "outcome": "refused"}, False, id="a phrase to abstain with"),
        pytest.param({"text": 7}, False, id="no text"),
        pytest.param(None, False, id="no reply"),
    ],
)
def test_the_mapped_adapter_notices(reply: object, expected: bool) -> None:
    """What stands where answers stand tells it, and is no error whatever it is, where none was asked for."""
    fields = {"chunks": {"list": "hits", "rel_path": "file"}, "answer": "reply.text"}
    fields["abstained"] = {"outcome": ["refused"]}
    settings = mapped(response=fields)
    outcome = reply.get("outcome") if isinstance(reply, dict) else None
    body = json.dumps({"hits": [], "reply": reply, "outcome": outcome}).encode()
    found = mapped_adapter(settings, retrieval_only=True).parse(body, make_case())
    assert (found.unasked, found.answer) == (expected, None)
