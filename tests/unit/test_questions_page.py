"""What docs/questions.md says is so: the drops that so many questions show, and the checks it names."""

from __future__ import annotations

import re
from pathlib import Path

from raggate.gate.evidence import ALPHA
from raggate.gate.statistics.power import visible_drop
from raggate.models.lint import CHECKS

PAGE = (Path(__file__).parents[2] / "docs" / "questions.md").read_text(encoding="utf-8")


def test_how_many_questions_show_what() -> None:
    """The drops that can pass unseen are those that the test of a mode sees."""
    sentence = " ".join(PAGE.split())
    found = re.search(
        r"about (\d+) points with (\d+) questions, (\d+) with (\d+), (\d+) with (\d+) and (\d+) with (\d+)", sentence
    )
    assert found
    for points, questions in zip(found.groups()[::2], found.groups()[1::2], strict=True):
        assert int(points) == round(100 * visible_drop(int(questions), 0.0, ALPHA))


def test_checks_that_are_named() -> None:
    """What stands in brackets behind a piece of advice is a check of `raggate lint`."""
    named = {
        name
        for group in re.findall(r"\((`[a-z-]+`(?:,\s+`[a-z-]+`)*)\)", PAGE)
        for name in re.findall("[a-z-]+", group)
    }
    assert named
    assert named <= CHECKS.keys()
