"""What the README shows of `make gate` is what the stored baseline says."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BASELINE = json.loads((ROOT / "baselines" / "notes.json").read_text(encoding="utf-8"))
ROW = re.compile(r"^(\w+) +(\d\.\d{4}) +\d\.\d{4} .* \d+(?: \([-+ \d]+\))?$", re.MULTILINE)


def test_the_run_of_the_baseline() -> None:
    """Both outputs name one run, over all cases of the baseline; which one changes with every promotion."""
    named = re.findall(r"^baseline baselines/notes\.json \(run (\w+)\), (\d+) cases compared$", README, re.MULTILINE)
    assert len(named) == 2
    assert set(named) == {(named[0][0], str(len(BASELINE["cases"])))}


def test_the_values_of_the_baseline() -> None:
    """Every value in the column `baseline` is the one that is stored, for the same metrics in both outputs."""
    stored = {name: f"{value:.4f}" for name, (value, _) in BASELINE["aggregates"]["hybrid"]["overall"].items() if value}
    rows = ROW.findall(README)
    assert len(rows) == 22
    assert len({name for name, _ in rows}) == 11
    assert [(name, stored[name]) for name, _ in rows] == rows
