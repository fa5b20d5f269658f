"""kebab's command line, driven: what is asked, what is read, and that nothing it does wrong is taken for an answer."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from builders import make_case
from kebab_builders import ask_stand_in
from raggate.models.golden import Case
from raggate.models.run import Response, Result
from raggate_interop.kebab import adapter

DOCS = {"bread.md": "Bread bakes forty minutes.", "soup.md": "Soup cooks; bread goes with it.", "tea.md": "Tea steeps."}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Name the file in which the stand-in notes what it was told."""
    return tmp_path / "log"


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Return what asks the stand-in: cases, its way to misbehave, and keys of the configuration."""
    return lambda cases, *behaviour, **keys: ask_stand_in(tmp_path, cases, DOCS, *behaviour, **keys)


def told(log: Path) -> list[dict[str, Any]]:
    """Return what the stand-in was told, process by process."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def cases(*questions: str, **fields: Any) -> list[Case]:
    """Build cases named q0, q1, … of these questions."""
    return [make_case(f"q{number}", question=question, **fields) for number, question in enumerate(questions)]


def item(found: object) -> bytes:
    """Return the line of a bulk that answers the question `q`."""
    line = {"schema_version": "bulk_search_item.v1", "query": {"query": "q"}, "response": found}
    return json.dumps(line).encode()


def response(result: Result) -> Response:
    """Return the response of a result that has one."""
    assert result.failure is None, result.failure
    assert result.response is not None
    return result.response


def test_bulk(ask: Any, log: Path, tmp_path: Path) -> None:
    """Hits become chunks with their rank, scores and ids; the process may only read, and gets no other environment."""
    found = ask(cases("How is bread baked?", "nothing here"), words=("--config", "my.toml"), modes=["lexical"])
    assert [result.case_id for result in found] == ["q0", "q1"]
    chunks = response(found[0]).chunks
    assert [chunk.rel_path for chunk in chunks] == ["bread.md", "soup.md"]
    first = chunks[0]
    assert (first.rank, first.score_final, first.score_lexical, first.score_vector) == (1, 1.0, 2.5, None)
    assert (first.heading_path, first.text) == ("# Top > ## Part", DOCS["bread.md"])
    assert first.doc_id is not None
    assert len(first.chunk_id) == len(first.doc_id) == 32
    assert response(found[0]).coverage == {"chunker_version": "md-heading-v2", "index_version": "fts5"}
    assert response(found[1]).chunks == ()
    assert response(found[1]).answer is None
    assert told(log) == [
        {
            "arguments": ["--config", "my.toml", "search", "--bulk", "--json"],
            "readonly": "1",
            "home": None,
        }
    ]


def test_bulks_of_at_most_100(ask: Any, log: Path) -> None:
    """205 questions in two modes are three processes a mode, and results stand by mode and then by case."""
    many = cases(*(f"bread {number}" for number in range(205)))
    found = ask(many, modes=["lexical", "hybrid"], concurrency=2)
    assert len(told(log)) == 6
    assert [(result.mode, result.case_id) for result in found] == [
        (mode, f"q{number}") for mode in ("lexical", "hybrid") for number in range(205)
    ]
    assert all(result.failure is None for result in found)


def test_case_settings(ask: Any, log: Path) -> None:
    """A case has its own k and modes, and a question that looks like an option is none."""
    asked = [*cases("--help bread", k=1), make_case("other", question="tea", modes=("vector",))]
    found = ask(asked, k=7, retrieval_only=False)
    assert [result.case_id for result in found] == ["q0"]
    assert len(response(found[0]).chunks) == 1
    assert told(log)[1]["arguments"] == ["ask", "--k", "1", "--mode", "hybrid", "--json", "--", "--help bread"]


def test_answers_and_refusals(ask: Any) -> None:
    """Exit code 1 is a refusal with its answer on standard output; a grounded answer has its citations."""
    found = ask(cases("How is bread baked?", "unknowable"), retrieval_only=False)
    grounded, refused = map(response, found)
    assert (grounded.answer, grounded.grounded, grounded.abstained) == (DOCS["bread.md"], True, False)
    assert [(one.rel_path, one.heading_path) for one in grounded.references] == [("bread.md", "Part")]
    assert [chunk.rel_path for chunk in grounded.chunks] == ["bread.md", "soup.md"]
    assert (refused.answer, refused.grounded, refused.abstained) == ("I do not know.", False, True)
    assert refused.abstain_reason == "no_chunks"
    assert (grounded.model, refused.model) == ("m", "m")


@pytest.mark.parametrize(
    ("behaviour", "kind", "message"),
    [
        ("garbage", "schema", "expected JSON, found '<html>\\x1b[31m not JSON'"),
        ("error", "connection", "kebab: model_unreachable: no model at that address (look at the log)"),
        ("error_v2", "schema", "this adapter speaks error.v1, found error.v2"),
        ("v2", "schema", "v1, found "),
        ("silent", "status", "kebab ended with code 3"),
        ("bare", "status", "kebab ended with code 1"),
        ("huge", "body", "it printed more than 4096 bytes for each question"),
    ],
)
def test_what_is_no_answer(ask: Any, behaviour: str, kind: str, message: str) -> None:
    """Whatever goes wrong is a failure with its cause, in one printable line."""
    found = ask(cases("bread"), behaviour, max_body_bytes=4096)
    assert found[0].response is None
    assert found[0].failure is not None
    assert found[0].failure.kind == kind
    assert message in found[0].failure.message
    assert found[0].failure.message.isprintable()


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [("lying", "exit code 1 means a refusal"), ("bare", "ended with code 1")],
)
def test_refusals_that_are_none(ask: Any, behaviour: str, message: str) -> None:
    """Exit code 1 without an answer, or with one that says it is grounded, is no refusal."""
    (result,) = ask(cases("unknowable"), behaviour, retrieval_only=False)
    assert message in result.failure.message


