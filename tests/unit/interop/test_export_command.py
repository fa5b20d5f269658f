"""`raggate export`: what other tools read says what the run and the notes hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from builders import make_case, make_chunk, make_failure, make_labelled, make_result, make_run
from raggate.base.errors import RaggateError, UsageError
from raggate.pipeline import run_directory
from raggate_interop.export_command import export
from raggate_interop.trec_beir import trec
from raggate_interop.trec_beir.rankings import iter_lists


def run(*arguments: str | Path) -> str:
    """Run a command; give what it prints. Errors of raggate are raised."""
    result = CliRunner().invoke(export, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(result.exception, RaggateError):
        raise result.exception
    assert result.exception is None
    return result.output


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
