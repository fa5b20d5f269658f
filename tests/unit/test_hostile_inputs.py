"""Whatever bytes come in, each reader gives a good value or an error of its own, soon. A fixed number of examples."""

from __future__ import annotations

import io
import json
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, strategies as st

from raggate.base import yamlio
from raggate.base.errors import RaggateError
from raggate.base.headings import fold
from raggate.config import schema
from raggate.config.ask_settings import Ask
from raggate.gate import baseline
from raggate.github.rest import artifacts
from raggate.github.runner import event
from raggate.inputs import golden, headings
from raggate.inputs.notes import Notes
from raggate.models.golden import Case, Support, Vault
from raggate.models.run import Result
from raggate.pipeline import run_directory
from raggate.scoring import score
from raggate.service.adapters.ask import AskAdapter
from raggate.service.answer_limits import bounded
from raggate_interop.kebab import golden as kebab
from tries import tried

SOON = 20.0
"""Seconds of a processor that no example may take; all of them take milliseconds on any machine."""

fuzzed = tried(30, derandomize=True, suppress_health_check=list(HealthCheck))
hostile_text = st.text() | st.text("a\u0301\u0327\u0f73\u0344&#;<>[](){}*_`|\\:>-# \t\n\r\0\u202e\u2028\ud7ff1e.+~!")
leaves = st.none() | st.booleans() | st.integers() | st.floats() | hostile_text
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(hostile_text, inner, max_size=4), max_leaves=12
)

CASE = Case(
    id="q",
    question="What is a?",
    answerable=True,
    gold_supports=(Support(rel_path="a.md", heading_path="# A", snippets=("a",)),),
)
ANSWER: dict[str, Any] = {
    "answer": "a",
    "abstained": False,
    "references": [{"vault": "v", "rel_path": "a.md", "heading_path": "# A", "chunk_index": 0}],
    "debug": {
        "retrieved_chunks": [
            {"chunk_id": "c", "rel_path": "a.md", "heading_path": "# A", "text": "a", "rank": 1, "score_final": 0.5}
        ],
        "folder_selection": {"selected_folders": ["v/a"], "available_folders": ["v/a"]},
        "latency": {"retrieval_ms": 1.0},
        "indexing_coverage": {"docs_processed": 1, "index_version": "1"},
    },
}
EVENT: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "fakes" / "github" / "events" / "pull_request" / "12-opened.json").read_bytes()
)
RUNNER = {
    "GITHUB_REPOSITORY": "octo/notes",
    "GITHUB_RUN_ID": "1589141559",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_SERVER_URL": "https://git.example.org",
    "GITHUB_API_URL": "https://git.example.org/api/v3",
    "GITHUB_GRAPHQL_URL": "https://git.example.org/api/graphql",
    "GITHUB_SHA": "a" * 40,
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_WORKFLOW": "gate",
    "GITHUB_JOB": "rag",
    "GITHUB_ACTOR": "ada",
    "GITHUB_TRIGGERING_ACTOR": "grace",
}


NOTES = Notes(Vault(directories={"v": Path("v")}, texts={("v", "a.md"): "# A\n\na\n"}, notes={"v/a.md": "h"}, hash="h"))


@contextmanager
def soon(*errors: type[Exception]) -> Iterator[None]:
    """Let only errors with a message through, and hold the block to its time."""
    begun = time.process_time()
    said = "nothing was raised"
    try:
        yield
    except errors as error:
        said = str(error).strip()
    assert said
    assert time.process_time() - begun < SOON


@st.composite
def spoiled(draw: st.DrawFn, whole: Any) -> Any:
    """Return a good value with one place in it, at any depth, replaced, removed or added to."""
    if not isinstance(whole, dict | list) or not whole or draw(st.integers(0, 5)) == 0:
        return draw(trees)
    if isinstance(whole, list):
        place = draw(st.integers(0, len(whole) - 1))
        return [*whole[:place], draw(spoiled(whole[place])), *whole[place + 1 :]]
    key = draw(st.sampled_from(sorted(whole)))
    if draw(st.booleans()):
        return {**whole, key: draw(spoiled(whole[key]))}
    return {**{name: value for name, value in whole.items() if name != key}, draw(hostile_text): draw(trees)}