LOST = "kebab: io_error: disk gone (look at the log)"
OTHER = "query: expected the question asked here"


@pytest.mark.parametrize(
    ("behaviour", "messages"),
    [
        pytest.param("half", [LOST] * 4, id="an error after half of them"),
        pytest.param("late", [LOST] * 4, id="an error after all of them"),
        pytest.param("stuck", [None, None, *["no end within 0.75 s for each question"] * 2], id="killed half-way"),
        pytest.param("item_error", ["kebab: invalid_input: bad mode", *[None] * 3], id="one item is an error"),
        pytest.param("shuffle", [OTHER] * 4, id="items of other questions"),
        pytest.param("surplus", ["expected 4 lines, found 5"] * 4, id="more items than questions"),
    ],
)
def test_a_bulk_that_goes_wrong(ask: Any, behaviour: str, messages: list[str | None]) -> None:
    """Of a bulk that fails no line is believed; what was answered in time stands, and an item may fail alone."""
    found = ask(cases("bread", "tea", "soup", "rice"), behaviour, timeout=0.75 if behaviour == "stuck" else 20)
    assert [result.failure and result.failure.message for result in found] == messages


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_a_hang_ends_with_its_children(ask: Any, tmp_path: Path) -> None:
    """What does not end in time is killed together with what it started."""
    found = ask(cases("bread"), "child", timeout=1.5)
    assert found[0].failure is not None
    assert (found[0].failure.kind, found[0].failure.message) == ("timeout", "no end within 1.5 s for each question")
    pid = int((tmp_path / "pid").read_text())
    end = time.monotonic() + 5
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    assert not alive(pid)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_what_a_program_leaves_behind_ends(ask: Any, tmp_path: Path) -> None:
    """A child in a session of its own, which holds the pipes of a program that has answered, ends with the asking."""
    assert response(ask(cases("bread"), "detached")[0]).chunks
    assert not alive(int((tmp_path / "pid").read_text()))


def test_giving_up(ask: Any) -> None:
    """After so many failures in a row the rest is not asked any more, and says why."""
    found = ask(cases("bread"), "error", modes=list("abcdef"), concurrency=1, give_up_after=2)
    assert [result.failure.kind for result in found if result.failure] == ["connection"] * 2 + ["aborted"] * 4
    assert found[5].failure is not None
    assert found[5].failure.message.startswith("gave up after 2 failures in a row. The last one: kebab: model_unreach")


def test_no_command(ask: Any) -> None:
    """A command that is not there, and a question no process can be given, are failures and no crash."""
    found = ask(cases("bread"), program={"run": ["/nowhere/kebab"]})
    assert found[0].failure is not None
    assert found[0].failure.message.startswith("cannot run /nowhere/kebab: ")
    nul = ask(cases("a\0b"), retrieval_only=False)
    assert nul[0].failure is not None
    assert "null byte" in nul[0].failure.message


def test_interrupt(ask: Any) -> None:
    """What a listener raises ends the asking at once, with no process left."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ask(cases("bread"), "error", modes=list("abc"), concurrency=3, on_result=interrupt)
    assert time.monotonic() - start < 10


def test_stop_from_outside(tmp_path: Path) -> None:
    """A process under way is killed as soon as the stop is set."""
    stop = threading.Event()
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    bounds = adapter.Bounds(seconds=30, max_bytes=10, stop=stop)
    words = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"]
    ended = adapter.run(words, b"x" * 1_000_000, bounds, cwd=tmp_path, environment=dict(os.environ))
    timer.join()
    assert ended.cut == "stopped"
    assert ended.seconds < 10


def test_input_that_nobody_reads(tmp_path: Path) -> None:
    """A process that ends without reading its input, or talks on both channels, does not block."""
    bounds = adapter.Bounds(seconds=30, max_bytes=1 << 20, stop=threading.Event())
    code = "import sys; sys.stderr.write('e' * 500000); sys.stdout.write('o' * 500000); sys.exit(4)"
    ended = adapter.run(
        [sys.executable, "-I", "-S", "-c", code], b"x" * 1_000_000, bounds, cwd=tmp_path, environment=dict(os.environ)
    )
    assert (ended.code, ended.cut, len(ended.out)) == (4, None, 500_000)
    assert len(ended.errors) == adapter.MAX_ERRORS


@given(st.binary(max_size=300))
def test_wire_takes_no_nonsense(data: bytes) -> None:
    """Bytes that are no answer are refused with ValueError, never another exception."""
    answer = partial(adapter.parse_answer, retrieved=Response(chunks=()))
    for read in (partial(adapter.parse_bulk_item, question="q"), answer):
        with pytest.raises(ValueError, match=r"\S"):
            read(data)
    assert adapter.find_error(data) is None


def test_too_many_hits() -> None:
    """A list without end is refused, and so is a hit of another major version."""
    fields = {
        "rank": 1,
        "chunk_id": "c",
        "doc_id": "d",
        "doc_path": "p",
        "snippet": "s",
        "schema_version": "search_hit.v2",
    }
    with pytest.raises(ValueError, match=r"this adapter speaks search_hit\.v1"):
        adapter.parse_bulk_item(item({"schema_version": "search_response.v1", "hits": [fields]}), "q")
    body = item({"schema_version": "search_response.v1.3", "hits": [{}] * 1001})
    with pytest.raises(ValueError, match=r"length <= 1000 - at `\$.hits`"):
        adapter.parse_bulk_item(body, "q")
