"""What docs/questions.md says is so: the drops that so many questions show, and the checks it names."""

from __future__ import annotations

import re
from pathlib import Path

from raggate.config.gate_settings import Gate
from raggate.gate.evidence import sight
from raggate.gate.statistics.power import questions_for
from raggate.models.lint import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "questions.md").read_text(encoding="utf-8")


def test_how_many_questions_show_what() -> None:
    """The drops that are seen are those of the default policy."""
    rows = re.findall(r"^\| (\d+) \| (\d+) points \| (\d+) points \|$", PAGE, re.MULTILINE)
    gate = Gate()
    seen = {int(n): sight([1] * int(n), 0.0, 1, gate.composite, gate) for n, *_ in rows}
    assert len(rows) == 5
    assert rows == [(str(n), str(round(100 * told)), str(round(100 * red))) for n, (red, told) in seen.items()]
    red = questions_for(0.05, lambda n: sight([1] * n, 0.0, 1, gate.composite, gate).red)
    told = questions_for(0.05, lambda n: sight([1] * n, 0.0, 1, gate.composite, gate).told)
    assert f"takes {told} questions to see 5 points as a warning, and {red} to see them red" in " ".join(PAGE.split())


def test_checks_that_are_named() -> None:
    """What stands in brackets behind a piece of advice is a check of `raggate lint`."""
    named = {
        name
        for group in re.findall(r"\((`[a-z-]+`(?:,\s+`[a-z-]+`)*)\)", PAGE)
        for name in re.findall("[a-z-]+", group)
    }
    assert named
    assert named <= CHECKS.keys()
