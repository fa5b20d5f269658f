"""`raggate demo`: the whole gate on a service that comes with raggate, as somebody sees it who has nothing else."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from here import called
from preloaded import start
from raggate.cli import main

README = Path(__file__).parents[2] / "README.md"


def parts_shown() -> set[str]:
    """Return the runs of lines that the README shows of the demo, without the mark of what is left out."""
    block = re.search(
        r"^It gates two changes .*ends like this:\n\n```text\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL
    )
    assert block is not None
    return set(block[1].split("  …\n"))


def test_a_good_change_and_a_broken_one(tmp_path: Path) -> None:
    """The good change passes, the broken one is red with its cause, and what is kept can be tried further."""
    process = start("demo", "--keep", "kept", at=tmp_path, environment=os.environ)
    out, err = process.communicate(60)
    assert (process.returncode, err) == (0, "")
    good, _, broken = out.partition("A broken change")
    assert "verdict: pass (exit 0)" in good
    assert "verdict: regression (exit 1)" in broken
    assert "Most likely cause: the vector score no longer counts (weights: vector 0.5 → 0)" in broken
    assert "The files are in kept: change search.py" in broken
    assert [part for part in parts_shown() if part not in broken] == []
    kept = tmp_path / "kept"
    baseline = json.loads((kept / "baselines/demo.json").read_text())
    assert f"was asked {len(baseline['cases'])} questions" in good
    assert {path.name for path in kept.iterdir()} == {
        *(".raggate", "baselines", "golden", "notes", "raggate.yml", "search.py")
    }
    runs = [json.loads(file.read_text()) for file in kept.glob(".raggate/runs/*/config.json")]
    assert {run["config"]["reproduce"] for run in runs} == {"raggate check"}, "where the files are"
    assert len(runs) == 3
    lint = called(lambda: main.main(["lint"]), at=kept, environment={})
    assert lint.code == 0, lint.out + lint.err


def test_nothing_of_somebody_else_is_overwritten(tmp_path: Path) -> None:
    """A directory that is there is refused, and so is a place that cannot be made: exit 2 names it."""
    (tmp_path / "file").write_text("mine")
    for place, said in ((str(tmp_path), "exists already"), ("file/kept", "cannot write file/kept: Not a directory")):
        done = called(lambda place=place: main.main(["demo", "--keep", place]), at=tmp_path, environment={})
        assert done.code == 2
        assert said in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
