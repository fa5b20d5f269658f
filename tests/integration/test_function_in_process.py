"""A function of Python that is gated in the process of its test, by `rag_gate(retriever=...)` and `raggate.check`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import raggate
from programs import CONFIG
from project import Project, make_small_project
from tables import each_row

ROOT = Path(__file__).parents[2]
SEARCH = f"""\
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT / "tests" / "fakes")!r})
from mcp_server import sections, words

NOTES = sections(Path(__file__).parents[1] / "vault")

def search(question, k, vaults=("personal", "work")):
    lost, wanted = os.environ.get("LOST", "-"), words(question)
    found = [note for note in NOTES if note["path"].split("/")[0] in vaults and lost not in note["text"].lower()]
    return sorted(found, key=lambda note: -len(wanted & words(str(note))))[:k]
"""
COMMAND = f'{{run: [{sys.executable}, -S, "{{shim}}", "rag.retriever:search"]}}'


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a repository with a retriever, and a baseline that was measured with it as a program."""
    project = make_small_project(tmp_path_factory.mktemp("in_process"))
    project.config.write_text(CONFIG.format(command=COMMAND, headings="heading_path"))
    (project.root / "rag").mkdir()
    (project.root / "rag" / "retriever.py").write_text(SEARCH)
    project.promote()
    return project


@pytest.fixture
def search(gated: Project) -> Iterator[Callable[..., Any]]:
    """Return the retriever's function, imported as a test imports it."""
    scope: dict[str, Any] = {"__file__": str(gated.root / "rag" / "retriever.py")}
    before = sys.path[:]
    exec((gated.root / "rag" / "retriever.py").read_text(), scope)  # noqa: S102 - its file is written above
    yield scope["search"]
    sys.path[:] = before


def test_the_page_of_functions(gated: Project) -> None:
    """The example of docs/functions.md is green, red for a lost note, and its terminal says that neither is trusted."""
    page = (ROOT / "docs" / "functions.md").read_text()
    (example,) = re.findall(r"```python\n(.*?rag_gate\(retriever.*?)```", page, re.DOTALL)
    (gated.root / "test_rag.py").write_text(example)
    for lost, code_of_end, outcome in (("-", 0, "pass"), ("anchovy", 1, "regression")):
        done = gated.run_pytest(LOST=lost)
        assert done.code == code_of_end, done.out + done.err
        says = f"suite small: {outcome}; this is no trusted gate: the tested code ran in raggate's own process"
        assert says in done.out
        assert ("anchovy-first" in done.out) == (lost == "anchovy")
    # nothing is asked again: there is no new start, and a program is another build
    assert gated.verdict()["recheck"] is None
    assert "--case" not in (gated.last_run() / "summary.md").read_text()


def test_it_answers_as_the_program_does(gated: Project, search: Callable[..., Any]) -> None:
    """Scores are those of the same function as a program, and the run says that it was none."""
    assert gated.command("check").code == 0
    by_program = json.loads((gated.last_run() / "metrics.json").read_text())
    heard: list[str] = []
    verdict = raggate.check(gated.config, retriever=search, say=heard.append)
    assert verdict.passed, str(verdict)
    assert heard[0] == "asking a function in raggate's own process, which could change the verdict"
    assert [reason.code for reason in verdict.warnings][:1] == ["same-process"]
    assert "this is no trusted gate" in str(verdict)
    own = json.loads((verdict.run_directory / "metrics.json").read_text())
    assert own["by_retriever"] == by_program["by_retriever"]
    assert own["build"] == "a function in raggate's own process"
    assert "versions" in (verdict.run_directory / "api.log").read_text()


def test_an_event_loop_is_asked_in_a_thread(gated: Project, search: Callable[..., Any]) -> None:
    """Where one runs, another one cannot; the hint says what can."""

    async def check(*, threaded: bool) -> raggate.Verdict:
        if threaded:
            return await asyncio.to_thread(raggate.check, gated.config, retriever=search)
        return raggate.check(gated.config, retriever=search)

    with pytest.raises(raggate.RunFailed, match="cannot be called where an event loop runs") as refused:
        asyncio.run(check(threaded=False))
    assert refused.value.exit_code == 2
    assert "asyncio.to_thread" in refused.value.hint
    assert asyncio.run(check(threaded=True)).passed


def test_such_a_run_is_never_the_latest(gated: Project, search: Callable[..., Any]) -> None:
    """`promote latest` takes the newest run of the program. A baseline made of the other says what it is."""
    assert gated.command("run").code == 0
    newest = gated.last_run().name
    verdict = raggate.check(gated.config, retriever=search)
    chosen = gated.command("promote", "latest", "--dry-run", "--json")
    assert json.loads(chosen.out)["result"]["run_id"] == newest
    other = gated.root / "other.json"
    done = gated.command("promote", str(verdict.run_directory), "--baseline", str(other))
    assert done.code == 0, done.err
    assert json.loads(other.read_text())["provenance"]["build"] == "a function in raggate's own process"


@each_row(
    ("retriever", "sentence"),
    [
        (lambda question: [1 / 0, question], "answers with an error: 'ZeroDivisionError: division by zero'"),
        (lambda question: question, "expected a list of hits, found str"),
        (lambda question: [{"path": "x" * 5000, "text": question}], "rel_path of passage 1: expected at most 4096"),
        (lambda question: [{"path": question, "text": "x" * (9 << 20)}], "wrote a line of more than 8388608"),
        # without an end
        (lambda question: iter(lambda: question, None), "hits[0].path: expected text, found nothing"),
        (lambda question: [time.sleep(20), question], "no answer within 3 s"),
        (lambda question: [sys.exit(question)], "the API ended with SystemExit"),
    ],
)
def test_a_bad_function_cannot_be_told(gated: Project, retriever: object, sentence: str) -> None:
    """Whatever it does, the checks of a program's answers hold, and no verdict is given."""
    text = gated.config.read_text()
    gated.edit("timeout: 20\n", "timeout: 3\n")
    try:
        verdict = raggate.check(gated.config, retriever=retriever)
    finally:
        gated.config.write_text(text)
    assert (verdict.exit_code, verdict.trusted) == (3, False)
    assert any(sentence in reason.message for reason in verdict.reasons), verdict.reasons


@each_row(
    ("retriever", "sentence"),
    [
        (object(), "the object has no method retrieve, similarity_search"),
        (lambda first, second: None, "expected one parameter at most, the directory of the notes"),
        (lambda: sys.exit("no model"), "ended with SystemExit: no model"),
    ],
)
def test_what_cannot_be_built_is_never_ready(gated: Project, retriever: object, sentence: str) -> None:
    """Its own words say what to change, and the test's process goes on."""
    with pytest.raises(raggate.RunFailed) as failed:
        raggate.check(gated.config, retriever=retriever)
    assert failed.value.exit_code == 3
    assert sentence in "\n".join([failed.value.message, *failed.value.log])


def test_it_needs_the_configuration_of_a_function(gated: Project) -> None:
    """With an API over HTTP there is nothing that a function could stand in for."""
    text = gated.config.read_text()
    gated.config.write_text(re.sub(r"api:.*?ask:.*", "api: {url: 'http://127.0.0.1:9'}\n", text, flags=re.DOTALL))
    try:
        with pytest.raises(raggate.RunFailed, match="needs the configuration of a function") as refused:
            raggate.check(gated.config, retriever=print)
    finally:
        gated.config.write_text(text)
    assert refused.value.exit_code == 2
    assert "raggate init --python" in refused.value.hint