def in_json(value: object) -> bytes:
    """Write JSON as a sloppy or hostile writer does: NaN, long numbers, half of a surrogate pair."""
    return json.dumps(value).encode()


YAML_PIECES = (
    "vault: {v: notes}\n",
    "api: {url: 'http://h'}\n",
    "gate:\n  metrics: ",
    "waivers:\n",
    "- ",
    "? ",
    "&a ",
    "*a",
    *(
        "{",
        "}",
        "[",
        "]",
        "1:1:1",
        "!!float ",
        "!!int ",
        "|\n",
        ">\n",
        "'",
        '"',
        "\n",
        " ",
        ": ",
        "9" * 400,
        "0x",
        ".inf",
    ),
)
yaml_text = st.lists(st.sampled_from(YAML_PIECES) | hostile_text, max_size=12).map("".join)


@fuzzed
@given(yaml_text)
@example("suite: " + "1:" * 30_000 + "1")
@example("a: " + "9" * 60_000)
@example("{" * 500)
@example("waivers: [" + "x," * 10_000 + "]")
def test_yaml(text: str) -> None:
    """Any YAML is a configuration or a golden set, or refused."""
    for read in (schema.load, kebab.read_golden):
        with soon(RaggateError):
            read(text.encode("utf-8", "surrogatepass"), "f.yml")
    with soon(RaggateError):
        yamlio.parse(text.encode("utf-8", "surrogatepass"), "f.yml")


@fuzzed
@given(spoiled(ANSWER).map(in_json) | st.binary(max_size=200))
@example(b"[" * 100_000)
@example(in_json({**ANSWER, "debug": {**ANSWER["debug"], "latency": {"a_ms": 10**400}}}))
@example(in_json(ANSWER).replace(b'"text": "a"', b'"text": "a' + b"\\u0327\\u0301" * 50_000 + b'"'))
@example(in_json(ANSWER).replace(b'"# A"', b'"' + b"# A > " * 50_000 + b'"'))
@example(in_json(ANSWER).replace(b'"text": "a"', b'"text": "&#' + b"1" * 5_000 + b';"'))
def test_answers(body: bytes) -> None:
    """Any body is an answer that can be labelled and held against the notes, or breaks the protocol."""
    adapter = AskAdapter(Ask(retrieval_only=False), ("v",))
    with soon(ValueError):
        response = bounded(adapter.parse(body, CASE))
        result = Result(case_id="q", mode="hybrid", response=response, failure=None, retries=0, elapsed_ms=1.0)
        labelled = score.label(CASE, result)
        assert NOTES.label(labelled).case == CASE


