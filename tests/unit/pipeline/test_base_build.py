"""What of a regression is asked again, before anything is booted for it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from builders import make_case, make_config, make_scorecard
from raggate.pipeline import base_build


def test_nothing_is_booted_for_grades_alone(tmp_path: Path) -> None:
    """Where every question that got worse did so by a judge's grade, nothing is asked again, and that is said."""
    verdict = SimpleNamespace(outcome="regression", fell={("hybrid", "q0"): ("groundedness",)}, missed={})
    review: Any = SimpleNamespace(
        verdict=verdict, comparison=SimpleNamespace(baseline=None, scorecard=make_scorecard(), deltas=())
    )
    golden = SimpleNamespace(cases=[make_case("q0")])
    inputs: Any = SimpleNamespace(config=make_config(recheck={"base": "ref"}), golden=golden)
    request: Any = None
    asked = base_build.recheck(request, inputs, tmp_path, review)
    assert asked is not None
    assert (asked.asked, asked.base) == ((), ())
    assert (
        asked.problem
        == "all that counts against the change are grades of judges, and what is asked again is not graded"
    )
