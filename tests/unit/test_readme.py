"""What the README of the example API shows of `make gate` is what the stored baseline says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from raggate.base.numbers import fixed
from raggate.scoring.figures import is_share, title

ROOT = Path(__file__).parents[2]
README = (ROOT / "examples" / "notes-api" / "README.md").read_text(encoding="utf-8")
BASELINE = json.loads((ROOT / "baselines" / "notes.json").read_text(encoding="utf-8"))
OUTPUT = re.compile(r"^raggate · suite notes.*?^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^(?:❌ )?(\w.*?) +[−+]\S+(?: pt)? +([\d.]+) → ", re.MULTILINE)
UNCHANGED = re.compile(r"^Unchanged \(\d+\): (.*)$", re.MULTILINE)


def shown(output: str) -> Iterator[tuple[str, str]]:
    """Yield every metric over all questions with its value in the baseline, as an output shows it."""
    yield from ROW.findall(output.partition(" slices got worse")[0])
    for part in UNCHANGED.findall(output)[0].split(", "):
        yield re.fullmatch(r"(.*) ([\d.]+)(?:%)?(?: \(.*\))?", part).groups()  # type: ignore[union-attr,misc]


def test_the_run_of_the_baseline() -> None:
    """Both outputs name one run, over all cases of the baseline; which one changes with every promotion."""
    named = re.findall(
        r"^baseline baselines/notes\.json \(run (\w+)\), (\d+) questions compared$", README, re.MULTILINE
    )
    assert len(named) == 2
    assert set(named) == {(named[0][0], str(len(BASELINE["cases"])))}


def test_the_values_of_the_baseline() -> None:
    """Every value of the baseline is the one that is stored, for the same metrics in both outputs."""
    stored = {
        title(name): fixed(100 * value, 1) if is_share(name) else fixed(value, 3)
        for name, (value, _) in BASELINE["aggregates"]["hybrid"]["overall"].items()
        if value
    }
    outputs = [dict(shown(output)) for output in OUTPUT.findall(README)]
    assert [len(rows) for rows in outputs] == [11, 11]
    assert set(outputs[0]) == set(outputs[1])
    for rows in outputs:
        assert rows == {name: stored[name] for name in rows}