@fuzzed
@given(spoiled(EVENT).map(in_json) | st.binary(max_size=200), st.sampled_from(["pull_request", "push", "workflow_run"]))
@example(b"[" * 1_000_000, "pull_request")
@example(b'{"number": ' + b"1" * 9_999 + b"}", "pull_request")
def test_event_payloads(body: bytes, name: str) -> None:
    """Any event file is an event, or refused."""
    path = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp", f"raggate-fuzzed-event-{id(body)}.json")
    path.write_bytes(body)
    try:
        with soon(RaggateError):
            event.read({**RUNNER, "GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path)})
    finally:
        path.unlink()


def _zip(files: dict[str, bytes], spoil: list[tuple[int, int]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    data = bytearray(stream.getvalue())
    for place, value in spoil:
        data[place % len(data)] = value
    return bytes(data)


@fuzzed
@given(
    st.dictionaries(
        st.sampled_from(artifacts.FILES) | st.text("a/.\\:", min_size=1), st.binary(max_size=60), max_size=4
    ),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=6),
)
def test_artifacts(files: dict[str, bytes], spoil: list[tuple[int, int]]) -> None:
    """Any archive gives files by raggate's own names, or is refused."""
    with soon(RaggateError):
        assert set(artifacts.unpack(_zip(files, spoil))[0]) <= set(artifacts.FILES)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Name a directory for runs that somebody else wrote."""
    return tmp_path_factory.mktemp("stored")


CONFIG: dict[str, Any] = {
    "schema": run_directory.SCHEMA,
    **dict.fromkeys(("run_id", "suite", "started"), "s"),
    "stopped": None,
    "interrupted": False,
    "log": [],
    "duration_s": 1.0,
    "golden": {"name": "g", "hash": "h"},
    "fingerprint": {"notes": {"v/a.md": "h"}, "modes": ["hybrid"]},
    "config": {"suite": "s", "vault": {"v": "v"}, "api": {"url": "http://127.0.0.1:1"}, "checkout": {"dirty": False}},
}
GOLDEN = {"id": "q", "question": "a?", "answerable": True, "gold_supports": [{"rel_path": "a.md"}]}
ROW = {
    "test_case_id": "q",
    "mode": "hybrid",
    "result": {
        "response": {"chunks": [{"chunk_id": "c", "rel_path": "a.md", "heading_path": "# A", "text": "a"}]},
        "failure": None,
        "retries": 0,
        "elapsed_ms": 1.0,
    },
    "labels": {"matches": [[0]], "heading_only": [False], "bodiless": [False], "duplicates": []},
}


@fuzzed
@given(spoiled({"config": CONFIG, "golden": GOLDEN, "row": ROW}))
def test_run_directories(stored: Path, files: Any) -> None:
    """Any files of a run directory are a run that can be scored, or refused."""
    files = files if isinstance(files, dict) else {}
    for name, key in (("config.json", "config"), ("golden.jsonl", "golden"), ("results.jsonl", "row")):
        (stored / name).write_bytes(in_json(files.get(key)))
    with soon(RaggateError):
        score.score(run_directory.read(stored), (1, 5))


@fuzzed
@given(spoiled(GOLDEN).map(in_json) | st.binary(max_size=200), hostile_text)
def test_golden_sets_and_notes(line: bytes, note: str) -> None:
    """Any line is a question or refused, and any note has headings and lines."""
    with soon(RaggateError):
        golden.load(line, "g.jsonl")
    with soon():
        assert headings.heading_paths(note, "a.md")
        assert headings.line_of(note, note) >= 1
        assert fold(fold(note)) == fold(note)


def test_what_is_spoiled_was_good(stored: Path, tmp_path: Path) -> None:
    """What the tests above spoil is accepted as it is, so that they spoil something."""
    adapter = AskAdapter(Ask(retrieval_only=False), ("v",))
    assert bounded(adapter.parse(in_json(ANSWER), CASE)).chunks
    assert golden.load(in_json(GOLDEN), "g.jsonl").cases
    for name, content in (("config.json", CONFIG), ("golden.jsonl", GOLDEN), ("results.jsonl", ROW)):
        (stored / name).write_bytes(in_json(content))
    assert len(run_directory.read(stored).results) == 1
    path = tmp_path / "event.json"
    path.write_bytes(in_json(EVENT))
    environment = {**RUNNER, "GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": str(path)}
    assert event.read(environment)
    assert artifacts.unpack(_zip({"config.json": b"{}", "golden.jsonl": b"", "results.jsonl": b""}, []))


@fuzzed
@given(trees.map(in_json) | st.binary(max_size=200))
def test_baselines(data: bytes) -> None:
    """Any file is a baseline, or refused."""
    with soon(RaggateError):
        baseline.read(data, "b.json", score.directions((1, 5)))
