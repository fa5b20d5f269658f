"""`raggate export`: what other tools read says what the run and the notes hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click import Command
from msgspec.structs import replace

from builders import make_case, make_chunk, make_failure, make_golden, make_labelled, make_result, make_run
from invoked import invoked
from raggate.base.errors import CannotTell, UsageError
from raggate.models.golden import Choice, Selection
from raggate.models.run import Run
from raggate.pipeline import run_directory
from raggate_interop.export_command import export
from raggate_interop.helloworld.command import helloworld
from raggate_interop.kebab.command import kebab
from raggate_interop.substrate.command import substrate
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import iter_lists
from tables import each_row


def run(*arguments: object) -> str:
    """Run the command; give what it prints."""
    return invoked(export, *arguments).output


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Write a run: two chunks of one document and one of another, an empty list, a failed call."""
    chunks = (
        make_chunk("c1", rel_path="a b.md", doc_id="d1"),
        make_chunk("c2", rel_path="a b.md", doc_id="d1"),
        make_chunk("c3", rel_path="c.md", rank=3),
    )
    items = [
        make_labelled(make_case("q1", question="1?"), make_result("q1", *chunks)),
        make_labelled(make_case("q2", question="2?"), make_result("q2")),
        make_labelled(make_case("q3", question="3?"), make_result("q3", failure=make_failure(), response=None)),
    ]
    run_directory.write(tmp_path / "run", make_run(*items))
    return tmp_path / "run"


@pytest.mark.parametrize(("unit", "names"), [("document", ["d1", "c.md"]), ("chunk", ["c1", "c2", "c3"])])
def test_a_run_becomes_a_trec_file(directory: Path, tmp_path: Path, unit: str, names: list[str]) -> None:
    """Names stand in the order of the list, each once; what cannot be in the file is counted."""
    output = run(directory, tmp_path / "out", "--unit", unit)
    assert {name: list(ranking.ranks) for name, ranking in trec.read_run(tmp_path / "out").items()} == {"q1": names}
    assert "1 list" in output
    assert "1 failed call and 1 empty list not in the file" in output
    with pytest.raises(UsageError, match="exists already"):
        run(directory, tmp_path / "out")
    run(directory, tmp_path / "out", "--force")


def test_a_run_becomes_json_lines(directory: Path, tmp_path: Path) -> None:
    """Paths with white space go into JSON lines, which can also say that a list is empty; TREC refuses them."""
    with pytest.raises(UsageError, match="white space"):
        run(directory, tmp_path / "out", "--unit", "note")
    assert not (tmp_path / "out").exists()
    run(directory, tmp_path / "out", "--unit", "note", "--to", "lists")
    lists = {ranking.query_id: list(ranking.ranks) for ranking in iter_lists(tmp_path / "out")}
    assert lists == {"q1": ["a b.md", "c.md"], "q2": []}


def test_a_mode_that_is_not_there_is_refused(directory: Path, tmp_path: Path) -> None:
    """The lists of one mode are written, and never those of another."""
    with pytest.raises(UsageError, match="the run has the modes hybrid"):
        run(directory, tmp_path / "out", "--mode", "vector")


ASKED, LEFT = make_case("q1"), make_case("q2")
PART: Run = make_run(make_labelled(ASKED, make_result("q1", make_chunk(score_final=0.5))))
PART = replace(PART, golden=make_golden(ASKED, LEFT))
PARTS = {
    "partial: 1 of 2 questions chosen (--case q1)": replace(
        PART, selection=Selection(asked=("q1",), of=2, words=Choice(cases=("q1",)).words)
    ),
    "not all questions were asked: interrupted": replace(PART, stopped="interrupted", interrupted=True),
}


@each_row("sentence", PARTS)
@each_row(
    ("group", "arguments"),
    [
        (substrate, ("results", "run", "--out", "out")),
        (substrate, ("score", "queries.json", "run", "--out", "out")),
        (helloworld, ("export", "run", "--out", "out")),
        (kebab, ("export", "run", "--out", "out")),
        (export, ("run", "out")),
    ],
)
def test_a_part_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentence: str, group: Command, arguments: Sequence[str]
) -> None:
    """Nothing is written of a part, and the message says which part it is."""
    monkeypatch.chdir(tmp_path)
    run_directory.write(Path("run"), PARTS[sentence])
    Path("queries.json").write_text('[{"query": "Question q1?", "expected_docs": ["a"]}]')
    with pytest.raises(CannotTell) as caught:
        invoked(group, *arguments)
    assert caught.value.message == f"run: not a whole run: {sentence}"
    assert not Path("out").exists()


@each_row("sentence", PARTS)
def test_a_trace_of_a_part_says_so(tmp_path: Path, sentence: str) -> None:
    """The trace of what was asked is printed, and beside it that this is not all."""
    run_directory.write(tmp_path / "run", PARTS[sentence])
    result = invoked(substrate, "trace", tmp_path / "run")
    assert result.stdout.count("\n") == 1
    assert result.stderr == f"raggate: {sentence}\n"
