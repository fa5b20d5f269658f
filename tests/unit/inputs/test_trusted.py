"""The trusted inputs: where each is read from, and what a commit without raggate means."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkouts import write_files
from raggate.base.errors import FileProblems, UsageError
from raggate.config.schema import Config
from raggate.inputs import sources
from raggate.inputs.trusted import Inputs, InputSource, load_change, load_trusted
from stored_objects import StoredObjects


def accept(settings: Config, _name: str) -> Config:
    """Take any configuration."""
    return settings


CONFIG = "suite: s\ngolden: g.jsonl\nvault: {work: notes}\napi: {url: 'http://127.0.0.1:1'}\n"
CASE = (
    '{"id": "q1", "question": "Where?", "answerable": true, "gold_supports": '
    '[{"rel_path": "a.md", "heading_path": "# A"}]}\n'
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A working tree with a gate, not in git."""
    notes = {"notes/a.md": "# A\n\ntext\n", "baselines/s.json": "{}"}
    write_files(tmp_path / "tree", {"raggate.yml": CONFIG, "g.jsonl": CASE, **notes})
    return tmp_path / "tree"


def read(where: InputSource) -> Inputs:
    """Open, and give what was read."""
    with load_trusted(where, accept) as inputs:
        return inputs


def at(root: Path, files: dict[str, bytes]) -> InputSource:
    """Return inputs that claim to be those of a commit with these files, which only another place has."""
    return InputSource(
        root=root,
        config_name="raggate.yml",
        against="f" * 40,
        remote=sources.Remote(workspace=root, objects=StoredObjects(files)),
        first_run=frozenset(),
    )


def files() -> dict[str, bytes]:
    """Return the files of a commit with a gate."""
    tree = {"raggate.yml": CONFIG, "g.jsonl": CASE, "notes/a.md": "# A\n"}
    return {name: text.encode() for name, text in tree.items()}


def test_a_commit_that_only_another_place_has(tree: Path) -> None:
    """Without the commit in the local repository everything is read from where it can be had."""
    inputs = read(at(tree, files()))
    assert (inputs.against, inputs.first_run, inputs.baseline) == ("f" * 40, False, None)
    assert inputs.golden.name == "g.jsonl@ffffffffffff"


def test_a_tag_of_no_question_names_the_line_of_the_configuration(tree: Path) -> None:
    """Questions that are chosen by a tag are read with the configuration of the same commit, and so is the mistake."""
    chosen = CONFIG + "questions:\n  - must_pass\n  - tag=smoke\n"
    with pytest.raises(FileProblems) as refused:
        read(at(tree, {**files(), "raggate.yml": chosen.encode()}))
    (problem,) = refused.value.problems
    assert (problem.file, problem.line, problem.key) == ("raggate.yml@ffffffffffff", 7, "questions[1]")


def test_first_run(tree: Path) -> None:
    """A commit without a configuration is measured by the change's own files, without its baseline, on terms."""
    inputs = read(at(tree, {}))
    assert (inputs.against, inputs.first_run, inputs.baseline) == ("f" * 40, True, None)
    assert inputs.golden.name == "g.jsonl"
    passing = CONFIG.replace("{url: 'http://127.0.0.1:1'}", "{container: {image: a, port: 1, pass_env: [KEY]}}")
    (tree / "raggate.yml").write_text(passing)
    with pytest.raises(UsageError, match=r"api\.container\.pass_env: refused"):
        read(at(tree, {}))
    assert not read(at(tree, {**files(), "raggate.yml": passing.encode()})).first_run


def test_a_configuration_without_its_golden_set_is_no_first_run(tree: Path) -> None:
    """A commit that has a configuration judges by it, whatever else it lacks."""
    broken = files()
    del broken["g.jsonl"]
    with pytest.raises(UsageError, match=r"g\.jsonl@f{12}: no such file"):
        read(at(tree, broken))


@pytest.mark.parametrize("name", ["raggate.yml", "g.jsonl", "notes", "baselines", "baselines/s.json", "notes/a.md"])
def test_the_change_is_read_through_no_link(tree: Path, name: str) -> None:
    """No link is followed out of the tree; one within it is told before it is merged, as no commit's is followed."""
    problems = {
        tree.parent / "outside": "leads out of|link that leaves",
        tree / "x": "a symbolic link|link that leaves",
    }
    for place, problem in problems.items():
        (tree / name).resolve().rename(place)
        (tree / name).unlink(missing_ok=True)
        (tree / name).symlink_to(place)
        with pytest.raises(UsageError, match=problem):
            load_change(InputSource(root=tree, config_name="raggate.yml"), accept)


def test_a_baseline_that_is_named_takes_the_place_of_the_configured_one(tree: Path) -> None:
    """The configured baseline is not even looked at: a directory where it should be is no error then."""
    (tree / "baselines/s.json").unlink()
    (tree / "baselines/s.json").mkdir()
    named = tree.parent / "other.json"
    named.write_text("{}")
    inputs = read(InputSource(root=tree, config_name="raggate.yml", baseline_file=named))
    assert inputs.baseline is not None
    assert inputs.baseline.name == str(named)
