"""Files for other tools are made of whole runs: they have no place to say that a run is a part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click import Command
from click.testing import CliRunner
from msgspec.structs import replace

from builders import make_case, make_chunk, make_golden, make_labelled, make_result, make_run
from raggate.base.errors import CannotTell
from raggate.models.golden import Choice, Selection
from raggate.models.run import Run
from raggate.pipeline import run_directory
from raggate_interop.export_command import export
from raggate_interop.helloworld.command import helloworld
from raggate_interop.kebab.command import kebab
from raggate_interop.substrate.command import substrate
from tables import each_row

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
    result = CliRunner().invoke(group, arguments, standalone_mode=False)
    assert isinstance(result.exception, CannotTell)
    assert result.exception.message == f"run: not a whole run: {sentence}"
    assert not Path("out").exists()


@each_row("sentence", PARTS)
def test_a_trace_of_a_part_says_so(tmp_path: Path, sentence: str) -> None:
    """The trace of what was asked is printed, and beside it that this is not all."""
    run_directory.write(tmp_path / "run", PARTS[sentence])
    result = CliRunner().invoke(substrate, ["trace", str(tmp_path / "run")], standalone_mode=False)
    assert result.stdout.count("\n") == 1
    assert result.stderr == f"raggate: {sentence}\n"
